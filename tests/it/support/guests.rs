//! Components that `make guests` built, directories of hooks, and the cache of their compiled code.
//!
//! Never builds a guest.

use std::{
    fs,
    path::{Path, PathBuf},
};

use boathook_core::{
    hooks,
    model::{HookName, Permission},
};
use boathook_sandbox::{Sandbox, SandboxConfig};
use tempfile::TempDir;
use tokio::sync::Mutex;

/// One at a time: compiling takes all cores, and the second finds what the first has compiled.
static COMPILING: Mutex<()> = Mutex::const_new(());

/// The file of a guest: `echo`, `registry-secret`.
pub fn guest_file(name: &str) -> PathBuf {
    let dist = Path::new(env!("CARGO_MANIFEST_DIR")).join("hooks-wasm/dist");
    let places = [dist.join(format!("{name}.wasm")), dist.join(format!("test/{name}.wasm"))];
    let found = places.into_iter().find(|path| path.exists());
    found.unwrap_or_else(|| panic!("hooks-wasm/dist has no {name}.wasm: run make guests"))
}

/// The component of a guest.
pub fn guest(name: &str) -> Vec<u8> {
    fs::read(guest_file(name)).unwrap()
}

/// The component of a guest in Go, `None` on a machine without Go.
pub fn go_guest(name: &str) -> Option<Vec<u8>> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("hooks-wasm/dist/go/{name}.wasm"));
    if file.exists() {
        return Some(fs::read(file).unwrap());
    }
    assert!(!has_go(), "hooks-wasm/dist/go has no {name}.wasm: run tools/build-go-guests");
    eprintln!("left out: there is no Go to build {name} with");
    None
}

/// Whether Go is on this machine.
pub fn has_go() -> bool {
    std::process::Command::new("go").arg("version").output().is_ok_and(|output| output.status.success())
}

/// Shared by all tests, and kept between runs: compiling takes longer than most tests.
pub fn cache_dir() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("compiled-hooks")
}

/// A directory of hooks, by name. Those that compile are in the cache afterwards.
pub async fn hooks_dir(hooks: &[(&str, Vec<u8>)]) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    for (name, bytes) in hooks {
        fs::write(directory.path().join(format!("{name}.wasm")), bytes).unwrap();
    }
    compile(hooks).await;
    directory
}

pub async fn compile(hooks: &[(&str, Vec<u8>)]) {
    let _one_at_a_time = COMPILING.lock().await;
    let config =
        SandboxConfig { cache_dir: Some(cache_dir()), max_concurrent_runs: 1, pooling: false, ..Default::default() };
    let sandbox = Sandbox::new(config).unwrap();
    for (name, bytes) in hooks {
        // What does not compile is the test's to find out.
        let _ = sandbox.load(&HookName::new(name).unwrap(), bytes).await;
    }
}

/// All that a hook with this document asks for.
pub fn asks(document: &str) -> Vec<Permission> {
    hooks::parse(&HookName::new("any").unwrap(), document, &|_| Ok(())).unwrap().asks()
}

/// All that the guest `image-policy` asks for.
pub fn image_policy_asks() -> Vec<Permission> {
    asks(
        "{configVersion: v1, kubernetes: [{apiVersion: v1, kind: ConfigMap, \
         nameSelector: {matchNames: [image-policy]}}], kubernetesValidating: [{name: image-policy.boathook.dev, \
         rules: [{apiGroups: [''], apiVersions: [v1], resources: [pods, pods/ephemeralcontainers], \
         operations: [CREATE, UPDATE]}]}]}",
    )
}
