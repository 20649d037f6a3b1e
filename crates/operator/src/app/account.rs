//! Whether the ServiceAccount that a hook acts as exists, and whether it could itself do what the API server has the
//! hook do. A hook that answers for objects reads them, and it changes them with the rights of the user who wrote them.
//! This module only checks rights. It does not decide whether they are needed.

use std::collections::BTreeSet;

use boathook_core::model::{CallError, Identity, Permission, VALIDATE};
use boathook_kube::access::Right;

use super::Services;

/// The maximum number of rights to check for one hook. A hook with more needs a right to everything.
const MAX_RIGHTS: usize = 256;

/// Why a hook may not run as its ServiceAccount.
#[derive(Debug, thiserror::Error)]
pub enum BadAccount {
    /// The ServiceAccount does not exist.
    #[error("there is no {0}: create it, or name another one in `serviceAccountName`")]
    Missing(Identity),
    /// The ServiceAccount may not itself do what the hook does by its answers.
    #[error(
        "{identity} may not {} itself, and a hook of it is to be asked about that: give it a role with these rules",
        .missing.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    )]
    Forbidden {
        identity: Identity,
        /// The rights that are missing.
        missing: Vec<Permission>,
    },
    /// The API server does not answer the question.
    #[error("the API server does not say whether {identity} is there and what it may do")]
    Unknown {
        identity: Identity,
        #[source]
        source: CallError,
    },
}

/// `answers` is what the API server is to request from the hook, as permissions.
pub(super) async fn check(services: &Services, identity: &Identity, answers: &[Permission]) -> Result<(), BadAccount> {
    let access = &services.operator.access;
    let unknown = |source| BadAccount::Unknown { identity: identity.clone(), source };
    if !access.is_there(identity).await.map_err(unknown)? {
        return Err(BadAccount::Missing(identity.clone()));
    }
    let missing = access.lacks(identity, &needed(answers)).await.map_err(unknown)?;
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

    // mutant: crates/operator/src/app/account.rs: `if all.len() > MAX_RIGHTS {` => `if false {`
    #[test]
    fn more_than_can_be_asked_about_needs_a_right_to_everything() {
        assert_eq!(needed(&[requested("validate", 256, &[])]).len(), 256);
        assert_eq!(needed(&[requested("validate", 256, &["team"]), requested("mutate", 1, &["team"])]), [everything()]);
    }
}
