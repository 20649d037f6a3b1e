//! What may be done, in the terms of RBAC's PolicyRule, of HTTP and of directories, and whether one set of rules is within
//! another. Pure. In doubt, something is missing.

use std::{collections::HashSet, fmt, iter};

use serde::{Deserialize, Serialize};

use super::{DirectoryRule, HttpRule};

/// A rule with more missing pieces than this is missing as a whole, because pieces are for people to read.
const MAX_PIECES: usize = 256;

/// One entry of `permissions.kubernetes[]`, in the terms of RBAC's PolicyRule. Within one list, `*` stands for all. Or one
/// entry of `permissions.http[]` or `permissions.directories[]`, whose other lists are empty, so that it allows nothing of
/// Kubernetes.
///
/// All are in one type, so that whatever is requested is declared, granted, limited and approved in one way.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "Written", into = "Written")]
pub struct Permission {
    /// `""` is the core group.
    pub api_groups: Vec<String>,
    /// Plural names. A subresource is `pods/eviction`, and all subresources are `pods/*`.
    pub resources: Vec<String>,
    /// `get`, `list`, `create`, `update`, `patch`, `delete` for a hook's calls. What is granted may also have `watch`,
    /// `validate`, `mutate`, `convert`.
    pub verbs: Vec<String>,
    /// Empty: all names.
    pub resource_names: Vec<String>,
    /// Empty: all namespaces, and cluster-scoped objects.
    pub namespaces: Vec<String>,
    /// Set for an entry of `permissions.http[]`.
    pub http: Option<HttpRule>,
    /// Set for an entry of `permissions.directories[]`.
    pub directory: Option<DirectoryRule>,
}

/// A permission as JSON: the five lists, or `http`, or `directory`.
#[derive(Serialize, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
enum Written {
    Http {
        http: HttpRule,
    },
    Directory {
        directory: DirectoryRule,
    },
    #[serde(rename_all = "camelCase")]
    Kubernetes {
        api_groups: Vec<String>,
        resources: Vec<String>,
        verbs: Vec<String>,
        resource_names: Vec<String>,
        namespaces: Vec<String>,
    },
}

impl From<Written> for Permission {
    fn from(written: Written) -> Self {
        match written {
            Written::Http { http } => Self::of_http(http),
            Written::Directory { directory } => Self::of_directory(directory),
            Written::Kubernetes { api_groups, resources, verbs, resource_names, namespaces } => {
                Self { api_groups, resources, verbs, resource_names, namespaces, http: None, directory: None }
            }
        }
    }
}

impl From<Permission> for Written {
    fn from(permission: Permission) -> Self {
        let Permission { api_groups, resources, verbs, resource_names, namespaces, http, directory } = permission;
        match (http, directory) {
            (Some(http), _) => Self::Http { http },
            (None, Some(directory)) => Self::Directory { directory },
            (None, None) => Self::Kubernetes { api_groups, resources, verbs, resource_names, namespaces },
        }
    }
}

impl Permission {
    /// An entry of `permissions.http[]`.
    pub fn of_http(rule: HttpRule) -> Self {
        let [api_groups, resources, verbs, resource_names, namespaces] = std::array::from_fn(|_| Vec::new());
        let http = Some(rule);
        Self { api_groups, resources, verbs, resource_names, namespaces, http, directory: None }
    }

    /// An entry of `permissions.directories[]`.
    pub fn of_directory(rule: DirectoryRule) -> Self {
        let [api_groups, resources, verbs, resource_names, namespaces] = std::array::from_fn(|_| Vec::new());
        let directory = Some(rule);
        Self { api_groups, resources, verbs, resource_names, namespaces, http: None, directory }
    }

    /// Whether it is an entry of `permissions.kubernetes[]`.
    pub fn is_of_kubernetes(&self) -> bool {
        self.http.is_none() && self.directory.is_none()
    }

    /// The same in this namespace only. HTTP and directories have no namespaces.
    pub fn within(self, namespace: &str) -> Self {
        if !self.is_of_kubernetes() {
            return self;
        }
        Self { namespaces: vec![namespace.to_owned()], ..self }
    }

