//! A kind as the API server serves it, and the paths of its objects.

use std::fmt::{self, Write as _};

use serde::{Deserialize, Serialize};

/// A served kind. `plural` and `namespaced` come from discovery.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Resource {
    /// The API group. Empty for the core group.
    pub group: String,
    /// `v1`.
    pub version: String,
    /// `Secret`.
    pub kind: String,
    /// `secrets`, the name in URLs and in permissions.
    pub plural: String,
    /// Whether objects are in namespaces.
    pub namespaced: bool,
}

impl Resource {
    /// A kind that is known without discovery. `api_version` is `v1` or `apps/v1`.
    pub fn of(api_version: &str, kind: &str, plural: &str, namespaced: bool) -> Self {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let (group, version) = (group.to_owned(), version.to_owned());
        Self { group, version, kind: kind.to_owned(), plural: plural.to_owned(), namespaced }
    }

    /// `v1` or `apps/v1`.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }

    /// The path of the collection, of one object if `name` is given, or of its subresource. A namespace is ignored for
    /// cluster-scoped kinds. Names are percent-encoded.
    pub fn path(&self, namespace: Option<&str>, name: Option<&str>, subresource: Option<&str>) -> String {
        let mut path = if self.group.is_empty() {
            format!("/api/{}", self.version)
        } else {
            format!("/apis/{}/{}", self.group, self.version)
        };
        if let Some(namespace) = namespace.filter(|_| self.namespaced) {
            path.push_str("/namespaces/");
            encode_into(&mut path, namespace);
        }
        for segment in [Some(self.plural.as_str()), name, subresource].into_iter().flatten() {
            path.push('/');
            encode_into(&mut path, segment);
        }
        path
    }
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.api_version(), self.kind)
    }
}

/// Encodes a segment so that no name can reach another path.
fn encode_into(path: &mut String, segment: &str) {
    if segment == "." || segment == ".." {
        path.push_str(&segment.replace('.', "%2E"));
        return;
    }
    percent_encode(path, segment);
}

/// Percent-encodes everything except RFC 3986's unreserved characters.
pub fn percent_encode(into: &mut String, text: &str) {
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~') {
            into.push(char::from(byte));
        } else {
            // Writing to a String cannot fail.
            let _ = write!(into, "%{byte:02X}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secrets() -> Resource {
        Resource::of("v1", "Secret", "secrets", true)
    }

    #[test]
    fn paths_of_core_and_grouped_kinds() {
        assert_eq!(secrets().path(None, None, None), "/api/v1/secrets");
        assert_eq!(secrets().path(Some("a"), Some("b"), Some("status")), "/api/v1/namespaces/a/secrets/b/status");
        let nodes = Resource::of("g.io/v1", "Node", "nodes", false);
        assert_eq!(nodes.path(Some("ignored"), Some("n"), None), "/apis/g.io/v1/nodes/n");
    }

    #[test]
    fn no_name_can_reach_another_path() {
        assert_eq!(secrets().path(Some("a/../b"), Some(".."), None), "/api/v1/namespaces/a%2F..%2Fb/secrets/%2E%2E");
        assert_eq!(secrets().path(Some("a"), Some("b?x=y#z"), None), "/api/v1/namespaces/a/secrets/b%3Fx%3Dy%23z");
    }
}
