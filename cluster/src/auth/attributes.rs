//! What a request wants to do, for an authorizer: a verb on a resource or on a path. A request is authorized before it
//! is routed, so the resource may not exist.

use form_urlencoded::parse;
use http::{Method, Uri};
use percent_encoding::percent_decode_str;

use crate::status::{Failure, GroupResource};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Attributes {
    pub verb: String,
    pub target: Target,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Resource(ResourceTarget),
    Path(String),
}

/// A resource, or one object of it. Empty means none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ResourceTarget {
    pub group: String,
    pub resource: String,
    pub subresource: String,
    pub namespace: String,
    pub name: String,
}

impl ResourceTarget {
    /// `pods` or `pods/log`.
    pub(crate) fn combined(&self) -> String {
        match self.subresource.as_str() {
            "" => self.resource.clone(),
            sub => format!("{}/{sub}", self.resource),
        }
    }
}

impl Attributes {
    pub(crate) fn of_resource(verb: impl Into<String>, target: ResourceTarget) -> Self {
        Self { verb: verb.into(), target: Target::Resource(target) }
    }

    pub(crate) fn of_path(verb: impl Into<String>, path: impl Into<String>) -> Self {
        Self { verb: verb.into(), target: Target::Path(path.into()) }
    }

    /// The attributes of a request with this method and URI.
    pub(crate) fn of(method: &Method, uri: &Uri) -> Self {
        let path = percent_decode_str(uri.path()).decode_utf8_lossy().into_owned();
        let parts: Vec<&str> = path.split('/').filter(|s| !s.is_empty()).collect();
        let (group, rest) = match parts.as_slice() {
            ["api", _, rest @ ..] if !rest.is_empty() => ("", rest),
            ["apis", group, _, rest @ ..] if !rest.is_empty() => (*group, rest),
            _ => return Self::of_path(method.as_str().to_ascii_lowercase(), path),
        };
        let mut target = ResourceTarget { group: group.to_owned(), ..ResourceTarget::default() };
        let mut rest = rest;
        let watches = rest.first() == Some(&"watch") && rest.len() > 1;
        if watches {
            rest = rest.get(1..).unwrap_or_default();
        }
        if let ["namespaces", namespace, tail @ ..] = rest {
            target.namespace = (*namespace).to_owned();
            if !matches!(tail, [] | ["status" | "finalize", ..]) {
                rest = tail;
            }
        }
        let part = |index: usize| rest.get(index).map(|s| (*s).to_owned()).unwrap_or_default();
        (target.resource, target.name) = (part(0), part(1));
        target.subresource = if watches { String::new() } else { part(2) };
        let verb = if watches { "watch" } else { verb(method, uri, &mut target) };
        Self::of_resource(verb, target)
    }

    /// The response to a user without permission.
    pub(crate) fn forbidden(&self, user: &str, reason: &str) -> Failure {
        let verb = &self.verb;
        let escape = |text: String| text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let because = if reason.is_empty() { String::new() } else { format!(": {reason}") };
        match &self.target {
            Target::Path(path) => {
                let what = escape(format!("User {user:?} cannot {verb} path {path:?}"));
                Failure::access_denied(GroupResource { group: "", resource: "" }, "", &format!("{what}{because}"))
            }
            Target::Resource(target) => {
                let place = match target.namespace.as_str() {
                    "" => "at the cluster scope".to_owned(),
                    namespace => format!("in the namespace {namespace:?}"),
                };
                let (resource, group) = (target.combined(), &target.group);
                let what =
                    escape(format!("User {user:?} cannot {verb} resource {resource:?} in API group {group:?} {place}"));
                let gr = GroupResource { group, resource: &target.resource };
                Failure::access_denied(gr, &target.name, &format!("{what}{because}"))
            }
        }
    }
}

fn verb(method: &Method, uri: &Uri, target: &mut ResourceTarget) -> &'static str {
    match (method.as_str(), target.name.is_empty()) {
        ("POST", _) => "create",
        ("PUT", _) => "update",
        ("PATCH", _) => "patch",
        ("DELETE", true) => "deletecollection",
        ("DELETE", false) => "delete",
        ("GET" | "HEAD", false) => "get",
        ("GET" | "HEAD", true) => {
            let mut watches = false;
            for (key, value) in parse(uri.query().unwrap_or_default().as_bytes()) {
                match &*key {
                    "watch" => watches = !matches!(&*value, "false" | "0"),
                    "fieldSelector" => target.name = selected_name(&value).to_owned(),
                    _ => {}
                }
            }
            if watches { "watch" } else { "list" }
        }
        _ => "",
    }
}

/// The only object name that a field selector can match.
fn selected_name(selector: &str) -> &str {
    let name = selector.split(',').find_map(|part| part.strip_prefix("metadata.name="));
    let name = name.map(|name| name.strip_prefix('=').unwrap_or(name)).unwrap_or_default();
    if name.contains(['/', '%']) || matches!(name, "." | "..") { "" } else { name }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use super::*;

    fn read(method: &str, uri: &str) -> String {
        let attributes = Attributes::of(&method.parse().unwrap(), &uri.parse().unwrap());
        match attributes.target {
            Target::Path(path) => format!("{} {path}", attributes.verb),
            Target::Resource(t) => {
                format!("{} {}|{}|{}|{}", attributes.verb, t.group, t.combined(), t.namespace, t.name)
            }
        }
    }

    #[test]
    fn requests_become_verbs() {
        let cases = [
            ("GET", "/api/v1/pods", "list |pods||"),
            ("GET", "/api/v1/pods?watch=true&fieldSelector=metadata.name%3Dx", "watch |pods||x"),
            ("GET", "/api/v1/namespaces/a/pods/b/log", "get |pods/log|a|b"),
            ("GET", "/api/v1/namespaces/a", "get |namespaces|a|a"),
            ("PUT", "/api/v1/namespaces/a/finalize", "update |namespaces/finalize|a|a"),
            ("DELETE", "/apis/apps/v1/namespaces/a/deployments", "deletecollection apps|deployments|a|"),
            ("GET", "/apis/apps/v1/watch/deployments", "watch apps|deployments||"),
            ("POST", "/apis/apps/v1/namespaces/a/deployments", "create apps|deployments|a|"),
            ("GET", "/apis/apps/v1", "get /apis/apps/v1"),
            ("GET", "/healthz", "get /healthz"),
            ("POST", "/", "post /"),
        ];
        for (method, uri, wanted) in cases {
            assert_eq!(read(method, uri), wanted, "{method} {uri}");
        }
    }
}
