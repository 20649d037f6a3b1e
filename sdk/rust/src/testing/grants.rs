//! Whether the document's permissions allow a call, and the words for one that they do not.
//!
//! Pure. The admin of a real operator may grant less than the document asks for.

use super::document::{HttpPermission, Permission};

/// Where a call reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach<'a> {
    Cluster,
    AllNamespaces,
    Namespace(&'a str),
}

/// What a call is about.
#[derive(Clone, Copy, Debug)]
pub(super) struct Subject<'a> {
    pub group: &'a str,
    pub resource: &'a str,
    pub subresource: Option<&'a str>,
    pub reach: Reach<'a>,
    pub name: Option<&'a str>,
}

/// The words of the refusal, if a verb is not allowed.
pub(super) fn check(rules: &[Permission], verbs: &[&str], subject: &Subject<'_>) -> Result<(), String> {
    let allowed = |verb: &&str| rules.iter().any(|rule| permits(rule, verb, subject));
    if verbs.iter().all(allowed) { Ok(()) } else { Err(refusal(verbs, subject)) }
}

fn permits(rule: &Permission, verb: &str, subject: &Subject<'_>) -> bool {
    let has = |words: &[String], wanted: &str| words.iter().any(|word| word == "*" || word == wanted);
    let named = rule.resource_names.is_empty()
        || subject.name.is_some_and(|name| rule.resource_names.iter().any(|known| known == name));
    let reached = match subject.reach {
        _ if rule.namespaces.is_empty() => true,
        Reach::Namespace(namespace) => rule.namespaces.iter().any(|known| known == namespace),
        Reach::Cluster | Reach::AllNamespaces => false,
    };
    has(&rule.verbs, verb)
        && has(&rule.api_groups, subject.group)
        && rule.resources.iter().any(|word| names(word, subject))
        && named
        && reached
}

fn names(word: &str, subject: &Subject<'_>) -> bool {
    let is = |part: &str, wanted: &str| part == "*" || part == wanted;
    match (word.split_once('/'), subject.subresource) {
        _ if word == "*" => true,
        (None, None) => word == subject.resource,
        (Some((resource, sub)), Some(wanted)) => is(resource, subject.resource) && is(sub, wanted),
        _ => false,
    }
}

fn refusal(verbs: &[&str], subject: &Subject<'_>) -> String {
    let resource = match subject.subresource {
        Some(subresource) => format!("{}/{subresource}", subject.resource),
        None => subject.resource.to_owned(),
    };
    let name = subject.name.map(|name| format!(" {name:?}")).unwrap_or_default();
    let (place, only) = match subject.reach {
        Reach::Cluster => (String::new(), String::new()),
        Reach::AllNamespaces => (" in all namespaces".to_owned(), String::new()),
        Reach::Namespace(namespace) => {
            (format!(" in namespace {namespace:?}"), format!(", namespaces: [{}]", quoted(namespace)))
        }
    };
    let verbs = verbs.join(", ");
    let (group, shown) = (quoted(subject.group), quoted(&resource));
    format!(
        "the hook may not {verbs} {resource}{name}{place}: add {{apiGroups: [{group}], resources: [{shown}], \
         verbs: [{verbs}]{only}}} to permissions.kubernetes"
    )
}

/// Whether a rule allows the request, by the operator's rules.
pub(super) fn check_http(rules: &[HttpPermission], method: &str, url: &str) -> Result<(), String> {
    let Some((tls, authority, rest)) = crate::http::parts(url) else {
        return Err(format!("{method} {url}: the URL is not one of https or http"));
    };
    let path = rest.split('?').next().filter(|path| !path.is_empty()).unwrap_or("/");
    let host = if tls { authority.to_ascii_lowercase() } else { format!("http://{}", authority.to_ascii_lowercase()) };
    let at = |pattern: &String| match pattern.split_once("*.") {
        Some((scheme, name)) => {
            let below = host.strip_prefix(scheme).and_then(|host| host.strip_suffix(name));
            below.and_then(|below| below.strip_suffix('.')).is_some_and(|below| !below.is_empty())
        }
        None => *pattern == host,
    };
    let under = |pattern: &String| match pattern.strip_suffix('*') {
        Some(beginning) => path.starts_with(beginning),
        None => pattern == path,
    };
    let allows = |rule: &HttpPermission| {
        rule.hosts.iter().any(at)
            && rule.methods.iter().any(|one| one == "*" || one == method)
            && (rule.paths.is_empty() || rule.paths.iter().any(under))
    };
    let whole = !path.split('/').any(|part| part == "." || part == "..");
    if whole && rules.iter().any(allows) {
        return Ok(());
    }
    Err(format!(
        "the hook may not {method} {url}: add {{hosts: [{host:?}], methods: [{method}], paths: [{path:?}]}} to \
         permissions.http"
    ))
}

