//! Which version of an object a write made, read from the response. Pure.
//!
//! A write that changes nothing is answered with the version that was there, which somebody else may have made. A `POST`
//! makes a version, and an update of a version makes another one. For a patch, the managed fields of the response say who
//! wrote last, and when by the server's own clock.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    hash::{DefaultHasher, Hasher as _},
    time::Duration,
};

use boathook_core::model::{HookName, ObjectRef, RunId, SERVER_FIELDS};
use http::Method;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use super::send::{ApiRequest, RequestStats};

/// The most fields of a write that are reported.
const FIELDS: usize = 12;
/// The longest path of a field that is reported, in bytes.
const PATH: usize = 160;
/// Managed fields with more bytes are not read for the paths.
const MOST_MANAGED: usize = 64 * 1024;
/// The times of managed fields and of responses are whole seconds.
const SECOND: Duration = Duration::from_secs(1);

/// The version that a write made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MadeVersion {
    pub uid: String,
    pub resource_version: String,
    /// Absent if the response does not say it, or is about a subresource with a kind of its own.
    pub name: Option<String>,
    /// Whether the write certainly made it.
    pub certain: bool,
    /// Others wrote in the same second. The write made it all the same, unless an earlier write of the hook explains why its
    /// manager is among them.
    pub shared: bool,
    /// A hash of the content without what only the API server writes.
    pub content: u64,
    /// Some of the fields that the field manager has now.
    pub fields: Vec<String>,
}

/// What the API server's response says about a write that was not a dry run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Made {
    Version(MadeVersion),
    Deletion {
        uid: String,
        /// The version with the mark that the object is being deleted.
        marked: Option<String>,
    },
    /// There was no response, and the write may have happened.
    Unknown,
}

/// A write, and what it made.
#[derive(Debug)]
pub struct Stored<'a> {
    pub hook: &'a HookName,
    pub run: &'a RunId,
    /// `create`, `update`, `patch` or `delete`.
    pub verb: &'static str,
    pub object: &'a ObjectRef,
    pub subresource: Option<&'a str>,
    pub made: Made,
}

type Fields<'a> = BTreeMap<Cow<'a, str>, &'a RawValue>;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry<'a> {
    #[serde(borrow, default)]
    manager: Cow<'a, str>,
    #[serde(borrow, default)]
    time: Cow<'a, str>,
    #[serde(borrow, default, rename = "fieldsV1")]
    fields: Option<&'a RawValue>,
}

/// Reads a response. `None` if the write made nothing, or if the response is no object.
pub(super) fn made(wire: &ApiRequest, manager: &str, response: &str, sent: &RequestStats) -> Option<MadeVersion> {
    let object: Fields<'_> = serde_json::from_str(response).ok()?;
    let metadata: Fields<'_> = serde_json::from_str(object.get("metadata")?.get()).ok()?;
    let text = |key: &str| {
        let text: String = serde_json::from_str(metadata.get(key)?.get()).ok()?;
        (!text.is_empty()).then_some(text)
    };
    let (uid, resource_version) = (text("uid")?, text("resourceVersion")?);
    let replaced = (wire.method == Method::PUT).then(|| replaced_version(wire)).flatten();
    if replaced.as_deref() == Some(&*resource_version) {
        return None;
    }
    let entries: Vec<Entry<'_>> =
        metadata.get("managedFields").and_then(|entries| serde_json::from_str(entries.get()).ok()).unwrap_or_default();
    let newest = entries.iter().map(|entry| &entry.time).max();
    let own = entries.iter().filter(|entry| entry.manager == manager).max_by_key(|entry| &entry.time);
    let (certain, shared) = if wire.method == Method::POST || replaced.is_some() {
        (true, false)
    } else {
        match own {
            // The kind may not be tracked.
            None if entries.is_empty() => (false, false),
            None => return None,
            Some(own) if Some(&own.time) != newest || is_older(&own.time, sent) => return None,
            Some(own) => {
                let alone = entries.iter().all(|entry| entry.time != own.time || entry.manager == manager);
                (alone, !alone)
            }
        }
    };
    let fields = own.and_then(|own| own.fields).map(|fields| paths(fields.get())).unwrap_or_default();
    Some(MadeVersion {
        uid,
        resource_version,
        name: text("name"),
        certain,
        shared,
        content: content(&object, &metadata),
        fields,
    })
}

