//! Converts an object's JSON into jq's value: all of it, or only the fields that a program sees. Text that is not JSON
//! is an error, even in fields that are skipped.

use std::{collections::BTreeSet, fmt};

use jaq_json::{Map, Val};
use serde::de::{Deserializer as _, IgnoredAny, MapAccess, Visitor};

/// Reads a value. With `roots`, an object's other fields are left out.
pub fn read(json: &str, roots: Option<&BTreeSet<Box<str>>>) -> serde_json::Result<Val> {
    let Some(roots) = roots.filter(|_| json.trim_start().starts_with('{')) else {
        return serde_json::from_str(json);
    };
    let mut reader = serde_json::Deserializer::from_str(json);
    let value = reader.deserialize_map(Fields(roots))?;
    reader.end()?;
    Ok(value)
}

struct Fields<'a>(&'a BTreeSet<Box<str>>);

impl<'de> Visitor<'de> for Fields<'_> {
    type Value = Val;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Val, A::Error> {
        let mut fields = Map::default();
        while let Some(key) = map.next_key::<Val>()? {
            if let Val::TStr(name) = &key
                && std::str::from_utf8(name).is_ok_and(|name| self.0.contains(name))
            {
                fields.insert(key, map.next_value()?);
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(Val::obj(fields))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn only_the_roots_of_objects_are_read() {
        let roots = BTreeSet::from(["a".into()]);
        let read = |json| read(json, Some(&roots)).map(|value| value.to_string());
        assert_eq!(read(r#"{"b":[1],"a":{"b":2},"c":3}"#).unwrap(), r#"{"a":{"b":2}}"#);
        assert_eq!(read(r#"{"\u0061":1,"a":2}"#).unwrap(), r#"{"a":2}"#);
        assert_eq!(read("[1]").unwrap(), "[1]");
        for bad in [r#"{"b":nul,"a":1}"#, r#"{"a":1}}"#, "{", r#"{"b":"#] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
