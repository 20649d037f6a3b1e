//! Bundles as units of an operator: installed, changed, suspended and removed whole.

use std::{collections::BTreeMap, fmt::Write as _, sync::Arc};

use boathook_core::model::{
    BundleId, HookName, HookPhase, HookSource, HookState, InstallError, Installation, Installed, Installer, LimitCaps,
    Permission, error_chain,
};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

use super::{
    fixture::{Operator, Pipeline, config_map},
    written::{Deed, hook},
};
use crate::support::{cluster::TestCluster, guests::guest};

/// Components on disk, as a store has them.
pub struct Shelf {
    directory: TempDir,
}

impl Shelf {
    pub fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap() }
    }

    pub fn source(&self, name: &str, bytes: &[u8]) -> HookSource {
        let mut digest = "sha256:".to_owned();
        Sha256::digest(bytes).iter().for_each(|byte| write!(digest, "{byte:02x}").unwrap());
        let path = self.directory.path().join(digest.replace(':', "-"));
        std::fs::write(&path, bytes).unwrap();
        HookSource { name: name_of(name), path, digest: Some(digest), declared: None }
    }

    /// A bundle `team` of the namespace `prod`, whose digest is that of its parts.
    pub fn bundle(&self, hooks: &[(&str, &[u8])]) -> Installation {
        let sources: Vec<_> = hooks.iter().map(|(name, bytes)| self.source(name, bytes)).collect();
        let digest: Vec<String> =
            sources.iter().map(|source| format!("{} {}", source.name, source.digest.as_deref().unwrap())).collect();
        Installation::new(team(), digest.join(" "), sources)
    }
}

pub fn name_of(name: &str) -> HookName {
    HookName::new(name).unwrap()
}

pub fn team() -> BundleId {
    BundleId { namespace: Some("prod".to_owned()), name: "team".to_owned() }
}

pub fn state(installer: &Arc<dyn Installer>, hook: &str) -> HookState {
    let states = installer.states(&team());
    states.into_iter().find(|state| state.name.as_str() == hook).unwrap_or_else(|| panic!("no hook {hook}"))
}

fn phases(installer: &Arc<dyn Installer>) -> Vec<(String, HookPhase)> {
    installer.states(&team()).into_iter().map(|state| (state.name.to_string(), state.phase)).collect()
}

fn names(hooks: &[HookName]) -> Vec<&str> {
    hooks.iter().map(HookName::as_str).collect()
}

fn summary(installed: &Installed) -> [Vec<&str>; 5] {
    let Installed { started, swapped, kept, removed, held } = installed;
    [started, swapped, kept, removed, held].map(|hooks| names(hooks))
}

const STARTS: &str = "{configVersion: v1, onStartup: 1}";
const WATCHES: &str = "{configVersion: v1, kubernetes: [{name: maps, apiVersion: v1, kind: ConfigMap, queue: shared, \
    namespace: {nameSelector: {matchNames: [default]}}, labelSelector: {matchLabels: {w: x}}}]}";

fn asks(verbs: &str) -> String {
    format!(
        "{{configVersion: v1, onStartup: 1, permissions: {{kubernetes: [{{apiGroups: [\"\"], resources: [secrets], \
         verbs: [{verbs}]}}]}}}}"
    )
}

fn secrets(verbs: &[&str]) -> Permission {
    let list = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    Permission {
        api_groups: list(&[""]),
        resources: list(&["secrets"]),
        verbs: list(verbs),
        resource_names: Vec::new(),
        namespaces: Vec::new(),
        http: None,
        directory: None,
    }
}

