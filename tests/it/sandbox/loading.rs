//! Bytes that are no hook, and the compile cache.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use boathook_sandbox::{LoadError, Sandbox, SandboxConfig, SandboxError};

use super::support::{self, component, hostile, load, name, plenty, run, sandbox};

async fn refusal(bytes: &[u8]) -> LoadError {
    let error = sandbox().load(&name("bad"), bytes).await.unwrap_err();
    assert!(error.to_string().starts_with("hook bad: "), "{error}");
    error
}

#[tokio::test]
async fn what_is_no_component() {
    assert!(matches!(refusal(b"").await, LoadError::Empty { .. }));
    assert!(matches!(refusal(b"#!/bin/bash\necho hello\n").await, LoadError::NotWasm { .. }));
    assert!(matches!(refusal(&wat::parse_str("(module)").unwrap()).await, LoadError::CoreModule { .. }));
    let whole = hostile("good");
    assert!(matches!(refusal(&whole[..whole.len() / 2]).await, LoadError::Truncated { .. }));
    let mut damaged = whole.clone();
    let middle = damaged.len() / 2;
    damaged[middle..middle + 16].fill(0xff);
    let error = refusal(&damaged).await;
    assert!(matches!(error, LoadError::Invalid { .. } | LoadError::Truncated { .. }), "{error}");
}

#[tokio::test]
async fn a_component_that_is_too_large() {
    let sandbox = Sandbox::new(SandboxConfig { max_component_bytes: 1000, ..support::small() }).unwrap();
    let error = sandbox.load(&name("good"), &hostile("good")).await.unwrap_err();
    assert!(matches!(error, LoadError::TooManyBytes { max: 1000, .. }), "{error}");
}

/// The host keeps 16 bytes for each global of each instance, in its own memory.
// mutant: crates/sandbox/src/engine.rs: `        .max_component_instance_size(memory::INSTANCE_BYTES)` => ``
#[tokio::test]
async fn a_component_whose_instances_are_too_large() {
    let globals = "(global i32 (i32.const 0))".repeat(3000);
    let instances = "(core instance (instantiate $m))".repeat(12);
    let component = wat::parse_str(format!("(component (core module $m {globals}) {instances})")).unwrap();
    let error = refusal(&component).await;
    assert!(matches!(&error, LoadError::TooLarge { what, .. } if what.contains("524288 bytes")), "{error}");
}

#[tokio::test]
async fn components_of_other_worlds() {
    let empty = wat::parse_str("(component)").unwrap();
    assert!(matches!(refusal(&empty).await, LoadError::MissingExport { missing, .. } if missing == "config and run"));

    let http = r#"(component (import "wasi:http/incoming-handler@0.2.0" (instance)))"#;
    let error = refusal(&wat::parse_str(http).unwrap()).await;
    assert!(matches!(error, LoadError::UnknownImport { import, .. } if import == "wasi:http/incoming-handler@0.2.0"));

    let newer = r#"(component (import "boathook:hook/kube@0.2.0" (instance)))"#;
    let error = refusal(&wat::parse_str(newer).unwrap()).await;
    assert!(matches!(error, LoadError::OtherVersion { import, .. } if import == "boathook:hook/kube@0.2.0"));
}

#[tokio::test]
async fn functions_of_other_types() {
    let text = r#"(component
      (core module $m (func (export "f")))
      (core instance $i (instantiate $m))
      (func (export "config") (canon lift (core func $i "f")))
      (func (export "run") (canon lift (core func $i "f"))))"#;
    let error = refusal(&wat::parse_str(text).unwrap()).await;
    let LoadError::Types { source, .. } = &error else { panic!("{error}") };
    assert!(source.to_string().contains("config"), "{source}");

    let import = r#"(component (import "boathook:hook/settings@0.1.0" (instance (export "get" (func (result u32)))))
      (core module $m (func (export "f")))
      (core instance $i (instantiate $m))
      (func (export "config") (canon lift (core func $i "f")))
      (func (export "run") (canon lift (core func $i "f"))))"#;
    assert!(matches!(refusal(&wat::parse_str(import).unwrap()).await, LoadError::Types { .. }));
}

