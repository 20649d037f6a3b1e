//! Rules of roles: what they allow, and whether some cover others. Pure.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::attributes::{Attributes, ResourceTarget, Target};

/// `PolicyRule` of `rbac.authorization.k8s.io/v1`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Rule {
    pub verbs: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub api_groups: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resource_names: Vec<String>,
    #[serde(rename = "nonResourceURLs", skip_serializing_if = "Vec::is_empty")]
    pub non_resource_urls: Vec<String>,
}

fn has(list: &[String], wanted: &str) -> bool {
    list.iter().any(|item| item == "*" || item == wanted)
}

impl Rule {
    pub(crate) fn allows(&self, attributes: &Attributes) -> bool {
        if !has(&self.verbs, &attributes.verb) {
            return false;
        }
        match &attributes.target {
            Target::Path(path) => self.non_resource_urls.iter().any(|url| url_covers(url, path)),
            Target::Resource(target) => self.allows_resource(target),
        }
    }

    fn allows_resource(&self, target: &ResourceTarget) -> bool {
        let combined = target.combined();
        let any_parent = |rule: &str| {
            rule.strip_prefix("*/").is_some_and(|sub| !target.subresource.is_empty() && sub == target.subresource)
        };
        has(&self.api_groups, &target.group)
            && self.resources.iter().any(|r| r == "*" || *r == combined || any_parent(r))
            && (self.resource_names.is_empty() || self.resource_names.contains(&target.name))
    }

    /// Equivalent rules with at most one verb, resource and name each.
    fn atoms(&self) -> Vec<Self> {
        let one = |text: &String| vec![text.clone()];
        let mut atoms = Vec::new();
        for group in &self.api_groups {
            for resource in &self.resources {
                for verb in &self.verbs {
                    let base =
                        Self { verbs: one(verb), api_groups: one(group), resources: one(resource), ..Self::default() };
                    if self.resource_names.is_empty() {
                        atoms.push(base);
                        continue;
                    }
                    atoms.extend(self.resource_names.iter().map(|n| Self { resource_names: one(n), ..base.clone() }));
                }
            }
        }
        for url in &self.non_resource_urls {
            let path = |verb| Self { verbs: one(verb), non_resource_urls: one(url), ..Self::default() };
            atoms.extend(self.verbs.iter().map(path));
        }
        atoms
    }

    /// Whether this rule allows everything that an atom allows.
    fn covers(&self, atom: &Self) -> bool {
        let all = |mine: &[String], theirs: &[String]| theirs.iter().all(|item| has(mine, item));
        let resource = |wanted: &String| {
            has(&self.resources, wanted)
                || wanted.split_once('/').is_some_and(|(_, sub)| self.resources.contains(&format!("*/{sub}")))
        };
        let url = |wanted: &String| self.non_resource_urls.iter().any(|mine| url_covers(mine, wanted));
        let names = self.resource_names.is_empty()
            || !atom.resource_names.is_empty() && atom.resource_names.iter().all(|n| self.resource_names.contains(n));
        all(&self.verbs, &atom.verbs)
            && all(&self.api_groups, &atom.api_groups)
            && atom.resources.iter().all(resource)
            && atom.non_resource_urls.iter().all(url)
            && names
    }
}

/// Whether a path of a rule, which may end in `*`, covers another path.
fn url_covers(rule: &str, path: &str) -> bool {
    rule == path || rule.ends_with('*') && path.starts_with(rule.trim_end_matches('*'))
}

/// The format of the real server's refusals.
impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lists = [
            ("APIGroups", &self.api_groups),
            ("Resources", &self.resources),
            ("NonResourceURLs", &self.non_resource_urls),
            ("ResourceNames", &self.resource_names),
            ("Verbs", &self.verbs),
        ];
        let shown = lists.iter().filter(|(_, list)| !list.is_empty());
        let parts: Vec<String> = shown.map(|(name, list)| format!("{name}:{}", quoted(list))).collect();
        write!(f, "{{{}}}", parts.join(", "))
    }
}

