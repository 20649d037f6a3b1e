//! Finds duplicate keys in a JSON or YAML body, which the decoders accept silently.

use std::collections::HashSet;
use std::fmt;

use saphyr_parser::{Event, Parser};
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

/// Maximum number of reported keys.
const MOST: usize = 100;

/// A message for each duplicate key of a body, in the words of the real server.
pub(crate) fn keys(bytes: &[u8], media: &str) -> Vec<String> {
    match media {
        "application/json" => json(bytes),
        "application/yaml" | "text/yaml" | "application/x-yaml" => {
            // JSON is YAML. The real server nevertheless reads it as YAML and counts its lines.
            std::str::from_utf8(bytes).map(yaml).unwrap_or_default()
        }
        _ => Vec::new(),
    }
}

fn json(bytes: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    // Another check reports a body that cannot be parsed.
    let _ = Walk { path: String::new(), found: &mut found }.deserialize(&mut reader);
    found
}

/// Reads only the keys of a value.
struct Walk<'a> {
    path: String,
    found: &'a mut Vec<String>,
}

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut seen = HashSet::new();
        while let Some(key) = map.next_key::<String>()? {
            let path = if self.path.is_empty() { key.clone() } else { format!("{}.{key}", self.path) };
            if !seen.insert(key) && self.found.len() < MOST {
                self.found.push(format!("duplicate field \"{path}\""));
            }
            map.next_value_seed(Walk { path, found: &mut *self.found })?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let mut index = 0;
        while items
            .next_element_seed(Walk { path: format!("{}[{index}]", self.path), found: &mut *self.found })?
            .is_some()
        {
            index += 1;
        }
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }
    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }
    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }
    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }
    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }
    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

/// An open collection in a YAML text. For a map, the keys so far, and whether a key comes next.
enum Open {
    Map { keys: HashSet<String>, key_next: bool },
    List,
}

fn yaml(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut open: Vec<Open> = Vec::new();
    for event in Parser::new_from_str(text) {
        let Ok((event, span)) = event else { break };
        match event {
            Event::MappingStart(..) => open.push(Open::Map { keys: HashSet::new(), key_next: true }),
            Event::SequenceStart(..) => open.push(Open::List),
            Event::MappingEnd | Event::SequenceEnd => {
                open.pop();
                value_ends(&mut open);
            }
            Event::Scalar(key, ..) => {
                if let Some(Open::Map { keys, key_next: true }) = open.last_mut()
                    && !keys.insert(key.to_string())
                    && found.len() < MOST
                {
                    found.push(format!("line {}: key \"{key}\" already set in map", span.start.line()));
                }
                value_ends(&mut open);
            }
            Event::Alias(_) => value_ends(&mut open),
            _ => {}
        }
    }
    found
}

/// A key or a value of a map is complete.
fn value_ends(open: &mut [Open]) {
    if let Some(Open::Map { key_next, .. }) = open.last_mut() {
        *key_next = !*key_next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_keys_are_found_where_they_are() {
        let text = br#"{"a": [{"b": 1}, {"b": {}, "b": null}], "c": "x", "a": 1.5}"#;
        assert_eq!(keys(text, "application/json"), [r#"duplicate field "a[1].b""#, r#"duplicate field "a""#]);
        let text = b"a: {b: c}\nb:\n- k: v\n  k: w\n- [x, x]\na: 1\n";
        let expected = ["line 4: key \"k\" already set in map", "line 6: key \"a\" already set in map"];
        assert_eq!(keys(text, "application/yaml"), expected);
        assert!(keys(b"{\"a\": ", "application/json").is_empty());
    }
}
