//! Loads hooks' documents from paths. It runs only `config`, with no grants.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};
use boathook_author::author::output;
use boathook_core::{
    hooks::{HookFile, read_directory},
    model::{HookName, HookSpec, error_chain},
};
use boathook_operator::app::load;
use boathook_sandbox::Sandbox;

use crate::cmd::sandbox;

/// The interface for calls to Kubernetes, without its version.
const KUBE: &str = "boathook:hook/kube";

/// All hooks, ordered by name. Reports all files that are not hooks before it fails.
pub(super) async fn hooks(paths: &[PathBuf]) -> anyhow::Result<Vec<HookSpec>> {
    let sandbox = Sandbox::new(sandbox::config(None)?)?;
    let mut hooks: BTreeMap<HookName, (PathBuf, HookSpec)> = BTreeMap::new();
    let mut wrong = 0_usize;
    for file in files(paths)? {
        let path = file.path.clone();
        let problem = match read(file, &sandbox).await {
            Err(error) => Some(format!("{}; see `boathook inspect {}`", error_chain(error.as_ref()), path.display())),
            Ok(spec) => {
                let twice =
                    |(other, _): &(PathBuf, HookSpec)| format!("{} is a hook of the same name", other.display());
                let problem = hooks.get(&spec.name).map(twice);
                hooks.entry(spec.name.clone()).or_insert_with(|| (path.clone(), spec));
                problem
            }
        };
        if let Some(problem) = problem {
            wrong += 1;
            eprintln!("{}: {problem}", path.display());
        }
    }
    if wrong > 0 {
        let files = if wrong == 1 { "1 file is".to_owned() } else { format!("{wrong} files are") };
        bail!("{files} no hook that can be used: build them again, or leave them out");
    }
    Ok(hooks.into_values().map(|(_, spec)| spec).collect())
}

fn files(paths: &[PathBuf]) -> anyhow::Result<Vec<HookFile>> {
    let mut files = Vec::new();
    for path in paths {
        if path.is_dir() {
            // For a project, use its build output.
            let built = output(path);
            let path = built.as_ref().unwrap_or(path);
            let found = read_directory(path)?;
            if found.is_empty() {
                bail!("{} holds no hook: each NAME.wasm in it would be one", path.display());
            }
            files.extend(found);
        } else {
            let stem = path.file_stem().unwrap_or_default().to_string_lossy();
            files.push(HookFile { name: HookName::new(&stem), path: path.clone() });
        }
    }
    Ok(files)
}

async fn read(file: HookFile, sandbox: &Sandbox) -> anyhow::Result<HookSpec> {
    let name = file.name?;
    let bytes = tokio::fs::read(&file.path).await.context("it can't be read")?;
    let hook = load(&name, &bytes, sandbox).await?;
    if hook.spec.permissions.is_empty() && hook.component.imports().iter().any(|import| import.starts_with(KUBE)) {
        warn_of_no_permissions(&file.path);
    }
    Ok(hook.spec)
}

/// Only a warning, because the hook can run and may never make a call.
fn warn_of_no_permissions(path: &Path) {
    eprintln!(
        "warning: {}: it can call Kubernetes, and its document has no permissions.kubernetes: each call is refused; \
         add what it calls",
        path.display()
    );
}
