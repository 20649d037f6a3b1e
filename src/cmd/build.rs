//! `boathook build`: builds a component from a project, and checks it as the operator will. It writes no output that is
//! not a valid hook.

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::Context as _;
use boathook_author::author::{Project, Tools};
use boathook_core::model::error_chain;
use serde_json::Value;

use super::{
    inspect::{check_names, hook_name},
    summary,
    tools::programs,
};
use crate::cli::{Output, author::Build};

/// Exit code if the component was built but cannot be used.
const NO_HOOK: u8 = 3;

pub(super) fn run(args: Build) -> anyhow::Result<ExitCode> {
    let tools = Tools::new(programs());
    let project = tools.project(&args.path)?;
    let out = place(args.out, &project);
    let name = hook_name(&out)?;
    let built = tools.build(&project)?;
    let bytes = fs::read(&built).with_context(|| format!("can't read {}", built.display()))?;
    let mut facts = match check_names(&name, &bytes) {
        Ok(facts) => facts,
        Err(error) => {
            let why = error_chain(error.as_ref());
            eprintln!("error: {} was built, and is no hook that can be used: {why}", built.display());
            return Ok(ExitCode::from(NO_HOOK));
        }
    };
    put(&bytes, &out)?;
    if let Value::Object(facts) = &mut facts {
        facts.shift_insert(0, "path".to_owned(), out.to_string_lossy().into());
    }
    match args.output {
        Output::Text => print!("{}", summary::text(&facts)),
        Output::Json => println!("{facts:#}"),
        Output::Yaml => print!("{}", yaml_serde::to_string(&facts)?),
    }
    Ok(ExitCode::SUCCESS)
}

fn place(asked: Option<PathBuf>, project: &Project) -> PathBuf {
    let file = format!("{}.wasm", project.name());
    match asked {
        Some(folder) if folder.is_dir() => folder.join(file),
        Some(path) => path,
        None => project.output().join(file),
    }
}

/// Writes with a rename, so that a reader sees the old file or the new one, and never a part.
fn put(bytes: &[u8], out: &Path) -> anyhow::Result<()> {
    let mut beside = OsString::from(out);
    beside.push(".new");
    let folder = out.parent().map_or(Ok(()), fs::create_dir_all);
    let written = folder.and_then(|()| fs::write(&beside, bytes)).and_then(|()| fs::rename(&beside, out));
    written.with_context(|| format!("can't write {}", out.display()))
}
