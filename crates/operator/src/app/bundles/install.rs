//! What an installation does to each hook: it replaces it, starts it, keeps it, holds it or removes it. A new version
//! is installed as a whole, or the previous one is restored. The checks of hooks are elsewhere.

use std::{collections::BTreeMap, sync::Arc};

use boathook_core::model::{HookName, HookPhase, InstallError, Installation, Installed, error_chain};
use tracing::{debug, info, warn};

use super::{Bundles, Member, Slot};
use crate::app::{
    account::BadAccount,
    hooks::Hook,
    judge::{Held, Origin},
    scope::{self, Terms},
    watching::NotWatched,
};

/// What to do with a hook.
enum Next {
    /// It is already as it should be.
    Keep,
    /// It replaces the hook that runs, or starts.
    Take(Box<Hook>),
    Hold(Held),
}

/// What to do with one hook of the bundle.
struct Step {
    name: HookName,
    origin: Arc<Origin>,
    next: Next,
}

impl Bundles {
    pub(super) async fn install_now(&self, wanted: Installation) -> Result<Installed, InstallError> {
        let (id, digest) = (wanted.id.clone(), wanted.digest.clone());
        let outcome = self.settle(wanted).await;
        match &outcome {
            Ok(installed) => {
                let Installed { started, swapped, kept, removed, held } = installed;
                let (started, swapped, kept) = (started.len(), swapped.len(), kept.len());
                let (removed, held) = (removed.len(), held.len());
                if started + swapped + removed + held == 0 {
                    debug!(bundle = %id, digest, kept, "bundle looked at again: it stays as it is");
                } else {
                    info!(bundle = %id, digest, started, swapped, kept, removed, held, "bundle installed");
                }
            }
            Err(error) => warn!(bundle = %id, digest, error = error_chain(error), "bundle not installed"),
        }
        outcome
    }

    async fn settle(&self, wanted: Installation) -> Result<Installed, InstallError> {
        let id = &wanted.id;
        let names: Vec<HookName> = wanted.hooks.iter().map(|hook| hook.name.clone()).collect();
        scope::check_names(id, wanted.identity.as_ref(), &names).map_err(|_| InstallError::Name(id.clone()))?;
        let settings = self.0.settings.check(id, wanted.settings.as_deref(), wanted.settings_schema.as_deref()).await;
        let settings = settings.map_err(|problem| InstallError::Settings { id: id.clone(), problem })?;
        let terms = Arc::new(Terms {
            bundle: id.clone(),
            identity: wanted.identity.clone().map(Arc::new),
            grants: wanted.grants.clone(),
            settings: settings.into(),
            limits: wanted.limits,
            confined_to: wanted.confined_to.as_deref().map(Arc::from),
        });
        let slot = self.0.slots().entry(id.clone()).or_default().clone();
        let _turn = slot.changing.lock().await;
        let installed = self.change(&slot, &wanted, &terms).await?;
        slot.known().installation = Some(wanted);
        Ok(installed)
    }

    async fn change(
        &self,
        slot: &Arc<Slot>,
        wanted: &Installation,
        terms: &Arc<Terms>,
    ) -> Result<Installed, InstallError> {
        let (members, before) = {
            let known = slot.known();
            (known.members.clone(), known.installation.as_ref().map(|installation| installation.digest.clone()))
        };
        let works = |member: &Member| self.0.hook_manager.hook_registry.hook(&member.origin.name).is_some();
        let whole = before.as_ref().is_some_and(|before| *before != wanted.digest) && members.values().any(works);
        let mut steps = Vec::new();
        for source in &wanted.hooks {
            let name = source.name.clone();
            let origin = Origin {
                name: name.in_bundle(&wanted.id),
                source: source.clone(),
                terms: terms.clone(),
                changing: slot.changing.clone(),
            };
            self.check_free(&name, &origin, members.get(&name))?;
            let next = match wanted.suspended {
                true => Next::Hold(Held::Suspended),
                false => self.next(&origin, members.get(&name)).await,
            };
            steps.push(Step { name, origin: Arc::new(origin), next });
        }
        if whole && !wanted.suspended {
            refuse_held(&steps)?;
        }
        self.act(slot, members, steps).await
    }

    /// A hook of the directory may have the same name.
    fn check_free(&self, name: &HookName, origin: &Origin, member: Option<&Member>) -> Result<(), InstallError> {
        let hook_registry = &self.0.hook_manager.hook_registry;
        let taken = hook_registry.hook(&origin.name).is_some() || hook_registry.is_quarantined(origin.name.as_str());
        if member.is_some() || !taken {
            return Ok(());
        }
        let by = "the hooks directory".to_owned();
        Err(InstallError::Taken { hook: name.clone(), name: origin.name.clone(), by })
    }

