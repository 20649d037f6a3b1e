//! Default directories of this machine: the user's caches, and the interpreters of scripts.

use std::path::{Path, PathBuf};

/// Lists the directories, separated as in `PATH`.
const VARIABLE: &str = "BOATHOOK_INTERPRETERS";

/// The user's cache directory, according to the XDG base directory specification. None if there is no home directory:
/// compiled components are then not kept.
pub(super) fn cache() -> Option<PathBuf> {
    let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?;
    Some(base.join("boathook"))
}

/// The store of bundles, next to the cache of compiled components.
pub(super) fn bundles() -> Option<PathBuf> {
    cache().map(|directory| directory.with_file_name("boathook-bundles"))
}

/// The given directories; otherwise the directory that is installed with this program, and that of the clone in which
/// the program was built.
pub(super) fn interpreters(asked: Vec<PathBuf>) -> Vec<PathBuf> {
    if !asked.is_empty() {
        return asked;
    }
    if let Some(named) = std::env::var_os(VARIABLE).filter(|named| !named.is_empty()) {
        return std::env::split_paths(&named).collect();
    }
    let program = std::env::current_exe().unwrap_or_default();
    installed(&program).into_iter().chain(built(&program)).filter(|directory| directory.is_dir()).collect()
}

/// `/usr/local/bin/boathook`: `/usr/local/share/boathook/interpreters`.
fn installed(program: &Path) -> Option<PathBuf> {
    Some(program.parent()?.parent()?.join("share/boathook/interpreters"))
}

/// `CLONE/target/release/boathook`: `CLONE/interpreters/dist`. The target folder may be elsewhere. A development build
/// then uses the path of its own source.
fn built(program: &Path) -> Option<PathBuf> {
    let above = program.ancestors().skip(1).map(|folder| folder.join("interpreters/dist"));
    let source = cfg!(debug_assertions).then(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("interpreters/dist"));
    above.take(4).chain(source).find(|directory| directory.is_dir())
}