/// As YAML of one line.
fn quoted(word: &str) -> String {
    let plain = !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase() || matches!(c, '-' | '.' | '/'));
    if plain { word.to_owned() } else { format!("{word:?}") }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use super::*;

    fn rule(resources: &str, names: &[&str], namespaces: &[&str]) -> Permission {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        Permission {
            api_groups: texts(&["apps"]),
            resources: texts(&[resources]),
            verbs: texts(&["get", "patch"]),
            resource_names: texts(names),
            namespaces: texts(namespaces),
        }
    }

    fn allowed(rule: &Permission, verb: &str, subresource: Option<&str>, reach: Reach<'_>, name: Option<&str>) -> bool {
        let subject = Subject { group: "apps", resource: "deployments", subresource, reach, name };
        check(std::slice::from_ref(rule), &[verb], &subject).is_ok()
    }

    #[test]
    fn every_part_of_a_rule_of_http_counts() {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let hosts = texts(&["a.io", "*.b.io:8443", "http://c.io"]);
        let rules = [HttpPermission { hosts, methods: texts(&["GET"]), paths: texts(&["/v1/*", "/healthz"]) }];
        for url in ["https://a.io/v1/x?y", "https://A.io/healthz", "https://x.b.io:8443/v1/", "http://c.io/v1/"] {
            assert_eq!(check_http(&rules, "GET", url), Ok(()), "{url}");
        }
        for url in [
            "https://a.io/",
            "https://a.io/v1/../x",
            "http://a.io/v1/",
            "https://x.a.io/v1/",
            "https://b.io:8443/v1/",
            "https://x.b.io/v1/",
            "https://c.io/v1/",
            "a.io/v1/",
        ] {
            assert!(check_http(&rules, "GET", url).is_err(), "{url}");
        }
        let said = check_http(&rules, "POST", "https://a.io/v1/x?y").unwrap_err();
        assert!(said.ends_with(r#"add {hosts: ["a.io"], methods: [POST], paths: ["/v1/x"]} to permissions.http"#));
    }

    #[test]
    fn every_part_of_a_rule_counts() {
        let web = Reach::Namespace("web");
        let plain = rule("deployments", &[], &[]);
        assert!(allowed(&plain, "get", None, web, Some("a")));
        assert!(!allowed(&plain, "delete", None, web, Some("a")));
        assert!(!allowed(&plain, "patch", Some("scale"), web, Some("a")));
        assert!(allowed(&rule("deployments/scale", &[], &[]), "patch", Some("scale"), web, Some("a")));
        assert!(allowed(&rule("*/scale", &[], &[]), "patch", Some("scale"), web, Some("a")));
        assert!(allowed(&rule("*", &[], &[]), "patch", Some("scale"), web, Some("a")));
        let named = rule("deployments", &["a"], &["web"]);
        assert!(allowed(&named, "get", None, web, Some("a")));
        assert!(!allowed(&named, "get", None, web, Some("b")));
        assert!(!allowed(&named, "get", None, web, None));
        assert!(!allowed(&named, "get", None, Reach::AllNamespaces, Some("a")));
        let other = Subject { group: "", resource: "deployments", subresource: None, reach: web, name: None };
        let said = check(&[plain], &["get"], &other).unwrap_err();
        assert!(said.contains(r#"add {apiGroups: [""], resources: [deployments], verbs: [get], namespaces: [web]}"#));
    }
}
