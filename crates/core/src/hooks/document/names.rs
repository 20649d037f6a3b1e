//! Makes the names of a document's bindings unique, and finds the snapshots that each binding may open: those that it
//! names, and those of its group.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use super::problem::{Problems, short};
use crate::model::{AdmissionKind, BindingName, HookSpec, KubernetesBinding, ReconcileBinding};

/// The keys of the document for admission.
const ADMISSION: [(&str, AdmissionKind); 2] =
    [("kubernetesValidating", AdmissionKind::Validating), ("kubernetesMutating", AdmissionKind::Mutating)];
const CONVERSION: &str = "kubernetesCustomResourceConversion";

/// Gives each binding a unique name, and resolves `includeSnapshotsFrom` and `group`.
pub(super) fn resolve(spec: &mut HookSpec, reader: &Problems<'_>) {
    make_unique(spec.schedules.iter_mut().map(|binding| &mut binding.name).collect());
    make_unique(spec.kubernetes.iter_mut().map(|binding| &mut binding.name).collect());
    check_unique(spec, reader);
    check_snapshots(spec, reader);
    expand_groups(spec);
    // After the checks, because a document cannot name them.
    spec.kubernetes.extend(spec.reconcilers.iter().flat_map(ReconcileBinding::informers));
}

/// The first binding with a name keeps it. Each of the others gets the next number that is free.
fn make_unique(names: Vec<&mut BindingName>) {
    let mut taken: HashSet<Arc<str>> = names.iter().map(|name| name.as_str().into()).collect();
    let mut last: HashMap<Arc<str>, usize> = HashMap::new();
    for name in names {
        let number = last.entry(name.as_str().into()).or_default();
        *number += 1;
        if *number == 1 {
            continue;
        }
        let mut next = BindingName::nth(name.as_str(), *number);
        while !taken.insert(next.unique().into()) {
            *number += 1;
            next = BindingName::nth(name.as_str(), *number);
        }
        *name = next;
    }
}

/// Webhooks need unique names, because the API server and the paths of requests identify them by name.
fn check_unique(spec: &HookSpec, reader: &Problems<'_>) {
    let check = |key: &str, names: Vec<&BindingName>| {
        let mut known = HashSet::new();
        for (i, name) in names.into_iter().enumerate().filter(|(_, name)| !name.as_str().is_empty()) {
            if !known.insert(name) {
                let quoted = short(name.as_str(), 80);
                reader.wrong(
                    &format!("{key}[{i}].name"),
                    format!("is \"{quoted}\" once more; each needs a name of its own"),
                );
            }
        }
    };
    for (key, kind) in ADMISSION {
        check(key, spec.admission.iter().filter(|binding| binding.kind == kind).map(|binding| &binding.name).collect());
    }
    check(CONVERSION, spec.conversions.iter().map(|binding| &binding.name).collect());
    // Each has informers with its name.
    check("reconcile", spec.reconcilers.iter().map(|binding| &binding.name).collect());
    for (i, binding) in spec.reconcilers.iter().enumerate() {
        let other = |known: &KubernetesBinding| {
            let (own, known) = (binding.name.as_str(), known.name.unique());
            known == own || known.strip_prefix(own).is_some_and(|rest| rest.starts_with('/'))
        };
        if let Some(other) = spec.kubernetes.iter().find(|known| other(known)) {
            let message = format!("clashes with the kubernetes binding \"{}\"; give it another name", other.name);
            reader.wrong(&format!("reconcile[{i}].name"), message);
        }
        let before = spec.reconcilers.iter().take(i).find(|before| before.has_parents_of(binding));
        if let Some(before) = before.filter(|_| !binding.parent.kind.is_empty()) {
            let (kind, name) = (binding.parent.group_kind(), short(before.name.as_str(), 80));
            let message = format!(
                "is {kind}, and the binding \"{name}\" has this kind, too: each would delete the other's children; use one \
                 binding, which returns the children of both"
            );
            reader.wrong(&format!("reconcile[{i}].kind"), message);
        }
    }
}

