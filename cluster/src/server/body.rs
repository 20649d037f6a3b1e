//! Decodes request bodies: size limit, content types, JSON and YAML.

use std::collections::HashSet;
use std::fmt;

use bytes::Bytes;
use http::Request;
use http::header::CONTENT_TYPE;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Incoming;
use saphyr_parser::{Event, Parser};
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::call::Call;
use crate::context::Validation;
use crate::kinds::schema::Schema;
use crate::status::Failure;
use crate::{json, proto, validate};

const ACCEPTED: &[&str] = &["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"];

/// The media type of a request, without parameters. JSON if there is none.
pub(crate) fn media_type(request: &Request<Incoming>) -> String {
    let header = request.headers().get(CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or_default();
    match header.split(';').next().map(str::trim) {
        None | Some("") => "application/json".to_owned(),
        Some(media) => media.to_ascii_lowercase(),
    }
}

/// Reads the whole body, up to `limit` bytes.
pub(crate) async fn read(request: Request<Incoming>, limit: usize) -> Result<Bytes, Failure> {
    match Limited::new(request.into_body(), limit).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(Failure::too_large(limit)),
        Err(error) => Err(Failure::bad_request(format!("the request body could not be read: {error}"))),
    }
}

/// Decodes a whole object from JSON, YAML or protobuf. `kind` is the kind that the path expects.
pub(crate) fn object(bytes: &Bytes, media: &str, kind: &str, schema: &Schema) -> Result<Value, Failure> {
    let decoded = match media {
        "application/json" => {
            serde_json::from_slice(bytes).map_err(|e| format!("json parse error: {}", json::error(&e, bytes)))
        }
        "application/yaml" | "text/yaml" | "application/x-yaml" => yaml(bytes),
        "application/vnd.kubernetes.protobuf" => proto::decode(schema, bytes).map_err(|e| e.to_string()),
        _ => return Err(Failure::unsupported_media(ACCEPTED)),
    };
    let unusable = |why: String| {
        Failure::bad_request(format!(
            "the object provided is unrecognized (must be of type {kind}): couldn't get version/kind; {why} ({})",
            summary(bytes)
        ))
    };
    match decoded {
        Ok(value @ Value::Object(_)) => Ok(value),
        Ok(other) => {
            let got = match other {
                Value::Array(_) => "array",
                Value::String(_) => "string",
                Value::Bool(_) => "bool",
                _ => "number",
            };
            Err(unusable(format!(
                "json parse error: json: cannot unmarshal {got} into Go value of type struct {{ APIVersion string \
                 \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }}"
            )))
        }
        Err(why) => Err(unusable(why)),
    }
}

/// Decodes an object to write. Duplicate keys are refused or reported as warnings, as the request demands.
pub(crate) fn written(bytes: &Bytes, media: &str, call: &Call<'_>) -> Result<(Value, Vec<String>), Failure> {
    let resource = call.resource;
    let object = object(bytes, media, &resource.kind, &resource.schema)?;
    if call.params.field_validation == Validation::Ignore {
        return Ok((object, Vec::new()));
    }
    let repeated = repeated_keys(bytes, media);
    if repeated.is_empty() || call.params.field_validation == Validation::Warn {
        return Ok((object, repeated));
    }
    let which = match media {
        "application/json" => repeated.join(", "),
        _ => format!("yaml: unmarshal errors:\n  {}", repeated.join("\n  ")),
    };
    let mut typed = object;
    resource.to_storage(&mut typed);
    let unknown = validate::typed::check(resource, &mut typed).unwrap_or_default();
    let which = [unknown, vec![which]].concat().join(", ");
    let (kind, version) = (&resource.kind, &resource.version);
    let whole = format!("{kind} in version \"{version}\" cannot be handled as a {kind}");
    Err(Failure::bad_request(format!("{whole}: strict decoding error: {which}")))
}

/// The start of a body: as text if it looks like JSON, otherwise in hex.
fn summary(bytes: &[u8]) -> String {
    let shown = bytes.get(..30);
    let head = shown.unwrap_or(bytes);
    let more = if shown.is_some() { " ..." } else { "" };
    match head.first() {
        None => "<empty>".to_owned(),
        Some(b'{') => format!("{}{more}", String::from_utf8_lossy(head)),
        Some(_) => format!("{}{more}", head.iter().map(|b| format!("{b:02x}")).collect::<String>()),
    }
}

/// Decodes YAML into JSON's data model.
pub(crate) fn yaml(bytes: &[u8]) -> Result<Value, String> {
    // JSON is YAML, and the JSON parser is many times faster.
    if let Ok(value) = serde_json::from_slice(bytes) {
        return Ok(value);
    }
    yaml_serde::from_slice(bytes).map_err(|e| format!("yaml parse error: {e}"))
}

/// Maximum number of reported keys.
const MOST: usize = 100;

/// A message for each duplicate key of a body, in the words of the real server.
pub(crate) fn repeated_keys(bytes: &[u8], media: &str) -> Vec<String> {
    match media {
        "application/json" => repeated_in_json(bytes),
        "application/yaml" | "text/yaml" | "application/x-yaml" => {
            // JSON is YAML. The real server nevertheless reads it as YAML and counts its lines.
            std::str::from_utf8(bytes).map(repeated_in_yaml).unwrap_or_default()
        }
        _ => Vec::new(),
    }
}

fn repeated_in_json(bytes: &[u8]) -> Vec<String> {
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

fn repeated_in_yaml(text: &str) -> Vec<String> {
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
        assert_eq!(repeated_keys(text, "application/json"), [r#"duplicate field "a[1].b""#, r#"duplicate field "a""#]);
        let text = b"a: {b: c}\nb:\n- k: v\n  k: w\n- [x, x]\na: 1\n";
        let expected = ["line 4: key \"k\" already set in map", "line 6: key \"a\" already set in map"];
        assert_eq!(repeated_keys(text, "application/yaml"), expected);
        assert!(repeated_keys(b"{\"a\": ", "application/json").is_empty());
    }
}
