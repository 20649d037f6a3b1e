//! Builds the requests of lists and watches. Pure. `connection.rs` reads the responses.

use std::time::Duration;

use boathook_core::model::{ObjectKey, percent_encode};
use http::Request;
use kube::client::Body;

use super::{Selection, error::RequestError};

/// One page of a list. Without a token it is the first page, at the newest version.
pub(super) fn page(selection: &Selection, limit: usize, token: Option<&str>) -> Result<Request<Body>, RequestError> {
    let mut query = Query::of(selection);
    query.add("limit", &limit.to_string());
    if let Some(token) = token {
        query.add("continue", token);
    }
    query.get()
}

/// A list of one object, for the object's version and for the version of the whole list. Without a key, it returns any
/// object. With a key, it selects by namespace and name, so that the server searches nothing else.
pub(super) fn look(selection: &Selection, key: Option<&ObjectKey>) -> Result<Request<Body>, RequestError> {
    let mut query = match key {
        None => Query::of(selection),
        Some(key) => {
            let (namespace, field_selector) = (key.namespace.as_deref(), format!("metadata.name={}", key.name));
            Query::of(&Selection {
                namespace: namespace.map(str::to_owned),
                label_selector: None,
                field_selector: Some(field_selector),
                ..selection.clone()
            })
        }
    };
    query.accept = METADATA_LIST;
    query.add("limit", "1");
    query.get()
}

/// A watch of the changes after version `from`.
pub(super) fn watch(selection: &Selection, from: &str, timeout: Duration) -> Result<Request<Body>, RequestError> {
    let mut query = Query::watch(selection, timeout);
    query.add("resourceVersion", from);
    query.get()
}

/// A list at the newest version, and a watch of the changes after it.
pub(super) fn streaming_list(selection: &Selection, timeout: Duration) -> Result<Request<Body>, RequestError> {
    let mut query = Query::watch(selection, timeout);
    query.add("sendInitialEvents", "true");
    query.add("resourceVersionMatch", "NotOlderThan");
    query.get()
}

/// The media type that a list requests. Servers that cannot send only metadata send whole objects, and `wire.rs` drops
/// the rest.
const METADATA_LIST: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";
/// The media type that a watch requests. With the list's type, a watch sends nothing.
const METADATA_WATCH: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";

struct Query {
    uri: String,
    accept: &'static str,
}

impl Query {
    fn of(selection: &Selection) -> Self {
        let mut uri = selection.resource.path(selection.namespace.as_deref(), None, None);
        uri.push('?');
        let mut query = Self { uri, accept: if selection.metadata_only { METADATA_LIST } else { "application/json" } };
        if let Some(labels) = &selection.label_selector {
            query.add("labelSelector", labels);
        }
        if let Some(fields) = &selection.field_selector {
            query.add("fieldSelector", fields);
        }
        query
    }

    fn watch(selection: &Selection, timeout: Duration) -> Self {
        let mut query = Self::of(selection);
        if selection.metadata_only {
            query.accept = METADATA_WATCH;
        }
        query.add("watch", "true");
        query.add("allowWatchBookmarks", "true");
        query.add("timeoutSeconds", &timeout.as_secs().max(1).to_string());
        query
    }

    fn add(&mut self, key: &str, value: &str) {
        if !self.uri.ends_with('?') {
            self.uri.push('&');
        }
        self.uri.push_str(key);
        self.uri.push('=');
        percent_encode(&mut self.uri, value);
    }

    fn get(self) -> Result<Request<Body>, RequestError> {
        Request::get(self.uri)
            .header(http::header::ACCEPT, self.accept)
            // A compressed watch cannot be split into lines as it arrives.
            .header(http::header::ACCEPT_ENCODING, "identity")
            .body(Body::empty())
            .map_err(RequestError::Request)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use boathook_core::model::Resource;

    use super::*;

    fn selection() -> Selection {
        Selection {
            resource: Resource::of("apps/v1", "Deployment", "deployments", true).into(),
            namespace: Some("a".into()),
            label_selector: Some("tier in (x,y),app=w&b".into()),
            field_selector: None,
            metadata_only: false,
        }
    }

    #[test]
    fn selectors_are_encoded() {
        assert_eq!(
            page(&selection(), 500, Some("a+b==")).unwrap().uri().to_string(),
            "/apis/apps/v1/namespaces/a/deployments?labelSelector=tier%20in%20%28x%2Cy%29%2Capp%3Dw%26b&limit=500&continue=a%2Bb%3D%3D"
        );
    }

    #[test]
    fn metadata_is_asked_for_by_the_type_of_the_answer() {
        let accept = |metadata_only, request: fn(&Selection) -> Result<Request<Body>, RequestError>| {
            let request = request(&Selection { metadata_only, ..selection() }).unwrap();
            request.headers()["accept"].to_str().unwrap().to_owned()
        };
        let list = |selection: &Selection| page(selection, 1, None);
        let changes = |selection: &Selection| watch(selection, "7", Duration::ZERO);
        let both = |selection: &Selection| streaming_list(selection, Duration::ZERO);
        assert_eq!(accept(false, list), "application/json");
        assert!(accept(true, list).starts_with("application/json;as=PartialObjectMetadataList;"));
        assert!(accept(true, changes).starts_with("application/json;as=PartialObjectMetadata;"));
        assert!(accept(true, both).starts_with("application/json;as=PartialObjectMetadata;"));
    }

    #[test]
    fn watches_ask_for_bookmarks_and_an_end() {
        let plain = Selection { namespace: None, label_selector: None, ..selection() };
        assert_eq!(
            watch(&plain, "7", Duration::from_secs(290)).unwrap().uri().to_string(),
            "/apis/apps/v1/deployments?watch=true&allowWatchBookmarks=true&timeoutSeconds=290&resourceVersion=7"
        );
        assert_eq!(
            streaming_list(&plain, Duration::from_secs(290)).unwrap().uri().to_string(),
            "/apis/apps/v1/deployments?watch=true&allowWatchBookmarks=true&timeoutSeconds=290&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
        );
    }
}
