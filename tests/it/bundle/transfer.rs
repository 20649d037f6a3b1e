//! To a real registry and back.

use std::fs;

use boathook_bundle::{Connect, Input, Layout, Place, Progress, copy, pack, push, save, unpack};

use super::{
    Local, file, hook,
    registry::{Registry, plain},
    send, version, words,
};

#[tokio::test]
async fn there_and_back() {
    let registry = Registry::start();
    let packed = version("v1");
    let place = registry.place("team/hooks:v1");
    let pushed = push(&packed, &place, &Progress::default()).await.unwrap();
    assert_eq!((pushed.sent, pushed.present), (4, 0));
    assert_eq!(pushed.digest, packed.manifest.digest);

    let local = Local::new();
    let progress = Progress::default();
    let policy = boathook_bundle::Policy::unchecked();
    let pulled = boathook_bundle::pull(&place, &local.store, &policy, &progress).await.unwrap();
    assert_eq!(pulled.seen.digest, packed.manifest.digest);
    assert_eq!((pulled.fetched, pulled.reused), (3, 0));
    let size = pulled.seen.contents.size();
    assert_eq!(progress.get(), (size, size));
    for hook in &pulled.hooks {
        assert_eq!(fs::read(&hook.path).unwrap(), packed.blobs[&hook.digest]);
    }
    // By digest, whatever becomes of the tag.
    send(&version("v2"), &place).await;
    let pinned = Place::registry(&registry.reference("team/hooks:v1").pinned(&packed.manifest.digest), &plain(""));
    assert_eq!(Local::new().pull(&pinned.unwrap()).await.unwrap().seen.digest, packed.manifest.digest);
}

#[tokio::test]
async fn what_both_versions_have_goes_once_each_way() {
    let registry = Registry::start();
    let (one, two) = (registry.place("team/hooks:v1"), registry.place("team/hooks:v2"));
    send(&version("v1"), &one).await;
    let pushed = push(&version("v2"), &two, &Progress::default()).await.unwrap();
    assert_eq!((pushed.sent, pushed.present), (2, 2));

    let local = Local::new();
    local.pull(&one).await.unwrap();
    let pulled = local.pull(&two).await.unwrap();
    assert_eq!((pulled.fetched, pulled.reused), (1, 2));
    let again = local.pull(&two).await.unwrap();
    assert_eq!((again.fetched, again.reused), (0, 3));
}

