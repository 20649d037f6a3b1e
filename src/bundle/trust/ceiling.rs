//! Whether permissions are within a ceiling. Pure; in doubt they are not.

use crate::model::Permission;

/// Combinations of words that are looked at; a hook that asks for more of them is refused.
const MAX_CASES: usize = 100_000;

/// The first thing that is asked for and not within the ceiling, in words.
pub(super) fn beyond(asked: &[Permission], ceiling: &[Permission]) -> Option<String> {
    let mut left = MAX_CASES;
    asked.iter().find_map(|one| permission(one, ceiling, &mut left))
}

fn permission(asked: &Permission, ceiling: &[Permission], left: &mut usize) -> Option<String> {
    let all = [""];
    let or_all = |list: &'_ [String]| -> Vec<Option<String>> {
        if list.is_empty() { vec![None] } else { list.iter().cloned().map(Some).collect() }
    };
    let (names, namespaces) = (or_all(&asked.resource_names), or_all(&asked.namespaces));
    let groups: Vec<&str> =
        if asked.api_groups.is_empty() { all.to_vec() } else { asked.api_groups.iter().map(String::as_str).collect() };
    for group in groups {
        for resource in &asked.resources {
            for verb in &asked.verbs {
                for name in &names {
                    for namespace in &namespaces {
                        let case =
                            Case { group, resource, verb, name: name.as_deref(), namespace: namespace.as_deref() };
                        *left = left.saturating_sub(1);
                        if *left == 0 {
                            return Some(format!("{} and too much more to look at", case.text()));
                        }
                        if !ceiling.iter().any(|cap| case.within(cap)) {
                            return Some(case.text());
                        }
                    }
                }
            }
        }
    }
    None
}

/// One word of each list.
struct Case<'a> {
    group: &'a str,
    resource: &'a str,
    verb: &'a str,
    /// Absent: all.
    name: Option<&'a str>,
    /// Absent: all, and cluster-scoped objects.
    namespace: Option<&'a str>,
}

impl Case<'_> {
    fn within(&self, cap: &Permission) -> bool {
        let star_or = |list: &[String], word: &str| list.iter().any(|rule| rule == "*" || rule == word);
        let listed = |list: &[String], word: Option<&str>| {
            list.is_empty() || word.is_some_and(|word| list.iter().any(|rule| rule == word))
        };
        star_or(&cap.api_groups, self.group)
            && star_or(&cap.verbs, self.verb)
            && cap.resources.iter().any(|rule| covers(rule, self.resource))
            && listed(&cap.resource_names, self.name)
            && listed(&cap.namespaces, self.namespace)
    }

    fn text(&self) -> String {
        let mut text = format!("{} {}", self.verb, self.resource);
        if !self.group.is_empty() {
            text.push_str(&format!(" of {}", self.group));
        }
        if let Some(name) = self.name {
            text.push_str(&format!(" named {name}"));
        }
        match self.namespace {
            Some(namespace) => text + " in namespace " + namespace,
            None => text + " everywhere",
        }
    }
}

/// Grants read `pods` without its subresources, `pods/*` as them alone, and `*` as everything.
fn covers(rule: &str, resource: &str) -> bool {
    let star_or = |part: &str, word: &str| part == "*" || part == word;
    match (rule.split_once('/'), resource.split_once('/')) {
        _ if rule == "*" => true,
        (None, None) => rule == resource,
        (Some((a, sub)), Some((b, word))) => star_or(a, b) && star_or(sub, word),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `groups|resources|verbs|names|namespaces`, words with commas between them; `core` is the empty group.
    fn permission(text: &str) -> Permission {
        let list = |text: &str| -> Vec<String> {
            let word = |word: &str| if word == "core" { String::new() } else { word.to_owned() };
            text.split(',').filter(|word| !word.is_empty()).map(word).collect()
        };
        let mut parts = text.split('|').map(list);
        let mut next = || parts.next().unwrap_or_default();
        Permission { api_groups: next(), resources: next(), verbs: next(), resource_names: next(), namespaces: next() }
    }

    fn check(asked: &str, ceiling: &[&str]) -> Option<String> {
        let ceiling: Vec<_> = ceiling.iter().map(|text| permission(text)).collect();
        beyond(&[permission(asked)], &ceiling)
    }

    #[test]
    fn within() {
        for (asked, ceiling) in [
            ("core|configmaps|get", &["core|configmaps,secrets|get,list"][..]),
            ("core|configmaps,pods|get", &["core|configmaps|get", "core|pods|*"]),
            ("apps|deployments/scale|patch", &["*|deployments/*|patch"]),
            ("apps|deployments/scale|patch", &["apps|*|*"]),
            ("core|secrets|get|a|web", &["core|secrets|get|a,b|web,db"]),
            ("core|secrets|get|a|web", &["core|secrets|get"]),
            ("core|secrets|get||web,db", &["core|secrets|get||web", "core|secrets|get||db"]),
            ("*|*|*", &["*|*|*"]),
        ] {
            assert_eq!(check(asked, ceiling), None, "{asked} within {ceiling:?}");
        }
    }

    #[test]
    fn beyond_it() {
        for (asked, ceiling, first) in [
            ("core|configmaps|get", &[][..], "get configmaps everywhere"),
            ("core|configmaps,secrets|get", &["core|configmaps|get"], "get secrets everywhere"),
            ("core|*|get", &["core|configmaps|get"], "get * everywhere"),
            ("core|pods/exec|create", &["core|pods|create"], "create pods/exec everywhere"),
            ("core|pods|get", &["core|pods/*|get"], "get pods everywhere"),
            ("core|pods/*|get", &["core|pods/log|get"], "get pods/* everywhere"),
            ("core|secrets|get", &["core|secrets|get||web"], "get secrets everywhere"),
            ("core|secrets|get||web", &["core|secrets|get|a|web"], "get secrets in namespace web"),
            ("core|secrets|get|b|web", &["core|secrets|get|a|web"], "get secrets named b in namespace web"),
            ("core|secrets|get||*", &["core|secrets|get||web"], "get secrets in namespace *"),
            ("apps|deployments|get", &["core|deployments|get"], "get deployments of apps everywhere"),
        ] {
            assert_eq!(check(asked, ceiling).as_deref(), Some(first), "{asked} within {ceiling:?}");
        }
    }

    #[test]
    fn a_flood_of_words_is_refused_in_time() {
        let many = |n: usize| (0..n).map(|i| format!("w{i}")).collect::<Vec<_>>().join(",");
        let asked = format!("{0}|{0}|{0}|{0}|{0}", many(1000));
        assert!(check(&asked, &["*|*|*"]).is_some_and(|text| text.contains("too much")));
    }
}
