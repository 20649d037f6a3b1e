//! What the host needs for one hook, apart from the hook's own calls: to follow what its bindings name, to know
//! which namespaces have a label, to learn of kinds that come, to tell of failures, and to act as the hook. What it
//! needs for webhooks stands elsewhere.

use boathook_core::model::{HookSpec, KubernetesBinding};

use super::{
    super::{
        access::{Access, Part, Place, Who},
        error::NeedsError,
        groups,
        kinds::{Found, Kinds},
        layout::Layout,
    },
    Collector, webhooks,
};

const FOLLOW: [&str; 2] = ["list", "watch"];

pub(super) fn collect(
    spec: &HookSpec,
    kinds: &Kinds,
    layout: &Layout,
    out: &mut Collector<'_>,
) -> Result<(), NeedsError> {
    for binding in &spec.kubernetes {
        follow(binding, kinds, &Who::Host, out)?;
    }
    webhooks::collect(spec, layout, out)?;
    if layout.tenants.is_empty() {
        failures(spec, &layout.namespace, &Who::Host, out)?;
    }
    if layout.per_hook && !spec.permissions.is_empty() {
        let access = Access {
            place: Place::Namespace(layout.namespace.clone()),
            group: String::new(),
            resource: "serviceaccounts".to_owned(),
            name: Some(layout.account_of(&spec.name)),
            verb: "impersonate".to_owned(),
        };
        out.add(&Who::Host, &Part::Identity, access)?;
    }
    Ok(())
}

/// A ServiceAccount is asked about its rights to the same objects, and follows none itself: namespaces and
/// definitions are the host's matter.
pub(super) fn follow(
    binding: &KubernetesBinding,
    kinds: &Kinds,
    who: &Who,
    out: &mut Collector<'_>,
) -> Result<(), NeedsError> {
    let unique = binding.name.unique().to_owned();
    let found = kinds.find(binding.api_version.as_deref(), &binding.kind).ok_or_else(|| NeedsError::UnknownKind {
        hook: out.hook().clone(),
        binding: unique.clone(),
        kind: binding.kind.clone(),
    })?;
    if found.guessed {
        out.note(format!(
            "binding {unique}: nobody said what objects of kind {} are called; {} is a guess",
            binding.kind,
            resource_text(&found)
        ));
    }
    let (places, by_label) = places(binding, &found);
    for place in &places {
        for name in names(binding) {
            for verb in FOLLOW {
                let access = access(place.clone(), &found.group, &found.plural, name.clone(), verb);
                out.add(who, &Part::Binding(unique.clone()), access)?;
            }
        }
    }
    if *who != Who::Host {
        return Ok(());
    }
    if by_label {
        for verb in FOLLOW {
            let access = access(Place::Cluster, "", "namespaces", None, verb);
            out.add(&Who::Host, &Part::Namespaces(unique.clone()), access)?;
        }
    }
    if !groups::is_own(&found.group) {
        for verb in FOLLOW {
            let access = access(Place::Cluster, "apiextensions.k8s.io", "customresourcedefinitions", None, verb);
            out.add(&Who::Host, &Part::Definitions(unique.clone()), access)?;
        }
    }
    Ok(())
}

fn resource_text(found: &Found) -> String {
    if found.group.is_empty() { found.plural.clone() } else { format!("{}.{}", found.plural, found.group) }
}

/// Where the binding's objects are, and whether namespaces are chosen by label.
fn places(binding: &KubernetesBinding, found: &Found) -> (Vec<Place>, bool) {
    if !found.namespaced {
        return (vec![Place::Cluster], false);
    }
    let named = binding.namespaces.iter().cloned().map(Place::Namespace).collect::<Vec<_>>();
    let places = if named.is_empty() { vec![Place::Cluster] } else { named };
    (places, binding.namespace_labels.is_some())
}

/// The API server takes a field selector for one name as that name when it asks RBAC.
fn names(binding: &KubernetesBinding) -> Vec<Option<String>> {
    if !binding.names.is_empty() {
        return binding.names.iter().cloned().map(Some).collect();
    }
    vec![binding.field_selector.as_deref().and_then(selected_name)]
}

/// The one name that a field selector leaves.
pub fn selected_name(selector: &str) -> Option<String> {
    // An escaped character may be a comma that parts nothing.
    let conditions = (!selector.contains('\\')).then(|| selector.split(','))?;
    let name = |condition: &str| {
        let value = condition.trim().strip_prefix("metadata.name=")?;
        Some(value.strip_prefix('=').unwrap_or(value).to_owned()).filter(|name| !name.is_empty())
    };
    conditions.into_iter().find_map(name)
}

/// Events are applied, which creates them; they live with the object that they are about, which is in `namespace` if
/// nobody says otherwise.
pub(super) fn failures(spec: &HookSpec, namespace: &str, who: &Who, out: &mut Collector<'_>) -> Result<(), NeedsError> {
    let namespace = match &spec.failure_events {
        Some(object) => object.namespace.clone().unwrap_or_else(|| "default".to_owned()),
        None => namespace.to_owned(),
    };
    for verb in ["create", "patch"] {
        let access = access(Place::Namespace(namespace.clone()), "events.k8s.io", "events", None, verb);
        out.add(who, &Part::Failures, access)?;
    }
    Ok(())
}

fn access(place: Place, group: &str, resource: &str, name: Option<String>, verb: &str) -> Access {
    Access { place, group: group.to_owned(), resource: resource.to_owned(), name, verb: verb.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::selected_name;

    #[test]
    fn a_field_selector_may_name_one_object() {
        let name = |selector| selected_name(selector);
        assert_eq!(name("metadata.name=a").as_deref(), Some("a"));
        assert_eq!(name("spec.nodeName=n,metadata.name==a").as_deref(), Some("a"));
        assert_eq!(name("metadata.name!=a"), None);
        assert_eq!(name("metadata.namespace=a"), None);
        assert_eq!(name(r"spec.x=\,metadata.name=a"), None);
    }
}