/// Whether the time of a field manager is before the request.
fn is_older(time: &str, sent: &RequestStats) -> bool {
    let Some((date, took)) = sent.answered else { return false };
    let Ok(time) = time.parse::<Timestamp>() else { return false };
    let passed = Duration::try_from(date.duration_since(time)).unwrap_or_default();
    passed > took + SECOND
}

/// The version that an update replaces.
pub(super) fn replaced_version(wire: &ApiRequest) -> Option<String> {
    let body = std::str::from_utf8(&wire.body).ok()?;
    super::request::Head::read(body).ok()?.resource_version().map(str::to_owned)
}

/// The server writes the fields of an object in the same order each time.
fn content(object: &Fields<'_>, metadata: &Fields<'_>) -> u64 {
    let mut hasher = DefaultHasher::new();
    let mut add = |key: &str, value: &RawValue| {
        hasher.write(key.as_bytes());
        hasher.write_u8(0);
        hasher.write(value.get().as_bytes());
        hasher.write_u8(0);
    };
    let own = metadata.iter().filter(|(key, _)| !SERVER_FIELDS.contains(&key.as_ref()));
    own.for_each(|(key, value)| add(key, value));
    let rest = object.iter().filter(|(key, _)| key.as_ref() != "metadata");
    rest.for_each(|(key, value)| add(key, value));
    hasher.finish()
}

/// The first paths of a set of fields: `.data.value`, `.spec.containers[name="app"].image`.
fn paths(fields: &str) -> Vec<String> {
    if fields.len() > MOST_MANAGED {
        return Vec::new();
    }
    let mut found = Vec::new();
    if let Ok(fields) = serde_json::from_str::<Value>(fields) {
        walk(&fields, &mut String::new(), &mut found);
    }
    found
}

