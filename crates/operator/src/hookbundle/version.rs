//! One version of a bundle that is in the store and trusted, and how it has to run. Pure.

use std::{collections::BTreeMap, sync::Arc};

use boathook_bundle::{Policy, Pulled, Ready, Reference, Verified};
use boathook_core::model::{BundleId, HookSource, Identity, Installation, Permission};

use super::{HookBundleSpec, convert};

/// The number of digits of a digest that people see.
const SHOWN: usize = 12;

/// A version of a bundle.
#[derive(Debug, Clone)]
pub(super) struct Version {
    /// The digest of its manifest, `sha256:…`.
    pub digest: String,
    /// The version in readable form: its tag, and the beginning of its digest.
    pub label: String,
    pub hooks: Vec<HookSource>,
    pub schema: Option<String>,
    pub verified: Verified,
    /// Whether the source names its digest.
    pub pinned: bool,
    /// The names of hooks, and what they request.
    pub requested: BTreeMap<String, Vec<Permission>>,
    /// The version as it was pulled, to remember it when it runs. `None` if it came from the store.
    pub pulled: Option<Arc<(Pulled, Policy)>>,
}

impl Version {
    /// The permissions of a single component are not known yet.
    pub fn new(ready: Ready, at: &Reference, verified: Verified) -> Self {
        let digest = ready.digest.to_string();
        let requested = ready.hooks.iter().filter_map(|hook| Some((hook.name.to_string(), hook.declared.clone()?)));
        Self {
            label: label(at.tag(), &digest),
            requested: requested.collect(),
            hooks: ready.hooks,
            schema: ready.settings_schema,
            verified,
            pinned: at.digest().is_some(),
            pulled: None,
            digest,
        }
    }

    /// How the HookBundle wants the version to run. `confined` says that its hooks may act only in its own namespace.
    pub fn installation(&self, namespace: &str, name: &str, spec: &HookBundleSpec, confined: bool) -> Installation {
        let id = BundleId { namespace: Some(namespace.to_owned()), name: name.to_owned() };
        let settings = spec.settings.clone().map(|settings| serde_json::Value::Object(settings).to_string());
        Installation {
            identity: Some(Identity {
                namespace: namespace.to_owned(),
                service_account: spec.service_account_name.clone(),
            }),
            grants: Some(convert::permissions(&spec.grants)),
            settings,
            settings_schema: self.schema.clone(),
            limits: convert::caps(spec.limits.as_ref()),
            confined_to: confined.then(|| namespace.to_owned()),
            suspended: spec.suspend,
            ..Installation::new(id, self.digest.clone(), self.hooks.clone())
        }
    }
}

/// For example `v1@0123456789ab`.
pub(super) fn label(tag: Option<&str>, digest: &str) -> String {
    let hex = digest.strip_prefix("sha256:").unwrap_or(digest);
    let short = hex.get(..SHOWN).unwrap_or(hex);
    match tag {
        Some(tag) => format!("{tag}@{short}"),
        None => short.to_owned(),
    }
}
