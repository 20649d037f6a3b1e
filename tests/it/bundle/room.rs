//! One store, several tenants: what fills it, and whose layers another's registry can touch.

use std::path::{Path, PathBuf};

use boathook_bundle::{BundleError, Packed, Place, Policy, Progress, Pulled, Store, pack};
use boathook_core::fair::Tenant;

use super::{
    faulty::{Faults, Faulty},
    version, words,
};

/// Two of the bundles below, and a bit.
const MAX: u64 = 400_000;

struct Shared {
    directory: tempfile::TempDir,
    store: Store,
}

impl Shared {
    fn new(max: u64) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path()).unwrap().bounded(max);
        Self { directory, store }
    }

    async fn pull(&self, namespace: &str, from: &Place) -> Result<Pulled, BundleError> {
        let store = self.store.of(&Tenant::namespace(namespace));
        boathook_bundle::pull(from, &store, &Policy::unchecked(), &Progress::default()).await
    }

    fn bytes(&self) -> u64 {
        files(self.directory.path()).iter().map(|path| path.metadata().unwrap().len()).sum()
    }
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// Requests that went on where another stopped.
fn ranges(registry: &Faulty) -> usize {
    registry.log().iter().filter(|line| line.contains("bytes=")).count()
}

/// A layer of as many bytes as that of `version`, all of them one.
fn filled(with: u8, like: &Packed) -> Packed {
    let mut other = like.clone();
    for bytes in other.blobs.values_mut().filter(|bytes| bytes.len() > 10_000) {
        *bytes = vec![with; bytes.len()].into();
    }
    other
}

// mutant: crates/bundle/src/pull.rs: `let room = &store.room(layers.clone()).await?;` => `let room = &store.room(Vec::new()).await?;`
// mutant: crates/bundle/src/store/room.rs: `(PARTIAL, false)` => `(BLOBS, false)`
#[tokio::test]
async fn pulls_that_fail_leave_the_store_within_its_bound() {
    let shared = Shared::new(MAX);
    for n in 0..8 {
        let faults = Faults { cuts: usize::MAX, ..Faults::default() };
        let registry = Faulty::start(&version(&format!("v{n}")), faults).await;
        shared.pull("greedy", &registry.place("")).await.unwrap_err();
        assert!(shared.bytes() <= MAX, "{} bytes after {n} more", shared.bytes());
    }
    assert!(shared.bytes() > 0, "what came is kept for the next time");
}

// mutant: crates/bundle/src/store/room.rs: `filter(|(of, used)| has_files(of) && (**used > own || of.as_path() == owner))` => `filter(|(of, _)| has_files(of) && of.as_path() != owner)`
#[tokio::test]
async fn another_namespace_keeps_what_it_has_whoever_fills_the_store() {
    let shared = Shared::new(MAX);
    let registry = Faulty::start(&version("vb"), Faults::default()).await;
    let other = shared.pull("team-b", &registry.place("")).await.unwrap();
    for n in 0..6 {
        let registry = Faulty::start(&version(&format!("v{n}")), Faults::default()).await;
        shared.pull("greedy", &registry.place("")).await.unwrap();
        assert!(other.hooks.iter().all(|hook| hook.path.exists()), "after {n} more");
        assert!(shared.bytes() <= MAX, "{}", shared.bytes());
    }
}

// mutant: crates/bundle/src/store/room.rs: `(**used > own || of.as_path() == owner)` => `true`
#[tokio::test]
async fn what_needs_the_room_of_others_is_refused_before_a_byte_comes() {
    let shared = Shared::new(300_000);
    let registry = Faulty::start(&version("vb"), Faults::default()).await;
    let other = shared.pull("team-b", &registry.place("")).await.unwrap();
    let larger = "larger ".repeat(23_500);
    let hooks = vec![super::hook("own", larger.as_bytes(), "secrets")];
    let larger = pack(boathook_bundle::Input { hooks, ..Default::default() }).unwrap();
    let registry = Faulty::start(&larger, Faults::default()).await;
    let error = words(&shared.pull("greedy", &registry.place("")).await.unwrap_err());
    assert!(error.contains("no room for 164500 more bytes"), "{error}");
    assert!(other.hooks.iter().all(|hook| hook.path.exists()));
    let layer = larger.blobs.iter().find(|(_, bytes)| bytes.len() == 164_500).unwrap().0.to_string();
    assert!(registry.log().iter().all(|line| !line.contains(&layer)), "{:?}", registry.log());
}

/// It knows the digest of another's layer, and begins it with other bytes.
// mutant: crates/bundle/src/store/mod.rs: `.join(short(&tenant.to_string()))` => `.join(short(""))`
// mutant: crates/bundle/src/store/mod.rs: `short(place), layer.digest.hex()` => `short(&place[..0]), layer.digest.hex()`
#[tokio::test]
async fn what_another_namespace_or_registry_began_is_not_gone_on_with() {
    let (shared, right) = (Shared::new(MAX * 2), version("v1"));
    let registry = Faulty::start(&filled(0, &right), Faults { cuts: usize::MAX, ..Faults::default() }).await;
    let error = words(&shared.pull("greedy", &registry.place("")).await.unwrap_err());
    assert!(error.contains("resumes"), "{error}");
    let (before, other) = (ranges(&registry), Faulty::start(&right, Faults::default()).await);
    registry.becomes(&right, Faults::default());
    shared.pull("team-b", &registry.place("")).await.unwrap();
    assert_eq!(ranges(&registry), before);
    shared.pull("greedy", &other.place("")).await.unwrap();
    assert_eq!(ranges(&other), 0);
}

/// As when a registry was broken into, and is not any more.
// mutant: crates/bundle/src/store/mod.rs: `if !self.resumed {` => `if true {`
#[tokio::test]
async fn a_wrong_beginning_is_brought_again() {
    let (shared, right) = (Shared::new(MAX * 2), version("v1"));
    let registry = Faulty::start(&filled(0, &right), Faults { cuts: usize::MAX, ..Faults::default() }).await;
    shared.pull("team", &registry.place("")).await.unwrap_err();
    let before = ranges(&registry);
    registry.becomes(&right, Faults::default());
    shared.pull("team", &registry.place("")).await.unwrap();
    assert_eq!(ranges(&registry), before + 1, "it went on at first");
    // One that lies goes on lying only once.
    let registry = Faulty::start(&filled(1, &version("v2")), Faults::default()).await;
    let error = words(&shared.pull("team", &registry.place("")).await.unwrap_err());
    assert!(error.contains("tampered"), "{error}");
}
