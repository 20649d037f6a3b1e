//! Parses a URL path. Whether the resource exists is checked elsewhere.

use percent_encoding::percent_decode_str;

/// A path under `/api/v1` or `/apis/GROUP/VERSION`.
#[derive(Debug, PartialEq, Eq, Default)]
pub(crate) struct ResourcePath {
    pub group: String,
    pub version: String,
    pub namespace: Option<String>,
    pub plural: String,
    pub name: Option<String>,
    pub subresource: Option<String>,
    /// Below `watch/`, the old form of watches before there was a parameter.
    pub watch: bool,
}

/// A document that is not an object.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Document {
    Health,
    Metrics,
    Version,
    Root,
    ApiVersions,
    GroupList,
    Group(String),
    Resources { group: String, version: String },
    OpenApiV2,
    OpenApiV3Index,
    OpenApiV3 { group: String, version: String },
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Route {
    Document(Document),
    Resource(ResourcePath),
    Nothing,
}

pub(crate) fn parse(path: &str) -> Route {
    let segments: Vec<String> = path
        .split('/')
        .filter(|s| !s.is_empty())
        .map(|s| percent_decode_str(s).decode_utf8_lossy().into_owned())
        .collect();
    let borrowed: Vec<&str> = segments.iter().map(String::as_str).collect();
    match borrowed.as_slice() {
        [] => Route::Document(Document::Root),
        ["healthz" | "readyz" | "livez", ..] => Route::Document(Document::Health),
        ["metrics"] => Route::Document(Document::Metrics),
        ["version"] => Route::Document(Document::Version),
        ["openapi", "v2"] => Route::Document(Document::OpenApiV2),
        ["openapi", "v3"] => Route::Document(Document::OpenApiV3Index),
        ["openapi", "v3", "api", version] => {
            Route::Document(Document::OpenApiV3 { group: String::new(), version: (*version).to_owned() })
        }
        ["openapi", "v3", "apis", group, version] => {
            Route::Document(Document::OpenApiV3 { group: (*group).to_owned(), version: (*version).to_owned() })
        }
        ["api"] => Route::Document(Document::ApiVersions),
        ["apis"] => Route::Document(Document::GroupList),
        ["apis", group] => Route::Document(Document::Group((*group).to_owned())),
        ["api", version] => {
            Route::Document(Document::Resources { group: String::new(), version: (*version).to_owned() })
        }
        ["apis", group, version] => {
            Route::Document(Document::Resources { group: (*group).to_owned(), version: (*version).to_owned() })
        }
        ["api", version, "watch", rest @ ..] if !rest.is_empty() => resource("", version, rest, true),
        ["apis", group, version, "watch", rest @ ..] if !rest.is_empty() => resource(group, version, rest, true),
        ["api", version, rest @ ..] => resource("", version, rest, false),
        ["apis", group, version, rest @ ..] => resource(group, version, rest, false),
        _ => Route::Nothing,
    }
}

fn resource(group: &str, version: &str, rest: &[&str], watch: bool) -> Route {
    let own = |s: &str| s.to_owned();
    let (namespace, rest) = match rest {
        // Only these two may follow the name of a namespace itself.
        ["namespaces", _, "status" | "finalize"] => (None, rest),
        ["namespaces", namespace, tail @ ..] if !tail.is_empty() => (Some(own(namespace)), tail),
        _ => (None, rest),
    };
    let (plural, name, subresource) = match rest {
        [plural] => (plural, None, None),
        [plural, name] => (plural, Some(own(name)), None),
        [plural, name, sub] => (plural, Some(own(name)), Some(own(sub))),
        _ => return Route::Nothing,
    };
    Route::Resource(ResourcePath {
        group: own(group),
        version: own(version),
        namespace,
        plural: own(plural),
        name,
        subresource,
        watch,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::panic)]
    use super::*;

    fn path(text: &str) -> (Option<String>, String, Option<String>, Option<String>) {
        match parse(text) {
            Route::Resource(p) => (p.namespace, p.plural, p.name, p.subresource),
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn namespaces_are_scopes_and_objects() {
        let own = |s: &str| Some(s.to_owned());
        assert_eq!(path("/api/v1/namespaces/a"), (None, "namespaces".into(), own("a"), None));
        assert_eq!(path("/api/v1/namespaces/a/status"), (None, "namespaces".into(), own("a"), own("status")));
        assert_eq!(path("/api/v1/namespaces/a/pods"), (own("a"), "pods".into(), None, None));
        assert_eq!(
            path("/apis/apps/v1/namespaces/a/deployments/d/scale"),
            (own("a"), "deployments".into(), own("d"), own("scale"))
        );
        assert_eq!(
            path("/apis/x/v1/clusterroles/system%3Anode"),
            (None, "clusterroles".into(), own("system:node"), None)
        );
        assert_eq!(parse("/api/v1/a/b/c/d/e/f"), Route::Nothing);
        assert_eq!(parse("/foo"), Route::Nothing);
    }
}
