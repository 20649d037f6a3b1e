//! Whether the ServiceAccount that a hook acts as is there, and could itself do what the API server has the hook do: who
//! answers for objects reads them, and changes them with the rights of whoever wrote them. Asks; never decides who is
//! asked.

use std::collections::BTreeSet;

use boathook_core::model::{CallError, Identity, Permission, VALIDATE};
use boathook_kube::access::Right;

use super::Stages;

/// Questions about one hook. Beyond them it is asked about everything at once.
const MAX_RIGHTS: usize = 256;

/// Why a hook may not run as its ServiceAccount.
#[derive(Debug, thiserror::Error)]
pub enum BadAccount {
    /// It does not exist.
    #[error("there is no {0}: create it, or name another one in `serviceAccountName`")]
    Missing(Identity),
    /// It could not do itself what the hook does by answering.
    #[error(
        "{identity} may not {} itself, and a hook of it is to be asked about that: give it a role with these rules",
        .missing.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    )]
    Forbidden {
        /// Whose rights they are.
        identity: Identity,
        /// What is missing.
        missing: Vec<Permission>,
    },
    /// The API server does not say.
    #[error("the API server does not say whether {identity} is there and what it may do")]
    Unknown {
        /// Whom it is about.
        identity: Identity,
        /// Why.
        #[source]
        source: CallError,
    },
}

/// `answers`: what the API server is to ask the hook, as permissions.
pub(super) async fn check(stages: &Stages, identity: &Identity, answers: &[Permission]) -> Result<(), BadAccount> {
    let access = &stages.operator.access;
    let unknown = |source| BadAccount::Unknown { identity: identity.clone(), source };
    if !access.is_there(identity).await.map_err(unknown)? {
        return Err(BadAccount::Missing(identity.clone()));
    }
    let missing = access.lacks(identity, &needed(answers)).await.map_err(unknown)?;
    if missing.is_empty() { Ok(()) } else { Err(BadAccount::Forbidden { identity: identity.clone(), missing }) }
}

/// To read what it is asked about; and to update it, where its answer changes it.
fn needed(answers: &[Permission]) -> Vec<Right> {
    let mut all = BTreeSet::new();
    for asked in answers {
        let verbs: &[&str] =
            if asked.verbs.iter().all(|verb| verb == VALIDATE) { &["get"] } else { &["get", "update"] };
        let namespaces = match asked.namespaces.as_slice() {
            [] => vec![None],
            some => some.iter().cloned().map(Some).collect(),
        };
        for group in &asked.api_groups {
            for resource in &asked.resources {
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

    fn asked(verb: &str, resources: usize, namespaces: &[&str]) -> Permission {
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
        let verbs = |verb: &str| needed(&[asked(verb, 1, &["team"])]).into_iter().flat_map(|right| right.verbs);
        assert_eq!(verbs("validate").collect::<Vec<_>>(), ["get"]);
        for verb in ["mutate", "convert"] {
            assert_eq!(verbs(verb).collect::<Vec<_>>(), ["get", "update"], "{verb}");
        }
    }

    // mutant: crates/operator/src/app/account.rs: `if all.len() > MAX_RIGHTS {` => `if false {`
    #[test]
    fn more_than_can_be_asked_about_needs_a_right_to_everything() {
        assert_eq!(needed(&[asked("validate", 256, &[])]).len(), 256);
        assert_eq!(needed(&[asked("validate", 256, &["team"]), asked("mutate", 1, &["team"])]), [everything()]);
    }
}
