//! A version of a bundle in the shadow of the installed one. Everything is checked that an installation checks, and nothing
//! of it is registered, applied or started.

use std::sync::Arc;

use boathook_core::model::{BundleId, Comparison, HookName, HookSource, InstallError, Installation};
use tokio_util::sync::CancellationToken;

use super::{
    super::{
        hold_reason::Origin,
        shadows::{self, Shadow},
    },
    Bundles, Member, Next, Step, refuse_held,
};

impl Bundles {
    pub(super) async fn shadow_now(&self, wanted: Installation) -> Result<(), InstallError> {
        let (id, services) = (&wanted.id, &self.0.hook_manager.services);
        let terms = self.terms(&wanted).await?;
        let slot = self.0.slots().entry(id.clone()).or_default().clone();
        let _turn = slot.changing.lock().await;
        let (members, installed) = {
            let known = slot.known();
            (known.members.clone(), known.installation.clone())
        };
        let mut steps = Vec::new();
        for source in wanted.hooks.iter().filter(|source| !runs(members.get(&source.name), source)) {
            let name = source.name.clone();
            let origin = Origin {
                name: name.in_bundle(id),
                source: source.clone(),
                terms: terms.clone(),
                changing: slot.changing.clone(),
            };
            self.check_free(&name, &origin, members.get(&name))?;
            let next = match self.0.hook_manager.judge(&origin).await {
                Ok(hook) => Next::Take(Box::new(hook)),
                Err(held) => Next::Hold(held),
            };
            steps.push(Step { name, origin: Arc::new(origin), next });
        }
        refuse_held(&steps)?;
        let over = CancellationToken::new();
        let (mut hooks, mut not_compared) = (Vec::new(), Vec::new());
        for Step { name, origin, next } in steps {
            let Next::Take(hook) = next else { continue };
            match services.hook_registry.hook(&origin.name) {
                Some(old) => {
                    not_compared.extend(shadows::not_compared(&name, &old.spec, &hook.spec));
                    hooks.push(Arc::new(Shadow::new(name, &old.spec, *hook, over.clone())));
                }
                None if members.contains_key(&name) => not_compared.push(format!("hook {name}: it does not run")),
                None => not_compared.push(format!("hook {name} is new")),
            }
        }
        let stays = |name: &HookName| wanted.hooks.iter().any(|source| source.name == *name);
        let gone = members.keys().filter(|name| !stays(name));
        not_compared.extend(gone.map(|name| format!("hook {name} is removed")));
        let defined = installed.map(|installed| installed.definitions).unwrap_or_default();
        let other = wanted.definitions.iter().filter(|definition| !defined.contains(definition));
        not_compared.extend(other.map(|definition| format!("CustomResourceDefinition {} differs", definition.name)));
        hooks.sort_by(|one, other| one.name().cmp(other.name()));
        let digest = wanted.digest.clone();
        services.shadows.begin(id, shadows::Version::new(digest, hooks, not_compared, over));
        Ok(())
    }

    pub(super) fn end_shadow_now(&self, id: &BundleId) {
        self.0.hook_manager.services.shadows.end(id);
    }

    pub(super) fn comparison_now(&self, id: &BundleId) -> Option<Comparison> {
        self.0.hook_manager.services.shadows.comparison(id)
    }
}

/// Whether the same component runs, which needs no comparison.
fn runs(member: Option<&Member>, source: &HookSource) -> bool {
    member.is_some_and(|member| source.digest.is_some() && member.origin.source.digest == source.digest)
}
