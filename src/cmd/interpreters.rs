//! `boathook interpreters`: lists, compiles, pulls and pushes the interpreters of scripts.

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context as _, bail};
use boathook_bundle as bundle;
use boathook_bundle::{Policy, Progress, Store};
use boathook_core::model::{HookName, InterpreterRef};
use boathook_sandbox::{Compiled, Sandbox, SandboxConfig, compile_filters, compile_interpreter, interpreter_files};
use serde_json::{Value, json};

use super::{
    directories,
    place::{self, policy},
    put,
    runtime::block_on,
};
use crate::cli::interpreters::{Compile, Interpreters, InterpretersCommand, List, Pull, Push};

pub(super) fn run(args: Interpreters) -> anyhow::Result<ExitCode> {
    match args.command {
        InterpretersCommand::List(args) => list(args)?,
        InterpretersCommand::Compile(args) => compile(args)?,
        InterpretersCommand::Pull(args) => block_on(pull(args))?,
        InterpretersCommand::Push(args) => block_on(push(args))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn list(args: List) -> anyhow::Result<()> {
    let found = interpreter_files(&directories::interpreters(args.places.interpreters));
    let entry = |(interpreter, path): &(InterpreterRef, PathBuf)| {
        let InterpreterRef { name, version, digest } = interpreter;
        json!({"name": name, "version": version, "digest": digest, "path": path})
    };
    let data = Value::Array(found.iter().map(entry).collect());
    let line = |(InterpreterRef { name, version, digest }, path): &(_, PathBuf)| {
        format!("{name} {version}  {digest}  {}\n", path.display())
    };
    super::print(args.output, &data, || match found.as_slice() {
        [] => "no interpreters\n".to_owned(),
        found => found.iter().map(line).collect(),
    })
}

fn compile(args: Compile) -> anyhow::Result<()> {
    let directories = directories::interpreters(args.places.interpreters);
    let found = interpreter_files(&directories);
    if found.is_empty() {
        let places: Vec<String> = directories.iter().map(|directory| directory.display().to_string()).collect();
        bail!("there is no interpreter NAME-VERSION.wasm in {}: name their directory", or_nowhere(&places));
    }
    // Filters run in a module that is part of this program. Its code is where the operator looks for that of interpreters.
    if let Some(directory) = found.iter().find_map(|(_, path)| path.parent()) {
        report("jq", &compile_filters(directory)?);
    }
    for (interpreter, path) in &found {
        let compiled = compile_interpreter(path)?;
        report(&format!("{} {}", interpreter.name, interpreter.version), &compiled);
    }
    Ok(())
}

fn report(name: &str, compiled: &Compiled) {
    let kept = if compiled.kept { ", as it was" } else { "" };
    println!("{name}: {} bytes of code{kept}", compiled.bytes);
}

fn or_nowhere(places: &[String]) -> String {
    if places.is_empty() { "any place".to_owned() } else { places.join(", ") }
}

async fn pull(args: Pull) -> anyhow::Result<()> {
    let trust = if args.unverified { Policy::unchecked() } else { policy(&args.trust, "or --unverified")? };
    let from = place::named(&args.from, &args.registry).await?;
    // A temporary store suffices, because the interpreter is stored in its own directory.
    let scratch = tempfile::tempdir().context("cannot make a temporary directory")?;
    let pulled = bundle::pull(&from, &Store::open(scratch.path())?, &trust, &Progress::default()).await?;
    let [hook] = pulled.hooks.as_slice() else {
        bail!("{} is a bundle of {} hooks, not an interpreter", from.name(), pulled.hooks.len());
    };
    let bytes = fs::read(&hook.path).context("what was pulled cannot be read")?;
    let stem = hook.name.as_str();
    usable(&from.name(), stem, scratch.path(), &bytes).await?;
    if pulled.verified.is_unchecked() {
        eprintln!("warning: nothing was checked about who made it");
    }
    let to = args.output.join(format!("{stem}.wasm"));
    put(&to, &bytes)?;
    println!("{} {}", to.display(), hook.digest);
    Ok(())
}

/// Checks that the name has the form NAME-VERSION, and that scripts can be joined with the interpreter.
async fn usable(from: &str, stem: &str, scratch: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    if stem.split_once('-').is_none_or(|(name, version)| name.is_empty() || version.is_empty()) {
        bail!(
            "{from} holds {stem:?}, and an interpreter is called NAME-VERSION: push it with `boathook interpreters push`"
        );
    }
    let directory = scratch.join("interpreter");
    put(&directory.join(format!("{stem}.wasm")), bytes)?;
    let (interpreter, _) = interpreter_files(std::slice::from_ref(&directory))
        .pop()
        .with_context(|| format!("{from}: {stem} cannot be the name of an interpreter"))?;
    let (cache_dir, interpreters) = (directories::cache(), vec![directory]);
    let sandbox = Sandbox::new(SandboxConfig { cache_dir, pooling: false, interpreters, ..Default::default() })?;
    let what = || format!("{from} is not an interpreter that this boathook can use");
    sandbox.check_interpreter(&HookName::new(stem)?, &interpreter).await.with_context(what)
}

async fn push(args: Push) -> anyhow::Result<()> {
    let at = place::reference(&args.to)?;
    if at.digest().is_some() {
        bail!("{at} has a digest, which a push cannot choose: leave it out");
    }
    let bytes = fs::read(&args.file).with_context(|| format!("cannot read {}", args.file.display()))?;
    let stem = args.file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let scratch = tempfile::tempdir().context("cannot make a temporary directory")?;
    usable(&args.file.display().to_string(), &stem, scratch.path(), &bytes).await?;
    let packed = bundle::single(&stem, bytes.into())?;
    let to = place::registry(&at, &args.registry).await?;
    let pushed = bundle::push(&packed, &to, &Progress::default()).await?;
    println!("{}", at.pinned(&pushed.digest));
    Ok(())
}
