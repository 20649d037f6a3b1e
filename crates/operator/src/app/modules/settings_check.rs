//! The scripts `check-settings`, which say whether the settings of their modules are right. A script runs in the interpreter
//! of shell hooks, without any permission. It is asked as a hook that answers the API server, so it waits for no run.
//!
//! What cannot be checked is refused: a script that fails, that takes too long, or whose answer cannot be read.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use boathook_core::model::{AdmissionKind, BindingName, Caller, Limits, Review};
use boathook_modules::ModuleName;
use boathook_sandbox::ReviewRequest;
use futures::{FutureExt as _, future::BoxFuture};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::timeout;
use tracing::{info, warn};

use super::{
    super::{
        Services,
        module_values::{CheckSettings, Checked},
        ms,
    },
    scripts::{self, Wrapped},
    shelf::Shelf,
};

const SCRIPT: &str = "check-settings";
const ENTRY: &str = "boathook-check-settings.sh";
const BINDING: &str = "check-settings.modules.boathook.dev";
/// How long a script may take before its module goes on.
const PATIENCE: Duration = Duration::from_secs(10);
/// What is loaded: it describes itself as hooks do, and passes on what the script wrote. The answer is on standard output, or
/// on standard error, where programs that were made for addon-operator write it.
const WRAPPER: &str = r#"#!/bin/bash
if [[ "${1:-}" == --config ]]; then
  echo '{"configVersion": "v1", "kubernetesValidating": [{"name": "check-settings.modules.boathook.dev", "rules": [
    {"apiGroups": ["boathook.dev"], "apiVersions": ["v1alpha1"], "resources": ["modules"], "operations": ["UPDATE"]}]}]}'
  exit 0
fi
answer=$VALIDATING_RESPONSE_PATH
unset VALIDATING_RESPONSE_PATH ADMISSION_RESPONSE_PATH
export SETTINGS_PATH=/tmp/settings.json
said=/tmp/check-settings.out
errors=/tmp/check-settings.err
jq -c '.[0].review.request.object' "$BINDING_CONTEXT_PATH" > "$SETTINGS_PATH"
code=0
/hooks/check-settings > "$said" 2> "$errors" || code=$?
if [[ $code == 0 && ! -s "$said" ]]; then
  said=$errors
else
  cat "$errors" >&2
fi
if [[ $code != 0 ]]; then
  exit $code
fi
jq -n --arg said "$(cat "$said")" '{allowed: false, message: $said}' > "$answer"
"#;

/// What a script writes.
#[derive(Debug, PartialEq, Eq, Deserialize)]
struct Answer {
    valid: bool,
    message: Option<String>,
    warnings: Option<Vec<String>>,
}

/// Asks the scripts of modules.
pub(super) struct SettingsChecks {
    services: Arc<Services>,
    shelf: Arc<Shelf>,
    /// What was right, and the script that said so.
    accepted: Mutex<BTreeMap<ModuleName, (PathBuf, Value)>>,
}

impl SettingsChecks {
    pub fn new(services: Arc<Services>, shelf: Arc<Shelf>) -> Self {
        Self { services, shelf, accepted: Mutex::default() }
    }

    fn script(&self, module: &ModuleName) -> Option<PathBuf> {
        self.shelf.get(module)?.module.settings_check.clone()
    }

    /// Asks the script about settings that are in use, unless it has accepted them. A module without a script accepts all.
    pub async fn accepted(&self, module: &ModuleName, settings: &Value) -> Result<(), String> {
        let Some(script) = self.script(module) else { return Ok(()) };
        let known = || self.accepted.lock().unwrap_or_else(PoisonError::into_inner);
        if known().get(module).is_some_and(|(by, what)| *by == script && what == settings) {
            return Ok(());
        }
        let Checked { refused, warnings } = self.verdict(module, settings, PATIENCE).await;
        for warning in warnings {
            warn!(%module, warning, "the settings of the module should be changed");
        }
        refused.map_or(Ok(()), Err)?;
        known().insert(module.clone(), (script, settings.clone()));
        Ok(())
    }

