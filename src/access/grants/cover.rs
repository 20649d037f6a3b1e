//! What a hook asks for, against what it is granted. Pure; in doubt something is missing.

use crate::model::Permission;

/// Combinations of words that are looked at; of a document that asks for more of them, the rest is missing.
const MAX_CASES: usize = 100_000;

/// The rules that are asked for and that no single grant covers. Empty: all is granted.
pub fn missing(asked: &[Permission], granted: &[Permission]) -> Vec<Permission> {
    let mut left = MAX_CASES;
    asked.iter().flat_map(|asked| missing_of(asked, granted, &mut left)).collect()
}

/// What both allow.
pub fn effective(asked: &[Permission], granted: &[Permission]) -> Vec<Permission> {
    let mut both: Vec<Permission> = Vec::new();
    for (asked, granted) in asked.iter().flat_map(|asked| granted.iter().map(move |granted| (asked, granted))) {
        if let Some(permission) = intersection(asked, granted).filter(|permission| !both.contains(permission)) {
            both.push(permission);
        }
    }
    both
}

/// What of it is within a namespace: objects of all namespaces become those of this one.
pub fn confine(permissions: &[Permission], namespace: &str) -> Vec<Permission> {
    let reaches = |permission: &&Permission| {
        permission.namespaces.is_empty() || permission.namespaces.iter().any(|one| one == namespace)
    };
    let within = |permission: &Permission| Permission { namespaces: vec![namespace.to_owned()], ..permission.clone() };
    permissions.iter().filter(reaches).map(within).collect()
}

fn missing_of(asked: &Permission, granted: &[Permission], left: &mut usize) -> Vec<Permission> {
    let (mut missing, mut all) = (Vec::new(), true);
    let (names, namespaces) = (or_all(&asked.resource_names), or_all(&asked.namespaces));
    for group in &asked.api_groups {
        for resource in &asked.resources {
            for &name in &names {
                for &namespace in &namespaces {
                    let place = Place { group, resource, name, namespace };
                    let lacks = |verb: &&String| {
                        *left = left.saturating_sub(1);
                        *left == 0 || !granted.iter().any(|grant| place.within(verb, grant))
                    };
                    let verbs: Vec<String> = asked.verbs.iter().filter(lacks).cloned().collect();
                    all &= verbs.len() == asked.verbs.len();
                    if !verbs.is_empty() {
                        missing.push(place.permission(verbs));
                    }
                }
            }
        }
    }
    // As its author wrote it, rather than taken to pieces.
    if all && !missing.is_empty() { vec![asked.clone()] } else { missing }
}

fn or_all(list: &[String]) -> Vec<Option<&str>> {
    if list.is_empty() { vec![None] } else { list.iter().map(|word| Some(word.as_str())).collect() }
}

/// One word of each list but the verbs.
struct Place<'a> {
    group: &'a str,
    resource: &'a str,
    /// Absent: all.
    name: Option<&'a str>,
    /// Absent: all, and cluster-scoped objects.
    namespace: Option<&'a str>,
}

impl Place<'_> {
    fn within(&self, verb: &str, grant: &Permission) -> bool {
        let listed = |list: &[String], word: Option<&str>| {
            list.is_empty() || word.is_some_and(|word| list.iter().any(|rule| rule == word))
        };
        super::any_or_star(&grant.api_groups, self.group)
            && super::any_or_star(&grant.verbs, verb)
            && grant.resources.iter().any(|rule| both_resources(rule, self.resource).as_deref() == Some(self.resource))
            && listed(&grant.resource_names, self.name)
            && listed(&grant.namespaces, self.namespace)
    }

    fn permission(&self, verbs: Vec<String>) -> Permission {
        let list = |word: Option<&str>| word.map(str::to_owned).into_iter().collect();
        Permission {
            api_groups: vec![self.group.to_owned()],
            resources: vec![self.resource.to_owned()],
            verbs,
            resource_names: list(self.name),
            namespaces: list(self.namespace),
        }
    }
}

fn intersection(a: &Permission, b: &Permission) -> Option<Permission> {
    let words = |a: &[String], b: &[String], both: fn(&str, &str) -> Option<String>| {
        let mut found: Vec<String> = Vec::new();
        for word in a.iter().flat_map(|a| b.iter().filter_map(move |b| both(a, b))) {
            if !found.contains(&word) {
                found.push(word);
            }
        }
        (!found.is_empty()).then_some(found)
    };
    // Here, an empty list stands for all, so that it may not come of two lists that have nothing in common.
    let listed = |a: &[String], b: &[String]| match (a.is_empty(), b.is_empty()) {
        (true, _) => Some(b.to_vec()),
        (_, true) => Some(a.to_vec()),
        _ => words(a, b, same),
    };
    Some(Permission {
        api_groups: words(&a.api_groups, &b.api_groups, both_words)?,
        resources: words(&a.resources, &b.resources, both_resources)?,
        verbs: words(&a.verbs, &b.verbs, both_words)?,
        resource_names: listed(&a.resource_names, &b.resource_names)?,
        namespaces: listed(&a.namespaces, &b.namespaces)?,
    })
}

fn same(a: &str, b: &str) -> Option<String> {
    (a == b).then(|| a.to_owned())
}

/// The word that both rules match, where `*` matches all.
fn both_words(a: &str, b: &str) -> Option<String> {
    match (a, b) {
        ("*", other) | (other, "*") => Some(other.to_owned()),
        _ => same(a, b),
    }
}

/// `*` is everything, `pods` is without its subresources, and `pods/*` is these alone.
fn both_resources(a: &str, b: &str) -> Option<String> {
    match (a, b) {
        ("*", other) | (other, "*") => Some(other.to_owned()),
        _ => match (a.split_once('/'), b.split_once('/')) {
            (None, None) => same(a, b),
            (Some((a, of_a)), Some((b, of_b))) => Some(format!("{}/{}", both_words(a, b)?, both_words(of_a, of_b)?)),
            _ => None,
        },
    }
}
