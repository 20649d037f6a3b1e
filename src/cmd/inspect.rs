//! `boathook inspect`: shows what a component is, what triggers it and what it requests. It runs only the component's
//! `config`, with no grants.

use std::{fmt::Write as _, path::Path, process::ExitCode};

use anyhow::{Context as _, anyhow, bail};
use boathook_author::rbac::{Kinds, suspects};
use boathook_core::{
    definition::Definition,
    hooks::print,
    model::{HookName, Script},
};
use boathook_operator::app::{Hook, bad_conditions, load};
use boathook_sandbox::Sandbox;
use serde_json::{Value, json};

use super::{language, projects::warn_of_stale, rbac::local, runtime::block_on, sandbox, summary};
use crate::cli::Inspect;

pub(super) fn run(args: Inspect) -> anyhow::Result<ExitCode> {
    let bytes = std::fs::read(&args.file).with_context(|| format!("cannot read {}", args.file.display()))?;
    warn_of_stale(&args.file);
    let facts = check(&hook_name(&args.file)?, &bytes)?;
    super::print(args.output, &facts, || text(&facts))?;
    Ok(ExitCode::SUCCESS)
}

/// Loads a component as the operator does, and returns its facts.
pub(super) fn check(name: &HookName, bytes: &[u8]) -> anyhow::Result<Value> {
    let (hook, definitions) = loaded(name, bytes)?;
    Ok(facts(&hook, &definitions, bytes))
}

/// Like [`check`], with warnings about names that are probably misspelt.
pub(super) fn check_names(name: &HookName, bytes: &[u8]) -> anyhow::Result<Value> {
    let (hook, definitions) = loaded(name, bytes)?;
    let kinds = block_on(local(&[]))?;
    let mut facts = facts(&hook, &definitions, bytes);
    if let Some(Value::Array(warnings)) = facts.get_mut("warnings") {
        warnings.extend(suspects(&hook.spec, &Kinds::new(kinds)).into_iter().map(Value::from));
    }
    Ok(facts)
}

/// The hook, and the CustomResourceDefinitions that it makes of its types.
fn loaded(name: &HookName, bytes: &[u8]) -> anyhow::Result<(Hook, Vec<Value>)> {
    let (hook, definitions) = block_on(async {
        let sandbox = Sandbox::new(sandbox::config(None)?)?;
        let hook = load(name, bytes, &sandbox).await?;
        let definitions = sandbox.definitions(&hook.component).await;
        let definitions = definitions.map_err(|failure| anyhow!("its types define no custom resource: {failure}"))?;
        anyhow::Ok((hook, definitions))
    })?;
    let wrong = bad_conditions(&hook.spec);
    if !wrong.is_empty() {
        bail!("the API server would refuse to register its webhooks: {}", wrong.join("; "));
    }
    let definitions = definitions.iter().enumerate().map(|(at, text)| defined(at, text)).collect::<Result<_, _>>()?;
    Ok((hook, definitions))
}

/// A definition that a bundle may carry.
fn defined(at: usize, text: &str) -> anyhow::Result<Value> {
    let wrong = || format!("definition {} that it makes of its types cannot be used", at + 1);
    let value: Value = serde_json::from_str(text).with_context(wrong)?;
    Definition::read(value.clone()).with_context(wrong)?;
    Ok(value)
}

pub(super) fn hook_name(file: &Path) -> anyhow::Result<HookName> {
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    Ok(HookName::new(&stem)?)
}

fn facts(hook: &Hook, definitions: &[Value], bytes: &[u8]) -> Value {
    json!({
        "name": hook.spec.name.as_str(),
        "digest": hook.component.digest(),
        "bytes": hook.component.size(),
        "language": language::of(bytes, hook.component.script()),
        "script": hook.component.script().map(script),
        "exports": hook.component.exports(),
        "imports": hook.component.imports(),
        "warnings": hook.spec.warnings,
        "asks": hook.spec.asks(),
        "definitions": definitions,
        "document": print(&hook.spec),
    })
}

/// The script's interpreter and files.
fn script(script: &Script) -> Value {
    let files = script.files.iter().map(|file| json!({"path": file.path, "bytes": file.content.len()}));
    json!({"interpreter": script.interpreter, "entry": script.entry, "files": files.collect::<Vec<_>>()})
}

fn text(facts: &Value) -> String {
    let mut out = String::new();
    let get = |key: &str| facts.get(key).cloned().unwrap_or_default();
    // Writing to a String cannot fail.
    let _ = writeln!(out, "Name:     {}", plain(&get("name")));
    let _ = writeln!(out, "Digest:   {}", plain(&get("digest")));
    let _ = writeln!(out, "Size:     {} bytes", get("bytes"));
    if let Some(language) = facts.get("language").and_then(Value::as_str) {
        let _ = writeln!(out, "Language: {language}");
    }
    if let Some(interpreter) = facts.pointer("/script/interpreter") {
        let of = |key: &str| plain(interpreter.get(key).unwrap_or(&Value::Null)).to_owned();
        let _ = writeln!(out, "Script:   of {} {}, {}", of("name"), of("version"), of("digest"));
    }
    let _ = writeln!(out, "Exports:  {}", words(&get("exports")));
    let _ = writeln!(out, "Imports:  {}", words(&get("imports")));
    let _ = writeln!(out, "Requests: {}", summary::may(&get("asks")).join("\n          "));
    for warning in get("warnings").as_array().into_iter().flatten() {
        let _ = writeln!(out, "Warning:  {}", plain(warning));
    }
    let document = yaml_serde::to_string(&get("document")).unwrap_or_default();
    let _ = writeln!(out, "Document, with every default:");
    for line in document.lines() {
        let _ = writeln!(out, "  {line}");
    }
    out
}

fn plain(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn words(list: &Value) -> String {
    let words: Vec<_> = list.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if words.is_empty() { "none".to_owned() } else { words.join("\n          ") }
}