#[tokio::test]
async fn a_directory_holds_just_the_version() {
    let registry = Registry::start();
    let place = registry.place("team/hooks:v1");
    send(&version("v1"), &place).await;
    let (local, directory) = (Local::new(), tempfile::tempdir().unwrap());
    let pulled = local.pull(&place).await.unwrap();
    unpack(&pulled, directory.path()).unwrap();
    let names = || {
        let mut names: Vec<_> = fs::read_dir(directory.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    };
    assert_eq!(names(), ["README.md", "bundle.json", "own.wasm", "same.wasm"]);
    assert_eq!(fs::read(directory.path().join("same.wasm")).unwrap(), b"unchanged");

    let hooks = vec![super::hook("same", b"changed", "pods")];
    let smaller = boathook_bundle::pack(boathook_bundle::Input { hooks, ..Default::default() }).unwrap();
    send(&smaller, &place).await;
    let pulled = local.pull(&place).await.unwrap();
    let unpacked = unpack(&pulled, directory.path()).unwrap();
    assert_eq!(unpacked.removed.into_iter().collect::<Vec<_>>(), ["README.md", "own.wasm"]);
    assert_eq!(names(), ["bundle.json", "same.wasm"]);
    assert_eq!(fs::read(directory.path().join("same.wasm")).unwrap(), b"changed");

    fs::write(directory.path().join("mine.wasm"), "").unwrap();
    let error = words(&unpack(&pulled, directory.path()).unwrap_err());
    assert!(error.contains("mine.wasm"), "{error}");
}

#[tokio::test]
async fn a_layout_goes_to_a_registry_as_it_is() {
    let registry = Registry::start();
    let directory = tempfile::tempdir().unwrap();
    let layout = Layout::create(directory.path()).unwrap();
    save(&version("v1"), &layout, Some("v1")).unwrap();
    let place = registry.place("team/hooks:v1");
    let pushed = copy(&Place::layout(layout), &place, &Progress::default()).await.unwrap();
    assert_eq!(pushed.digest, version("v1").manifest.digest);
    assert_eq!(Local::new().pull(&place).await.unwrap().hooks.len(), 2);
}

#[tokio::test]
async fn what_is_not_there_is_named() {
    let registry = Registry::start();
    let error = words(&Local::new().pull(&registry.place("team/none:v1")).await.unwrap_err());
    assert!(error.contains("team/none:v1: manifest v1") && error.contains("push it first"), "{error}");
}

#[tokio::test]
async fn a_private_registry_wants_the_right_login() {
    let registry = Registry::private();
    let at = registry.reference("team/hooks:v1");
    let place = |password: &str| {
        let entry = format!(r#"{{"username": "team", "password": "{password}"}}"#);
        let config = format!(r#"{{"auths": {{"{}/team": {entry}}}}}"#, registry.host);
        Place::registry(&at, &plain(if password.is_empty() { "" } else { &config })).unwrap()
    };
    send(&version("v1"), &place("secret")).await;
    Local::new().pull(&place("secret")).await.unwrap();
    let error = words(&Local::new().pull(&place("wrong")).await.unwrap_err());
    assert!(error.contains("user \"team\""), "{error}");
    let error = words(&Local::new().pull(&place("")).await.unwrap_err());
    assert!(error.contains("everybody without a login"), "{error}");
}

/// Somebody with access to the registry's disk.
// mutant: crates/bundle/src/store/mod.rs: `if got != self.layer.digest {` => `if false {`
// mutant: crates/bundle/src/registry/mod.rs: `if got != wanted.digest {` => `if false {`
#[tokio::test]
async fn a_layer_that_was_changed_in_the_registry_is_refused() {
    let registry = Registry::start();
    let packed = version("v1");
    let place = registry.place("team/hooks:v1");
    send(&packed, &place).await;
    let manifest: serde_json::Value = serde_json::from_slice(&packed.bytes).unwrap();
    let change = |digest: &serde_json::Value, new: &[u8]| {
        fs::write(registry.file(digest.as_str().unwrap()), new).unwrap();
    };
    let layer = &manifest["layers"][1];
    assert_eq!(layer["annotations"]["org.opencontainers.image.title"], "same.wasm");
    change(&layer["digest"], b"unchangeD");
    let error = words(&Local::new().pull(&place).await.unwrap_err());
    assert!(error.contains("same.wasm") && error.contains("tampered"), "{error}");

    let config =
        &packed.blobs[&boathook_bundle::Digest::parse(manifest["config"]["digest"].as_str().unwrap()).unwrap()];
    let config = String::from_utf8(config.to_vec()).unwrap().replace("configmaps", "configmapz");
    change(&manifest["config"]["digest"], config.as_bytes());
    let error = words(&Local::new().pull(&place).await.unwrap_err());
    assert!(error.contains("team/hooks:v1: blob") && error.contains("tampered"), "{error}");
}

/// A tenant writes the schema, and a layer may have hundreds of megabytes.
// mutant: crates/bundle/src/pull.rs: `if size > MAX_SETTINGS_SCHEMA {` => `if false {`
#[tokio::test]
async fn a_schema_that_is_larger_than_any_that_is_used_is_not_read() {
    let (registry, local) = (Registry::start(), Local::new());
    for (bytes, wanted) in [(256 * 1024, Ok(())), (256 * 1024 + 1, Err("262144 are allowed"))] {
        let place = registry.place(&format!("team/hooks:v{bytes}"));
        let schema = file("settings.schema.json", &format!("{{}}{}", " ".repeat(bytes - 2)));
        let hooks = vec![hook("same", b"unchanged", "configmaps")];
        send(&pack(Input { hooks, files: vec![schema], ..Input::default() }).unwrap(), &place).await;
        let ready = local.pull(&place).await.unwrap().ready().map_err(|error| error.to_string());
        match wanted {
            Ok(()) => assert_eq!(ready.unwrap().settings_schema.unwrap().len(), bytes),
            Err(part) => assert!(ready.as_ref().unwrap_err().contains(part), "{ready:?}"),
        }
    }
}

#[tokio::test]
async fn tls_by_an_own_authority() {
    let (registry, ca) = Registry::tls();
    let at = registry.reference("team/hooks:v1");
    let place = |ca: &[u8]| Place::registry(&at, &Connect { ca: ca.to_vec(), ..Connect::default() }).unwrap();
    send(&version("v1"), &place(&ca)).await;
    Local::new().pull(&place(&ca)).await.unwrap();
    let error = words(&Local::new().pull(&place(b"")).await.unwrap_err());
    assert!(error.contains("--ca") && error.contains(&registry.host), "{error}");
}
