//! Reviews of settings before they are stored: those of Modules, and those in the ConfigMap of addon-operator.
//!
//! The API server asks for them as it asks a hook. If the operator does not answer, a change is stored without a review, and
//! the operator refuses settings when it reads them: otherwise nobody could change a Module while the operator is away, not
//! even to bring it back.

use std::{collections::BTreeMap, sync::Arc};

use boathook_core::{
    hooks::{DocumentError, parse},
    model::{Denial, HookName, HookSpec, Reviewed, Verdict},
};
use boathook_modules::ModuleName;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tracing::info;

use super::module_values::ModuleValues;
use crate::{
    module::{Module, ModuleSpec},
    webhook::AdmissionRequest,
};

/// The hook that the API server asks. A hook of this name does not answer while settings are reviewed.
const HOOK: &str = "module-settings";
const OF_MODULES: &str = "settings.modules.boathook.dev";
const OF_CONFIG_MAP: &str = "configuration.modules.boathook.dev";

/// Answers the API server about settings.
pub(super) struct SettingsReviewer {
    values: Arc<ModuleValues>,
    spec: Arc<HookSpec>,
}

/// The parts of an AdmissionRequest that count.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request<T> {
    object: Option<T>,
    old_object: Option<T>,
}

#[derive(Default, Deserialize)]
struct ConfigMap {
    #[serde(default)]
    data: BTreeMap<String, String>,
}

impl SettingsReviewer {
    /// # Errors
    /// A name of a namespace or of a ConfigMap that no document can have.
    pub fn new(values: Arc<ModuleValues>) -> Result<Self, DocumentError> {
        let document = json!({
            "configVersion": "v1",
            "kubernetesValidating": [
                {
                    "name": OF_MODULES,
                    "failurePolicy": "Ignore",
                    "sideEffects": "None",
                    "timeoutSeconds": 5,
                    "rules": [{
                        "apiGroups": ["boathook.dev"], "apiVersions": ["v1alpha1"], "resources": ["modules"],
                        "operations": ["CREATE", "UPDATE"], "scope": "Cluster",
                    }],
                },
                {
                    "name": OF_CONFIG_MAP,
                    "failurePolicy": "Ignore",
                    "sideEffects": "None",
                    "timeoutSeconds": 5,
                    "namespace": {
                        "labelSelector": {"matchLabels": {"kubernetes.io/metadata.name": values.namespace()}},
                        "includeSystem": true,
                    },
                    "matchConditions": [{
                        "name": "configuration",
                        "expression": format!("object.metadata.name == {}", json!(values.config_map())),
                    }],
                    "rules": [{
                        "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"],
                        "operations": ["CREATE", "UPDATE"], "scope": "Namespaced",
                    }],
                },
            ],
        });
        let name = HookName::new(HOOK).map_err(|_| DocumentError { problems: Vec::new(), more: 0 })?;
        let spec = Arc::new(parse(&name, &document.to_string(), &|_| Ok(()))?);
        Ok(Self { values, spec })
    }

    /// What the API server should ask.
    pub fn spec(&self) -> &Arc<HookSpec> {
        &self.spec
    }

    /// Whether it answers at this path.
    pub fn is_at(&self, hook: &str) -> bool {
        hook == HOOK
    }

    /// Decides about a request. What cannot be read is let through, because the definition of Modules refuses it.
    pub fn review(&self, binding: &str, request: &AdmissionRequest) -> Reviewed {
        let refused = match binding {
            OF_MODULES => serde_json::from_str(&request.json).map(|request| self.module(&request)),
            _ => serde_json::from_str(&request.json).map(|request| self.config_map(&request)),
        };
        let refused = refused.unwrap_or_default();
        if refused.is_empty() {
            return Reviewed::default();
        }
        let message = refused.join("; ");
        info!(binding, message, "settings are refused");
        let denied = Some(Denial { message, code: Some(422), reason: Some("Invalid".to_owned()) });
        Reviewed { verdict: Verdict { denied, ..Verdict::default() }, ..Reviewed::default() }
    }

    fn module(&self, request: &Request<Module>) -> Vec<String> {
        let Some(object) = &request.object else { return Vec::new() };
        let Some(Ok(name)) = object.metadata.name.as_ref().map(|name| name.parse::<ModuleName>()) else {
            return Vec::new();
        };
        let old = request.old_object.as_ref().map(|old| &old.spec);
        let settings = |spec: &ModuleSpec| (spec.settings.clone(), spec.settings_version);
        if object.metadata.deletion_timestamp.is_some() || old.map(settings) == Some(settings(&object.spec)) {
            return Vec::new();
        }
        // The schema of another version is not known before it is fetched. If it refuses the settings, the version waits.
        if old.is_some_and(|old| (&old.source, &old.version) != (&object.spec.source, &object.spec.version)) {
            return Vec::new();
        }
        self.values.check_wish(&name, &object.spec.wish(), old.map(ModuleSpec::wish).as_ref())
    }

    fn config_map(&self, request: &Request<ConfigMap>) -> Vec<String> {
        let Some(ConfigMap { data }) = &request.object else { return Vec::new() };
        if request.old_object.as_ref().is_some_and(|old| old.data == *data) {
            return Vec::new();
        }
        let data: Map<String, Value> = data.iter().map(|(key, text)| (key.clone(), text.clone().into())).collect();
        self.values.check_config(&data)
    }
}
