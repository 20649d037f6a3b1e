//! Decides whether a change matters, with a hash of what the binding sees.
//!
//! A hash is never stored beyond the process. It is compared only between states of one object, so 64 bits with a
//! secret key are enough.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    hash::{BuildHasher, Hash, Hasher, RandomState},
};

use serde_json::value::RawValue;

use super::project::METADATA;
use crate::model::{Content, Object};

/// Metadata fields that change although the object does not.
const NOISE: [&str; 3] = ["resourceVersion", "managedFields", "generation"];

/// Hashes states of objects.
#[derive(Debug, Default)]
pub struct Fingerprints(RandomState);

type Fields<'a> = BTreeMap<Cow<'a, str>, &'a RawValue>;

impl Fingerprints {
    /// The fingerprint of a filter's result. It covers the uid, because two objects of one name are never the same.
    pub fn of_result(&self, object: &Object, result: &str) -> u64 {
        self.0.hash_one((&object.uid, result))
    }

    /// The fingerprint of what is delivered of the object, without noise. If nothing is delivered, it covers the whole
    /// object, because a hook that requests no content still wants to know about a change.
    pub fn of_object(&self, object: &Object, content: Content) -> u64 {
        let mut hasher = self.0.build_hasher();
        object.uid.hash(&mut hasher);
        if hash_fields(&object.json, content, &mut hasher).is_none() {
            object.json.hash(&mut hasher);
        }
        hasher.finish()
    }
}

fn hash_fields(json: &str, content: Content, hasher: &mut impl Hasher) -> Option<()> {
    let fields: Fields<'_> = serde_json::from_str(json).ok()?;
    let delivered = |name: &str| content != Content::Metadata || METADATA.contains(&name);
    for (name, value) in fields.iter().filter(|(name, _)| delivered(name)) {
        name.hash(hasher);
        if name != "metadata" {
            value.get().hash(hasher);
            continue;
        }
        let metadata: Fields<'_> = serde_json::from_str(value.get()).ok()?;
        for (name, value) in metadata.iter().filter(|(name, _)| !NOISE.contains(&name.as_ref())) {
            name.hash(hasher);
            value.get().hash(hasher);
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn object(json: &str) -> Object {
        Object::from_json(json, &"v1".into(), &"Pod".into()).unwrap()
    }

    #[test]
    fn noise_is_not_seen() {
        let prints = Fingerprints::default();
        let of = |json| prints.of_object(&object(json), Content::Full);
        let base = of(r#"{"metadata":{"name":"a","uid":"1","resourceVersion":"1","generation":1},"spec":{"x":1}}"#);
        for same in [
            r#"{"metadata":{"name":"a","uid":"1","resourceVersion":"2","generation":2},"spec":{"x":1}}"#,
            r#"{"metadata":{"name":"a","uid":"1","managedFields":[1]},"spec":{"x":1}}"#,
        ] {
            assert_eq!(of(same), base, "{same}");
        }
        for other in [
            r#"{"metadata":{"name":"a","uid":"2"},"spec":{"x":1}}"#,
            r#"{"metadata":{"name":"a","uid":"1"},"spec":{"x":2}}"#,
            r#"{"metadata":{"name":"a","uid":"1","labels":{}},"spec":{"x":1}}"#,
            r#"{"metadata":{"name":"a","uid":"1"},"spec":{"x":1},"generation":1}"#,
        ] {
            assert_ne!(of(other), base, "{other}");
        }
    }

    #[test]
    fn what_is_not_delivered_is_not_seen() {
        let prints = Fingerprints::default();
        let of = |json, content| prints.of_object(&object(json), content);
        let one = r#"{"metadata":{"name":"a","uid":"1","labels":{}},"spec":{"x":1}}"#;
        let other_spec = r#"{"metadata":{"name":"a","uid":"1","labels":{}},"spec":{"x":2},"status":{}}"#;
        let other_label = r#"{"metadata":{"name":"a","uid":"1","labels":{"x":"y"}},"spec":{"x":1}}"#;
        assert_eq!(of(one, Content::Metadata), of(other_spec, Content::Metadata));
        assert_ne!(of(one, Content::Metadata), of(other_label, Content::Metadata));
        assert_ne!(of(one, Content::None), of(other_spec, Content::None));
    }

    #[test]
    fn a_result_belongs_to_its_object() {
        let prints = Fingerprints::default();
        let (one, two) =
            (object(r#"{"metadata":{"name":"a","uid":"1"}}"#), object(r#"{"metadata":{"name":"a","uid":"2"}}"#));
        assert_eq!(prints.of_result(&one, "{}"), prints.of_result(&one, "{}"));
        assert_ne!(prints.of_result(&one, "{}"), prints.of_result(&two, "{}"));
        assert_ne!(prints.of_result(&one, "{}"), prints.of_result(&one, "[]"));
    }
}