// mutant: crates/core/src/model/ids.rs: `Self::Shared(name) => Self::Shared(format!("{bundle}:{name}").into()),` => `Self::Shared(name) => Self::Shared(name.clone()),`
// mutant: crates/operator/src/app/bundles/mod.rs: `if member.is_some() || !taken {` => `if true {`
#[tokio::test]
async fn hooks_of_the_same_name_live_beside_each_other() {
    let here = hook(WATCHES, &Deed::Says("directory"));
    let pipeline = Pipeline::on(TestCluster::start().await, &[("words", here)], |_| ()).await;
    let (operator, shelf) = (&pipeline.operator, Shelf::new());
    let installer = operator.app.installer();
    let other = BundleId { namespace: None, name: "team".to_owned() };
    let (mine, theirs) = (hook(WATCHES, &Deed::Says("mine")), hook(WATCHES, &Deed::Says("theirs")));
    installer.install(shelf.bundle(&[("words", &mine)])).await.unwrap();
    let elsewhere = Installation { id: other.clone(), ..shelf.bundle(&[("words", &theirs)]) };
    installer.install(elsewhere).await.unwrap();
    for (hook, line) in [("words", "directory"), ("words.team.prod", "mine"), ("words.team", "theirs")] {
        operator.said(hook, line).await;
    }
    operator.ready().await;
    let queues = operator.app.queue().stats().queues;
    let mut queues: Vec<_> = queues.iter().map(|queue| queue.queue.to_string()).collect();
    queues.retain(|queue| queue.ends_with("shared"));
    queues.sort();
    assert_eq!(queues, ["prod/team:shared", "shared", "team:shared"]);
    assert_eq!(state(&installer, "words").hook.as_str(), "words.team.prod");

    // A hook of the directory that is called as one of the bundle would be.
    let taken = hook(STARTS, &Deed::Says("taken"));
    operator.app.swap(super::swap::put(operator, "more.team.prod", &taken)).await.unwrap();
    let both = shelf.bundle(&[("words", &mine), ("more", &mine)]);
    let error = installer.install(both).await.unwrap_err();
    assert!(matches!(error, InstallError::Taken { .. }), "{error}");

    assert!(installer.remove(&other).await);
    assert!(!installer.remove(&other).await);
    assert!(operator.app.hook(&name_of("words.team")).is_none());
    let text = [config_map("a", ("w", "x"), Value::Null)];
    for object in text {
        pipeline.create(object).await;
    }
    operator
        .until("the others hear of it", |operator| {
            (operator.log.said("words").len() == 2 && operator.log.said("words.team.prod").len() == 2).then_some(())
        })
        .await;
    assert_eq!(operator.log.said("words.team"), ["theirs"]);
}

#[tokio::test]
async fn what_is_not_granted_does_not_start_and_the_others_do() {
    let pipeline = Pipeline::on(TestCluster::start().await, &[], |_| ()).await;
    let (operator, shelf) = (&pipeline.operator, Shelf::new());
    let installer = operator.app.installer();
    let (plain, greedy) = (hook(STARTS, &Deed::Says("plain")), hook(&asks("get, delete"), &Deed::Says("greedy")));
    let bundle = shelf.bundle(&[("plain", &plain), ("greedy", &greedy)]);
    let asked = installer.requested(&bundle.hooks).await;
    assert_eq!(asked[1].permissions.as_deref().unwrap(), [secrets(&["get", "delete"])]);

    let some = Installation { grants: Some(vec![secrets(&["get", "list"])]), ..bundle.clone() };
    let installed = installer.install(some.clone()).await.unwrap();
    assert_eq!(summary(&installed), [vec!["plain"], vec![], vec![], vec![], vec!["greedy"]]);
    operator.said("plain.team.prod", "plain").await;
    let held = state(&installer, "greedy");
    assert_eq!((held.phase, held.missing.as_slice()), (HookPhase::Ungranted, [secrets(&["delete"])].as_slice()));
    assert!(held.reason.contains("delete secrets"), "{}", held.reason);
    assert!(operator.app.readiness().quarantined[0].1.contains("more than is granted"));

    let enough = Installation { grants: Some(vec![secrets(&["*"])]), ..bundle };
    let installed = installer.install(enough.clone()).await.unwrap();
    assert_eq!(summary(&installed), [vec!["greedy"], vec!["plain"], vec![], vec![], vec![]]);
    operator.said("greedy.team.prod", "greedy").await;
    assert_eq!(operator.log.said("plain.team.prod"), ["plain"], "it did not start again");
    // The same once more changes nothing.
    let again = installer.install(enough).await.unwrap();
    assert_eq!(summary(&again), [vec![], vec![], vec!["plain", "greedy"], vec![], vec![]]);

    // Taken back.
    installer.install(some).await.unwrap();
    assert_eq!(phases(&installer), [("greedy".into(), HookPhase::Ungranted), ("plain".into(), HookPhase::Ready)]);
    assert!(operator.app.hook(&name_of("greedy.team.prod")).is_none());
}

