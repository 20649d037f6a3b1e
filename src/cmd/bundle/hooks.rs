//! Collects what to pack from a directory. It runs only each hook's `config`, with no grants.

use std::path::Path;

use anyhow::{Context as _, bail};
use boathook_author::author::output;
use boathook_bundle::{FileInput, HookInput, Input};
use boathook_core::{hooks::read_directory, model::error_chain};
use boathook_operator::app::load;
use boathook_sandbox::Sandbox;
use jiff::Timestamp;

use crate::cmd::sandbox;

/// All hooks, schemas and texts of a directory. Reports all files that are not hooks before it fails.
pub(super) async fn input(directory: &Path, source: Option<String>) -> anyhow::Result<Input> {
    // For a project, use its build output.
    let built = output(directory);
    let directory = built.as_deref().unwrap_or(directory);
    let sandbox = Sandbox::new(sandbox::config(None)?)?;
    let mut input = Input { created: created()?, source, files: files(directory)?, ..Input::default() };
    let mut wrong = 0_usize;
    for file in read_directory(directory)? {
        let path = file.path.clone();
        match hook(file, &sandbox).await {
            Ok(hook) => input.hooks.push(hook),
            Err(error) => {
                wrong += 1;
                let shown = path.display();
                eprintln!("{shown}: {}; see `boathook inspect {shown}`", error_chain(error.as_ref()));
            }
        }
    }
    match wrong {
        0 => Ok(input),
        1 => bail!("1 file is no hook that can be used: build it again, or leave it out"),
        n => bail!("{n} files are no hooks that can be used: build them again, or leave them out"),
    }
}

async fn hook(file: boathook_core::hooks::HookFile, sandbox: &Sandbox) -> anyhow::Result<HookInput> {
    let name = file.name?;
    let bytes = tokio::fs::read(&file.path).await.context("it can't be read")?;
    let hook = load(&name, &bytes, sandbox).await?;
    Ok(HookInput { name, component: bytes.into(), asks: hook.spec.asks() })
}

fn files(directory: &Path) -> anyhow::Result<Vec<FileInput>> {
    let unreadable = || format!("{} can't be read", directory.display());
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory).with_context(unreadable)? {
        let path = entry.with_context(unreadable)?.path();
        let wanted = path.extension().is_some_and(|extension| extension == "json" || extension == "md");
        let Some(name) = path.file_name().and_then(|name| name.to_str()).filter(|_| wanted && path.is_file()) else {
            continue;
        };
        // A directory that was pulled into contains this file, and it describes the bundle that was pulled.
        if name != "bundle.json" {
            let content = std::fs::read(&path).with_context(|| format!("{} can't be read", path.display()))?;
            files.push(FileInput { name: name.to_owned(), content: content.into() });
        }
    }
    Ok(files)
}

/// The same for the same sources, as reproducible builds require.
fn created() -> anyhow::Result<Timestamp> {
    let Some(text) = std::env::var_os("SOURCE_DATE_EPOCH") else { return Ok(Timestamp::UNIX_EPOCH) };
    let seconds = text.to_str().and_then(|text| text.parse().ok()).and_then(|n| Timestamp::from_second(n).ok());
    seconds.with_context(|| format!("SOURCE_DATE_EPOCH is {text:?}, and must be seconds since 1970"))
}