/// Each name in `includeSnapshotsFrom` must belong to exactly one `kubernetes` binding.
fn check_snapshots(spec: &HookSpec, reader: &Problems<'_>) {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for binding in &spec.kubernetes {
        *counts.entry(binding.name.as_str()).or_default() += 1;
    }
    for (kind, i, list) in wanted(spec) {
        for (j, name) in list.iter().enumerate() {
            let quoted = format!("\"{}\"", short(name.as_str(), 80));
            let message = match counts.get(name.as_str()) {
                Some(1) => continue,
                None => format!("names no kubernetes binding: there is none called {quoted}"),
                Some(count) => format!(
                    "is not clear: there are {count} kubernetes bindings called {quoted}; give each a name of its own"
                ),
            };
            reader.wrong(&format!("{kind}[{i}].includeSnapshotsFrom[{j}]"), message);
        }
    }
}

/// Each binding's `includeSnapshotsFrom`, with the document's list of the binding and its place in that list.
fn wanted(spec: &HookSpec) -> impl Iterator<Item = (&'static str, usize, &[BindingName])> {
    // Every field is named here, so that a new type of binding cannot be forgotten: here, for its group, and for the
    // uniqueness of its names.
    let HookSpec {
        schedules,
        kubernetes,
        reconcilers,
        admission: webhooks,
        conversions,
        on_startup: _,
        stages: _,
        name: _,
        permissions: _,
        limits: _,
        concurrency: _,
        rate: _,
        combine: _,
        failure_events: _,
        warnings: _,
    } = spec;
    let schedules = schedules.iter().map(|binding| &*binding.include_snapshots_from).enumerate();
    let kubernetes = kubernetes.iter().map(|binding| &*binding.include_snapshots_from).enumerate();
    let conversions = conversions.iter().map(|binding| &*binding.include_snapshots_from).enumerate();
    let reconcilers = reconcilers.iter().map(|binding| &*binding.include_snapshots_from).enumerate();
    let admission = ADMISSION.into_iter().flat_map(|(key, kind)| {
        let of_kind = webhooks.iter().filter(move |binding| binding.kind == kind);
        of_kind.map(|binding| &*binding.include_snapshots_from).enumerate().map(move |(i, list)| (key, i, list))
    });
    let under = |key: &'static str| move |(i, list)| (key, i, list);
    let triggers = schedules.map(under("schedule")).chain(kubernetes.map(under("kubernetes")));
    let triggers = triggers.chain(reconcilers.map(under("reconcile")));
    triggers.chain(admission).chain(conversions.map(under(CONVERSION)))
}

/// Every binding of a group may open the snapshots of all the group's `kubernetes` bindings. They come after those that
/// it names itself.
fn expand_groups(spec: &mut HookSpec) {
    let mut groups: HashMap<Arc<str>, Vec<BindingName>> = HashMap::new();
    for binding in &spec.kubernetes {
        if let Some(group) = &binding.group {
            groups.entry(group.clone()).or_default().push(binding.name.clone());
        }
    }
    let groups: HashMap<Arc<str>, Arc<[BindingName]>> =
        groups.into_iter().map(|(group, names)| (group, names.into())).collect();
    let schedules = spec.schedules.iter_mut().map(|b| (&b.group, &mut b.include_snapshots_from));
    let kubernetes = spec.kubernetes.iter_mut().map(|b| (&b.group, &mut b.include_snapshots_from));
    let admission = spec.admission.iter_mut().map(|b| (&b.group, &mut b.include_snapshots_from));
    let conversions = spec.conversions.iter_mut().map(|b| (&b.group, &mut b.include_snapshots_from));
    for (group, list) in schedules.chain(kubernetes).chain(admission).chain(conversions) {
        if let Some(members) = group.as_ref().and_then(|group| groups.get(group)) {
            *list = union(list, members);
        }
    }
}

fn union(own: &[BindingName], members: &Arc<[BindingName]>) -> Arc<[BindingName]> {
    if own.is_empty() {
        return members.clone();
    }
    let known: HashSet<_> = own.iter().collect();
    own.iter().chain(members.iter().filter(|name| !known.contains(name))).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_names_are_equal() {
        let mut names: Vec<_> = ["a", "a", "a#2", "b", "a", "a#2", "a#2#2"].map(BindingName::new).into();
        make_unique(names.iter_mut().collect());
        let unique: Vec<_> = names.iter().map(BindingName::unique).collect();
        assert_eq!(unique, ["a", "a#3", "a#2", "b", "a#4", "a#2#3", "a#2#2"]);
        let written: Vec<_> = names.iter().map(BindingName::as_str).collect();
        assert_eq!(written, ["a", "a", "a#2", "b", "a", "a#2", "a#2#2"]);
    }
}
