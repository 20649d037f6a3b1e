//! Whether the ServiceAccount that a hook acts as exists, and whether it could itself do what the API server has the
//! hook do and what its bindings watch. A hook that answers for objects reads them, and it changes them with the rights of the user who wrote them.
//! This module only checks rights. It does not decide whether they are needed.

use std::collections::BTreeSet;

use boathook_core::model::{CallError, Identity, KubernetesBinding, MayWatch, Permission, Resource, VALIDATE};
use boathook_kube::access::Right;
use k8s_openapi::api::authentication::v1::SelfSubjectReview;
use kube::{Api, Client, api::PostParams};

use super::Services;

/// The maximum number of rights to check for one hook. A hook with more needs a right to everything.
const MAX_RIGHTS: usize = 256;

/// Why a hook may not run as its ServiceAccount.
#[derive(Debug, thiserror::Error)]
pub enum BadAccount {
    #[error("there is no {0}: create it, or name another one in `serviceAccountName`")]
    Missing(Identity),
    #[error(
        "{identity} may not {} itself, but its hook reviews these objects: give it a role with these rules",
        rules(.missing)
    )]
    Forbidden {
        identity: Identity,
        /// The rights that are missing.
        missing: Vec<Permission>,
    },
    #[error("the API server does not report whether {identity} exists and what it may do")]
    Unknown {
        identity: Identity,
        #[source]
        source: CallError,
    },
}

/// The user that the operator itself is for the API server.
pub(super) async fn own_user(client: Client) -> Result<String, kube::Error> {
    let reviews: Api<SelfSubjectReview> = Api::all(client);
    let review = reviews.create(&PostParams::default(), &SelfSubjectReview::default()).await?;
    let user = review.status.and_then(|status| status.user_info).and_then(|user| user.username);
    Ok(user.unwrap_or_default())
}

/// `answers` is what the API server is to request from the hook, as permissions.
pub(super) async fn check(services: &Services, identity: &Identity, answers: &[Permission]) -> Result<(), BadAccount> {
    let access = &services.operator.access;
    let unknown = |source| BadAccount::Unknown { identity: identity.clone(), source };
    if !access.exists(identity).await.map_err(unknown)? {
        return Err(BadAccount::Missing(identity.clone()));
    }
    let missing = access.missing_rights(identity, &needed(answers)).await.map_err(unknown)?;
    if missing.is_empty() { Ok(()) } else { Err(BadAccount::Forbidden { identity: identity.clone(), missing }) }
}

/// The rights to read the objects that the hook answers for, and to update them if its answers change them.
fn needed(answers: &[Permission]) -> Vec<Right> {
    let mut all = BTreeSet::new();
    for requested in answers {
        let verbs: &[&str] =
            if requested.verbs.iter().all(|verb| verb == VALIDATE) { &["get"] } else { &["get", "update"] };
        let namespaces = match requested.namespaces.as_slice() {
            [] => vec![None],
            some => some.iter().cloned().map(Some).collect(),
        };
        for group in &requested.api_groups {
            for resource in &requested.resources {
                for namespace in &namespaces {
                    let verbs = verbs.iter().map(|verb| (*verb).to_owned()).collect();
                    let (group, resource, namespace) = (group.clone(), resource.clone(), namespace.clone());
                    all.insert(Right { verbs, group, resource, namespace, name: None });
                    if all.len() > MAX_RIGHTS {
                        return vec![everything()];
                    }
                }
            }
        }
    }
    all.into_iter().collect()
}

fn everything() -> Right {
    let verbs = ["get", "update"].map(str::to_owned).to_vec();
    Right { verbs, group: "*".to_owned(), resource: "*".to_owned(), namespace: None, name: None }
}

/// Why a binding may not watch.
#[derive(Debug, thiserror::Error)]
pub enum NotWatched {
    #[error("its objects are in no namespace, and the bundle is confined to {namespace:?}: {resource}")]
    ClusterScoped {
        resource: String,
        /// The namespace that the bundle is confined to.
        namespace: String,
    },
    /// The kind is another resource than the one in the document.
    #[error(
        "permissions were checked for {named}, but {kind:?} is {resource} in this cluster: set the binding's apiVersion, \
         and use the plural as its kind"
    )]
    Misnamed {
        /// The kind as the author wrote it.
        kind: String,
        /// The resource that is granted, and that policies limit.
        named: String,
        /// The resource that the API server serves.
        resource: String,
    },
    #[error("{identity} may not {}: give it a role with these rules", rules(.missing))]
    Forbidden {
        identity: Identity,
        /// The missing rights.
        missing: Vec<Permission>,
    },
    #[error("the API server does not report what {identity} may watch")]
    Unknown {
        identity: Identity,
        #[source]
        source: CallError,
    },
}

pub(super) fn rules(missing: &[Permission]) -> String {
    missing.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// Checks whether a binding whose kind is known may watch its objects, within its bundle's bounds. The operator has to
/// check this, because the watches are its own and the API server does not check the hook's rights.
pub(super) async fn check_watch(
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
    match services.operator.access.missing_rights(identity, &needed_to_watch(spec, resource)).await {
        Ok(missing) if missing.is_empty() => Ok(()),
        Ok(missing) => Err(NotWatched::Forbidden { identity: identity.clone(), missing }),
        Err(source) => Err(NotWatched::Unknown { identity: identity.clone(), source }),
    }
}

/// A binding that chooses its namespaces by label needs rights in all of them, because nobody knows which ones will
/// have the label.
fn needed_to_watch(spec: &KubernetesBinding, resource: &Resource) -> Vec<Right> {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn requested(verb: &str, resources: usize, namespaces: &[&str]) -> Permission {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        Permission {
            api_groups: words(&[""]),
            resources: (0..resources).map(|n| format!("r{n}")).collect(),
            verbs: words(&[verb]),
            resource_names: Vec::new(),
            namespaces: words(namespaces),
            http: None,
            directory: None,
        }
    }

    #[test]
    fn who_changes_objects_could_update_them_itself() {
        let verbs = |verb: &str| needed(&[requested(verb, 1, &["team"])]).into_iter().flat_map(|right| right.verbs);
        assert_eq!(verbs("validate").collect::<Vec<_>>(), ["get"]);
        for verb in ["mutate", "convert"] {
            assert_eq!(verbs(verb).collect::<Vec<_>>(), ["get", "update"], "{verb}");
        }
    }

    // mutant: crates/operator/src/app/service_account.rs: `if all.len() > MAX_RIGHTS {` => `if false {`
    #[test]
    fn more_than_can_be_asked_about_needs_a_right_to_everything() {
        assert_eq!(needed(&[requested("validate", 256, &[])]).len(), 256);
        assert_eq!(needed(&[requested("validate", 256, &["team"]), requested("mutate", 1, &["team"])]), [everything()]);
    }
}