    async fn next(&self, origin: &Origin, member: Option<&Member>) -> Next {
        if let Some(member) = member.filter(|member| same(&member.origin, origin) && member.held.is_none()) {
            let Some(hook) = self.0.hook_manager.hook_registry.hook(&member.origin.name) else {
                // An admin took the hook out, and only an admin releases it.
                return Next::Keep;
            };
            // The hook may have lost rights since it started. If the API server does not answer, it loses none.
            return match self.0.hook_manager.check_rights(&hook.spec, &origin.terms).await {
                Err(held) if held.phase() != HookPhase::Pending => Next::Hold(held),
                _ => Next::Keep,
            };
        }
        match self.0.hook_manager.judge(origin).await {
            Ok(hook) => Next::Take(Box::new(hook)),
            Err(held) => Next::Hold(held),
        }
    }

    async fn act(
        &self,
        slot: &Slot,
        mut members: BTreeMap<HookName, Member>,
        steps: Vec<Step>,
    ) -> Result<Installed, InstallError> {
        let hook_manager = &self.0.hook_manager;
        let (mut installed, mut now) = (Installed::default(), BTreeMap::new());
        let (mut begins, mut holds, mut before) = (Vec::new(), Vec::new(), Vec::new());
        for Step { name, origin, next } in steps {
            let member = |held| Member { origin: origin.clone(), held };
            match next {
                Next::Keep => {
                    installed.kept.push(name.clone());
                    now.insert(name, member(None));
                }
                Next::Hold(held) => {
                    installed.held.push(name.clone());
                    let held = Arc::new(held);
                    holds.push((origin.clone(), held.clone()));
                    now.insert(name, member(Some(held)));
                }
                Next::Take(hook) => {
                    now.insert(name.clone(), member(None));
                    let Some(old) = hook_manager.hook_registry.hook(&origin.name) else {
                        installed.started.push(name);
                        begins.push(*hook);
                        continue;
                    };
                    if let Err(error) = hook_manager.take_over(*hook).await {
                        self.put_back(before).await;
                        return Err(InstallError::RolledBack { hook: name, reason: Arc::new(error) });
                    }
                    before.push(old);
                    installed.swapped.push(name);
                }
            }
        }
        hook_manager.begin_all(begins);
        for (origin, held) in holds {
            hook_manager.hold(&origin.name, &held).await;
        }
        members.retain(|name, _| !now.contains_key(name));
        for (name, member) in members {
            hook_manager.forget(&member.origin.name).await;
            installed.removed.push(name);
        }
        now.values().for_each(|member| hook_manager.remember(member.origin.clone()));
        let mut known = slot.known();
        known.members = now;
        Ok(installed)
    }

    /// Restores the previous versions, the last one first.
    async fn put_back(&self, before: Vec<Arc<Hook>>) {
        for old in before.into_iter().rev() {
            if let Err(error) = self.0.hook_manager.take_over(old.again()).await {
                warn!(hook = %old.spec.name, error = error_chain(&error), "the version before can't be put back");
            }
        }
    }
}

/// Whether the same file runs on the same terms. A file whose digest is not known may have changed.
fn same(known: &Origin, wanted: &Origin) -> bool {
    known.source.digest.is_some() && known.source.digest == wanted.source.digest && known.terms == wanted.terms
}

/// Refuses a new version if any of its hooks is held, because a new version is installed as a whole.
fn refuse_held(steps: &[Step]) -> Result<(), InstallError> {
    let held: Vec<(&HookName, &Held)> = steps
        .iter()
        .filter_map(|step| match &step.next {
            Next::Hold(held) => Some((&step.name, held)),
            _ => None,
        })
        .collect();
    let ungranted: Vec<_> = held
        .iter()
        .filter_map(|(name, held)| match held {
            Held::Ungranted(missing) => Some(((*name).clone(), missing.clone())),
            _ => None,
        })
        .collect();
    let other = held.iter().find(|(_, held)| !matches!(held, Held::Ungranted(_)));
    match other {
        Some((
            name,
            Held::NotWatched { reason: NotWatched::Forbidden { identity, missing }, .. }
            | Held::BadAccount(BadAccount::Forbidden { identity, missing }),
        )) => {
            Err(InstallError::Forbidden { hook: (*name).clone(), identity: identity.clone(), missing: missing.clone() })
        }
        Some((name, held)) => {
            Err(InstallError::Refused { hook: (*name).clone(), reason: Arc::new(Told(error_chain(*held))) })
        }
        None if ungranted.is_empty() => Ok(()),
        None => Err(InstallError::Ungranted(ungranted)),
    }
}

/// A reason whose text includes its causes.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Told(String);