#[tokio::test]
async fn needs_that_no_run_could_meet() {
    let memories = "(memory 1) ".repeat(5);
    let body = format!(
        r#"{memories} (func (export "config") (type $config) (global.get $document))
        (func (export "run") (type $run) (global.get $success))"#
    );
    let error = refusal(&component(&body)).await;
    assert!(matches!(error, LoadError::TooLarge { .. }), "{error}");
    let body = body.replace(&memories, "(memory 20000)");
    let error = refusal(&component(&body)).await;
    assert!(matches!(&error, LoadError::TooLarge { what, .. } if what.contains("256Mi")), "{error}");
}

#[tokio::test]
async fn what_inspect_shows() {
    let bytes = hostile("good");
    let hook = load(&sandbox(), "good", &bytes).await;
    assert_eq!(hook.size(), bytes.len() as u64);
    assert!(hook.digest().starts_with("sha256:") && hook.digest().len() == 71);
    assert_eq!(hook.exports(), ["config", "run"]);
    assert!(hook.imports().iter().any(|import| import == "boathook:hook/kube@0.1.0"));
    assert!(!hook.from_cache());
}

fn cached(dir: &Path) -> Sandbox {
    Sandbox::new(SandboxConfig { cache_dir: Some(dir.to_owned()), ..support::small() }).unwrap()
}

fn entries(dir: &Path) -> Vec<PathBuf> {
    fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect()
}

#[tokio::test]
async fn a_component_is_compiled_once() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().join("cache");
    assert!(!load(&cached(&dir), "good", &hostile("good")).await.from_cache());
    assert_eq!(fs::metadata(&dir).unwrap().permissions().mode() & 0o777, 0o700);

    let sandbox = cached(&dir);
    let again = load(&sandbox, "good", &hostile("good")).await;
    assert!(again.from_cache());
    assert_eq!(run(&sandbox, &again, plenty()).await.outcome, Ok(()));
    assert!(!load(&sandbox, "crash", &hostile("crash")).await.from_cache());
}

#[tokio::test]
async fn a_damaged_entry_is_compiled_again() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().join("cache");
    load(&cached(&dir), "good", &hostile("good")).await;
    let entry = entries(&dir).pop().unwrap();
    let whole = fs::read(&entry).unwrap();

    let flipped = |at: usize| {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        bytes
    };
    let (code, seal) = (flipped(whole.len() / 2), flipped(whole.len() - 1));
    for damage in [&whole[..whole.len() / 2], &whole[..10], b"", &code, &seal] {
        fs::write(&entry, damage).unwrap();
        let sandbox = cached(&dir);
        let hook = load(&sandbox, "good", &hostile("good")).await;
        assert!(!hook.from_cache());
        assert_eq!(run(&sandbox, &hook, plenty()).await.outcome, Ok(()));
        assert_eq!(fs::read(&entry).unwrap().len(), whole.len());
    }
    assert!(load(&cached(&dir), "good", &hostile("good")).await.from_cache());
}

// mutant: crates/sandbox/src/cache.rs: `if let Some(reason) = foreign(meta.uid(), meta.mode()) {` => `if let Some(reason) = None::<String> {`
// mutant: crates/sandbox/src/cache.rs: `rustix::fs::openat(&self.dir, name, flags, Mode::empty())?` => `rustix::fs::openat(&self.dir, name, flags.difference(OFlags::NOFOLLOW), Mode::empty())?`
#[tokio::test]
async fn an_entry_that_others_could_write_is_not_used() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().join("cache");
    load(&cached(&dir), "good", &hostile("good")).await;
    let entry = entries(&dir).pop().unwrap();
    fs::set_permissions(&entry, Permissions::from_mode(0o666)).unwrap();
    assert!(!load(&cached(&dir), "good", &hostile("good")).await.from_cache());

    let elsewhere = dir.with_file_name("elsewhere");
    fs::rename(&entry, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &entry).unwrap();
    assert!(!load(&cached(&dir), "good", &hostile("good")).await.from_cache());
}

