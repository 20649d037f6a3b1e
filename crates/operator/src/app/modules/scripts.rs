//! The scripts `enabled`, which decide whether their modules are on. A script runs in the interpreter of shell hooks, without
//! any permission. It sees the values and the modules that are on before it.

use std::{path::PathBuf, sync::Arc};

use boathook_core::{
    fair::Tenant,
    hooks::SHELL,
    model::{
        BindingName, BundleId, Caller, Cause, HookName, HookValues, InterpreterRef, Limits, QueueName, RetryPolicy,
        Script, ScriptFile, Trigger, error_chain,
    },
};
use boathook_modules::{Module, ModuleName, life::Subject};
use boathook_sandbox::{LoadedHook, RunRequest};
use serde_json::{Value, json};
use tracing::info;

use super::super::{Services, hooks, module_values::ModuleValues, ms};

/// The longest script.
const MAX_BYTES: u64 = 1024 * 1024;
/// What is loaded: it describes itself as hooks do, and passes on what the script wrote.
const WRAPPER: &str = r#"#!/bin/bash
if [[ "${1:-}" == --config ]]; then
  echo '{"configVersion": "v1", "onStartup": 1}'
  exit 0
fi
answer=$VALUES_JSON_PATCH_PATH
unset VALUES_JSON_PATCH_PATH CONFIG_VALUES_JSON_PATCH_PATH
export MODULE_ENABLED_RESULT=/tmp/module-enabled-result MODULE_ENABLED_REASON=/tmp/module-enabled-reason
: > "$MODULE_ENABLED_RESULT"
: > "$MODULE_ENABLED_REASON"
/hooks/enabled || exit $?
jq -n --arg result "$(cat "$MODULE_ENABLED_RESULT")" --arg reason "$(cat "$MODULE_ENABLED_REASON")" \
  '{op: "add", path: "/answer", value: {result: $result, reason: $reason}}' > "$answer"
"#;
const ENTRY: &str = "boathook-enabled.sh";

/// What a script says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Said {
    pub on: bool,
    pub why: Option<String>,
}

/// Asks the script of a module.
pub(super) async fn ask(
    services: &Services,
    values: &ModuleValues,
    module: &Module,
    on: &[ModuleName],
) -> Result<Said, String> {
    let of = Subject::Module(module.name.clone());
    let mut seen = values.values(&of)?;
    if let Some(global) = seen.get_mut("global").and_then(Value::as_object_mut) {
        global.insert("enabledModules".to_owned(), on.iter().map(ModuleName::as_str).collect());
    }
    let config = values.of(&of).map_err(|failure| failure.message)?.config;
    let path = module.enabled.clone().ok_or("the module has no script")?;
    let (name, component) =
        load(services, &module.name, Wrapped { path, script: "enabled", entry: ENTRY, wrapper: WRAPPER }).await?;
    let run = services.run_ids.next();
    let caller = Caller {
        values: Some(Arc::new(HookValues { values: seen.to_string().into(), config, changeable: true })),
        ..Caller::new(name.clone(), run.clone(), Arc::new([]), true)
    };
    let trigger = Trigger {
        hook: name.clone(),
        binding: BindingName::new("enabled"),
        queue: QueueName::main(),
        cause: Cause::Startup,
        group: None,
        snapshots: Arc::default(),
        allow_failure: false,
        retry: RetryPolicy::default(),
        debounce: std::time::Duration::ZERO,
        created: std::time::Instant::now(),
    };
    let request = RunRequest { caller, attempt: 1, triggers: vec![trigger], limits: Limits::default() };
    let report = services.sandbox.run(&component, request, services.operator.clone()).await;
    report.outcome.map_err(|failure| failure.message)?;
    let said = read(report.patch.values.first().map_or("", String::as_str))?;
    info!(module = %module.name, %run, on = said.on, why = said.why, ms = ms(report.duration), "script asked");
    Ok(said)
}

/// A script of a module, and the hook that runs it.
pub(super) struct Wrapped {
    pub path: PathBuf,
    pub script: &'static str,
    /// The name of the hook's file.
    pub entry: &'static str,
    pub wrapper: &'static str,
}

pub(super) async fn load(
    services: &Services,
    module: &ModuleName,
    wrapped: Wrapped,
) -> Result<(HookName, LoadedHook), String> {
    let script = wrapped.script;
    let interpreter = services.sandbox.newest_interpreter(SHELL).await;
    let packing = move || -> Result<Vec<u8>, String> {
        let path = &wrapped.path;
        let unreadable = |error: std::io::Error| format!("{} cannot be read: {error}", path.display());
        if std::fs::metadata(path).map_err(unreadable)?.len() > MAX_BYTES {
            return Err(format!("{} is larger than {MAX_BYTES} bytes: make it smaller", path.display()));
        }
        pack(&wrapped, std::fs::read(path).map_err(unreadable)?, interpreter)
    };
    let bytes = tokio::task::spawn_blocking(packing).await.map_err(|error| error.to_string())??;
    let owner = BundleId { namespace: None, name: module.to_string() };
    let name = HookName::new(script).map_err(|error| error.to_string())?.in_bundle(&owner);
    let tenant = Tenant::hook(name.as_str());
    let hook = hooks::load_for(&tenant, &name, &bytes, &services.sandbox).await.map_err(|error| error_chain(&error))?;
    Ok((name, hook.component))
}

fn pack(wrapped: &Wrapped, content: Vec<u8>, interpreter: Option<InterpreterRef>) -> Result<Vec<u8>, String> {
    let interpreter = interpreter.ok_or_else(|| boathook_core::hooks::ShellError::NoInterpreter.to_string())?;
    let files = vec![
        ScriptFile { path: wrapped.entry.to_owned(), content: wrapped.wrapper.as_bytes().to_vec() },
        ScriptFile { path: wrapped.script.to_owned(), content },
    ];
    Script { interpreter, entry: wrapped.entry.to_owned(), files }.pack().map_err(|error| error.to_string())
}

/// Reads what the wrapper passed on.
fn read(text: &str) -> Result<Said, String> {
    let operation: Value = serde_json::from_str(text).unwrap_or_default();
    let said =
        |name: &str| operation.pointer(&format!("/value/{name}")).and_then(Value::as_str).unwrap_or_default().trim();
    let why = Some(said("reason").to_owned()).filter(|why| !why.is_empty());
    match said("result") {
        "true" => Ok(Said { on: true, why }),
        "false" => Ok(Said { on: false, why }),
        other => {
            let shown: String = other.chars().take(40).collect();
            Err(format!("it wrote {} to MODULE_ENABLED_RESULT: write true or false", json!(shown)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrote(result: &str, reason: &str) -> Result<Said, String> {
        read(&json!({"op": "add", "path": "/answer", "value": {"result": result, "reason": reason}}).to_string())
    }

    #[test]
    fn a_script_says_true_or_false_and_why() {
        assert_eq!(wrote("true\n", ""), Ok(Said { on: true, why: None }));
        assert_eq!(wrote("false", "too small\n"), Ok(Said { on: false, why: Some("too small".to_owned()) }));
        for wrong in ["", "yes", "true false"] {
            let error = wrote(wrong, "").unwrap_err();
            assert!(error.contains("write true or false"), "{error}");
        }
        assert!(read("").is_err());
    }
}