// mutant: crates/operator/src/app/scope.rs: `if missing.is_empty() { Ok(()) } else { Err(missing) }` => `Ok(())`
// mutant: crates/operator/src/app/hook_manager.rs: `source.declared.as_ref().is_some_and(|declared| *declared != requested)` => `false`
// mutant: crates/operator/src/app/hold_reason.rs: `    sandbox.check_size(name, size).map_err(HookLoadError::Component)?;` => ``
// mutant: crates/operator/src/app/hold_reason.rs: `if got == *want { Ok(bytes) } else` => `if got == *want || true { Ok(bytes) } else`
#[tokio::test]
async fn a_new_version_takes_over_whole_or_not_at_all() {
    let pipeline = Pipeline::on(TestCluster::start().await, &[], |_| ()).await;
    let (operator, shelf) = (&pipeline.operator, Shelf::new());
    let installer = operator.app.installer();
    let says = |line| hook(WATCHES, &Deed::Says(line));
    let (a, b, gone) = (says("a1"), says("b1"), says("gone"));
    let first = shelf.bundle(&[("a", &a), ("b", &b), ("gone", &gone)]);
    let watch = Permission { resources: vec!["configmaps".to_owned()], ..secrets(&["watch"]) };
    let first = Installation { grants: Some(vec![secrets(&["get"]), watch]), ..first };
    installer.install(first.clone()).await.unwrap();
    operator.ready().await;
    let digests = || installer.states(&team()).into_iter().map(|state| state.digest).collect::<Vec<_>>();
    let before = digests();

    let a2 = says("a2");
    let refused = |hooks: &[(&str, &[u8])]| Installation { grants: first.grants.clone(), ..shelf.bundle(hooks) };
    let error = installer.install(refused(&[("a", &a2), ("b", b"no component")])).await.unwrap_err();
    let text = error_chain(&error);
    assert!(matches!(error, InstallError::Refused { .. }) && text.contains("hook b of the new version"), "{text}");
    let more = hook(&asks("get, patch"), &Deed::Says("more"));
    let error = installer.install(refused(&[("a", &a2), ("b", &b), ("more", &more)])).await.unwrap_err();
    let InstallError::Ungranted(missing) = &error else { panic!("{error}") };
    assert_eq!(*missing, [(name_of("more"), vec![secrets(&["patch"])])]);
    let mut lied = refused(&[("a", &a2)]);
    lied.hooks[0].declared = Some(vec![secrets(&["get"])]);
    let text = error_chain(&installer.install(lied).await.unwrap_err());
    assert!(text.contains("requests other permissions than the bundle states"), "{text}");
    let mut other = refused(&[("a", &a2)]);
    other.hooks[0].digest = Some("sha256:00".to_owned());
    let text = error_chain(&installer.install(other).await.unwrap_err());
    assert!(text.contains("has the digest sha256:"), "{text}");
    // A layer may be larger than any component.
    let mut huge = refused(&[("a", &a2)]);
    huge.hooks[0].path = shelf.directory.path().join("huge");
    std::fs::File::create(&huge.hooks[0].path).unwrap().set_len(1 << 30).unwrap();
    let text = error_chain(&installer.install(huge).await.unwrap_err());
    assert!(text.contains("1073741824 bytes, at most 67108864 are loaded"), "{text}");
    assert_eq!(digests(), before);

    let c = says("c");
    let installed = installer.install(refused(&[("a", &a2), ("b", &b), ("c", &c)])).await.unwrap();
    assert_eq!(summary(&installed), [vec!["c"], vec!["a"], vec!["b"], vec!["gone"], vec![]]);
    operator.ready().await;
    assert_eq!(operator.log.said("a.team.prod"), ["a1"], "nothing happened that the new version should be told of");
    pipeline.create(config_map("x", ("w", "x"), Value::Null)).await;
    for (hook, line) in [("a.team.prod", "a2"), ("b.team.prod", "b1"), ("c.team.prod", "c")] {
        operator
            .until("it hears of the object", |operator| {
                let said = operator.log.said(hook);
                (said.len() == 2 && said[1] == line).then_some(())
            })
            .await;
    }
    assert_eq!(operator.log.said("gone.team.prod"), ["gone"]);
}

