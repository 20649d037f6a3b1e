//! Parses what the API server sends: the lines of a watch and the pages of a list. The parsed values borrow from the
//! bytes, and only what an [`Object`] keeps is copied. Pure.

use std::{borrow::Cow, collections::HashMap, sync::Arc, time::Duration};

use boathook_core::model::{InvalidObject, Object};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::Selection;
use super::error::RequestError;

/// The kind of all objects of one stream.
#[derive(Debug, Clone)]
pub(super) struct Kind {
    api_version: Arc<str>,
    kind: Arc<str>,
    metadata_only: bool,
}

impl Kind {
    pub fn of(selection: &Selection) -> Self {
        Self {
            api_version: selection.resource.api_version().into(),
            kind: selection.resource.kind.as_str().into(),
            metadata_only: selection.metadata_only,
        }
    }

    pub fn object(&self, json: &str) -> Result<Arc<Object>, InvalidObject> {
        let stripped = if self.metadata_only { Some(metadata(json)?) } else { None };
        Object::from_json(stripped.as_deref().unwrap_or(json), &self.api_version, &self.kind).map(Arc::new)
    }
}

#[derive(Deserialize)]
struct OnlyMetadata<'a> {
    #[serde(borrow)]
    metadata: Option<&'a RawValue>,
}

/// Returns the object with only its metadata, because some servers send whole objects nevertheless.
fn metadata(json: &str) -> Result<String, InvalidObject> {
    let object: OnlyMetadata<'_> = serde_json::from_str(json).map_err(InvalidObject::Json)?;
    let metadata = object.metadata.ok_or(InvalidObject::NoName)?;
    Ok(format!("{{\"metadata\":{}}}", metadata.get()))
}

#[derive(Debug)]
pub(super) enum Line {
    /// The object exists.
    Upsert(Arc<Object>),
    /// The object was deleted.
    Delete(Arc<Object>),
    /// Nothing happened up to this version. `list_done` marks the end of a list inside a watch.
    Bookmark { version: String, list_done: bool },
    /// The server ended the watch.
    Failed(RequestError),
}

/// A line that cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum InvalidLine {
    #[error("a line of the watch is not a watch event")]
    Json(#[source] serde_json::Error),
    #[error("a watch event has the unknown type {0:?}")]
    Type(String),
    #[error("an object of the watch cannot be read")]
    Object(#[source] InvalidObject),
}

#[derive(Deserialize)]
struct RawEvent<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    object: &'a RawValue,
}

#[derive(Deserialize)]
struct RawBookmark {
    metadata: BookmarkMeta,
}

#[derive(Deserialize)]
struct BookmarkMeta {
    #[serde(rename = "resourceVersion")]
    version: String,
    #[serde(default)]
    annotations: HashMap<String, String>,
}

pub(super) fn line(bytes: &[u8], kind: &Kind) -> Result<Line, InvalidLine> {
    let event: RawEvent<'_> = serde_json::from_slice(bytes).map_err(InvalidLine::Json)?;
    let object = || kind.object(event.object.get()).map_err(InvalidLine::Object);
    match &*event.kind {
        "ADDED" | "MODIFIED" => object().map(Line::Upsert),
        "DELETED" => object().map(Line::Delete),
        "BOOKMARK" => bookmark(event.object.get()),
        "ERROR" => Ok(Line::Failed(status(event.object.get().as_bytes(), 500, None))),
        _ => Err(InvalidLine::Type(event.kind.chars().take(40).collect())),
    }
}

fn bookmark(json: &str) -> Result<Line, InvalidLine> {
    let bookmark: RawBookmark = serde_json::from_str(json).map_err(InvalidLine::Json)?;
    let list_done = bookmark.metadata.annotations.get("k8s.io/initial-events-end").is_some_and(|end| end == "true");
    Ok(Line::Bookmark { version: bookmark.metadata.version, list_done })
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct RawStatus {
    code: Option<u16>,
    message: Option<String>,
    reason: Option<String>,
    details: Option<StatusDetails>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct StatusDetails {
    #[serde(rename = "retryAfterSeconds")]
    retry_after_seconds: Option<u64>,
    kind: Option<String>,
    name: Option<String>,
}

/// Parses the error in a response: a Status, or the text of a proxy on the way.
pub(super) fn status(body: &[u8], http_code: u16, retry_after: Option<Duration>) -> RequestError {
    let status: RawStatus = serde_json::from_slice(body).unwrap_or_else(|_| RawStatus {
        message: Some(String::from_utf8_lossy(body).trim().chars().take(200).collect()),
        ..RawStatus::default()
    });
    let details = status.details.unwrap_or_default();
    let asked = details.retry_after_seconds.map(Duration::from_secs);
    RequestError::Status {
        code: status.code.filter(|&code| code != 0).unwrap_or(http_code),
        message: status.message.or(status.reason).unwrap_or_default(),
        retry_after: retry_after.or(asked),
        names_something: [details.kind, details.name].into_iter().flatten().any(|text| !text.is_empty()),
    }
}

#[derive(Debug)]
pub(super) struct Page<'a> {
    /// The version that the whole list shows.
    pub version: String,
    /// The token of the next page.
    pub token: Option<String>,
    /// The objects, not parsed yet.
    pub items: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
struct RawPage<'a> {
    metadata: PageMeta,
    #[serde(borrow)]
    items: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize)]