/// A list of texts as Go prints it.
pub(crate) fn quoted(list: &[String]) -> String {
    let items: Vec<String> = list.iter().map(|item| format!("{item:?}")).collect();
    format!("[{}]", items.join(" "))
}

/// The part of `wanted` that `held` does not cover. Rules that differ only in the verb are merged.
pub(crate) fn missing(held: &[Rule], wanted: &[Rule]) -> Vec<Rule> {
    let mut joined: BTreeMap<Rule, Rule> = BTreeMap::new();
    for atom in wanted.iter().flat_map(Rule::atoms).filter(|atom| !held.iter().any(|rule| rule.covers(atom))) {
        let mut key = atom.clone();
        if atom.non_resource_urls.is_empty() {
            key.verbs.clear();
        }
        match joined.get_mut(&key) {
            Some(rule) => rule.verbs.extend(atom.verbs),
            None => {
                joined.insert(key, atom);
            }
        }
    }
    joined.into_values().collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::{Value, json};

    fn rule(value: Value) -> Rule {
        serde_json::from_value(value).unwrap()
    }

    fn pods(verbs: &[&str], resources: &[&str], names: &[&str]) -> Rule {
        rule(json!({ "verbs": verbs, "apiGroups": [""], "resources": resources, "resourceNames": names }))
    }

    fn wants(verb: &str, resource: &str, sub: &str, name: &str) -> Attributes {
        let (resource, subresource, name) = (resource.to_owned(), sub.to_owned(), name.to_owned());
        Attributes::of_resource(verb, ResourceTarget { resource, subresource, name, ..ResourceTarget::default() })
    }

    #[test]
    fn rules_allow_what_they_name() {
        let cases = [
            (pods(&["get"], &["pods"], &[]), wants("get", "pods", "", "x"), true),
            (pods(&["get"], &["pods"], &[]), wants("get", "pods", "log", "x"), false),
            (pods(&["get"], &["*"], &[]), wants("get", "pods", "log", "x"), true),
            (pods(&["*"], &["*/log"], &[]), wants("get", "pods", "log", "x"), true),
            (pods(&["*"], &["*/log"], &[]), wants("get", "pods", "", "x"), false),
            (pods(&["get"], &["pods"], &["y"]), wants("get", "pods", "", "x"), false),
            (pods(&["list"], &["pods"], &["y"]), wants("list", "pods", "", ""), false),
            (pods(&["list"], &["pods"], &["y"]), wants("list", "pods", "", "y"), true),
            (rule(json!({ "verbs": ["get"], "nonResourceURLs": ["/a/*"] })), Attributes::of_path("get", "/a/b"), true),
            (rule(json!({ "verbs": ["get"], "nonResourceURLs": ["/a"] })), Attributes::of_path("get", "/a/b"), false),
        ];
        for (rule, attributes, wanted) in cases {
            assert_eq!(rule.allows(&attributes), wanted, "{rule} {attributes:?}");
        }
        let other = ResourceTarget { group: "apps".into(), resource: "pods".into(), ..ResourceTarget::default() };
        assert!(!pods(&["get"], &["pods"], &[]).allows(&Attributes::of_resource("get", other)));
    }

    #[test]
    fn what_is_missing_is_told_by_place() {
        let held = [pods(&["get", "list"], &["pods", "*/scale"], &[]), pods(&["delete"], &["secrets"], &["a"])];
        let none: [Rule; 0] = [];
        assert_eq!(missing(&held, &[pods(&["get"], &["pods", "pods/scale"], &["x"])]), none);
        let wanted = [pods(&["get", "watch", "delete"], &["pods"], &[]), pods(&["delete"], &["secrets"], &[])];
        let told: Vec<String> = missing(&held, &wanted).iter().map(ToString::to_string).collect();
        assert_eq!(
            told,
            [
                r#"{APIGroups:[""], Resources:["pods"], Verbs:["watch" "delete"]}"#,
                r#"{APIGroups:[""], Resources:["secrets"], Verbs:["delete"]}"#,
            ]
        );
        assert_eq!(missing(&[pods(&["*"], &["*"], &[])], &wanted), none);
    }
}
