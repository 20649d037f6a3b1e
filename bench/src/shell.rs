//! Hooks in bash: a fresh instance of the interpreter, a hook that reads a Pod, many hooks on one interpreter, and a Secret
//! that a script copies with kubectl. The last one is measured beside shell-operator, if its binary is there.

use std::{
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result};
use boathook_core::model::{InterpreterRef, Script, ScriptFile};
use boathook_sandbox::interpreters_in;

use crate::{
    Paths,
    backend::Backend,
    bound,
    contender::{self, Contender, Kind},
    languages::{self, language, runs},
    namespaces::{self, Copies},
    process::Process,
    report::{Report, Rounds},
    scripts,
    stats::{Percentiles, ms},
};

/// A hook that does nothing.
const NOTHING: &str = r#"#!/bin/bash
if [[ $1 == --config ]]; then echo '{configVersion: v1, kubernetes: [{name: pods, apiVersion: v1, kind: Pod}]}'; fi
"#;

/// The hook of the languages, by the file of operations.
const PODS: &str = r#"#!/bin/bash
if [[ $1 == --config ]]; then
  echo '{configVersion: v1, kubernetes: [{name: pods, apiVersion: v1, kind: Pod}]}'
  exit
fi
jq -c '.[].object // empty | {operation: "CreateOrUpdate", object: {apiVersion: "v1", kind: "ConfigMap",
  metadata: {namespace: .metadata.namespace, name: .metadata.name},
  data: {images: ([.spec.containers[].image] | join(" "))}}}' "$BINDING_CONTEXT_PATH" >>"$KUBERNETES_PATCH_PATH"
"#;

/// The same script for both operators.
const COPY: &str = r#"#!/bin/bash
set -eo pipefail
if [[ $1 == --config ]]; then
  cat <<END
configVersion: v1
kubernetes:
- {name: namespaces, apiVersion: v1, kind: Namespace, executeHookOnEvent: [Added], jqFilter: .metadata.name}
END
  exit
fi
for namespace in $(jq -r '.[] | .objects[]?.object.metadata.name, .object.metadata.name // empty' "$BINDING_CONTEXT_PATH"); do
  if [[ $namespace != default && $namespace != kube-* ]]; then
    kubectl get secret registry-credentials -n default -o json |
      jq --arg namespace "$namespace" '{apiVersion, kind, type, data, metadata: {name: .metadata.name, namespace: $namespace}}' |
      kubectl apply -f -
  fi
done
"#;

const PERMISSIONS: &str = r#"{"permissions": {"kubernetes": [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "create", "patch"]}]}, "limits": {"time": "60s"}}"#;

/// What was measured.
pub struct Figures {
    runs: Vec<Vec<languages::Figures>>,
    hooks: Vec<scripts::Figures>,
    /// Boathook, and shell-operator in the place of the hand-written program.
    copies: Rounds<Percentiles>,
    /// A thousand at once, in the first round only, because shell-operator takes minutes.
    bursts: Rounds<Duration>,
    beside: bool,
}

/// Adds the table's rows.
pub fn report(report: &mut Report, figures: &Figures) {
    languages::report(report, &figures.runs);
    scripts::report(report, &figures.hooks);
    let Figures { copies, bursts, beside, .. } = figures;
    row(
        report,
        *beside,
        ("namespace → secret by a bash hook with kubectl (bare: shell-operator), p50", "≤ 20 ms"),
        copies,
        |times| ms(times.p50),
    );
    row(report, *beside, ("– p99", ""), copies, |times| ms(times.p99));
    row(report, *beside, ("– 1 000 namespaces at once, one round", ""), bursts, |time| ms(*time));
}

fn row<T>(
    report: &mut Report,
    beside: bool,
    (what, hold): (&'static str, &'static str),
    rounds: &Rounds<T>,
    pick: impl Fn(&T) -> f64 + Copy,
) {
    if beside {
        report.compare(what, "ms", hold, rounds, pick);
    } else {
        report.row(what, "ms", hold, rounds.of(Kind::Boathook, pick), None);
    }
}