struct PageMeta {
    #[serde(rename = "resourceVersion")]
    version: String,
    #[serde(default, rename = "continue")]
    token: Option<String>,
}

pub(super) fn page(bytes: &[u8]) -> Result<Page<'_>, RequestError> {
    let page: RawPage<'_> = serde_json::from_slice(bytes).map_err(RequestError::NotAList)?;
    Ok(Page {
        version: page.metadata.version,
        token: page.metadata.token.filter(|token| !token.is_empty()),
        items: page.items.unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use super::*;

    fn pods(metadata_only: bool) -> Kind {
        Kind { api_version: "v1".into(), kind: "Pod".into(), metadata_only }
    }

    fn read(text: &str) -> Result<Line, InvalidLine> {
        line(text.as_bytes(), &pods(false))
    }

    #[test]
    fn reads_changes() {
        let text = r#"{"type":"MODIFIED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","resourceVersion":"9","managedFields":[{}]}}}"#;
        let Line::Upsert(object) = read(text).unwrap() else { panic!() };
        assert_eq!((&*object.key.name, &*object.resource_version), ("a", "9"));
        assert!(!object.json.contains("managedFields"));
        assert!(matches!(read(&text.replace("MODIFIED", "DELETED")).unwrap(), Line::Delete(_)));
        // The server chooses the order of keys, and may escape characters in them.
        let turned = r#"{"object":{"metadata":{"name":"a\u0062","resourceVersion":"9"}},"type":"\u0041DDED"}"#;
        let Line::Upsert(object) = read(turned).unwrap() else { panic!() };
        assert_eq!(&*object.key.name, "ab");
    }

    #[test]
    fn only_metadata_is_kept_where_only_that_is_wanted() {
        for text in [
            r#"{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"a","managedFields":[]}}"#,
            r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"},"spec":{"big":true}}"#,
        ] {
            let object = pods(true).object(text).unwrap();
            assert_eq!(&*object.json, r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}}"#);
        }
        assert!(pods(true).object(r#"{"kind":"Pod"}"#).is_err());
    }

    #[test]
    fn reads_bookmarks() {
        let plain = r#"{"type":"BOOKMARK","object":{"kind":"Pod","metadata":{"resourceVersion":"12"}}}"#;
        assert!(matches!(read(plain).unwrap(), Line::Bookmark { version, list_done: false } if version == "12"));
        let end = r#"{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"13","annotations":{"k8s.io/initial-events-end":"true"}}}}"#;
        assert!(matches!(read(end).unwrap(), Line::Bookmark { list_done: true, .. }));
    }

    #[test]
    fn reads_errors() {
        let text = r#"{"type":"ERROR","object":{"kind":"Status","status":"Failure","message":"too old","reason":"Expired","code":410}}"#;
        let Line::Failed(error) = read(text).unwrap() else { panic!() };
        assert_eq!(error.to_string(), "the API server answered 410: too old");
        let error = status(b"{\"details\":{\"retryAfterSeconds\":3}}", 429, None);
        assert_eq!(error.retry_after(), Some(Duration::from_secs(3)));
        assert_eq!(
            status(b" upstream is away\n", 502, None).to_string(),
            "the API server answered 502: upstream is away"
        );
    }

    #[test]
    fn an_unserved_kind_is_distinguished_from_a_missing_object() {
        // The responses of kube-apiserver for a CustomResourceDefinition that is gone, and for a kind that an API group
        // of its own never had.
        assert!(status(b"404 page not found\n", 404, None).is_unserved());
        let text = br#"{"kind":"Status","message":"the server could not find the requested resource","reason":"NotFound","details":{},"code":404}"#;
        assert!(status(text, 404, None).is_unserved());
        let namespace =
            br#"{"kind":"Status","reason":"NotFound","details":{"name":"a","kind":"namespaces"},"code":404}"#;
        assert!(!status(namespace, 404, None).is_unserved());
        assert!(!status(b"404 page not found\n", 403, None).is_unserved());
    }

    #[test]
    fn refuses_what_is_no_event() {
        for text in ["", "{", "[]", "nonsense", r#"{"type":"ADDED"}"#, "\u{0}"] {
            assert!(matches!(read(text), Err(InvalidLine::Json(_))), "{text}");
        }
        assert!(line(b"{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"\xff\"}}}", &pods(false)).is_err());
        assert!(matches!(read(r#"{"type":"RENAMED","object":{}}"#), Err(InvalidLine::Type(_))));
        assert!(matches!(read(r#"{"type":"ADDED","object":{"metadata":{}}}"#), Err(InvalidLine::Object(_))));
        assert!(matches!(read(r#"{"type":"BOOKMARK","object":{}}"#), Err(InvalidLine::Json(_))));
    }

    #[test]
    fn reads_pages() {
        let text = r#"{"kind":"PodList","metadata":{"resourceVersion":"5","continue":"x"},"items":[{"a":1},{}]}"#;
        let read = page(text.as_bytes()).unwrap();
        assert_eq!((read.version.as_str(), read.token.as_deref(), read.items.len()), ("5", Some("x"), 2));
        let last = page(br#"{"metadata":{"resourceVersion":"5","continue":""},"items":null}"#).unwrap();
        assert_eq!((last.token, last.items.len()), (None, 0));
        assert!(page(br#"{"kind":"Pod"}"#).is_err());
    }
}