    /// How often a combination of words may be compared with a rule. Documents come from hooks, and a few thousand
    /// words in a rule's five lists make more combinations than can be checked. What is beyond the bound is missing.
    pub const MAX_WORK: usize = 1_000_000;
    /// The most rules of a hook, and the most words of a list. The reader of documents has the same bound.
    pub const MAX_ITEMS: usize = 1000;

    /// The list with too many items, and how many it has. A bundle's config does not pass through the reader of
    /// documents.
    pub fn too_long(rules: &[Self]) -> Option<(&'static str, usize)> {
        let lists = rules.iter().flat_map(|rule| {
            [
                ("apiGroups", rule.api_groups.len()),
                ("resources", rule.resources.len()),
                ("verbs", rule.verbs.len()),
                ("resourceNames", rule.resource_names.len()),
                ("namespaces", rule.namespaces.len()),
            ]
        });
        let http = rules.iter().filter_map(|rule| rule.http.as_ref()).flat_map(HttpRule::lengths);
        iter::once(("permissions", rules.len())).chain(lists).chain(http).find(|(_, items)| *items > Self::MAX_ITEMS)
    }

    /// What no single grant covers of the first rule that is not fully granted. Empty: everything is granted. Several
    /// questions share a budget of at most [`Self::MAX_WORK`]. `None`: it is used up.
    pub fn first_missing(requested: &[Self], granted: &[Self], left: &mut usize) -> Option<Vec<Self>> {
        // Reading the grants is work, too.
        *left = left.checked_sub(granted.len())?;
        let granted: Vec<Grant<'_>> = granted.iter().map(Grant::of).collect();
        for requested in requested {
            let missing = missing_of(requested, &granted, left)?;
            if !missing.is_empty() {
                return Some(missing);
            }
        }
        Some(Vec::new())
    }
}

/// One line: `create, patch deployments of apps in a, b`, or that of an [`HttpRule`] or a [`DirectoryRule`].
impl fmt::Display for Permission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(rule) = &self.http {
            return rule.fmt(f);
        }
        if let Some(rule) = &self.directory {
            return rule.fmt(f);
        }
        let group = |group: &String| if group.is_empty() { "core".to_owned() } else { group.clone() };
        let (verbs, resources) = (self.verbs.join(", "), self.resources.join(", "));
        write!(f, "{verbs} {resources}")?;
        if self.api_groups.iter().any(|group| !group.is_empty()) {
            let groups: Vec<_> = self.api_groups.iter().map(group).collect();
            write!(f, " of {}", groups.join(", "))?;
        }
        if !self.resource_names.is_empty() {
            write!(f, " named {}", self.resource_names.join(", "))?;
        }
        if !self.namespaces.is_empty() {
            write!(f, " in {}", self.namespaces.join(", "))?;
        }
        Ok(())
    }
}

/// What is requested and no single grant covers. Empty: everything is granted.
pub fn missing(requested: &[Permission], granted: &[Permission]) -> Vec<Permission> {
    let granted: Vec<Grant<'_>> = granted.iter().map(Grant::of).collect();
    let mut left = Permission::MAX_WORK;
    let whole = |requested: &Permission| vec![requested.clone()];
    requested
        .iter()
        .flat_map(|requested| missing_of(requested, &granted, &mut left).unwrap_or_else(|| whole(requested)))
        .collect()
}

/// The part of the permissions that is within a namespace. Objects of all namespaces become those of this one. HTTP and
/// directories have no namespaces.
pub fn confine(permissions: &[Permission], namespace: &str) -> Vec<Permission> {
    let reaches = |permission: &&Permission| {
        permission.namespaces.is_empty() || permission.namespaces.iter().any(|one| one == namespace)
    };
    permissions.iter().filter(reaches).map(|permission| permission.clone().within(namespace)).collect()
}

