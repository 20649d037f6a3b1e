//! Directories of this machine that nobody has to name: the user's caches, and the interpreters of scripts. Never looks into
//! the files.

use std::path::{Path, PathBuf};

/// Names the directories, as in `PATH`.
const VARIABLE: &str = "BOATHOOK_INTERPRETERS";

/// The user's cache directory, as the XDG base directory specification has it. None where there is no
/// home: compiled components are not kept then.
pub(super) fn cache() -> Option<PathBuf> {
    let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?;
    Some(base.join("boathook"))
}

/// The store of bundles, beside the cache of compiled components.
pub(super) fn bundles() -> Option<PathBuf> {
    cache().map(|directory| directory.with_file_name("boathook-bundles"))
}

/// The directories that were asked for; otherwise the one that is installed with this program, or that of the
/// clone in which it was built.
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

/// `CLONE/target/release/boathook`: `CLONE/interpreters/dist`. The target folder may be elsewhere; then a
/// development build knows where it comes from.
fn built(program: &Path) -> Option<PathBuf> {
    let above = program.ancestors().skip(1).map(|folder| folder.join("interpreters/dist"));
    let source = cfg!(debug_assertions).then(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("interpreters/dist"));
    above.take(4).chain(source).find(|directory| directory.is_dir())
}
