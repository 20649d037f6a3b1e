//! The requests of lists and watches. Pure; what comes back is read in `connection.rs`.

use std::{fmt::Write as _, time::Duration};

use http::Request;
use kube::client::Body;

use super::{Selection, error::RequestError};

/// One page of a list; without a token the first, at the newest version.
pub(super) fn page(selection: &Selection, limit: usize, token: Option<&str>) -> Result<Request<Body>, RequestError> {
    let mut query = Query::of(selection);
    query.add("limit", &limit.to_string());
    if let Some(token) = token {
        query.add("continue", token);
    }
    query.get()
}

/// What happens after version `from`.
pub(super) fn watch(selection: &Selection, from: &str, timeout: Duration) -> Result<Request<Body>, RequestError> {
    let mut query = Query::watch(selection, timeout);
    query.add("resourceVersion", from);
    query.get()
}

/// A list at the newest version, and what happens after it.
pub(super) fn streaming_list(selection: &Selection, timeout: Duration) -> Result<Request<Body>, RequestError> {
    let mut query = Query::watch(selection, timeout);
    query.add("sendInitialEvents", "true");
    query.add("resourceVersionMatch", "NotOlderThan");
    query.get()
}

struct Query(String);

impl Query {
    fn of(selection: &Selection) -> Self {
        let mut query = Self(selection.resource.path(selection.namespace.as_deref(), None, None));
        query.0.push('?');
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
        query.add("watch", "true");
        query.add("allowWatchBookmarks", "true");
        query.add("timeoutSeconds", &timeout.as_secs().max(1).to_string());
        query
    }

    fn add(&mut self, key: &str, value: &str) {
        if !self.0.ends_with('?') {
            self.0.push('&');
        }
        self.0.push_str(key);
        self.0.push('=');
        for byte in value.bytes() {
            if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~') {
                self.0.push(char::from(byte));
            } else {
                // Writing to a String can't fail.
                let _ = write!(self.0, "%{byte:02X}");
            }
        }
    }

    fn get(self) -> Result<Request<Body>, RequestError> {
        Request::get(self.0)
            .header(http::header::ACCEPT, "application/json")
            // A compressed watch can't be split into lines as it comes.
            .header(http::header::ACCEPT_ENCODING, "identity")
            .body(Body::empty())
            .map_err(RequestError::Request)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::model::Resource;

    fn selection() -> Selection {
        Selection {
            resource: Resource {
                group: "apps".into(),
                version: "v1".into(),
                kind: "Deployment".into(),
                plural: "deployments".into(),
                namespaced: true,
            }
            .into(),
            namespace: Some("a".into()),
            label_selector: Some("tier in (x,y),app=w&b".into()),
            field_selector: None,
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