/// `None`: it takes more work than is left.
fn missing_of(requested: &Permission, granted: &[Grant<'_>], left: &mut usize) -> Option<Vec<Permission>> {
    if let Some(rule) = &requested.http {
        return missing_of_http(requested, rule, granted, left);
    }
    if let Some(rule) = &requested.directory {
        *left = left.checked_sub(granted.len().max(1))?;
        let covered = granted.iter().any(|grant| grant.directory.is_some_and(|grant| grant.covers(rule)));
        return Some(if covered { Vec::new() } else { vec![requested.clone()] });
    }
    let (mut missing, mut all) = (Vec::new(), true);
    let (names, namespaces) = (or_all(&requested.resource_names), or_all(&requested.namespaces));
    for group in &requested.api_groups {
        for resource in &requested.resources {
            for &name in &names {
                for &namespace in &namespaces {
                    let place = Place { group, resource, name, namespace };
                    let work = requested.verbs.len().max(1).saturating_mul(granted.len().max(1));
                    *left = left.checked_sub(work)?;
                    if missing.len() >= MAX_PIECES {
                        return Some(vec![requested.clone()]);
                    }
                    let lacks = |verb: &&String| !granted.iter().any(|grant| grant.covers(verb, &place));
                    let verbs: Vec<String> = requested.verbs.iter().filter(lacks).cloned().collect();
                    all &= verbs.len() == requested.verbs.len();
                    if !verbs.is_empty() {
                        missing.push(place.permission(verbs));
                    }
                }
            }
        }
    }
    // The rule as its author wrote it, and not in pieces.
    if all && !missing.is_empty() { Some(vec![requested.clone()]) } else { Some(missing) }
}

/// The same for HTTP: methods have the place of verbs.
fn missing_of_http(
    requested: &Permission,
    rule: &HttpRule,
    granted: &[Grant<'_>],
    left: &mut usize,
) -> Option<Vec<Permission>> {
    let (mut pieces, mut all) = (Vec::new(), true);
    let paths = or_all(&rule.paths);
    for host in &rule.hosts {
        for &path in &paths {
            let words =
                granted.iter().map(|grant| 1 + grant.http.map_or(0, |rule| rule.hosts.len() + rule.paths.len()));
            let cost = rule.methods.len().max(1).saturating_mul(words.sum::<usize>().max(1));
            *left = left.checked_sub(cost)?;
            if pieces.len() >= MAX_PIECES {
                return Some(vec![requested.clone()]);
            }
            let covered = |method: &String| granted.iter().any(|grant| grant.covers_http(method, host, path));
            let methods: Vec<String> = rule.methods.iter().filter(|method| !covered(method)).cloned().collect();
            all &= methods.len() == rule.methods.len();
            if !methods.is_empty() {
                let paths = path.map(str::to_owned).into_iter().collect();
                pieces.push(Permission::of_http(HttpRule { hosts: vec![host.clone()], methods, paths }));
            }
        }
    }
    if all && !pieces.is_empty() { Some(vec![requested.clone()]) } else { Some(pieces) }
}

fn or_all(list: &[String]) -> Vec<Option<&str>> {
    if list.is_empty() { vec![None] } else { list.iter().map(|word| Some(word.as_str())).collect() }
}

/// One word of each list except the verbs.
struct Place<'a> {
    group: &'a str,
    resource: &'a str,
    /// `None`: all.
    name: Option<&'a str>,
    /// `None`: all, and cluster-scoped objects.
    namespace: Option<&'a str>,
}

impl Place<'_> {
    fn permission(&self, verbs: Vec<String>) -> Permission {
        let list = |word: Option<&str>| word.map(str::to_owned).into_iter().collect();
        Permission {
            api_groups: vec![self.group.to_owned()],
            resources: vec![self.resource.to_owned()],
            verbs,
            resource_names: list(self.name),
            namespaces: list(self.namespace),
            http: None,
            directory: None,
        }
    }
}

/// One list of a rule, for many look-ups.
struct Words<'a>(HashSet<&'a str>);

impl<'a> Words<'a> {
    fn of(list: &'a [String]) -> Self {
        Self(list.iter().map(String::as_str).collect())
    }

    fn has_or_star(&self, word: &str) -> bool {
        self.0.contains("*") || self.0.contains(word)
    }

