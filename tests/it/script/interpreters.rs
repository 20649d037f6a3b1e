//! Interpreters as an admin has them: listed, compiled when they are installed, pushed and pulled, several beside each
//! other.

use std::{
    fs,
    path::{Path, PathBuf},
};

use boathook_sandbox::{Sandbox, SandboxConfig, compile_interpreter};
use serde_json::Value;
use tempfile::TempDir;

use super::{interpreters, js, loaded, running};
use crate::{
    bundle::{registry::Registry, trust},
    sandbox::support::{guest, plenty, run, small},
    support::{
        guests::cache_dir,
        process::{self, Ended, boathook},
    },
};

/// A directory with the interpreter, and nothing compiled.
fn installed() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let name = format!("js-{}.wasm", js().version);
    let file = folder.path().join(&name);
    fs::copy(interpreters().join(&name), &file).unwrap();
    (folder, file)
}

fn without_cache(folder: &Path) -> Sandbox {
    Sandbox::new(SandboxConfig { interpreters: vec![folder.to_owned()], ..small() }).unwrap()
}

#[tokio::test]
async fn what_was_compiled_when_it_was_installed_is_not_compiled_again() {
    let (folder, file) = installed();
    let first = compile_interpreter(&file).unwrap();
    assert!(!first.kept && first.bytes > 1_000_000, "{first:?}");
    assert!(compile_interpreter(&file).unwrap().kept);

    let sandbox = without_cache(folder.path());
    let hook = loaded(&sandbox, &running("run() { if (2 ** 0.5 * 2 ** 0.5 < 2) throw 1 }")).await;
    assert!(hook.from_cache());
    assert_eq!(run(&sandbox, &hook, plenty()).await.outcome, Ok(()));
    let plain = SandboxConfig { pooling: false, interpreters: vec![folder.path().to_owned()], ..small() };
    assert!(loaded(&Sandbox::new(plain).unwrap(), &running("run() {}")).await.from_cache());
}

/// `{JS}` and `{REF}` are the interpreter's file and a place in the registry.
struct Desk {
    folder: TempDir,
    registry: Registry,
    file: PathBuf,
}

impl Desk {
    fn new() -> Self {
        let (folder, file) = installed();
        Self { folder, registry: Registry::start(), file }
    }

    async fn typed(&self, line: &str) -> Ended {
        let reference = format!("{}/boathook/js:0.1", self.registry.host);
        let word = |word: &str| word.replace("{REF}", &reference).replace("{JS}", &self.file.display().to_string());
        let mut command = boathook(["interpreters"].into_iter().map(str::to_owned).chain(line.split(' ').map(word)));
        // The binary's own cache, which is beside that of the tests.
        command.current_dir(self.folder.path()).env("XDG_CACHE_HOME", cache_dir().parent().unwrap());
        process::run(command).await
    }

    async fn good(&self, line: &str) -> String {
        let ended = self.typed(line).await;
        assert_eq!(ended.code, Some(0), "{line}: {}", ended.stderr);
        ended.stdout
    }

    async fn bad(&self, line: &str, part: &str) {
        let ended = self.typed(line).await;
        assert_eq!(ended.code, Some(1), "{line}: {}", ended.stdout);
        assert!(ended.stderr.contains(part), "{line}: no {part:?} in {}", ended.stderr);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_interpreter_goes_through_a_registry() {
    let desk = Desk::new();
    let pinned = desk.good("push {JS} {REF} --plain-http").await;
    assert!(pinned.contains("/boathook/js:0.1@sha256:"), "{pinned}");
    desk.bad("pull {REF} -o there --plain-http", "nothing says what to trust").await;
    fs::write(desk.folder.path().join("other.pub"), {
        boathook_bundle::PrivateKey::from_pem(&trust::p256_pem()).unwrap().public().to_pem()
    })
    .unwrap();
    desk.bad("pull {REF} -o there --plain-http --key other.pub", "has no signature").await;
    assert!(!desk.folder.path().join("there").exists());

    // By the digest of the artifact; then it lies beside another version.
    let digest = pinned.trim().split_once('@').unwrap().1;
    fs::create_dir(desk.folder.path().join("there")).unwrap();
    fs::write(desk.folder.path().join("there/js-9.9.9.wasm"), "another").unwrap();
    desk.good(&format!("pull {{REF}} -o there --plain-http --digest {digest}")).await;
    let listed: Value = serde_json::from_str(&desk.good("list --interpreters there -o json").await).unwrap();
    let versions: Vec<_> = listed.as_array().unwrap().iter().map(|it| it["version"].as_str().unwrap()).collect();
    assert_eq!(versions, [js().version.as_str(), "9.9.9"]);
    assert_eq!(listed[0]["digest"], js().digest);
    let pulled = fs::read(desk.folder.path().join("there").join(desk.file.file_name().unwrap())).unwrap();
    assert!(pulled == fs::read(&desk.file).unwrap());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_no_interpreter_is_reported() {
    let desk = Desk::new();
    let at = |name: &str| desk.folder.path().join(name);
    fs::write(at("noop-1.wasm"), guest("noop")).unwrap();
    fs::write(at("broken-1.wasm"), "text").unwrap();
    fs::copy(&desk.file, at("js.wasm")).unwrap();
    desk.bad("push noop-1.wasm {REF} --plain-http", "noop-1.wasm is not an interpreter that this boathook can use")
        .await;
    desk.bad("push broken-1.wasm {REF} --plain-http", "is not an interpreter").await;
    desk.bad("push js.wasm {REF} --plain-http", "an interpreter is called NAME-VERSION").await;
    desk.bad("compile --interpreters nowhere", "there is no interpreter NAME-VERSION.wasm in nowhere").await;
    fs::remove_file(&desk.file).unwrap();
    fs::remove_file(at("noop-1.wasm")).unwrap();
    desk.bad("compile --interpreters .", "broken-1.wasm does not compile").await;
    assert_eq!(desk.good("list --interpreters nowhere").await, "no interpreters");
}
