//! A permission as narrow as the calls that needed it. Unlike `compare`, it says for each permission what is left of it.

use std::collections::{BTreeMap, BTreeSet};

use boathook_core::model::Permission;

use super::{
    evidence::Calls,
    kinds::Kinds,
    rules::gather,
    usage::{Use, all_asked, is_pattern, needs},
};

/// More names or namespaces than this stand for all.
const FEW: usize = 5;
/// Each name or namespace occurred at least so often, or others may come.
const OFTEN: u64 = 5;

/// What runs needed of one permission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Narrowed {
    /// What allows the same calls. Empty if no call needed it.
    pub needed: Vec<Permission>,
    /// The calls that needed it.
    pub calls: u64,
}

/// The permission without what no call needed. None if all of it was needed.
pub fn narrow(permission: &Permission, calls: &Calls, kinds: &Kinds) -> Option<Narrowed> {
    let uses: Vec<_> = calls.used.iter().map(|(call, times)| Use::of(call, *times, kinds)).collect();
    let mut triples: BTreeMap<(String, String, String), ((), BTreeSet<()>)> = BTreeMap::new();
    let mut needing: BTreeMap<usize, &Use<'_>> = BTreeMap::new();
    for asked in all_asked(0, permission) {
        for (at, one) in uses.iter().enumerate().filter(|(_, one)| needs(permission, &asked, one)) {
            let (group, resource) = if is_pattern(&asked) {
                (one.group().to_owned(), one.resource.clone())
            } else {
                (asked.group.clone(), asked.resource.clone())
            };
            triples.insert((group, resource, asked.verb.clone()), ((), BTreeSet::new()));
            needing.insert(at, one);
        }
    }
    let times = needing.values().map(|one| one.times()).fold(0_u64, u64::saturating_add);
    let few = |known: &[String], part: fn(&super::Used) -> Option<&String>| {
        let used: Option<BTreeSet<&String>> = needing.values().map(|one| part(one.call)).collect();
        let narrower = |used: &BTreeSet<&String>| {
            let enough = u64::try_from(used.len()).is_ok_and(|count| times >= count.saturating_mul(OFTEN));
            let fewer = if known.is_empty() { used.len() <= FEW && enough } else { used.len() < known.len() };
            !used.is_empty() && fewer
        };
        let used = used.filter(narrower)?;
        Some(used.into_iter().cloned().collect::<Vec<_>>())
    };
    let names = few(&permission.resource_names, |call| call.name.as_ref());
    let namespaces = few(&permission.namespaces, |call| call.namespace.as_ref());
    let same = |texts: &[String]| texts.to_vec();
    let resource_names = names.unwrap_or_else(|| same(&permission.resource_names));
    let namespaces = namespaces.unwrap_or_else(|| same(&permission.namespaces));
    let verbs = gather(triples, |(group, resource, verb), ()| ((group, resource), verb));
    let resources = gather(verbs, |(group, resource), verbs| ((group, verbs), resource));
    let groups = gather(resources, |(group, verbs), resources| ((verbs, resources), group));
    let list = |texts: BTreeSet<String>| texts.into_iter().collect::<Vec<_>>();
    let needed: Vec<_> = groups
        .into_iter()
        .map(|((verbs, resources), (groups, _))| Permission {
            api_groups: list(groups),
            resources: list(resources),
            verbs: list(verbs),
            resource_names: resource_names.clone(),
            namespaces: namespaces.clone(),
            http: None,
            directory: None,
        })
        .collect();
    let whole = needed.first().filter(|_| needed.len() == 1).is_some_and(|one| covers(one, permission));
    (!whole).then_some(Narrowed { needed, calls: times })
}

/// Whether both are the same, in any order. `*` as a verb is all verbs of hooks.
fn covers(one: &Permission, other: &Permission) -> bool {
    let set = |permission: &Permission| {
        let verbs: BTreeSet<String> = all_asked(0, permission).into_iter().map(|asked| asked.verb).collect();
        let texts = |texts: &[String]| texts.iter().cloned().collect::<BTreeSet<_>>();
        let Permission { api_groups, resources, resource_names, namespaces, .. } = permission;
        (verbs, [texts(api_groups), texts(resources), texts(resource_names), texts(namespaces)])
    };
    set(one) == set(other)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use boathook_core::model::ObjectRef;

    use super::*;

    fn permission(resources: &[&str], verbs: &[&str]) -> Permission {
        let own = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        Permission {
            api_groups: own(&[""]),
            resources: own(resources),
            verbs: own(verbs),
            resource_names: Vec::new(),
            namespaces: Vec::new(),
            http: None,
            directory: None,
        }
    }

    fn gets(names: &[(&str, &str)], times: usize) -> Calls {
        let mut calls = Calls::default();
        for (namespace, name) in names.iter().cycle().take(names.len() * times) {
            let target = ObjectRef {
                api_version: "v1".into(),
                kind: "Secret".into(),
                namespace: Some((*namespace).into()),
                name: (*name).into(),
            };
            calls.got(&target, None, None);
        }
        calls
    }

    fn line(narrowed: Option<Narrowed>) -> String {
        narrowed.unwrap().needed.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn what_no_call_needed_is_left_out() {
        let (calls, kinds) = (gets(&[("a", "s")], 1), Kinds::default());
        assert_eq!(line(narrow(&permission(&["secrets", "pods"], &["get", "list"]), &calls, &kinds)), "get secrets");
        assert_eq!(line(narrow(&permission(&["*"], &["*"]), &calls, &kinds)), "get secrets");
        assert_eq!(line(narrow(&permission(&["pods"], &["get"]), &calls, &kinds)), "");
        assert_eq!(narrow(&permission(&["secrets"], &["get"]), &calls, &kinds), None, "one call shows no rule");
    }

    #[test]
    fn names_and_namespaces_count_if_each_occurred_often() {
        let kinds = Kinds::default();
        let of = |calls: &Calls| narrow(&permission(&["secrets"], &["get"]), calls, &kinds);
        assert_eq!(line(of(&gets(&[("a", "s"), ("b", "s")], 5))), "get secrets named s in a, b");
        let many: Vec<_> = ["a", "b", "c", "d", "e", "f"].iter().map(|namespace| (*namespace, "s")).collect();
        assert_eq!(line(of(&gets(&many, 5))), "get secrets named s");
        assert_eq!(of(&gets(&[("a", "s"), ("b", "t")], 2)), None);
        // Fewer of those that the permission names are a fact, however often.
        let named = Permission { namespaces: vec!["a".into(), "b".into()], ..permission(&["secrets"], &["get"]) };
        assert_eq!(line(narrow(&named, &gets(&[("a", "s")], 1), &kinds)), "get secrets in a");
    }
}
