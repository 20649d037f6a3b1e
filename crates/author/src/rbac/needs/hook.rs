//! The rights for a hook's own calls: its permissions in RBAC's terms, which sometimes have another meaning.
//!
//! | permission | RBAC |
//! | --- | --- |
//! | verb `*` | the verbs that a hook can use, without `escalate` or `impersonate` |
//! | `pods/*` | each subresource, because RBAC has no such pattern |
//! | `create` with `resourceNames` | `create` without names, because RBAC does not know the name of a new object |
//! | core `events`, `create` | also those of `events.k8s.io`, where Events are sent |
//! | `namespaces` with a cluster-scoped kind | nothing, because the operator refuses it |

use boathook_core::model::{HookSpec, Permission};

use super::{
    super::{
        access::{Access, Part, Place, Who},
        error::NeedsError,
        kinds::Kinds,
    },
    Collector,
};

/// The verbs that calls of hooks use.
pub(super) const VERBS: [&str; 6] = ["create", "delete", "get", "list", "patch", "update"];
const EVENTS: &str = "events.k8s.io";

pub(super) fn collect(spec: &HookSpec, kinds: &Kinds, who: &Who, out: &mut Collector<'_>) -> Result<(), NeedsError> {
    for (index, permission) in spec.permissions.iter().enumerate() {
        let part = Part::Permission(index);
        let item = Item { permission, index, kinds };
        for group in &permission.api_groups {
            for resource in item.resources(group, out) {
                for place in item.places(group, &resource, out) {
                    for verb in verbs(permission) {
                        for name in item.names(&resource, verb, out) {
                            let access = Access {
                                place: place.clone(),
                                group: group.clone(),
                                resource: resource.clone(),
                                name,
                                verb: verb.to_owned(),
                            };
                            if group.is_empty() && resource == "events" && verb == "create" {
                                out.add(who, &part, Access { group: EVENTS.to_owned(), ..access.clone() })?;
                            }
                            out.add(who, &part, access)?;
                        }
                    }
                }
            }
        }
    }
    Ok(())
}

pub fn verbs(permission: &Permission) -> Vec<&str> {
    if permission.verbs.iter().any(|verb| verb == "*") {
        return VERBS.to_vec();
    }
    permission.verbs.iter().map(String::as_str).collect()
}

/// One item of `permissions.kubernetes`.
struct Item<'a> {
    permission: &'a Permission,
    index: usize,
    kinds: &'a Kinds,
}

impl Item<'_> {
    fn resources(&self, group: &str, out: &mut Collector<'_>) -> Vec<String> {
        let mut all = Vec::new();
        for resource in &self.permission.resources {
            match resource.split_once('/') {
                Some(("*", "*")) => {
                    self.note(out, "*/* is more in RBAC: * stands for all resources and subresources there");
                    all.push("*".to_owned());
                }
                Some((plural, "*")) => all.extend(self.subresources(group, plural, out)),
                _ => {
                    self.note_if_unknown(group, resource, out);
                    all.push(resource.clone());
                }
            }
        }
        all
    }

    /// The subresources of `pods/*`.
    fn subresources(&self, group: &str, plural: &str, out: &mut Collector<'_>) -> Vec<String> {
        match self.kinds.with_plural(group, plural) {
            Some(kind) => kind.subresources.iter().map(|sub| format!("{plural}/{sub}")).collect(),
            None => {
                self.note(
                    out,
                    &format!(
                        "{plural}/* gives nothing: RBAC has no such pattern, and which subresources there are is not \
                         known; write them one by one"
                    ),
                );
                Vec::new()
            }
        }
    }

    fn note_if_unknown(&self, group: &str, resource: &str, out: &mut Collector<'_>) {
        let plural = resource.split('/').next().unwrap_or(resource);
        let known = plural == "*" || group == "*" || self.kinds.with_plural(group, plural).is_some();
        if !known && self.kinds.knows_group(group) {
            let group = if group.is_empty() { "the core group" } else { group };
            self.note(out, &format!("{plural} is not known in {group}; the plural in lower case is wanted"));
        }
    }

    fn places(&self, group: &str, resource: &str, out: &mut Collector<'_>) -> Vec<Place> {
        let namespaces = &self.permission.namespaces;
        if namespaces.is_empty() {
            return vec![Place::Cluster];
        }
        let plural = resource.split('/').next().unwrap_or(resource);
        if self.kinds.with_plural(group, plural).is_some_and(|kind| !kind.namespaced) {
            self.note(out, &format!("{plural} is in no namespace: with `namespaces` the permission gives nothing"));
            return Vec::new();
        }
        namespaces.iter().cloned().map(Place::Namespace).collect()
    }

    fn names(&self, resource: &str, verb: &str, out: &mut Collector<'_>) -> Vec<Option<String>> {
        let names = &self.permission.resource_names;
        if names.is_empty() {
            return vec![None];
        }
        if verb == "create" && !resource.contains('/') {
            self.note(
                out,
                &format!("RBAC can't limit create of {resource} to resourceNames; the host does, before it sends"),
            );
            return vec![None];
        }
        names.iter().cloned().map(Some).collect()
    }

    fn note(&self, out: &mut Collector<'_>, text: &str) {
        out.note(format!("permissions.kubernetes[{}]: {text}", self.index));
    }
}
