//! `boathook build`: builds a component from a project, and checks it as the operator will. It writes no output that is
//! not a valid hook.

use std::{fs, path::PathBuf, process::ExitCode};

use anyhow::{Context as _, bail};
use boathook_author::author::{Project, Tools};
use boathook_core::model::error_chain;
use serde_json::Value;

use super::{
    definitions::{FILE, File},
    inspect::{check_names, hook_name},
    sandbox::programs,
    summary,
};
use crate::cli::author::Build;

/// Exit code if the component was built but cannot be used.
const NO_HOOK: u8 = 3;

pub(super) fn run(args: Build) -> anyhow::Result<ExitCode> {
    let tools = Tools::new(programs());
    let project = tools.project(&args.path)?;
    let out = place(args.out, &project);
    let name = hook_name(&out)?;
    let built = tools.build(&project)?;
    let bytes = fs::read(&built).with_context(|| format!("cannot read {}", built.display()))?;
    let mut facts = match check_names(&name, &bytes) {
        Ok(facts) => facts,
        Err(error) => {
            let why = error_chain(error.as_ref());
            eprintln!("error: {} was built, and is not a hook that Boathook can use: {why}", built.display());
            return Ok(ExitCode::from(NO_HOOK));
        }
    };
    let made = facts.get("definitions").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    if !made.is_empty() {
        agree(&project, made, args.write_crd)?;
    } else if args.write_crd {
        bail!(
            "the hook defines no custom resource by its types, so that there is nothing to write: define it with the SDK, or write {FILE} yourself"
        );
    }
    super::put(&out, &bytes)?;
    if let Value::Object(facts) = &mut facts {
        facts.shift_insert(0, "path".to_owned(), out.to_string_lossy().into());
    }
    super::print(args.output, &facts, || summary::text(&facts))?;
    Ok(ExitCode::SUCCESS)
}

/// Compares the definitions that the hook makes of its types with the project's file, or writes the file.
fn agree(project: &Project, made: &[Value], write: bool) -> anyhow::Result<()> {
    let path = project.folder().join(FILE);
    let file = File::read(&path)?;
    let differences = file.differences(made);
    if differences.is_empty() {
        return Ok(());
    }
    if write {
        super::put(&path, file.updated(made)?.as_bytes())?;
        eprintln!("{} was written", path.display());
        return Ok(());
    }
    bail!(
        "{} does not match the hook's types: write it with `boathook build --write-crd`, or change the types\n  {}",
        path.display(),
        differences.join("\n  ")
    );
}

fn place(asked: Option<PathBuf>, project: &Project) -> PathBuf {
    let file = format!("{}.wasm", project.name());
    match asked {
        Some(folder) if folder.is_dir() => folder.join(file),
        Some(path) => path,
        None => project.output().join(file),
    }
}
