//! An installer that only notes what it receives, and keeps to the rules about grants: so tests see what the controller
//! does without hooks. The tests in `pipeline` use the controller with the operator's own installer.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use boathook_core::model::{
    BundleId, Comparison, CredentialProblem, HookComparison, HookName, HookPhase, HookSource, HookState, InstallError,
    Installation, Installed, Installer, Permission, RequestedPermissions, missing,
};
use futures::future::BoxFuture;

#[derive(Default)]
pub struct Desk {
    bundles: Mutex<BTreeMap<BundleId, Installation>>,
    /// `install ID DIGEST`, `remove ID`, …
    log: Mutex<Vec<String>>,
    /// How the version in the shadow compares, apart from its digest.
    pub comparison: Mutex<Comparison>,
    /// The digest of the version in the shadow.
    shadow: Mutex<Option<String>>,
    /// The runs of every hook, and those that failed.
    pub runs: Mutex<(u64, u64)>,
    /// What is wrong with the credentials of every bundle.
    pub credentials: Mutex<Vec<CredentialProblem>>,
}

impl Desk {
    pub fn has(&self, id: &BundleId) -> Option<Installation> {
        self.bundles.lock().unwrap().get(id).cloned()
    }

    pub fn log(&self) -> Vec<String> {
        self.log.lock().unwrap().clone()
    }

    fn note(&self, what: String) {
        self.log.lock().unwrap().push(what);
    }
}

fn lacking(hook: &HookSource, granted: &Option<Vec<Permission>>) -> Vec<Permission> {
    missing(hook.declared.as_deref().unwrap_or_default(), granted.as_deref().unwrap_or_default())
}

impl Installer for Desk {
    fn install(&self, installation: Installation) -> BoxFuture<'_, Result<Installed, InstallError>> {
        Box::pin(async move {
            let id = installation.id.clone();
            self.note(format!("install {id} {}", installation.digest));
            if installation.settings.as_deref().is_some_and(|settings| settings.contains("\"refuse\"")) {
                return Err(InstallError::Settings { id, problem: "/refuse: is not known".to_owned() });
            }
            let panics = installation.settings.as_deref().is_some_and(|settings| settings.contains("\"panic\":true"));
            assert!(!panics, "as the test wants it");
            let mut bundles = self.bundles.lock().unwrap();
            if bundles.get(&id).is_some_and(|before| before.digest != installation.digest) {
                let each =
                    installation.hooks.iter().map(|hook| (hook.name.clone(), lacking(hook, &installation.grants)));
                let lacking: Vec<_> = each.filter(|(_, missing)| !missing.is_empty()).collect();
                if !lacking.is_empty() {
                    return Err(InstallError::Ungranted(lacking));
                }
            }
            bundles.insert(id, installation);
            Ok(Installed::default())
        })
    }

    fn suspend<'a>(&'a self, id: &'a BundleId, suspended: bool) -> BoxFuture<'a, bool> {
        Box::pin(async move {
            self.note(format!("suspend {id} {suspended}"));
            let mut bundles = self.bundles.lock().unwrap();
            bundles.get_mut(id).map(|bundle| bundle.suspended = suspended).is_some()
        })
    }

    fn remove<'a>(&'a self, id: &'a BundleId) -> BoxFuture<'a, bool> {
        Box::pin(async move {
            self.note(format!("remove {id}"));
            self.bundles.lock().unwrap().remove(id).is_some()
        })
    }

    fn shadow(&self, installation: Installation) -> BoxFuture<'_, Result<(), InstallError>> {
        self.note(format!("shadow {} {}", installation.id, installation.digest));
        let each = installation.hooks.iter().map(|hook| (hook.name.clone(), lacking(hook, &installation.grants)));
        let lacking: Vec<_> = each.filter(|(_, missing)| !missing.is_empty()).collect();
        let checked = if lacking.is_empty() { Ok(()) } else { Err(InstallError::Ungranted(lacking)) };
        if checked.is_ok() {
            *self.shadow.lock().unwrap() = Some(installation.digest);
        }
        Box::pin(std::future::ready(checked))
    }

    fn end_shadow(&self, _: &BundleId) {
        *self.shadow.lock().unwrap() = None;
    }

    fn comparison(&self, _: &BundleId) -> Option<Comparison> {
        let digest = self.shadow.lock().unwrap().clone()?;
        Some(Comparison { digest, ..self.comparison.lock().unwrap().clone() })
    }

    fn states(&self, id: &BundleId) -> Vec<HookState> {
        let Some(bundle) = self.has(id) else { return Vec::new() };
        let (runs, failures) = *self.runs.lock().unwrap();
        let state = |hook: &HookSource| {
            let missing = lacking(hook, &bundle.grants);
            let phase = match (bundle.suspended, missing.is_empty()) {
                (true, _) => HookPhase::Suspended,
                (false, true) => HookPhase::Ready,
                (false, false) => HookPhase::Ungranted,
            };
            HookState {
                name: hook.name.clone(),
                hook: hook.name.in_bundle(id),
                phase,
                reason: String::new(),
                missing,
                digest: hook.digest.clone(),
                interpreter: None,
                last_run: Some(1_790_000_000_000),
                last_error: None,
                runs,
                failures,
            }
        };
        bundle.hooks.iter().map(state).collect()
    }

    fn check_credentials<'a>(&'a self, id: &'a BundleId) -> BoxFuture<'a, Vec<CredentialProblem>> {
        self.note(format!("check the credentials of {id}"));
        Box::pin(std::future::ready(self.credentials.lock().unwrap().clone()))
    }

    fn requested<'a>(&'a self, hooks: &'a [HookSource]) -> BoxFuture<'a, Vec<RequestedPermissions>> {
        let ask = |hook: &HookSource| RequestedPermissions {
            hook: hook.name.clone(),
            permissions: Ok(hook.declared.clone().unwrap_or_default()),
        };
        let asked = hooks.iter().map(ask).collect();
        Box::pin(async move { asked })
    }
}

pub fn id(name: &str) -> BundleId {
    BundleId { namespace: Some(super::stage::NAMESPACE.to_owned()), name: name.to_owned() }
}

/// Nothing is compared yet.
pub fn desk() -> Arc<Desk> {
    let (desk, name) = (Desk::default(), HookName::new("copy").unwrap());
    let hook = HookComparison { name, equal: 0, different: 0, skipped: 0, example: None };
    desk.comparison.lock().unwrap().hooks.push(hook);
    Arc::new(desk)
}
