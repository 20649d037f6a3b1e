//! Where the binaries under test are, and where a run keeps its state: the suite's environment variables.
//! It never starts anything.

use std::env;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// Environment variable that keeps the state of tests that pass, too.
const KEEP: &str = "BOATHOOK_E2E_KEEP";

/// The operator's binary: `BOATHOOK_BIN`, by default the workspace's debug build.
pub fn boathook() -> PathBuf {
    let path = from_env("BOATHOOK_BIN").unwrap_or_else(|| workspace().join("target/debug/boathook"));
    existing(path, "BOATHOOK_BIN", "run `cargo build`, or set it to a built boathook")
}

/// The real control plane's binary: `BOATHOOK_APISERVER`. There is no default, for only the Makefile
/// knows where it was built.
pub fn apiserver() -> PathBuf {
    let hint = "run `make e2e`, which builds the control plane of tests/apiserver and sets it";
    let path = from_env("BOATHOOK_APISERVER").unwrap_or_else(|| panic!("BOATHOOK_APISERVER is not set: {hint}"));
    existing(path, "BOATHOOK_APISERVER", hint)
}

/// The server of moto, which answers as AWS does. There is no default, for only tools/test-e2e knows where it was built.
pub fn moto() -> PathBuf {
    let hint = "run `make e2e`, which builds it with tools/build-moto and sets it";
    let path = from_env("BOATHOOK_MOTO").unwrap_or_else(|| panic!("BOATHOOK_MOTO is not set: {hint}"));
    existing(path, "BOATHOOK_MOTO", hint)
}

/// One built hook: a path below `BOATHOOK_HOOKS`, by default the workspace's `hooks-wasm/dist`.
pub fn hook(name: &str) -> PathBuf {
    let dir = from_env("BOATHOOK_HOOKS").unwrap_or_else(|| workspace().join("hooks-wasm/dist"));
    let hint = "run `make guests`, or set it to the directory of the built components";
    existing(dir.join(format!("{name}.wasm")), "BOATHOOK_HOOKS", hint)
}

/// kubectl: `BOATHOOK_KUBECTL`, by default the one on the path.
pub fn kubectl() -> PathBuf {
    env::var_os("BOATHOOK_KUBECTL").filter(|value| !value.is_empty()).unwrap_or_else(|| "kubectl".into()).into()
}

/// Whether the state of tests that pass is kept, too.
pub fn keep() -> bool {
    env::var_os(KEEP).is_some_and(|value| !value.is_empty() && value != "0")
}

/// The directory of this run, below the target directory. The first call makes it and removes the
/// ones of earlier runs, so that at most one run's state lies about.
pub fn run_dir() -> &'static Path {
    static DIR: LazyLock<PathBuf> = LazyLock::new(|| {
        let all = Path::new(env!("CARGO_TARGET_TMPDIR")).join("e2e");
        let own = all.join(std::process::id().to_string());
        remove_ended(&all);
        std::fs::create_dir_all(&own).expect("make the directory of this run");
        own
    });
    &DIR
}

/// Where operators keep compiled hooks. It outlives a run: a hook is compiled again only when it has changed.
pub fn compiled_hooks() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("compiled-hooks")
}

/// A cache of a user, in which [`compiled_hooks`] is that of Boathook.
pub fn cache_home() -> PathBuf {
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache-home");
    std::fs::create_dir_all(&home).expect("make a directory");
    // An earlier run may have made it.
    let _ = std::os::unix::fs::symlink(compiled_hooks(), home.join("boathook"));
    home
}

/// Removes the directories whose process has ended; another run may be going on.
fn remove_ended(all: &Path) {
    for entry in std::fs::read_dir(all).into_iter().flatten().flatten() {
        if !Path::new("/proc").join(entry.file_name()).exists() {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// A path in an environment variable.
pub fn from_env(name: &str) -> Option<PathBuf> {
    let value = env::var_os(name).filter(|value| !value.is_empty())?;
    // Tests run in the package's directory, users type paths as seen from the workspace.
    Some(workspace().join(value))
}

fn existing(path: PathBuf, variable: &str, hint: &str) -> PathBuf {
    assert!(path.exists(), "{} does not exist ({variable}): {hint}", path.display());
    path
}

/// The repository.
pub fn workspace() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.ancestors().nth(2).expect("the package lies in tests/e2e").to_owned()
}
