//! Takes a project's components in place of a directory of hooks, and warns of components that are older than their
//! sources.

use std::path::Path;

use anyhow::bail;
use boathook_author::author::{is_project, newer_source, output};
use boathook_core::hooks::{HookFile, read_directory};

/// The hooks of a directory. For a project, they are its build output.
pub(super) fn hooks(directory: &Path) -> anyhow::Result<Vec<HookFile>> {
    let built = output(directory);
    let files = read_directory(built.as_deref().unwrap_or(directory))?;
    if files.is_empty() && is_project(directory) {
        let project = directory.display();
        bail!("{project} is a project without a component in target/boathook: run `boathook build {project}`");
    }
    files.iter().for_each(|file| warn_of_stale(&file.path));
    Ok(files)
}

/// Commands use the built component, which may be older than its sources.
pub(super) fn warn_of_stale(component: &Path) {
    if let Some(source) = newer_source(component) {
        let (source, component) = (source.display(), component.display());
        eprintln!("warning: {source} is newer than {component}: `boathook build` first, or the old one is used");
    }
}