    /// Asks the script about settings.
    async fn verdict(&self, module: &ModuleName, settings: &Value, patience: Duration) -> Checked {
        let Some(script) = self.script(module) else { return Checked::default() };
        let asked = timeout(patience, self.ask(module, script, settings, patience)).await;
        let answer = asked.unwrap_or_else(|_| Err(format!("no answer within {:.1} s", patience.as_secs_f64())));
        let (refused, warnings) = match answer {
            Ok(Answer { valid: true, warnings, .. }) => (None, warnings),
            Ok(Answer { message, warnings, .. }) => {
                let message = message.unwrap_or_else(|| "it gives no reason".to_owned());
                (Some(format!("{SCRIPT} of the module {module} refuses the settings: {message}")), warnings)
            }
            Err(why) => {
                let refused =
                    format!("{SCRIPT} of the module {module} cannot check the settings, so they are refused: {why}");
                (Some(refused), None)
            }
        };
        Checked { refused, warnings: warnings.unwrap_or_default() }
    }

    async fn ask(
        &self,
        module: &ModuleName,
        path: PathBuf,
        settings: &Value,
        patience: Duration,
    ) -> Result<Answer, String> {
        let wrapped = Wrapped { path, script: SCRIPT, entry: ENTRY, wrapper: WRAPPER };
        let (name, component) = scripts::load(&self.services, module, wrapped).await?;
        let run = self.services.run_ids.next();
        let review = Review {
            kind: AdmissionKind::Validating,
            binding: BindingName::new(BINDING),
            request: json!({"object": settings}).to_string().into(),
            dry_run: true,
        };
        let caller = Caller::new(name, run.clone(), Arc::new([]), true);
        let (snapshots, limits) = (Arc::default(), Limits::default());
        let request = ReviewRequest { caller, review, snapshots, limits, patience };
        let report = self.services.sandbox.review(&component, request, self.services.answering.clone()).await;
        let reviewed = report.outcome.map_err(|failure| failure.message)?;
        let answer = read(&reviewed.verdict.denied.map(|denied| denied.message).unwrap_or_default())?;
        info!(%module, %run, valid = answer.valid, ms = ms(report.duration), "settings checked");
        Ok(answer)
    }
}

impl CheckSettings for SettingsChecks {
    fn names(&self) -> Vec<ModuleName> {
        let mut names = self.shelf.names();
        names.retain(|name| self.script(name).is_some());
        names
    }

    fn check<'a>(&'a self, module: &'a ModuleName, settings: &'a Value, patience: Duration) -> BoxFuture<'a, Checked> {
        self.verdict(module, settings, patience).boxed()
    }
}

/// Reads what the wrapper passed on.
fn read(text: &str) -> Result<Answer, String> {
    serde_json::from_str(text).map_err(|error| {
        let shown: String = text.chars().take(80).collect();
        format!(
            "it wrote {}, which is no answer ({error}): write {{\"valid\": true}}, or {{\"valid\": false, \"message\": …}}",
            json!(shown)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_says_whether_settings_are_valid_and_anything_else_is_none() {
        let answer = |valid, message: Option<&str>, warnings: Option<Vec<String>>| Answer {
            valid,
            message: message.map(str::to_owned),
            warnings,
        };
        assert_eq!(read("{\"valid\": true}\n"), Ok(answer(true, None, None)));
        let both = r#"{"valid": false, "message": "no", "warnings": ["old"], "more": 1}"#;
        assert_eq!(read(both), Ok(answer(false, Some("no"), Some(vec!["old".to_owned()]))));
        for wrong in ["", "yes", "{}", r#"{"valid": "true"}"#, r#"{"valid": true} {"valid": false}"#] {
            let error = read(wrong).unwrap_err();
            assert!(error.contains("which is no answer") && error.contains(&json!(wrong).to_string()), "{error}");
        }
    }
}
