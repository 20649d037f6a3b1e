//! Takes back everything that an operator registered. Never touches another's.

use super::{
    RegistrationError, Wanted,
    objects::{Kind, Objects, name},
    plan::{self, Act},
    settings::{Endpoint, INSTANCE, MANAGED_BY, Settings},
};

/// What was taken back, or would be.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Removed {
    /// Webhook configurations that were deleted: `validatingwebhookconfigurations NAME`.
    pub deleted: Vec<String>,
    /// Definitions that have their former conversion again.
    pub restored: Vec<String>,
}

/// Deletes the webhook configurations of an operator, and gives definitions their former conversion back. With
/// `dry_run`, only says what that would be.
pub async fn remove(client: kube::Client, instance: &str, dry_run: bool) -> Result<Removed, RegistrationError> {
    let (objects, mut removed) = (Objects::new(client), Removed::default());
    let (nothing, endpoint) = (Wanted::default(), Endpoint::Url(String::new()));
    let settings = Settings { instance: instance.to_owned(), namespace: String::new(), endpoint };
    for kind in Kind::ALL {
        let plan = match kind {
            Kind::Configuration(of) => {
                let there = objects.list(kind, &format!("{}%3D{}", MANAGED_BY.0, MANAGED_BY.1)).await?;
                plan::configurations(of, &there, &nothing, &settings)
            }
            Kind::Definition => plan::definitions(&objects.list(kind, INSTANCE).await?, &nothing, &settings),
        };
        for act in plan.acts {
            match act {
                Act::Delete(object) => {
                    if !dry_run {
                        objects.delete(kind, &object).await?;
                    }
                    removed.deleted.push(format!("{kind} {}", name(&object)));
                }
                Act::Restore(name, patch) => {
                    if !dry_run {
                        objects.patch(kind, &name, &patch).await?;
                    }
                    removed.restored.push(name);
                }
                // Nothing is wanted.
                Act::Create(_) | Act::Replace(_) | Act::TakeOver(..) => {}
            }
        }
    }
    Ok(removed)
}
