//! Whether a binding may watch what it binds, within its bundle's bounds. Watches are the operator's own, so that it is
//! asked here and not at the API server's door.

use boathook_core::model::{CallError, Identity, KubernetesBinding, MayWatch, Permission, Resource};
use boathook_kube::access::Right;

use super::Stages;

/// Why a binding may not watch.
#[derive(Debug, thiserror::Error)]
pub enum NotWatched {
    /// The kind is out of bounds.
    #[error("its objects are in no namespace, and the bundle is confined to {namespace:?}: {resource}")]
    ClusterScoped {
        /// The kind.
        resource: String,
        /// Where the bundle is.
        namespace: String,
    },
    /// The kind is another resource than the document names.
    #[error(
        "rights were decided on {named}, and {kind:?} is {resource}: name the binding's apiVersion, and the plural as \
         its kind"
    )]
    Misnamed {
        /// As the author wrote it.
        kind: String,
        /// What is granted, and capped by policies.
        named: String,
        /// What the API server serves.
        resource: String,
    },
    /// The ServiceAccount lacks rights.
    #[error("{identity} may not {}: give it a role with these rules", rules(.missing))]
    Forbidden {
        /// Whose rights they are.
        identity: Identity,
        /// What is missing.
        missing: Vec<Permission>,
    },
    /// The API server does not say.
    #[error("the API server does not say what {identity} may watch")]
    Unknown {
        /// Whose rights they are.
        identity: Identity,
        /// Why.
        #[source]
        source: CallError,
    },
}

fn rules(missing: &[Permission]) -> String {
    missing.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// Asks for one binding whose kind is known.
pub(super) async fn check(stages: &Stages, spec: &KubernetesBinding, resource: &Resource) -> Result<(), NotWatched> {
    let MayWatch { only_in, as_identity, as_named } = &spec.may_watch;
    let (group, plural) = spec.named();
    if *as_named && !((group == "*" || group == resource.group) && plural == resource.plural) {
        let named = format!("{plural} of {}", if group.is_empty() { "the core group" } else { group });
        let resource = format!("{resource} here, with the plural {:?}", resource.plural);
        return Err(NotWatched::Misnamed { kind: spec.kind.clone(), named, resource });
    }
    if let Some(namespace) = only_in.as_deref().filter(|_| !resource.namespaced) {
        return Err(NotWatched::ClusterScoped { resource: resource.to_string(), namespace: namespace.to_owned() });
    }
    let Some(identity) = as_identity.as_deref() else { return Ok(()) };
    match stages.operator.access.lacks(identity, &needed(spec, resource)).await {
        Ok(missing) if missing.is_empty() => Ok(()),
        Ok(missing) => Err(NotWatched::Forbidden { identity: identity.clone(), missing }),
        Err(source) => Err(NotWatched::Unknown { identity: identity.clone(), source }),
    }
}

/// A binding that takes its namespaces by label needs all of them: nobody knows which will have it.
fn needed(spec: &KubernetesBinding, resource: &Resource) -> Vec<Right> {
    let or_all = |list: &[String]| -> Vec<Option<String>> {
        if list.is_empty() { vec![None] } else { list.iter().cloned().map(Some).collect() }
    };
    let namespaces = if resource.namespaced { or_all(&spec.namespaces) } else { vec![None] };
    let right = |namespace: &Option<String>, name: &Option<String>| Right {
        verbs: ["list", "watch"].map(str::to_owned).to_vec(),
        group: resource.group.clone(),
        resource: resource.plural.clone(),
        namespace: namespace.clone(),
        name: name.clone(),
    };
    let names = or_all(&spec.names);
    namespaces.iter().flat_map(|namespace| names.iter().map(move |name| right(namespace, name))).collect()
}
