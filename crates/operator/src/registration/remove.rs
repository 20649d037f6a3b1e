//! Removes everything that an operator registered, and nothing that belongs to another operator.

use std::collections::BTreeSet;

use super::{
    Pending, RegistrationError, Wanted,
    objects::{Kind, Objects, label, name},
    plan::{self, Act},
    settings::{Endpoint, INSTANCE, MANAGED_BY, Settings},
};

/// What was removed, or would be.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Removed {
    /// Webhook configurations that were deleted: `validatingwebhookconfigurations NAME`.
    pub deleted: Vec<String>,
    /// Definitions whose former conversion was restored.
    pub restored: Vec<String>,
    /// Other operators that have something registered.
    pub others: BTreeSet<String>,
}

impl Removed {
    /// Whether the operator had nothing registered.
    pub fn is_nothing(&self) -> bool {
        self.deleted.is_empty() && self.restored.is_empty()
    }
}

/// Deletes the webhook configurations of an operator, and restores the former conversions of definitions. With
/// `dry_run`, it only returns what it would do.
pub async fn remove(client: kube::Client, instance: &str, dry_run: bool) -> Result<Removed, RegistrationError> {
    take_back(client, instance, Pending::default(), dry_run).await
}

/// Like [`remove`] when no hook runs, but keeps what may still be needed.
pub async fn tidy(client: kube::Client, instance: &str, pending: Pending) -> Result<Removed, RegistrationError> {
    take_back(client, instance, pending, false).await
}

async fn take_back(
    client: kube::Client,
    instance: &str,
    pending: Pending,
    dry_run: bool,
) -> Result<Removed, RegistrationError> {
    let (objects, mut removed) = (Objects::new(client), Removed::default());
    let (nothing, endpoint) = (Wanted { pending, ..Wanted::default() }, Endpoint::Url(String::new()));
    let settings = Settings { instance: instance.to_owned(), left_out: Vec::new(), endpoint };
    for kind in Kind::ALL {
        let labels = match kind {
            Kind::Configuration(_) => format!("{}%3D{}", MANAGED_BY.0, MANAGED_BY.1),
            Kind::Definition => INSTANCE.to_owned(),
        };
        let there = objects.list(kind, &labels).await?;
        let instances = there.iter().filter_map(|object| label(object, INSTANCE));
        removed.others.extend(instances.filter(|other| *other != instance).map(str::to_owned));
        let plan = match kind {
            Kind::Configuration(of) => plan::configurations(of, &there, &nothing, &settings),
            Kind::Definition => plan::definitions(&there, &nothing, &settings),
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
                // These do not occur, because nothing has to be registered.
                Act::Create(_) | Act::Replace(_) | Act::TakeOver(..) => {}
            }
        }
    }
    Ok(removed)
}