// mutant: crates/sandbox/src/cache.rs: `if let Some(reason) = foreign(stat.st_uid, stat.st_mode) {` => `if let Some(reason) = None::<String> {`
#[test]
fn a_directory_that_others_could_write_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    fs::set_permissions(dir.path(), Permissions::from_mode(0o770)).unwrap();
    let config = SandboxConfig { cache_dir: Some(dir.path().to_owned()), ..support::small() };
    let Err(SandboxError::CacheNotOurs { reason, .. }) = Sandbox::new(config) else { panic!("was used") };
    assert!(reason.contains("770"), "{reason}");
}

#[test]
fn a_directory_that_can_not_be_made_is_an_error() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let config = SandboxConfig { cache_dir: Some(file.path().join("cache")), ..support::small() };
    assert!(matches!(Sandbox::new(config), Err(SandboxError::Cache { .. })));
}

fn bounded(dir: &Path, cache_bytes: u64) -> Sandbox {
    Sandbox::new(SandboxConfig { cache_dir: Some(dir.to_owned()), cache_bytes, ..support::small() }).unwrap()
}

/// Bytes of the largest entry that these components have.
async fn entry_bytes(fixtures: &[&str]) -> u64 {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().join("cache");
    for fixture in fixtures {
        load(&cached(&dir), fixture, &hostile(fixture)).await;
    }
    entries(&dir).iter().map(|entry| fs::metadata(entry).unwrap().len()).max().unwrap()
}

#[tokio::test]
async fn the_cache_stays_within_its_bound() {
    let fixtures = ["good", "crash", "recursion", "spin-run"];
    let room = 2 * entry_bytes(&fixtures).await;
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().join("cache");
    for fixture in fixtures {
        load(&bounded(&dir, room), fixture, &hostile(fixture)).await;
        let bytes: u64 = entries(&dir).iter().map(|entry| fs::metadata(entry).unwrap().len()).sum();
        assert!(bytes <= room, "{bytes}");
    }
    assert!(load(&bounded(&dir, room), "spin-run", &hostile("spin-run")).await.from_cache());
    fs::write(dir.join("not-ours"), "x").unwrap();
    load(&bounded(&dir, room), "log-flood", &hostile("log-flood")).await;
    assert!(dir.join("not-ours").exists());
}

// mutant: crates/sandbox/src/cache.rs: `entry.name == key.0 || !self.is_used(&entry.name)` => `true`
#[tokio::test]
async fn what_a_start_has_loaded_makes_no_room_for_what_it_loads_next() {
    let fixtures = ["good", "crash", "recursion", "spin-run", "log-flood", "exit"];
    let room = 3 * entry_bytes(&fixtures).await;
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().join("cache");
    let mut compiled = Vec::new();
    for _ in 0..3 {
        let sandbox = bounded(&dir, room);
        let mut hooks = Vec::new();
        for fixture in fixtures {
            hooks.push(load(&sandbox, fixture, &hostile(fixture)).await);
        }
        compiled.push(hooks.iter().filter(|hook| !hook.from_cache()).count());
    }
    assert_eq!(compiled[0], fixtures.len());
    assert!(compiled[1] <= fixtures.len() - 3 && compiled[2] == compiled[1], "each start evicts: {compiled:?}");
}

#[tokio::test]
async fn hundreds_of_small_components_are_kept() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().join("cache");
    fs::create_dir(&dir).unwrap();
    fs::set_permissions(&dir, Permissions::from_mode(0o700)).unwrap();
    for number in 0..1000 {
        fs::write(dir.join(format!("{number}.cwasm")), "code").unwrap();
    }
    load(&cached(&dir), "good", &hostile("good")).await;
    assert_eq!(entries(&dir).len(), 1001);
}
