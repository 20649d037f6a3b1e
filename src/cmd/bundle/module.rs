//! Directories of modules as bundles: their files are one layer, and their hooks are layers as in each bundle.

use std::path::Path;

use anyhow::{Context as _, bail};
use boathook_author::module::is_module;
use boathook_bundle::{HookInput, Input, ModuleInput, Pulled, module_files, unpack_module};
use boathook_core::{
    hooks::{HookFile, read_directory},
    model::error_chain,
};
use boathook_modules::{Catalogue, Module, ModuleName};
use boathook_sandbox::Sandbox;

use super::{annotations, created, hook};
use crate::{
    cli::bundle::Annotations as AnnotationFlags,
    cmd::{projects::warn_of_stale, sandbox},
};

/// The name of the module in a directory. None if there is none.
fn name(directory: &Path) -> anyhow::Result<Option<ModuleName>> {
    if !is_module(directory) || has_components(directory) {
        return Ok(None);
    }
    let file = directory.join("module.yaml");
    if file.is_file() {
        let unreadable = || format!("{} cannot be read", file.display());
        let text = std::fs::read_to_string(&file).with_context(unreadable)?;
        let value = boathook_modules::read_values(&text).map_err(anyhow::Error::msg).with_context(unreadable)?;
        if let Some(name) = value.get("name").and_then(serde_json::Value::as_str) {
            return Ok(Some(name.parse().with_context(unreadable)?));
        }
    }
    let path = directory.canonicalize().with_context(|| format!("{} cannot be read", directory.display()))?;
    let last = path.file_name().unwrap_or_default().to_string_lossy();
    let name = ModuleName::of_directory(&last);
    Ok(Some(name.with_context(|| {
        format!("{} is no module: set `name` in its module.yaml, or rename the directory", directory.display())
    })?))
}

/// Whether the directory itself has hooks. Those of a module are in its folder `hooks`.
fn has_components(directory: &Path) -> bool {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).any(|path| path.extension().is_some_and(|extension| extension == "wasm"))
}

/// What a module is packed of. None if the directory is none.
pub(super) async fn input(directory: &Path, flags: &AnnotationFlags) -> anyhow::Result<Option<Input>> {
    let Some(name) = name(directory)? else { return Ok(None) };
    let (module, warnings) = Catalogue::of_one(&name, directory)?;
    warnings.iter().for_each(|warning| eprintln!("warning: {warning}"));
    let mut annotations = annotations(directory, flags)?;
    let version = module.definition.version.as_ref().map(ToString::to_string);
    for (key, value) in [("title", Some(name.to_string())), ("version", version)] {
        if let Some(value) = value.filter(|_| annotations.get(key).is_none()) {
            annotations.set(key, &value)?;
        }
    }
    let files = module_files(directory)?;
    let hooks = hooks(&module).await?;
    let module = Some(ModuleInput { name: name.to_string(), files });
    Ok(Some(Input { hooks, module, created: created()?, annotations, ..Input::default() }))
}

async fn hooks(module: &Module) -> anyhow::Result<Vec<HookInput>> {
    let directory = module.path.join("hooks");
    if !directory.is_dir() {
        return Ok(Vec::new());
    }
    let files: Vec<HookFile> = read_directory(&directory)?;
    let is_hook = |path: &Path| {
        files.iter().any(|file| file.path == path)
            || path.extension().is_some_and(|extension| extension == "wasm")
            || path.with_extension("wasm").is_file()
    };
    if let Some(other) = module.hooks.iter().find(|path| !is_hook(path)) {
        bail!(
            "{} is executable, and is neither a component NAME.wasm nor a script of bash: build it, or take away its mode",
            other.display()
        );
    }
    let sandbox = Sandbox::new(sandbox::config(None)?)?;
    let mut packed = Vec::new();
    for file in files {
        warn_of_stale(&file.path);
        let shown = file.path.display().to_string();
        packed.push(hook(file, &sandbox).await.with_context(|| format!("{shown} cannot be packed"))?);
    }
    Ok(packed)
}

/// Writes the files of a module that was pulled into a directory that has nothing else.
pub(super) fn unpack(pulled: &Pulled, output: &Path) -> anyhow::Result<bool> {
    let Some(module) = &pulled.module else { return Ok(false) };
    let unreadable = || format!("{} cannot be used", output.display());
    std::fs::create_dir_all(output).with_context(unreadable)?;
    if std::fs::read_dir(output).with_context(unreadable)?.next().is_some() {
        bail!(
            "{} is not empty: name a directory that is, for the files of the module {}",
            output.display(),
            module.name
        );
    }
    let ready = pulled.ready().with_context(|| "what was pulled cannot be read".to_owned())?;
    unpack_module(&module.path, &ready.hooks, output).map_err(|error| anyhow::anyhow!(error_chain(&error)))?;
    Ok(true)
}