#[tokio::test]
async fn when_one_hook_is_lost_on_the_way_the_others_are_put_back() {
    let pipeline = Pipeline::on(TestCluster::start().await, &[], |_| ()).await;
    let (operator, shelf) = (&pipeline.operator, Shelf::new());
    let installer = operator.app.installer();
    let waiting = format!(
        "{{limits: {{time: 300s, hostCalls: 1000000}}, permissions: {{kubernetes: [{{apiGroups: [\"\"], \
         resources: [configmaps], verbs: [get]}}]}}, {}",
        &WATCHES[1..]
    )
    .replace("queue: shared, ", "");
    let (a, b) = (hook(WATCHES, &Deed::Says("a1")), hook(&waiting, &Deed::WaitsFor("go")));
    installer.install(shelf.bundle(&[("a", &a), ("b", &b)])).await.unwrap();
    operator.said("a.team.prod", "a1").await;
    operator.said("b.team.prod", "begin").await;
    let before = state(&installer, "a").digest;

    let (a2, b2) = (hook(WATCHES, &Deed::Says("a2")), hook(&waiting, &Deed::Says("b2")));
    let installing = installer.install(shelf.bundle(&[("a", &a2), ("b", &b2)]));
    let during = async {
        let held = |operator: &Operator| {
            let stats = operator.app.queue().stats();
            stats.hooks.iter().any(|hook| hook.hook.as_str() == "b.team.prod" && hook.held).then_some(())
        };
        operator.until("the new version waits for the run of b to end", held).await;
        assert_ne!(state(&installer, "a").digest, before, "a was first");
        assert!(operator.app.quarantine(&name_of("b.team.prod"), "an admin wants it so"));
        pipeline.create(config_map("go", ("no", "label"), Value::Null)).await;
    };
    let (installed, ()) = tokio::join!(installing, during);
    let error = installed.unwrap_err();
    assert!(matches!(error, InstallError::RolledBack { .. }), "{error}");
    assert_eq!(state(&installer, "a").digest, before);
    pipeline.create(config_map("x", ("w", "x"), Value::Null)).await;
    operator
        .until("the old version goes on", |operator| (operator.log.said("a.team.prod") == ["a1", "a1"]).then_some(()))
        .await;
    assert_eq!(state(&installer, "b").phase, HookPhase::Quarantined);
    // An admin releases it: the version before, as the bundle has it.
    operator.app.release("b.team.prod").await.unwrap();
    operator.ready().await;
}

#[tokio::test]
async fn a_suspended_bundle_rests_until_it_is_resumed() {
    let pipeline = Pipeline::on(TestCluster::start().await, &[], |_| ()).await;
    let (operator, shelf) = (&pipeline.operator, Shelf::new());
    let installer = operator.app.installer();
    assert!(!installer.suspend(&team(), true).await);
    let words = hook(WATCHES, &Deed::Says("words"));
    installer.install(shelf.bundle(&[("words", &words)])).await.unwrap();
    operator.said("words.team.prod", "words").await;
    assert!(installer.suspend(&team(), true).await);
    assert_eq!(state(&installer, "words").phase, HookPhase::Suspended);
    assert!(operator.app.readiness().ready() && operator.app.readiness().quarantined.is_empty());
    pipeline.create(config_map("x", ("w", "x"), Value::Null)).await;
    operator.app.queue().idle().await;
    assert_eq!(operator.log.said("words.team.prod"), ["words"]);
    assert!(installer.suspend(&team(), false).await);
    operator
        .until("it is synchronised anew", |operator| (operator.log.said("words.team.prod").len() == 2).then_some(()))
        .await;
    assert_eq!(state(&installer, "words").phase, HookPhase::Ready);
}

