//! What is kept of an object: the whole JSON, its metadata, or only its identity. A whole object is never copied:
//! `full` shares the text that the watch holds.

use std::{borrow::Cow, collections::BTreeMap, collections::HashSet, sync::Arc};

use serde_json::value::RawValue;

use super::Filter;
use crate::model::{Content, Item, Object};

/// The item for an object, with its filter's result.
pub fn item(object: &Object, content: Content, filter_result: Option<Arc<str>>) -> Item {
    Item {
        key: object.key.clone(),
        uid: object.uid.clone(),
        resource_version: object.resource_version.clone(),
        object: match content {
            Content::Full => Some(object.json.clone()),
            Content::Metadata => Some(metadata(&object.json)),
            Content::None => None,
        },
        filter_result,
    }
}

/// Whether a binding needs only the metadata of its objects. A binding that delivers nothing and has no filter needs
/// more, because any change wakes its hook.
pub fn uses_only_metadata(content: Content, filter: Option<&dyn Filter>) -> bool {
    match (content, filter) {
        (Content::Full, _) | (Content::None, None) => false,
        (Content::Metadata, None) => true,
        (Content::Metadata | Content::None, Some(filter)) => filter.reads_only_metadata(),
    }
}

/// What `content: metadata` keeps, in this order.
pub const METADATA: [&str; 3] = ["apiVersion", "kind", "metadata"];

fn metadata(json: &str) -> Arc<str> {
    let fields: BTreeMap<Cow<'_, str>, &RawValue> = serde_json::from_str(json).unwrap_or_default();
    let mut out = String::new();
    for name in METADATA {
        if let Some(value) = fields.get(name) {
            out.push(if out.is_empty() { '{' } else { ',' });
            out.push('"');
            out.push_str(name);
            out.push_str("\":");
            out.push_str(value.get());
        }
    }
    out.push('}');
    out.into()
}

/// The most bytes that the item of an object takes for itself, with this filter result.
pub fn most(object: &Object, content: Content, result: Option<&str>) -> usize {
    let text = if content == Content::Metadata { object.json.len() } else { 0 };
    let names = object.key.name.len() + object.key.namespace.as_deref().map_or(0, str::len);
    size_of::<Item>() + names + object.uid.len() + object.resource_version.len() + text + result.map_or(0, str::len)
}

/// The bytes that an item takes for itself. The text of a whole object is shared with others and does not count.
pub fn own(item: &Item, content: Content) -> usize {
    let shared = item.object.as_deref().filter(|_| content == Content::Full).map_or(0, str::len);
    size(item).saturating_sub(shared)
}

/// The bytes that an item holds, shared text included.
pub fn size(item: &Item) -> usize {
    let key = item.key.name.len() + item.key.namespace.as_deref().map_or(0, str::len);
    let text = |text: &Option<Arc<str>>| text.as_deref().map_or(0, str::len);
    size_of::<Item>()
        + key
        + item.uid.len()
        + item.resource_version.len()
        + text(&item.object)
        + text(&item.filter_result)
}

/// Keeps one copy of equal results. The Pods of a Deployment, for example, have the same labels.
#[derive(Debug, Default)]
pub struct Interner {
    texts: HashSet<Arc<str>>,
    /// The bytes of the texts, with [`ENTRY`] for each.
    bytes: usize,
    /// At this many bytes, the texts that nothing else holds are dropped.
    sweep_at: usize,
}

/// What the set takes for a text, and the smallest amount of texts that nothing else holds.
const ENTRY: usize = 64;
const LEAST: usize = 64 * ENTRY;

impl Interner {
    /// Returns the shared copy of a text.
    pub fn intern(&mut self, text: &str) -> Arc<str> {
        if let Some(known) = self.texts.get(text) {
            return known.clone();
        }
        let size = |text: &str| text.len() + ENTRY;
        if self.bytes >= self.sweep_at {
            // The other texts are held only by this set.
            self.texts.retain(|text| Arc::strong_count(text) > 1);
            self.bytes = self.texts.iter().map(|text| size(text)).sum();
            self.sweep_at = self.bytes * 2 + LEAST;
        }
        let text: Arc<str> = text.into();
        self.bytes += size(&text);
        self.texts.insert(text.clone());
        text
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::sync::Arc;

    use futures::{FutureExt as _, future::BoxFuture};

    use super::*;
    use crate::filter::{FilterError, Outputs};

    /// A program that reads these top-level fields.
    #[derive(Debug)]
    struct Reads(&'static [&'static str]);

    impl Filter for Reads {
        fn evaluate<'a>(&'a self, _: &'a Arc<str>) -> BoxFuture<'a, Result<Outputs, FilterError>> {
            async { Ok(Outputs::default()) }.boxed()
        }

        fn reads_only(&self, fields: &[&str]) -> bool {
            self.0.iter().all(|field| fields.contains(field))
        }
    }

    #[test]
    fn metadata_is_enough_where_nothing_else_is_seen() {
        let (labels, spec): (&dyn Filter, &dyn Filter) = (&Reads(&["metadata"]), &Reads(&["metadata", "spec"]));
        for (content, filter, expected) in [
            (Content::Full, None, false),
            (Content::Full, Some(labels), false),
            (Content::Metadata, None, true),
            (Content::Metadata, Some(labels), true),
            (Content::Metadata, Some(spec), false),
            (Content::None, None, false),
            (Content::None, Some(labels), true),
            (Content::None, Some(spec), false),
        ] {
            assert_eq!(uses_only_metadata(content, filter), expected, "{content:?} {filter:?}");
        }
    }

    #[test]
    fn content_decides_what_is_kept() {
        let json = r#"{"metadata":{"name":"a","labels":{"x":"y"}},"spec":{"big":true}}"#;
        let object = Object::from_json(json, &"v1".into(), &"Pod".into()).unwrap();
        let full = item(&object, Content::Full, None).object.unwrap();
        assert!(Arc::ptr_eq(&full, &object.json));
        assert_eq!(
            item(&object, Content::Metadata, None).object.as_deref(),
            Some(r#"{"apiVersion":"v1","kind":"Pod","metadata":{"labels":{"x":"y"},"name":"a"}}"#)
        );
        assert_eq!(item(&object, Content::None, None).object, None);
    }

    #[test]
    fn equal_results_are_shared_and_dropped_ones_forgotten() {
        let mut interner = Interner::default();
        let first = interner.intern("{}");
        assert!(Arc::ptr_eq(&first, &interner.intern("{}")));
        for n in 0..1_000 {
            interner.intern(&n.to_string());
        }
        assert!(interner.texts.len() < 200, "{}", interner.texts.len());
        assert!(Arc::ptr_eq(&first, &interner.intern("{}")));
    }

    // mutant: crates/core/src/filter/project.rs: `self.bytes += size(&text);` => `self.bytes += ENTRY;`
    #[test]
    fn large_results_that_nothing_holds_are_few() {
        let mut interner = Interner::default();
        for n in 0..20 {
            interner.intern(&"x".repeat(1024 * 1024 + n));
        }
        assert!(interner.texts.len() <= 2, "{}", interner.texts.len());
    }
}
