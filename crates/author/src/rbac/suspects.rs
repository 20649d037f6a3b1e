//! Finds names in a hook's document that match no kind or resource of a known group, because most of them are misspelt.
//! Names in unknown groups are not checked, because their CustomResourceDefinitions are in the cluster. Pure.

use boathook_core::model::HookSpec;

use super::kinds::{Kinds, group};

/// Maximum edit distance between a misspelt word and the suggestion.
const NEAR: usize = 2;

/// A warning for each name.
pub fn suspects(spec: &HookSpec, kinds: &Kinds) -> Vec<String> {
    let mut found = Vec::new();
    for binding in &spec.kubernetes {
        let version = binding.api_version.as_deref();
        let known_group = version.is_none_or(|version| kinds.knows_group(group(version)));
        if known_group && kinds.find(version, &binding.kind).is_none_or(|found| found.guessed) {
            let place = version.map(|version| format!(" in {version}")).unwrap_or_default();
            let near = nearest(&binding.kind, kinds.kinds_of(version.map(group)));
            let kind = &binding.kind;
            found.push(format!(
                "kubernetes binding {:?}: no kind {kind:?} is known{place}{near}",
                binding.name.as_str()
            ));
        }
    }
    let permissions = spec.permissions.iter().enumerate();
    let asked = permissions.map(|(at, one)| (format!("permissions.kubernetes[{at}]"), &one.api_groups, &one.resources));
    let reviewed = spec.admission.iter().flat_map(|binding| {
        binding
            .rules
            .iter()
            .map(|rule| (format!("webhook {:?}", binding.name.as_str()), &rule.api_groups, &rule.resources))
    });
    for (place, groups, resources) in asked.chain(reviewed) {
        for resource in resources {
            let plural = resource.split('/').next().unwrap_or_default();
            let known = |group: &String| {
                group == "*" || !kinds.knows_group(group) || kinds.with_plural(group, plural).is_some()
            };
            if plural != "*" && !groups.iter().any(known) {
                let all = groups.iter().flat_map(|group| kinds.plurals_of(group));
                let near = nearest(plural, all);
                let of = groups.iter().map(|group| if group.is_empty() { "the core group" } else { group });
                let of = of.collect::<Vec<_>>().join(", ");
                found.push(format!("{place}: no resource {plural:?} is known in {of}{near}"));
            }
        }
    }
    found
}

fn nearest<'a>(word: &str, all: impl Iterator<Item = &'a str>) -> String {
    let lower = word.to_ascii_lowercase();
    let near = all.map(|other| (distance(&lower, &other.to_ascii_lowercase()), other)).min();
    match near {
        Some((edits, other)) if edits <= NEAR => format!(": did you mean {other:?}?"),
        _ => String::new(),
    }
}

/// The number of letters to insert, delete or replace.
fn distance(one: &str, other: &str) -> usize {
    let mut row: Vec<usize> = (0..=other.chars().count()).collect();
    for (at, a) in one.chars().enumerate() {
        let mut left = at + 1;
        let mut above = at;
        for (place, b) in row.iter_mut().skip(1).zip(other.chars()) {
            let next = (above + usize::from(a != b)).min(*place + 1).min(left + 1);
            above = std::mem::replace(place, next);
            left = next;
        }
        if let Some(first) = row.first_mut() {
            *first = at + 1;
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use boathook_core::{hooks::parse, model::HookName};

    use super::*;
    use crate::rbac::ServedKind;

    fn of(document: &str) -> Vec<String> {
        let kind = |api_version: &str, kind: &str, plural: &str| ServedKind {
            api_version: api_version.into(),
            kind: kind.into(),
            plural: plural.into(),
            singular: kind.to_lowercase(),
            short_names: Vec::new(),
            namespaced: true,
            subresources: Vec::new(),
        };
        let kinds = Kinds::new(vec![
            kind("v1", "Pod", "pods"),
            kind("v1", "ConfigMap", "configmaps"),
            kind("apps/v1", "Deployment", "deployments"),
        ]);
        let spec = parse(&HookName::new("h").unwrap(), &format!("configVersion: v1\n{document}"), &|_| Ok(()));
        suspects(&spec.unwrap(), &kinds)
    }

    #[test]
    fn what_is_misspelt_is_reported_with_what_was_meant() {
        let found = of("kubernetes: [{name: a, apiVersion: apps/v1, kind: Deploymnt}, {name: b, kind: Pods}]
permissions: {kubernetes: [
  {apiGroups: [apps], resources: [deployment, deployments/status], verbs: [get]},
  {apiGroups: [''], resources: [secretses], verbs: [get]}]}
");
        assert_eq!(
            found,
            [
                "kubernetes binding \"a\": no kind \"Deploymnt\" is known in apps/v1: did you mean \"Deployment\"?",
                "permissions.kubernetes[0]: no resource \"deployment\" is known in apps: did you mean \"deployments\"?",
                "permissions.kubernetes[1]: no resource \"secretses\" is known in the core group",
            ]
        );
    }

    #[test]
    fn kinds_of_other_groups_are_the_clusters_to_know() {
        let found = of("kubernetes: [{name: a, apiVersion: sea.dev/v1, kind: Boat}, {name: b, kind: ConfigMap}]
permissions: {kubernetes: [
  {apiGroups: [sea.dev, ''], resources: [boats, '*/status'], verbs: [get]},
  {apiGroups: ['*'], resources: [anything], verbs: [get]},
  {apiGroups: [''], resources: ['*', pods/exec], verbs: ['*']}]}
");
        assert_eq!(found, [""; 0]);
    }

    #[test]
    fn distances_are_counted_in_letters() {
        for (one, other, edits) in
            [("", "", 0), ("a", "", 1), ("pod", "pods", 1), ("deploymnt", "deployment", 1), ("ab", "ba", 2)]
        {
            assert_eq!((distance(one, other), distance(other, one)), (edits, edits), "{one} {other}");
        }
    }
}
