//! Whether a binding may watch its objects, within its bundle's bounds. The operator has to check this, because the
//! watches are its own and the API server does not check the hook's rights.

use boathook_core::model::{CallError, Identity, KubernetesBinding, MayWatch, Permission, Resource};
use boathook_kube::access::Right;

use super::Services;

/// Why a binding may not watch.
#[derive(Debug, thiserror::Error)]
pub enum NotWatched {
    /// The kind is cluster-scoped, and the bundle is confined to a namespace.
    #[error("its objects are in no namespace, and the bundle is confined to {namespace:?}: {resource}")]
    ClusterScoped {
        resource: String,
        /// The namespace that the bundle is confined to.
        namespace: String,
    },
    /// The kind is another resource than the one in the document.
    #[error(
        "rights were decided on {named}, and {kind:?} is {resource}: name the binding's apiVersion, and the plural as \
         its kind"
    )]
    Misnamed {
        /// The kind as the author wrote it.
        kind: String,
        /// The resource that is granted, and that policies limit.
        named: String,
        /// The resource that the API server serves.
        resource: String,
    },
    /// The ServiceAccount is missing rights.
    #[error("{identity} may not {}: give it a role with these rules", rules(.missing))]
    Forbidden {
        identity: Identity,
        /// The missing rights.
        missing: Vec<Permission>,
    },
    /// The API server does not answer the question.
    #[error("the API server does not say what {identity} may watch")]
    Unknown {
        identity: Identity,
        #[source]
        source: CallError,
    },
}

fn rules(missing: &[Permission]) -> String {
    missing.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// Checks one binding whose kind is known.
pub(super) async fn check(
    services: &Services,
    spec: &KubernetesBinding,
    resource: &Resource,
) -> Result<(), NotWatched> {
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
    match services.operator.access.lacks(identity, &needed(spec, resource)).await {
        Ok(missing) if missing.is_empty() => Ok(()),
        Ok(missing) => Err(NotWatched::Forbidden { identity: identity.clone(), missing }),
        Err(source) => Err(NotWatched::Unknown { identity: identity.clone(), source }),
    }
}

/// A binding that chooses its namespaces by label needs rights in all of them, because nobody knows which ones will
/// have the label.
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
