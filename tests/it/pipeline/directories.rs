//! Hooks that work with directories of the operator's machine: who gets them, and what is said to the others.

use boathook_core::model::{BundleId, DirectoryAccess, DirectoryRule, HookPhase, Installation, Permission};
use boathook_operator::app::Options;
use boathook_sandbox::{Directories, Offer};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{
    bundles::{Shelf, state},
    fixture::{Pipeline, config_map, guests},
};
use crate::support::{cluster::TestCluster, guests::guest};

/// The two directories that the guest `files` requests.
pub struct Place {
    pub dir: TempDir,
    pub directories: Directories,
}

impl Place {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let offer = |name: &str, access| {
            let path = dir.path().join(name);
            std::fs::create_dir(&path).unwrap();
            Offer { name: name.to_owned(), path, access }
        };
        let offers = [offer("keys", DirectoryAccess::Write), offer("logs", DirectoryAccess::Read)];
        let directories = Directories::open(&offers).unwrap();
        Self { dir, directories }
    }

    pub fn read(&self, path: &str) -> Option<String> {
        std::fs::read_to_string(self.dir.path().join(path)).ok()
    }
}

async fn start(adjust: impl FnOnce(&mut Options)) -> Pipeline {
    Pipeline::on(TestCluster::start().await, &guests(["files"]), adjust).await
}

/// A ConfigMap that makes the guest do this.
pub fn steps(name: &str, steps: Value) -> Value {
    config_map(name, ("files", "true"), json!({"steps": steps.to_string()}))
}

#[tokio::test]
async fn a_hook_works_with_a_directory_that_it_requests_and_the_admin_offers() {
    let place = Place::new();
    let pipeline = start(|options| options.directories = place.directories.clone()).await;
    pipeline.operator.ready().await;
    pipeline.create(steps("a", json!([{"do": "write", "path": "/keys/a", "text": "one"}]))).await;
    pipeline.operator.until("the file is there", |_| place.read("keys/a").filter(|text| text == "one")).await;
}

// mutant: crates/operator/src/app/hooks.rs: `refusal.map_or(Ok(()), |why| Err(HookLoadError::Directory(why)))` => `Ok(())`
#[tokio::test]
async fn a_hook_whose_directory_is_not_offered_does_not_run_and_says_what_to_do() {
    let place = Place::new();
    let keys = Offer { name: "keys".into(), path: place.dir.path().join("keys"), access: DirectoryAccess::Read };
    let only_keys = Directories::open(&[keys]).unwrap();
    for (offered, part) in [
        (Directories::default(), "no directory \"logs\" is offered: start the operator with --dir logs=PATH"),
        (only_keys, "no directory \"logs\" is offered"),
    ] {
        let pipeline = start(|options| options.directories = offered).await;
        let quarantined = pipeline.operator.app.readiness().quarantined;
        assert!(quarantined[0].1.contains(part), "{quarantined:?}");
    }
}

#[tokio::test]
async fn a_plan_leaves_directories_as_they_are() {
    let place = Place::new();
    let pipeline = start(|options| {
        options.directories = place.directories.clone();
        options.plan = true;
    })
    .await;
    pipeline.operator.ready().await;
    pipeline.create(steps("a", json!([{"do": "write", "path": "/keys/a", "text": "one"}]))).await;
    pipeline.operator.said("files", "nothing is written to directory keys: a plan writes nothing").await;
    assert_eq!(place.read("keys/a"), None);
}

/// The rules of a tenant never have one.
// mutant: crates/core/src/model/permission.rs: `let covered = granted.iter().any(|grant| grant.directory.is_some_and(|grant| grant.covers(rule)));` => `let covered = true;`
#[tokio::test]
async fn a_tenants_hook_gets_no_directory() {
    let place = Place::new();
    let pipeline = Pipeline::on(TestCluster::start().await, &[], |options| {
        options.directories = place.directories.clone();
    })
    .await;
    let (installer, shelf) = (pipeline.operator.app.installer(), Shelf::new());
    let files = guest("files");
    let bundle = shelf.bundle(&[("files", &files)]);
    let all = Permission {
        api_groups: vec!["*".into()],
        resources: vec!["*".into()],
        verbs: vec!["*".into()],
        resource_names: Vec::new(),
        namespaces: Vec::new(),
        http: None,
        directory: None,
    };
    let theirs = Installation { grants: Some(vec![all]), ..bundle.clone() };
    installer.install(theirs).await.unwrap();
    let held = state(&installer, "files");
    assert_eq!(held.phase, HookPhase::Ungranted);
    let rule = |name: &str, access| Permission::of_directory(DirectoryRule { name: name.into(), access });
    assert_eq!(held.missing, [rule("logs", DirectoryAccess::Read), rule("keys", DirectoryAccess::Write)]);

    // A bundle that the admin lists may have it.
    let id = BundleId { namespace: None, name: "mine".to_owned() };
    let installed = installer.install(Installation { id, grants: None, ..bundle }).await.unwrap();
    assert_eq!(installed.started.len(), 1);
    pipeline.operator.told("run succeeded", "files.mine", 1).await;
    pipeline.create(steps("a", json!([{"do": "write", "path": "/keys/a", "text": "one"}]))).await;
    pipeline.operator.until("the file is there", |_| place.read("keys/a").filter(|text| text == "one")).await;
}
