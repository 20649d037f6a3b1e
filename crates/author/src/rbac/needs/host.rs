//! What the operator needs for one hook, apart from the hook's own calls and its webhooks: to watch the kinds that its
//! bindings name, to select namespaces by label, to learn about new kinds, to record failures, and to impersonate the
//! hook.

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

/// For a ServiceAccount, its rights to the same objects are checked, but it watches nothing itself. Namespaces and
/// CustomResourceDefinitions therefore concern only the operator.
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

/// Where the binding's objects are, and whether namespaces are selected by label.
fn places(binding: &KubernetesBinding, found: &Found) -> (Vec<Place>, bool) {
    if !found.namespaced {
        return (vec![Place::Cluster], false);
    }
    let named = binding.namespaces.iter().cloned().map(Place::Namespace).collect::<Vec<_>>();
    let places = if named.is_empty() { vec![Place::Cluster] } else { named };
    (places, binding.namespace_labels.is_some())
}

/// For a field selector with a single name, the API server passes that name to RBAC.
fn names(binding: &KubernetesBinding) -> Vec<Option<String>> {
    if !binding.names.is_empty() {
        return binding.names.iter().cloned().map(Some).collect();
    }
    vec![binding.field_selector.as_deref().and_then(selected_name)]
}

/// The only name that a field selector matches.
pub fn selected_name(selector: &str) -> Option<String> {
    // An escaped character may be a comma that separates nothing.
    let conditions = (!selector.contains('\\')).then(|| selector.split(','))?;
    let name = |condition: &str| {
        let value = condition.trim().strip_prefix("metadata.name=")?;
        Some(value.strip_prefix('=').unwrap_or(value).to_owned()).filter(|name| !name.is_empty())
    };
    conditions.into_iter().find_map(name)
}

/// Events are applied, which creates them. They are in the namespace of the object that they are about, which is
/// `namespace` by default.
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
