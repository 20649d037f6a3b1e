//! Watches of the operator: the lines of their responses pass one by one, or are held back.

use bytes::{Bytes, BytesMut};
use futures::StreamExt as _;
use http::{Response, Uri};
use http_body::Frame;
use http_body_util::{BodyDataStream, BodyExt as _, StreamBody};
use kube::client::Body;
use serde::Deserialize;

use super::{Delivery, Disturbed, EVENTS, Faults, disturbed};

/// The last line of a watch whose history is gone.
const EXPIRED: &str = concat!(
    r#"{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","#,
    r#""message":"too old resource version, as the scenario requests","reason":"Expired","code":410}}"#,
    "\n"
);

/// The request of a watch.
pub(super) struct Watch {
    /// The path of the collection.
    collection: String,
    /// It begins with all objects.
    lists: bool,
}

impl Watch {
    /// The watch that a request opens, if it does.
    pub fn of(uri: &Uri) -> Option<Self> {
        let query = uri.query().unwrap_or_default();
        let has = |key: &str| query.split('&').any(|pair| pair == key);
        let collection = uri.path().to_owned();
        (has("watch=true") || has("watch=1")).then(|| Self { collection, lists: has("sendInitialEvents=true") })
    }

    /// The response, with the faults.
    pub fn through(self, faults: Faults, response: Response<Body>) -> Response<Disturbed> {
        let (parts, body) = response.into_parts();
        let lines = Lines {
            watch: self,
            faults,
            body: body.into_data_stream(),
            buffer: BytesMut::new(),
            late: None,
            missed: None,
            over: false,
        };
        let frames = futures::stream::unfold(lines, |mut lines| async move {
            let frame = lines.next().await?.map(Frame::data);
            Some((frame, lines))
        });
        Response::from_parts(parts, disturbed(StreamBody::new(frames)))
    }
}

type Chunk = <BodyDataStream<Body> as futures::Stream>::Item;

struct Lines {
    watch: Watch,
    faults: Faults,
    body: BodyDataStream<Body>,
    buffer: BytesMut,
    late: Option<Late>,
    missed: Option<Missed>,
    over: bool,
}

/// The lines that are held back.
struct Late {
    /// The number of the fault.
    fault: usize,
    lines: BytesMut,
}

/// An event that never arrives.
struct Missed {
    /// The number of the fault.
    fault: usize,
    /// The path of its object.
    path: String,
}

#[derive(Deserialize)]
struct Event<'l> {
    #[serde(rename = "type", borrow)]
    kind: std::borrow::Cow<'l, str>,
    #[serde(default)]
    object: Object,
}

#[derive(Default, Deserialize)]
struct Object {
    #[serde(default)]
    metadata: Metadata,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Metadata {
    name: String,
    namespace: Option<String>,
    resource_version: String,
    annotations: Option<std::collections::HashMap<String, String>>,
}

impl Lines {
    /// The next part of the response.
    async fn next(&mut self) -> Option<Chunk> {
        loop {
            let released = self.faults.released.clone();
            let mut notified = std::pin::pin!(released.notified());
            notified.as_mut().enable();
            let passed = self.pass();
            if !passed.is_empty() {
                return Some(Ok(passed));
            }
            if self.over {
                return None;
            }
            let chunk = tokio::select! {
                () = notified => continue,
                chunk = self.body.next() => chunk,
            };
            match chunk {
                Some(Ok(chunk)) => self.buffer.extend_from_slice(&chunk),
                end => {
                    self.over = true;
                    return end;
                }
            }
        }
    }

    /// The lines that may pass now.
    fn pass(&mut self) -> Bytes {
        let mut passed = BytesMut::new();
        if self.over {
            return Bytes::new();
        }
        if let Some(late) = self.late.take_if(|late| self.faults.is_over(late.fault)) {
            self.faults.touch();
            passed.extend_from_slice(&late.lines);
        }
        if self.missed.as_ref().is_some_and(|missed| self.faults.is_over(missed.fault)) {
            self.expire(&mut passed);
        }
        while !self.over
            && let Some(line) = self.line()
        {
            if let Some(late) = &mut self.late {
                late.lines.extend_from_slice(&line);
                continue;
            }
            let Some((event, path, version)) = self.event(&line) else {
                self.faults.touch();
                passed.extend_from_slice(&line);
                continue;
            };
            if let Some(missed) = self.missed.as_ref().filter(|missed| missed.path == path) {
                self.faults.end(missed.fault);
                self.expire(&mut passed);
                continue;
            }
            match self.faults.delivery(event, &path, &version) {
                None => passed.extend_from_slice(&line),
                Some((fault, Delivery::Late)) => self.late = Some(Late { fault, lines: line }),
                Some((fault, Delivery::Missed)) => self.missed = Some(Missed { fault, path }),
            }
        }
        passed.freeze()
    }

    /// The watch breaks, and the operator has to list the objects.
    fn expire(&mut self, passed: &mut BytesMut) {
        self.faults.touch();
        passed.extend_from_slice(EXPIRED.as_bytes());
        self.over = true;
    }

    fn line(&mut self) -> Option<BytesMut> {
        let end = self.buffer.iter().position(|byte| *byte == b'\n')?;
        Some(self.buffer.split_to(end + 1))
    }

    /// Type, path and version of an event. A line of the list, before the watch, is not one.
    fn event(&mut self, line: &[u8]) -> Option<(&'static str, String, String)> {
        let Event { kind, object: Object { metadata } } = serde_json::from_slice(line).ok()?;
        if self.watch.lists {
            let ends = |all: std::collections::HashMap<String, String>| all.contains_key("k8s.io/initial-events-end");
            self.watch.lists = !(kind == "BOOKMARK" && metadata.annotations.is_some_and(ends));
            return None;
        }
        let event = EVENTS.into_iter().find(|event| event.eq_ignore_ascii_case(&kind))?;
        let path = path(&self.watch.collection, metadata.namespace.as_deref(), &metadata.name);
        Some((event, path, metadata.resource_version))
    }
}

/// The path of an object in a collection of one namespace or of all.
fn path(collection: &str, namespace: Option<&str>, name: &str) -> String {
    let (above, plural) = collection.rsplit_once('/').unwrap_or_default();
    match namespace {
        Some(namespace) if !above.contains("/namespaces/") => format!("{above}/namespaces/{namespace}/{plural}/{name}"),
        _ => format!("{collection}/{name}"),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn an_object_has_one_path_whatever_collection_is_watched() {
        let secret = "/api/v1/namespaces/web/secrets/s";
        assert_eq!(path("/api/v1/secrets", Some("web"), "s"), secret);
        assert_eq!(path("/api/v1/namespaces/web/secrets", Some("web"), "s"), secret);
        assert_eq!(path("/api/v1/namespaces", None, "web"), "/api/v1/namespaces/web");
        assert_eq!(path("/apis/a.b/v1/boats", Some("web"), "s"), "/apis/a.b/v1/namespaces/web/boats/s");
    }

    #[test]
    fn only_watches_are_watches() {
        let is = |uri: &str| Watch::of(&uri.parse().unwrap()).is_some();
        assert!(is("/api/v1/secrets?watch=true&resourceVersion=7") && is("/api/v1/secrets?a=b&watch=1"));
        assert!(!is("/api/v1/secrets") && !is("/api/v1/secrets?labelSelector=watch%3Dtrue"));
    }
}