/// Measures all of it; none if there is no interpreter.
pub async fn measure(paths: &Paths, rounds: usize) -> Result<Option<Figures>> {
    let all = interpreters_in(std::slice::from_ref(&paths.interpreters));
    let Some(interpreter) = all.into_iter().find(|one| one.name == "shell") else { return Ok(None) };
    let nothing = packed(&interpreter, NOTHING)?;
    let pods = packed(&interpreter, PODS)?;
    let mut measured = Vec::new();
    for _ in 0..rounds {
        let fresh = language(paths, runs()?, ("bash that does nothing", ""), &nothing, 0).await?;
        measured.push(vec![fresh, language(paths, runs()?, ("bash", ""), &pods, 1).await?]);
    }
    let hooks = vec![
        scripts::set(paths, rounds, format!("{} hooks in bash", scripts::SCRIPTS), &pods, scripts::SCRIPTS).await?,
    ];
    let beside = std::env::var_os("BENCH_SHELL_OPERATOR").map(PathBuf::from);
    let (mut copies, mut bursts) = (Rounds::default(), Rounds::default());
    for round in 0..rounds {
        for (kind, program) in [(Kind::Bare, beside.as_deref()), (Kind::Boathook, None)] {
            if kind == Kind::Bare && program.is_none() {
                continue;
            }
            let (one, burst) = copied(paths, program, round == 0).await.with_context(|| format!("{kind:?}"))?;
            copies.add(kind, one);
            if let Some(burst) = burst {
                bursts.add(kind, burst);
            }
        }
    }
    Ok(Some(Figures { runs: measured, hooks, copies, bursts, beside: beside.is_some() }))
}

fn packed(interpreter: &InterpreterRef, text: &str) -> Result<Vec<u8>> {
    let files = vec![ScriptFile { path: "hook.sh".into(), content: text.into() }];
    Ok(Script { interpreter: interpreter.clone(), entry: "hook.sh".into(), files }.pack()?)
}

/// Namespaces one at a time, each after the copy in the one before, and then many at once.
async fn copied(
    paths: &Paths,
    shell_operator: Option<&Path>,
    at_once: bool,
) -> Result<(Percentiles, Option<Duration>)> {
    let backend = Backend::start(paths).await?;
    namespaces::create_source(&backend).await?;
    let mut copies = Copies::watch(&backend);
    let directory = tempfile::tempdir()?;
    let hook = directory.path().join("hooks/copy.sh");
    std::fs::create_dir(directory.path().join("hooks"))?;
    std::fs::write(&hook, COPY)?;
    std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755))?;
    let _contender = match shell_operator {
        Some(program) => theirs(program, &backend, directory).await?,
        None => {
            std::fs::write(hook.with_file_name("copy.boathook.yaml"), PERMISSIONS)?;
            let flags = ["--interpreters".into(), paths.interpreters.clone().into_os_string()];
            contender::boathook(paths, &backend, &flags, directory).await?
        }
    };
    for i in 0..namespaces::WARM_UP {
        let name = format!("warm-{i}");
        namespaces::create(&backend, &name).await?;
        copies.wait_for(&name).await?;
    }
    let one = namespaces::one_at_a_time(&backend, &mut copies).await?;
    let burst = if at_once { Some(namespaces::burst(&backend, &mut copies).await?.1) } else { None };
    Ok((one, burst))
}

/// shell-operator on the same directory. It is ready when it copies.
async fn theirs(program: &Path, backend: &Backend, directory: tempfile::TempDir) -> Result<Contender> {
    let started = Instant::now();
    let home = directory.path();
    // kubectl in the hook finds the cluster where a person has it.
    std::fs::create_dir(home.join(".kube"))?;
    std::fs::copy(&backend.kubeconfig, home.join(".kube/config"))?;
    let mut command = bound::command(program)?;
    command.arg("start").env("HOME", home).env("KUBE_CONFIG", &backend.kubeconfig);
    command.env("SHELL_OPERATOR_HOOKS_DIR", home.join("hooks")).env("SHELL_OPERATOR_TMP_DIR", home.join("tmp"));
    command.env("SHELL_OPERATOR_LISTEN_ADDRESS", "127.0.0.1").env("SHELL_OPERATOR_LISTEN_PORT", "0");
    command.env("DEBUG_UNIX_SOCKET", home.join("debug.socket")).env("LOG_TYPE", "json");
    let process = Process::start(&mut command, &home.join("log"))?;
    Ok(Contender::of(process, started.elapsed(), directory))
}
