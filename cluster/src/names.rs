//! Name formats: DNS labels and subdomains, path segments, qualified names, label values. Each function takes a string
//! and returns its problems.

/// The rule for the `metadata.name` of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Naming {
    /// RFC 1123 subdomain: most kinds.
    Subdomain,
    /// RFC 1123 label: namespaces and services.
    Label,
    /// Anything that is valid in a URL path: RBAC kinds.
    PathSegment,
}

const LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";

impl Naming {
    /// The problems of `name`. Empty if there are none.
    pub(crate) fn problems(self, name: &str) -> Vec<String> {
        match self {
            Self::Subdomain => subdomain(name),
            Self::Label => label(name),
            Self::PathSegment => path_segment(name),
        }
    }
}

fn too_long(max: usize) -> String {
    format!("must be no more than {max} characters")
}

fn alphanumeric(c: Option<char>) -> bool {
    c.is_some_and(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
}

fn is_label(part: &str) -> bool {
    alphanumeric(part.chars().next())
        && alphanumeric(part.chars().next_back())
        && part.chars().all(|c| c == '-' || alphanumeric(Some(c)))
}

fn subdomain(name: &str) -> Vec<String> {
    let mut found = Vec::new();
    if name.len() > 253 {
        found.push(too_long(253));
    }
    if !name.split('.').all(is_label) {
        found.push(format!(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must \
             start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
             '{LABEL}(\\.{LABEL})*')"
        ));
    }
    found
}

fn label(name: &str) -> Vec<String> {
    if !name.contains('.') {
        return dns_label(name);
    }
    let long = (name.len() > 63).then(|| too_long(63));
    long.into_iter().chain(["must not contain dots".to_owned()]).collect()
}

/// The problems of a label inside an object.
pub(crate) fn dns_label(name: &str) -> Vec<String> {
    let mut found = Vec::new();
    if name.len() > 63 {
        found.push(too_long(63));
    }
    if !is_label(name) {
        found.push(format!(
            "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and \
             end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '{LABEL}')"
        ));
    }
    found
}

fn path_segment(name: &str) -> Vec<String> {
    if matches!(name, "." | "..") {
        return vec![format!("may not be '{name}'")];
    }
    ["/", "%"].iter().filter(|c| name.contains(**c)).map(|c| format!("may not contain '{c}'")).collect()
}

fn is_qualified_part(part: &str) -> bool {
    let edge = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    edge(part.chars().next())
        && edge(part.chars().next_back())
        && part.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
}

const QUALIFIED: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
    alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
    '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

fn too_many_bytes(max: usize) -> String {
    format!("must be no more than {max} bytes")
}

/// The problems of a label or annotation key.
pub(crate) fn qualified_name(key: &str) -> Vec<String> {
    let (prefix, name) = match key.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    };
    if name.contains('/') {
        return vec![format!(
            "a valid label key {QUALIFIED} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        )];
    }
    let mut found = Vec::new();
    match prefix {
        Some("") => found.push("prefix part must be non-empty".to_owned()),
        Some(prefix) => found.extend(subdomain(prefix).into_iter().map(|why| format!("prefix part {why}"))),
        None => {}
    }
    if name.is_empty() {
        found.push("name part must be non-empty".to_owned());
    } else if name.len() > 63 {
        found.push(format!("name part {}", too_many_bytes(63)));
    }
    if !is_qualified_part(name) {
        found.push(format!("name part {QUALIFIED}"));
    }
    found
}

/// The problems of a port name.
pub(crate) fn port_name(name: &str) -> Vec<String> {
    let mut found = Vec::new();
    if name.len() > 15 {
        found.push(too_long(15));
    }
    if !name.chars().all(|c| c == '-' || alphanumeric(Some(c))) {
        found.push("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)".to_owned());
    }
    if !name.chars().any(|c| c.is_ascii_lowercase()) {
        found.push("must contain at least one letter (a-z)".to_owned());
    }
    if name.contains("--") {
        found.push("must not contain consecutive hyphens".to_owned());
    }
    if name.starts_with('-') || name.ends_with('-') {
        found.push("must not begin or end with a hyphen".to_owned());
    }
    found
}

/// The problems of a key of a ConfigMap or Secret.
pub(crate) fn config_key(key: &str) -> Vec<String> {
    let mut found = Vec::new();
    if key.len() > 253 {
        found.push(too_long(253));
    }
    if key.is_empty() || !key.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')) {
        found.push(
            "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or \
             'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
                .to_owned(),
        );
    }
    match key {
        "." => found.push("must not be '.'".to_owned()),
        ".." => found.push("must not be '..'".to_owned()),
        _ if key.starts_with("..") => found.push("must not start with '..'".to_owned()),
        _ => {}
    }
    found
}

/// The problem of a label value.
pub(crate) fn label_value(value: &str) -> Option<String> {
    if value.len() > 63 {
        return Some(too_many_bytes(63));
    }
    (!value.is_empty() && !is_qualified_part(value)).then(|| {
        "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start \
         and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for \
         validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
            .to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for good in ["a", "a-b.c", "1a"] {
            assert!(Naming::Subdomain.problems(good).is_empty(), "{good}");
        }
        for bad in ["", "A", "a_b", "-a", "a-", "a..b", "é"] {
            assert!(!Naming::Subdomain.problems(bad).is_empty(), "{bad}");
        }
        assert!(!Naming::Label.problems("a.b").is_empty());
        assert!(Naming::PathSegment.problems("system:node").is_empty());
        assert!(!Naming::Subdomain.problems(&"a".repeat(254)).is_empty());
    }

    #[test]
    fn label_parts() {
        assert!(qualified_name("example.com/Name_1").is_empty());
        assert!(!qualified_name("/x").is_empty());
        assert!(!qualified_name("a/").is_empty());
        assert_eq!(qualified_name("").len(), 2);
        assert!(label_value("").is_none());
        assert!(label_value("a b").is_some());
    }
}