fn walk(fields: &Value, path: &mut String, found: &mut Vec<String>) {
    let Some(fields) = fields.as_object() else { return };
    let mut is_leaf = true;
    for (key, below) in fields.iter().filter(|(key, _)| key.as_str() != ".") {
        is_leaf = false;
        if found.len() >= FIELDS {
            return;
        }
        let length = path.len();
        match key.split_once(':') {
            Some(("f", name)) => {
                path.push('.');
                path.push_str(name);
            }
            Some(("k", item)) => {
                let item: BTreeMap<String, Value> = serde_json::from_str(item).unwrap_or_default();
                let item: Vec<_> = item.iter().map(|(key, value)| format!("{key}={value}")).collect();
                path.push_str(&format!("[{}]", item.join(",")));
            }
            Some((_, item)) => path.push_str(&format!("[{item}]")),
            None => continue,
        }
        walk(below, path, found);
        path.truncate(length);
    }
    if is_leaf && !path.is_empty() {
        path.shrink_to_fit();
        found.push(path.get(..path.floor_char_boundary(PATH)).unwrap_or_default().to_owned());
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::write::wire;
    use super::*;

    fn entry(manager: &str, second: u8, fields: &str) -> String {
        format!(
            r#"{{"manager":"{manager}","operation":"Update","time":"2026-01-05T10:00:{second:02}Z","fieldsV1":{fields}}}"#
        )
    }

    fn response(version: &str, managed: &[String]) -> String {
        let managed = managed.join(",");
        format!(
            r#"{{"kind":"Secret","metadata":{{"name":"a","uid":"u","resourceVersion":"{version}","managedFields":[{managed}]}},"data":{{"x":"1"}}}}"#
        )
    }

    fn sent(second: u8) -> RequestStats {
        let date = format!("2026-01-05T10:00:{second:02}Z").parse().unwrap();
        RequestStats { answered: Some((date, Duration::from_millis(300))), ..RequestStats::default() }
    }

    fn patched(managed: &[String], second: u8) -> Option<MadeVersion> {
        made(&wire(Method::PATCH, String::new(), "{}", true), "me", &response("7", managed), &sent(second))
    }

    #[test]
    fn a_patch_made_what_its_manager_wrote_last() {
        let mine = |second| entry("me", second, r#"{"f:data":{"f:x":{}}}"#);
        let made = patched(&[entry("other", 1, "{}"), mine(5)], 5).unwrap();
        assert_eq!((made.uid.as_str(), made.resource_version.as_str(), made.certain), ("u", "7", true));
        assert_eq!(made.fields, [".data.x"]);
        assert_eq!(made.name.as_deref(), Some("a"));
        let same = patched(&[entry("other", 5, "{}"), mine(5)], 5).unwrap();
        assert_eq!((same.certain, same.shared), (false, true), "the same second");
        assert_eq!(patched(&[entry("other", 5, "{}"), mine(4)], 5), None, "somebody else was later");
        assert_eq!(patched(&[mine(5)], 9), None, "it was written before the request");
        assert!(patched(&[mine(4)], 5).is_some(), "the second changed in between");
        assert_eq!(patched(&[entry("other", 5, "{}")], 5), None, "it never wrote");
        let untracked = patched(&[], 5).unwrap();
        assert_eq!((untracked.certain, untracked.shared), (false, false), "the kind is not tracked");
    }

    #[test]
    fn an_update_makes_another_version_than_it_replaces() {
        let put = |replaced: &str| {
            let body = format!(r#"{{"metadata":{{"resourceVersion":"{replaced}"}}}}"#);
            made(&wire(Method::PUT, String::new(), &body, true), "me", &response("7", &[]), &sent(5))
        };
        assert!(put("6").unwrap().certain);
        assert_eq!(put("7"), None);
        let post = made(&wire(Method::POST, String::new(), "{}", true), "me", &response("7", &[]), &sent(5));
        assert!(post.unwrap().certain);
    }

    #[test]
    fn what_is_no_object_made_nothing() {
        let post = wire(Method::POST, String::new(), "{}", true);
        for text in [
            "",
            "[]",
            "{}",
            r#"{"metadata":null}"#,
            r#"{"metadata":{"uid":"u"}}"#,
            r#"{"kind":"Status","metadata":{}}"#,
        ] {
            assert_eq!(made(&post, "me", text, &sent(5)), None, "{text}");
        }
    }

    #[test]
    fn the_same_content_has_the_same_hash() {
        let hash = |response: &str| {
            made(&wire(Method::POST, String::new(), "{}", true), "me", response, &sent(5)).unwrap().content
        };
        let one = hash(&response("7", &[]));
        assert_eq!(one, hash(&response("8", &[entry("me", 5, "{}")])));
        assert_ne!(one, hash(&response("8", &[]).replace(r#""x":"1""#, r#""x":"2""#)));
        assert_ne!(one, hash(&response("8", &[]).replace(r#""name":"a""#, r#""name":"a","labels":{"a":"b"}"#)));
    }

    #[test]
    fn paths_are_readable_and_bounded() {
        let fields = r#"{"f:metadata":{"f:labels":{".":{},"f:app":{}}},"f:spec":{"f:containers":{"k:{\"name\":\"app\"}":{".":{},"f:image":{}}},"f:finalizers":{"v:\"a/b\"":{}}}}"#;
        assert_eq!(
            paths(fields),
            [".metadata.labels.app", r#".spec.containers[name="app"].image"#, r#".spec.finalizers["a/b"]"#]
        );
        let many: Vec<_> = (0..100).map(|n| format!(r#""f:k{n:03}{}":{{}}"#, "x".repeat(500))).collect();
        let found = paths(&format!("{{{}}}", many.join(",")));
        assert_eq!(found.len(), FIELDS);
        assert!(found.iter().all(|path| path.len() <= PATH));
        assert_eq!(paths("no"), Vec::<String>::new());
    }
}
