//! Reviews of settings before they are stored: those of Modules, and those in the ConfigMap of addon-operator.
//!
//! The API server asks for them as it asks a hook. If the operator does not answer, a change is stored without a review, and
//! the operator refuses settings when it reads them: otherwise nobody could change a Module while the operator is away, not
//! even to bring it back.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use boathook_core::{
    hooks::{DocumentError, parse},
    model::{Denial, HookName, HookSpec, Reviewed, Verdict},
};
use boathook_modules::{Config, ModuleName, Store, Wish};
use futures::future::join_all;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tracing::info;

use super::module_values::{CheckSettings, ModuleValues};
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
    checks: Arc<dyn CheckSettings>,
    spec: Arc<HookSpec>,
}

/// What somebody wants to store.
enum Change {
    Module(ModuleName, Wish),
    Configuration(Config),
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
    pub fn new(values: Arc<ModuleValues>, checks: Arc<dyn CheckSettings>) -> Result<Self, DocumentError> {
        let document = json!({
            "configVersion": "v1",
            "kubernetesValidating": [
                {
                    "name": OF_MODULES,
                    "failurePolicy": "Ignore",
                    "sideEffects": "None",
                    "timeoutSeconds": 10,
                    "rules": [{
                        "apiGroups": ["boathook.dev"], "apiVersions": ["v1alpha1"], "resources": ["modules"],
                        "operations": ["CREATE", "UPDATE"], "scope": "Cluster",
                    }],
                },
                {
                    "name": OF_CONFIG_MAP,
                    "failurePolicy": "Ignore",
                    "sideEffects": "None",
                    "timeoutSeconds": 10,
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
        Ok(Self { values, checks, spec })
    }

    /// What the API server should ask.
    pub fn spec(&self) -> &Arc<HookSpec> {
        &self.spec
    }

    /// Whether it answers at this path.
    pub fn is_at(&self, hook: &str) -> bool {
        hook == HOOK
    }

    /// Decides about a request. What cannot be read is let through, because the definition of Modules refuses it. Scripts
    /// that take too long have refused the settings, so that their answer comes in time.
    pub async fn review(&self, binding: &str, request: &AdmissionRequest, patience: Duration) -> Reviewed {
        let read = match binding {
            OF_MODULES => serde_json::from_str(&request.json).map(|request| self.module(&request)),
            _ => serde_json::from_str(&request.json).map(|request| self.config_map(&request)),
        };
        let (mut refused, change) = read.unwrap_or_default();
        let mut warnings = Vec::new();
        if let Some(change) = change.filter(|_| refused.is_empty()) {
            (refused, warnings) = self.checked(&change, patience.mul_f64(0.8)).await;
        }
        if refused.is_empty() {
            return Reviewed { verdict: Verdict { warnings, ..Verdict::default() }, ..Reviewed::default() };
        }
        let message = refused.join("; ");
        info!(binding, message, "settings are refused");
        let denied = Some(Denial { message, code: Some(422), reason: Some("Invalid".to_owned()) });
        Reviewed { verdict: Verdict { denied, warnings, ..Verdict::default() }, ..Reviewed::default() }
    }

    /// What the scripts of modules refuse, and what they warn about.
    async fn checked(&self, change: &Change, patience: Duration) -> (Vec<String>, Vec<String>) {
        let names = self.checks.names();
        let concerns = |name: &ModuleName| match change {
            Change::Module(module, _) => module == name,
            Change::Configuration(_) => true,
        };
        if !names.iter().any(concerns) {
            return (Vec::new(), Vec::new());
        }
        let store = match self.values.current().await {
            Ok(store) => store,
            Err(failure) => return (vec![format!("the settings cannot be checked: {failure}")], Vec::new()),
        };
        let all: Vec<_> = names.into_iter().filter(concerns).filter_map(|name| changed(&store, change, name)).collect();
        let asked = all.iter().map(|(module, settings)| self.checks.check(module, settings, patience));
        let (mut refused, mut warnings) = (Vec::new(), Vec::new());
        for answer in join_all(asked).await {
            refused.extend(answer.refused);
            warnings.extend(answer.warnings);
        }
        (refused, warnings)
    }

    /// What the schema refuses, and what is left to check.
    fn module(&self, request: &Request<Module>) -> (Vec<String>, Option<Change>) {
        let nothing = (Vec::new(), None);
        let Some(object) = &request.object else { return nothing };
        let Some(Ok(name)) = object.metadata.name.as_ref().map(|name| name.parse::<ModuleName>()) else {
            return nothing;
        };
        let old = request.old_object.as_ref().map(|old| &old.spec);
        let settings = |spec: &ModuleSpec| (spec.settings.clone(), spec.settings_version);
        if object.metadata.deletion_timestamp.is_some() || old.map(settings) == Some(settings(&object.spec)) {
            return nothing;
        }
        // The schema of another version is not known before it is fetched. If it refuses the settings, the version waits.
        if old.is_some_and(|old| (&old.source, &old.version) != (&object.spec.source, &object.spec.version)) {
            return nothing;
        }
        let wish = object.spec.wish();
        let refused = self.values.check_wish(&name, &wish, old.map(ModuleSpec::wish).as_ref());
        (refused, Some(Change::Module(name, wish)))
    }

    fn config_map(&self, request: &Request<ConfigMap>) -> (Vec<String>, Option<Change>) {
        let Some(ConfigMap { data }) = &request.object else { return (Vec::new(), None) };
        if request.old_object.as_ref().is_some_and(|old| old.data == *data) {
            return (Vec::new(), None);
        }
        let data: Map<String, Value> = data.iter().map(|(key, text)| (key.clone(), text.clone().into())).collect();
        let refused = self.values.check_config(&data);
        (refused, Config::of_data(self.values.config_map(), &data).ok().map(Change::Configuration))
    }
}

/// The settings that a module is to have, if they are other ones than now.
fn changed(store: &Store, change: &Change, module: ModuleName) -> Option<(ModuleName, Value)> {
    let settings = match change {
        Change::Module(_, wish) => store.settings_with_wish(&module, wish),
        Change::Configuration(config) => store.settings_with_config(&module, config),
    };
    let settings = settings.filter(|settings| store.settings(&module).as_ref() != Some(settings))?;
    Some((module, settings))
}