// mutant: crates/operator/src/app/hooks.rs: `settings: settings.clone(), ..caller` => `settings: { static FIRST: std::sync::OnceLock<Arc<str>> = std::sync::OnceLock::new(); FIRST.get_or_init(|| settings.clone()).clone() }, ..caller`
#[tokio::test]
async fn settings_and_limits_reach_the_hooks_of_their_bundle() {
    let pipeline = Pipeline::on(TestCluster::start().await, &[], |_| ()).await;
    let (operator, shelf) = (&pipeline.operator, Shelf::new());
    let installer = operator.app.installer();
    let tells = hook(STARTS, &Deed::TellsSettings);
    let schema = json!({"type": "object", "properties": {"host": {"type": "string"}}}).to_string();
    let with = |settings: &str| Installation {
        settings: Some(settings.to_owned()),
        settings_schema: Some(schema.clone()),
        limits: LimitCaps { host_calls: Some(7), ..LimitCaps::default() },
        ..shelf.bundle(&[("tells", &tells)])
    };
    let error = installer.install(with(r#"{"host": 1}"#)).await.unwrap_err().to_string();
    assert!(error.contains("bundle prod/team") && error.contains("/host: "), "{error}");
    assert_eq!(installer.states(&team()), []);
    installer.install(with(r#"{ "host": "a" }"#)).await.unwrap();
    operator.said("tells.team.prod", r#"{"host":"a"}"#).await;
    assert_eq!(operator.app.hook(&name_of("tells.team.prod")).unwrap().spec.limits.host_calls, 7);
    // Others have their own, though it is the same component.
    let other = BundleId { name: "other".to_owned(), ..team() };
    let with = |settings: &str| Installation { id: other.clone(), ..with(settings) };
    installer.install(with(r#"{"host": "b"}"#)).await.unwrap();
    operator.said("tells.other.prod", r#"{"host":"b"}"#).await;
    operator.app.swap(super::swap::put(operator, "tells", &tells)).await.unwrap();
    operator.said("tells", "{}").await;
}

/// What `ledger` noted of each object, in order.
fn noted(operator: &Operator, hook: &str) -> BTreeMap<String, Vec<String>> {
    let mut noted: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in operator.log.said_json(hook) {
        let text = |key: &str| line[key].as_str().unwrap_or_default().to_owned();
        if ["Added", "Modified", "Deleted"].contains(&text("ledger").as_str()) {
            noted.entry(text("name")).or_default().push(format!("{} {}", text("ledger"), text("value")));
        }
    }
    noted
}

/// The same component with another digest: a custom section at its end.
fn marked(mark: u8) -> Vec<u8> {
    let mut bytes = guest("ledger");
    bytes.extend([0, 3, 1, b'v', mark]);
    bytes
}

#[tokio::test]
async fn a_hundred_installs_under_load_lose_no_event_and_run_none_twice() {
    const OBJECTS: usize = 4;
    const INSTALLS: usize = 100;
    let pipeline = Pipeline::on(TestCluster::start().await, &[], |_| ()).await;
    let (operator, shelf) = (&pipeline.operator, Shelf::new());
    let installer = operator.app.installer();
    let (one, two, always) = (marked(1), marked(2), marked(3));
    // One hook changes each time, one never, and one comes and goes.
    let extra = hook(WATCHES, &Deed::Says("extra"));
    let versions = [
        shelf.bundle(&[("ledger", &one), ("always", &always)]),
        shelf.bundle(&[("ledger", &two), ("always", &always), ("extra", &extra)]),
    ];
    installer.install(versions[0].clone()).await.unwrap();
    operator.ready().await;
    let stop = Arc::new(tokio::sync::Notify::new());
    let load = async {
        let mut round = 0;
        loop {
            for n in 0..OBJECTS {
                let data = json!({"value": round.to_string()});
                pipeline.apply(config_map(&format!("o{n}"), ("e2e", "ledger"), data)).await;
            }
            round += 1;
            tokio::select! {
                biased;
                () = stop.notified() => return round,
                () = tokio::task::yield_now() => {}
            }
        }
    };
    let installs = async {
        for n in 0..INSTALLS {
            let installed = installer.install(versions[(n + 1) % 2].clone()).await.unwrap();
            let (started, removed) = if n % 2 == 0 { (vec!["extra"], vec![]) } else { (vec![], vec!["extra"]) };
            assert_eq!(summary(&installed), [started, vec!["ledger"], vec!["always"], removed, vec![]]);
        }
        stop.notify_one();
    };
    let (rounds, ()) = tokio::join!(load, installs);
    assert!(rounds > 5, "the load was no load: {rounds} rounds");
    let expected: Vec<String> =
        (0..rounds).map(|round| format!("{} {round}", if round == 0 { "Added" } else { "Modified" })).collect();
    let expected: BTreeMap<_, _> = (0..OBJECTS).map(|n| (format!("o{n}"), expected.clone())).collect();
    let count = OBJECTS * rounds;
    for hook in ["ledger.team.prod", "always.team.prod"] {
        operator
            .until("all events are noted", |operator| {
                (noted(operator, hook).values().map(Vec::len).sum::<usize>() >= count).then_some(())
            })
            .await;
        operator.app.queue().idle().await;
        assert!(noted(operator, hook) == expected, "{hook}: {:#?}", noted(operator, hook));
        let synchronizations = operator.log.said_json(hook);
        assert_eq!(synchronizations.iter().filter(|line| line["ledger"] == "Synchronization").count(), 1, "{hook}");
    }
}
