//! From the path of a request to the object that it is about, as a scenario names it.

use std::collections::BTreeMap;

use boathook_core::model::error_chain;
use kube::Client;
use serde_json::{Value, json};

use super::faults::{Noted, Passed};

/// An object of a call or of an event.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Target {
    /// apiVersion, kind, namespace and name.
    pub object: Value,
    pub subresource: Option<String>,
}

/// The parts of a path.
#[derive(Debug, PartialEq, Eq)]
struct Address<'p> {
    api_version: String,
    plural: &'p str,
    namespace: Option<&'p str>,
    name: &'p str,
    subresource: Option<&'p str>,
}

/// The objects of all paths that have one.
pub(super) async fn targets(client: &Client, noted: &[Noted]) -> Result<BTreeMap<String, Target>, String> {
    let (mut targets, mut kinds) = (BTreeMap::new(), BTreeMap::new());
    for noted in noted {
        let (Passed::Call { path, .. } | Passed::Event { path, .. }) = &noted.what;
        let Some(address) = address(path).filter(|_| !targets.contains_key(path)) else { continue };
        if !kinds.contains_key(&address.api_version) {
            let served = served(client, &address.api_version).await?;
            kinds.insert(address.api_version.clone(), served);
        }
        let kind = kinds.get(&address.api_version).and_then(|kinds| kinds.get(address.plural));
        if let Some(kind) = kind {
            targets.insert(path.clone(), address.target(kind));
        }
    }
    Ok(targets)
}

/// The kinds of a version, by the names of their resources. None if it is no longer served.
async fn served(client: &Client, api_version: &str) -> Result<BTreeMap<String, String>, String> {
    let found = match api_version.contains('/') {
        true => client.list_api_group_resources(api_version).await,
        false => client.list_core_api_resources(api_version).await,
    };
    match found {
        Ok(list) => Ok(list.resources.into_iter().map(|resource| (resource.name, resource.kind)).collect()),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(BTreeMap::new()),
        Err(error) => Err(error_chain(&error)),
    }
}

fn address(path: &str) -> Option<Address<'_>> {
    let (version, rest) = match path.strip_prefix("/api/") {
        Some(rest) => rest.split_once('/')?,
        None => {
            let rest = path.strip_prefix("/apis/")?;
            let (version, rest) = rest.split_at_checked(rest.match_indices('/').nth(1)?.0)?;
            (version, rest.strip_prefix('/')?)
        }
    };
    let parts: Vec<&str> = rest.split('/').collect();
    let (namespace, plural, name, subresource) = match parts.as_slice() {
        [plural, name] => (None, *plural, *name, None),
        // A collection of a namespace.
        ["namespaces", _, plural] if !["status", "finalize"].contains(plural) => return None,
        ["namespaces", namespace, plural, name] => (Some(*namespace), *plural, *name, None),
        [plural, name, subresource] => (None, *plural, *name, Some(*subresource)),
        ["namespaces", namespace, plural, name, subresource] => (Some(*namespace), *plural, *name, Some(*subresource)),
        _ => return None,
    };
    // A name that the server generates is not known before.
    (!name.is_empty()).then(|| Address { api_version: version.to_owned(), plural, namespace, name, subresource })
}

impl Address<'_> {
    fn target(&self, kind: &str) -> Target {
        let metadata = match self.namespace {
            Some(namespace) => json!({"namespace": namespace, "name": self.name}),
            None => json!({"name": self.name}),
        };
        Target {
            object: json!({"apiVersion": self.api_version, "kind": kind, "metadata": metadata}),
            subresource: self.subresource.map(str::to_owned),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_path_has_an_object() {
        let parts = |path: &'static str| {
            let Address { api_version, plural, namespace, name, subresource } = address(path).unwrap();
            (api_version, plural, namespace, name, subresource)
        };
        assert_eq!(parts("/api/v1/namespaces/web"), ("v1".to_owned(), "namespaces", None, "web", None));
        assert_eq!(parts("/api/v1/nodes/n/status"), ("v1".to_owned(), "nodes", None, "n", Some("status")));
        let secret = ("v1".to_owned(), "secrets", Some("web"), "s", None);
        assert_eq!(parts("/api/v1/namespaces/web/secrets/s"), secret);
        let boat = ("a.b/v1".to_owned(), "boats", Some("web"), "s", Some("status"));
        assert_eq!(parts("/apis/a.b/v1/namespaces/web/boats/s/status"), boat);
        for path in [
            "/api/v1/secrets",
            "/api/v1/namespaces/web/secrets",
            "/api/v1/namespaces/web/secrets/",
            "/version",
            "/apis/a.b/v1",
            "/",
        ] {
            assert_eq!(address(path), None, "{path}");
        }
    }
}