    /// For a list that stands for all if it is empty.
    fn all_or_has(&self, word: Option<&str>) -> bool {
        self.0.is_empty() || word.is_some_and(|word| self.0.contains(word))
    }
}

/// A rule of the grants.
struct Grant<'a> {
    groups: Words<'a>,
    resources: Words<'a>,
    /// `pods` of `pods/*`, `*` of `*/*`.
    all_of: Words<'a>,
    /// `scale` of `*/scale`.
    of_all: Words<'a>,
    verbs: Words<'a>,
    names: Words<'a>,
    namespaces: Words<'a>,
    http: Option<&'a HttpRule>,
    directory: Option<&'a DirectoryRule>,
}

impl<'a> Grant<'a> {
    fn of(rule: &'a Permission) -> Self {
        let parts = || rule.resources.iter().filter_map(|resource| resource.split_once('/'));
        Self {
            groups: Words::of(&rule.api_groups),
            resources: Words::of(&rule.resources),
            all_of: Words(parts().filter(|(_, sub)| *sub == "*").map(|(resource, _)| resource).collect()),
            of_all: Words(parts().filter(|(resource, _)| *resource == "*").map(|(_, sub)| sub).collect()),
            verbs: Words::of(&rule.verbs),
            names: Words::of(&rule.resource_names),
            namespaces: Words::of(&rule.namespaces),
            http: rule.http.as_ref(),
            directory: rule.directory.as_ref(),
        }
    }

    fn covers_http(&self, method: &str, host: &str, path: Option<&str>) -> bool {
        self.http.is_some_and(|rule| rule.covers(method, host, path))
    }

    fn covers(&self, verb: &str, place: &Place<'_>) -> bool {
        self.groups.has_or_star(place.group)
            && self.verbs.has_or_star(verb)
            && self.covers_resource(place.resource)
            && self.names.all_or_has(place.name)
            && self.namespaces.all_or_has(place.namespace)
    }

