//! Paths of the Kubernetes API without the names of objects, as label values. Their number is limited by the number of
//! kinds.

/// `/api/v1/namespaces/a/secrets/b` becomes `/api/v1/namespaces/{namespace}/secrets/{name}`.
pub(super) fn template(path: &str) -> String {
    let mut segments: Vec<&str> = path.split('/').skip(1).collect();
    let root = match segments.first() {
        Some(&"api") => 2,
        Some(&"apis") => 3,
        // For example `/version` or `/healthz`.
        _ => return segments.first().map_or_else(String::new, |first| format!("/{first}")),
    };
    let namespaced = segments.get(root) == Some(&"namespaces") && segments.len() > root + 2;
    let name = if namespaced { root + 3 } else { root + 1 };
    if let Some(namespace) = segments.get_mut(root + 1).filter(|_| namespaced) {
        *namespace = "{namespace}";
    }
    if let Some(name) = segments.get_mut(name) {
        *name = "{name}";
    }
    segments.truncate(name + 2);
    format!("/{}", segments.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_left_out() {
        for (path, expected) in [
            ("/version", "/version"),
            ("/apis", "/apis"),
            ("/apis/apps/v1", "/apis/apps/v1"),
            ("/api/v1/secrets", "/api/v1/secrets"),
            ("/api/v1/namespaces", "/api/v1/namespaces"),
            ("/api/v1/namespaces/a", "/api/v1/namespaces/{name}"),
            ("/api/v1/nodes/n/status", "/api/v1/nodes/{name}/status"),
            ("/api/v1/namespaces/a/secrets", "/api/v1/namespaces/{namespace}/secrets"),
            ("/apis/g.io/v1/namespaces/a/things/b/scale", "/apis/g.io/v1/namespaces/{namespace}/things/{name}/scale"),
            ("/api/v1/namespaces/a/services/b/proxy/x/y", "/api/v1/namespaces/{namespace}/services/{name}/proxy"),
            ("", ""),
        ] {
            assert_eq!(template(path), expected, "{path}");
        }
    }
}
