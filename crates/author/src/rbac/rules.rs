//! Merges single accesses into few rules: it drops an access that another one includes, and merges accesses that differ
//! in one field. Rules never allow more than the accesses that they are made of, and their order is fixed.

use std::collections::{BTreeMap, BTreeSet};

use super::access::{Access, Place, Reason};

/// A rule of a Role or ClusterRole, with its reasons.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rule {
    /// `apiGroups`.
    pub groups: Vec<String>,
    /// `resources`.
    pub resources: Vec<String>,
    /// `resourceNames`. Empty means all.
    pub names: Vec<String>,
    /// `verbs`.
    pub verbs: Vec<String>,
    pub reasons: BTreeSet<Reason>,
}

type Texts = BTreeSet<String>;
type Reasons = BTreeSet<Reason>;

/// The rules for each place.
pub fn rules(accesses: &BTreeMap<Access, Reasons>) -> BTreeMap<Place, Vec<Rule>> {
    let single = without_included(accesses).into_iter().map(|(access, reasons)| (access, ((), reasons))).collect();
    let verbs =
        gather(single, |Access { place, group, resource, name, verb }, ()| ((place, group, resource, name), verb));
    let names = gather(verbs, |(place, group, resource, name), verbs| {
        let named = name.is_some();
        ((place, group, resource, verbs, named), name)
    });
    let resources = gather(names, |(place, group, resource, verbs, _), names| {
        let names: Texts = names.into_iter().flatten().collect();
        ((place, group, verbs, names), resource)
    });
    let groups = gather(resources, |(place, group, verbs, names), resources| ((place, resources, verbs, names), group));
    let mut rules: BTreeMap<Place, Vec<Rule>> = BTreeMap::new();
    for ((place, resources, verbs, names), (groups, reasons)) in groups {
        let list = |texts: Texts| texts.into_iter().collect();
        let rule =
            Rule { groups: list(groups), resources: list(resources), names: list(names), verbs: list(verbs), reasons };
        rules.entry(place).or_default().push(rule);
    }
    rules.values_mut().for_each(|rules| rules.sort());
    rules
}

/// Turns one part of the keys into a set, and merges keys that differ only in that part.
pub(super) fn gather<K, V, R: Ord, L: Ord, T: Ord>(
    from: BTreeMap<K, (V, BTreeSet<R>)>,
    part: impl Fn(K, V) -> (L, T),
) -> BTreeMap<L, (BTreeSet<T>, BTreeSet<R>)> {
    let mut to: BTreeMap<L, (BTreeSet<T>, BTreeSet<R>)> = BTreeMap::new();
    for (key, (value, reasons)) in from {
        let (key, one) = part(key, value);
        let entry = to.entry(key).or_insert_with(|| (BTreeSet::new(), BTreeSet::new()));
        entry.0.insert(one);
        entry.1.extend(reasons);
    }
    to
}