    /// `*` is everything, `pods` does not include its subresources, and `pods/*` is only the subresources.
    fn covers_resource(&self, resource: &str) -> bool {
        self.resources.has_or_star(resource)
            || resource
                .split_once('/')
                .is_some_and(|(resource, sub)| self.all_of.has_or_star(resource) || self.of_all.has_or_star(sub))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::model::DirectoryAccess;

    fn permission(words: usize) -> Permission {
        let many = |what: &str| (0..words).map(|n| format!("{what}{n}")).collect::<Vec<_>>();
        Permission {
            api_groups: many("g"),
            resources: many("r"),
            verbs: vec!["get".to_owned()],
            resource_names: many("n"),
            namespaces: many("s"),
            http: None,
            directory: None,
        }
    }

    fn all() -> Permission {
        let star = || vec!["*".to_owned()];
        let (resource_names, namespaces) = (Vec::new(), Vec::new());
        let (http, directory) = (None, None);
        Permission { api_groups: star(), resources: star(), verbs: star(), resource_names, namespaces, http, directory }
    }

    fn http(hosts: &[&str], methods: &[&str], paths: &[&str]) -> Permission {
        let list = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        Permission::of_http(HttpRule { hosts: list(hosts), methods: list(methods), paths: list(paths) })
    }

    // mutant: crates/core/src/model/permission.rs: `if let Some(rule) = &requested.http {` => `if let Some(rule) = requested.http.as_ref().filter(|_| false) {`
    // mutant: crates/core/src/model/http.rs: `(self.tls, self.port) == (other.tls, other.port)` => `self.port == other.port`
    #[test]
    fn http_is_granted_by_host_method_and_path() {
        let granted = [
            http(&["a.io", "*.b.io"], &["GET", "POST"], &["/v1/*", "/healthz"]),
            http(&["http://c.io:8080"], &["*"], &[]),
            all(),
        ];
        for requested in [
            http(&["a.io"], &["GET"], &["/v1/*"]),
            http(&["a.io"], &["GET", "POST"], &["/v1/pods/*", "/healthz"]),
            http(&["x.b.io", "*.x.b.io", "*.b.io"], &["GET"], &["/v1/x"]),
            http(&["http://c.io:8080"], &["DELETE"], &[]),
        ] {
            assert_eq!(missing(std::slice::from_ref(&requested), &granted), [], "{requested}");
        }
        for requested in [
            http(&["a.io"], &["GET"], &[]),
            http(&["a.io"], &["GET"], &["/*"]),
            http(&["a.io"], &["GET"], &["/healthz*"]),
            http(&["a.io"], &["DELETE"], &["/v1/*"]),
            http(&["b.io"], &["GET"], &["/v1/*"]),
            http(&["*.io"], &["GET"], &["/v1/*"]),
            http(&["http://a.io"], &["GET"], &["/v1/*"]),
            http(&["a.io:8443"], &["GET"], &["/v1/*"]),
            http(&["c.io:8080"], &["GET"], &[]),
            http(&["*"], &["GET"], &["/v1/*"]),
        ] {
            assert_eq!(missing(std::slice::from_ref(&requested), &granted), [requested]);
        }
        let requested = http(&["a.io", "d.io"], &["GET", "PUT"], &["/v1/*"]);
        let pieces = [http(&["a.io"], &["PUT"], &["/v1/*"]), http(&["d.io"], &["GET", "PUT"], &["/v1/*"])];
        assert_eq!(missing(&[requested], &granted), pieces);
        // What may be done with everything of Kubernetes is nothing of HTTP, and the other way round.
        assert_eq!(missing(&granted[..1], &[all()]), granted[..1]);
        assert_eq!(missing(&[all()], &granted[..2]), [all()]);
        assert_eq!(confine(&granted, "ns")[..2], granted[..2]);
    }

    fn directory(name: &str, access: DirectoryAccess) -> Permission {
        Permission::of_directory(DirectoryRule { name: name.to_owned(), access })
    }

    // mutant: crates/core/src/model/directory.rs: `self.name == other.name && self.access >= other.access` => `self.name == other.name`
    // mutant: crates/core/src/model/directory.rs: `self.name == other.name && self.access >= other.access` => `self.access >= other.access`
    // mutant: crates/core/src/model/permission.rs: `if let Some(rule) = &requested.directory {` => `if let Some(rule) = requested.directory.as_ref().filter(|_| false) {`
    #[test]
    fn a_directory_is_granted_by_name_and_access() {
        use DirectoryAccess::{Read, Write};
        let granted = [directory("keys", Write), directory("logs", Read), all(), http(&["a.io"], &["*"], &[])];
        for requested in [directory("keys", Read), directory("keys", Write), directory("logs", Read)] {
            assert_eq!(missing(std::slice::from_ref(&requested), &granted), [], "{requested}");
        }
        for requested in [directory("logs", Write), directory("other", Read)] {
            assert_eq!(missing(std::slice::from_ref(&requested), &granted), [requested]);
        }
        // A directory is neither Kubernetes nor HTTP, and has no namespaces.
        assert_eq!(missing(&[all()], &granted[..2]), [all()]);
        assert_eq!(confine(&granted, "ns")[..2], granted[..2]);
        assert_eq!(granted[0].to_string(), "read, write directory keys");
        assert_eq!(Permission::first_missing(&granted[..1], &[], &mut 0), None);
    }

    #[test]
    fn a_permission_is_of_one_kind() {
        let rule = http(&["a.io"], &["GET"], &[]);
        let text = serde_json::to_string(&rule).unwrap();
        assert_eq!(text, r#"{"http":{"hosts":["a.io"],"methods":["GET"]}}"#);
        assert_eq!(serde_json::from_str::<Permission>(&text).unwrap(), rule);
        let text = serde_json::to_string(&all()).unwrap();
        assert_eq!(serde_json::from_str::<Permission>(&text).unwrap(), all());
        let lists = r#""apiGroups":[],"resources":[],"verbs":[],"resourceNames":[],"namespaces":[]"#;
        for text in [
            format!(r#"{{{lists},"http":{{"hosts":["a.io"]}}}}"#),
            r#"{"http":{"hosts":["a.io"],"ports":[1]}}"#.to_owned(),
            r#"{"http":null}"#.to_owned(),
            r#"{"http":{"hosts":["a.io"]},"directory":{"name":"keys"}}"#.to_owned(),
            format!(r#"{{{lists},"directory":{{"name":"keys"}}}}"#),
            r#"{"directory":{"name":"keys","access":"all"}}"#.to_owned(),
            r#"{"apiGroups":[],"resources":[],"verbs":[]}"#.to_owned(),
        ] {
            assert!(serde_json::from_str::<Permission>(&text).is_err(), "{text}");
        }
        let reading = serde_json::from_str::<Permission>(r#"{"http":{"hosts":["a.io"]}}"#).unwrap();
        assert_eq!(reading, http(&["a.io"], &["GET", "HEAD"], &[]));
        let keys = directory("keys", DirectoryAccess::Write);
        let text = serde_json::to_string(&keys).unwrap();
        assert_eq!(text, r#"{"directory":{"name":"keys","access":"write"}}"#);
        assert_eq!(serde_json::from_str::<Permission>(&text).unwrap(), keys);
        let reading = serde_json::from_str::<Permission>(r#"{"directory":{"name":"keys"}}"#).unwrap();
        assert_eq!(reading, directory("keys", DirectoryAccess::Read));
    }

    // mutant: crates/core/src/model/permission.rs: `*left = left.checked_sub(work)?;` => `*left = left.saturating_sub(work);`
    #[test]
    fn more_combinations_than_the_bound_are_missing_whatever_is_granted() {
        let (wide, all) = (permission(40), all());
        assert_eq!(missing(std::slice::from_ref(&wide), std::slice::from_ref(&all)), [wide]);
        assert_eq!(missing(&[permission(4)], &[all]), []);
    }

    // mutant: crates/core/src/model/permission.rs: `missing.len() >= MAX_PIECES` => `missing.len() > 1_000_000`
    #[test]
    fn a_rule_that_lacks_many_pieces_is_missing_as_a_whole() {
        let (requested, first) = (permission(20), permission(1));
        assert_eq!(missing(std::slice::from_ref(&requested), &[first]), [requested]);
    }

    // mutant: crates/core/src/model/permission.rs: `*left = left.checked_sub(granted.len())?;` => ``
    #[test]
    fn questions_share_a_budget_and_reading_the_grants_is_in_it() {
        let (requested, grants) = ([permission(4)], vec![all(); 10]);
        let one = 10 + 256 * 10;
        let mut left = 2 * one;
        for _ in 0..2 {
            assert_eq!(Permission::first_missing(&requested, &grants, &mut left), Some(Vec::new()));
        }
        assert_eq!((left, Permission::first_missing(&requested, &grants, &mut left)), (0, None));
        assert_eq!(Permission::first_missing(&requested, &[], &mut 256), Some(requested.to_vec()));
    }

    // mutant: crates/core/src/model/permission.rs: `.find(|(_, items)| *items > Self::MAX_ITEMS)` => `.find(|_| false)`
    #[test]
    fn rules_and_words_are_bounded_as_in_documents() {
        let list = |words: usize| vec![Permission { verbs: vec!["get".to_owned(); words], ..permission(1) }];
        assert_eq!(Permission::too_long(&list(1000)), None);
        assert_eq!(Permission::too_long(&list(1001)), Some(("verbs", 1001)));
        assert_eq!(Permission::too_long(&vec![permission(1); 1000]), None);
        assert_eq!(Permission::too_long(&vec![permission(1); 1001]), Some(("permissions", 1001)));
        let hosts = HttpRule { hosts: vec!["a.io".to_owned(); 1001], methods: Vec::new(), paths: Vec::new() };
        assert_eq!(Permission::too_long(&[Permission::of_http(hosts)]), Some(("hosts", 1001)));
    }

    #[test]
    fn rules_beyond_the_bound_are_given_back_and_never_taken_to_pieces() {
        let requested = vec![permission(1000); 3];
        assert_eq!(missing(&requested, &[]), requested);
    }
}