/// The accesses that no other access includes. An access that includes others also gets their reasons.
fn without_included(accesses: &BTreeMap<Access, Reasons>) -> BTreeMap<Access, Reasons> {
    let mut kept: BTreeMap<Access, Reasons> = BTreeMap::new();
    for (access, reasons) in accesses {
        let widest = access.covering().into_iter().rev().find(|wider| accesses.contains_key(wider));
        kept.entry(widest.unwrap_or_else(|| access.clone())).or_default().extend(reasons.iter().cloned());
    }
    kept
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use boathook_core::model::HookName;

    use super::{super::access::Part, *};

    /// `VERB PLACE GROUP RESOURCE NAME`. `-` stands for the cluster, the core group, or no name.
    fn accesses(lines: &[&str]) -> BTreeMap<Access, Reasons> {
        let read = |(index, line): (usize, &&str)| {
            let words: Vec<_> = line.split(' ').collect();
            let some = |word: &str| (word != "-").then(|| word.to_owned());
            let access = Access {
                verb: words[0].to_owned(),
                place: some(words[1]).map_or(Place::Cluster, Place::Namespace),
                group: some(words[2]).unwrap_or_default(),
                resource: words[3].to_owned(),
                name: some(words[4]),
            };
            let reason = Reason { hook: HookName::new("h").ok(), part: Part::Permission(index) };
            (access, BTreeSet::from([reason]))
        };
        lines.iter().enumerate().map(read).collect()
    }

    /// `PLACE: GROUPS RESOURCES NAMES VERBS`.
    fn merged(lines: &[&str]) -> Vec<String> {
        let text = |place: &Place, rule: &Rule| {
            let words = |texts: &[String]| texts.join(",");
            let place = place.namespace().unwrap_or("-");
            let (groups, resources) = (words(&rule.groups), words(&rule.resources));
            format!("{place}: [{groups}] [{resources}] [{}] [{}]", words(&rule.names), words(&rule.verbs))
        };
        let rules = rules(&accesses(lines));
        rules.iter().flat_map(|(place, rules)| rules.iter().map(move |rule| text(place, rule))).collect()
    }

    #[test]
    fn what_differs_in_one_respect_is_one_rule() {
        assert_eq!(merged(&["get - - pods -", "list - - pods -"]), ["-: [] [pods] [] [get,list]"]);
        assert_eq!(merged(&["get - - pods a", "get - - pods b"]), ["-: [] [pods] [a,b] [get]"]);
        assert_eq!(merged(&["get - - pods -", "get - - nodes -"]), ["-: [] [nodes,pods] [] [get]"]);
        assert_eq!(
            merged(&["get - - events -", "get - events.k8s.io events -"]),
            ["-: [,events.k8s.io] [events] [] [get]"]
        );
        assert_eq!(merged(&["get a - pods -", "get b - pods -"]), ["a: [] [pods] [] [get]", "b: [] [pods] [] [get]"]);
    }

    #[test]
    fn nothing_is_allowed_that_was_not_asked_for() {
        // Neither `list nodes` nor `get pods named b` may follow from these.
        assert_eq!(
            merged(&["get - - pods -", "list - - pods -", "get - - nodes -"]),
            ["-: [] [nodes] [] [get]", "-: [] [pods] [] [get,list]"]
        );
        assert_eq!(
            merged(&["get - - pods a", "list - - pods a", "list - - pods b"]),
            ["-: [] [pods] [a] [get,list]", "-: [] [pods] [b] [list]"]
        );
        assert_eq!(
            merged(&["get - - pods -", "get - apps deployments -"]),
            ["-: [] [pods] [] [get]", "-: [apps] [deployments] [] [get]"]
        );
    }

    #[test]
    fn what_another_rule_includes_is_left_out() {
        for (wide, line) in [
            ("get - - pods -", "-: [] [pods] [] [get]"),
            ("get - * pods -", "-: [*] [pods] [] [get]"),
            ("get - - * -", "-: [] [*] [] [get]"),
            ("get - * * -", "-: [*] [*] [] [get]"),
        ] {
            assert_eq!(merged(&[wide, "get n - pods a", "get - - pods a", "get n - pods -"]), [line]);
        }
        assert_eq!(merged(&["update - - */status -", "update n - pods/status a"]), ["-: [] [*/status] [] [update]"]);
        // A resource does not include its subresource.
        assert_eq!(merged(&["get - - pods -", "get - - pods/log -"]), ["-: [] [pods,pods/log] [] [get]"]);
    }

    #[test]
    fn a_rule_is_there_for_all_that_it_serves() {
        let rules = rules(&accesses(&["get - - pods -", "get n - pods a", "list - - pods -"]));
        let parts: Vec<_> = rules[&Place::Cluster][0].reasons.iter().map(|reason| reason.part.clone()).collect();
        assert_eq!(parts, [Part::Permission(0), Part::Permission(1), Part::Permission(2)]);
    }
}
