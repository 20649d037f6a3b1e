//! Settings against schemas that tenants write: none of them takes more than its share, and none the operator with it.

use std::{sync::Arc, time::Duration};

use boathook_core::model::{BundleId, InstallError, Installation, Installer};
use boathook_operator::app::SettingsConfig;
use futures::{StreamExt as _, stream::FuturesUnordered};
use serde_json::{Map, Value, json};

use super::fixture::Pipeline;
use crate::support::cluster::TestCluster;

/// An operator without hooks.
async fn operator(settings: SettingsConfig) -> Pipeline {
    Pipeline::on(TestCluster::start().await, &[], |options| options.settings = settings).await
}

fn worker() -> SettingsConfig {
    SettingsConfig { cpu: Duration::from_secs(1), ..SettingsConfig::new(env!("CARGO_BIN_EXE_boathook")) }
}

fn bundle(namespace: &str, settings: &Value, schema: &str) -> Installation {
    let id = BundleId { namespace: Some(namespace.to_owned()), name: "b".to_owned() };
    Installation {
        settings: Some(settings.to_string()),
        settings_schema: Some(schema.to_owned()),
        ..Installation::new(id, "d", Vec::new())
    }
}

async fn problem(installer: &Arc<dyn Installer>, installation: Installation) -> Result<(), String> {
    match installer.install(installation).await {
        Ok(_) => Ok(()),
        Err(InstallError::Settings { problem, .. }) => Err(problem),
        Err(other) => panic!("{other}"),
    }
}

/// So many definitions, each of which leads to the next one; the last one is `end`.
fn chain(links: usize, end: &Value, step: impl Fn(Value) -> Value) -> Value {
    let mut definitions = Map::new();
    for link in 0..links {
        definitions.insert(link.to_string(), step(json!({"$ref": format!("#/$defs/{}", link + 1)})));
    }
    definitions.insert(links.to_string(), end.clone());
    json!({"$ref": "#/$defs/0", "$defs": definitions})
}

/// 2 to the power of `links` steps.
fn doubling(links: usize, end: &Value) -> String {
    chain(links, end, |next| json!({"allOf": [next, next]})).to_string()
}

// mutant: crates/operator/src/app/bundles/settings.rs: `if depth > MAX_DEPTH {` => `if depth > 10_000 {`
// mutant: crates/core/src/child.rs: `lower(Resource::Cpu, cpu, cpu.saturating_add(1))?;` => `let _ = cpu;`
// mutant: crates/operator/src/app/bundles/settings.rs: `if references > MAX_REFERENCES {` => `if references > 1_000_000 {`
// mutant: crates/operator/src/app/bundles/settings.rs: `(Cause::Time | Cause::Memory | Cause::Stack)` => `(Cause::Time | Cause::Memory)`
#[tokio::test]
async fn a_schema_that_takes_too_much_is_refused_and_the_operator_goes_on() {
    // The bounds on CPU time, memory and stack end the checks, and not this.
    let pipeline = operator(SettingsConfig { deadline: Duration::from_secs(3600), ..worker() }).await;
    let installer = pipeline.operator.app.installer();
    let nested = |levels: usize| (0..levels).fold(json!({}), |inner, _| json!({"not": inner})).to_string();
    let flat = |links: usize| chain(links, &json!(true), |next| next).to_string();
    for (schema, part) in [
        (flat(20_000), "bytes, and"),
        (flat(5_000), "references"),
        (doubling(40, &json!(true)), "takes more than"),
        (doubling(40, &json!(false)), "takes more than"),
        (nested(100), "64 levels"),
        ("[".repeat(100_000), "recursion limit"),
    ] {
        let refused = problem(&installer, bundle("evil", &json!({}), &schema)).await.unwrap_err();
        assert!(refused.contains("settings.schema.json cannot be used") && refused.contains(part), "{part}: {refused}");
    }
    // The schema's own recursion ends where the settings do: 900 references for each of 120 levels, on 64 MiB of stack.
    let deep = (0..120).fold(json!({}), |inner, _| json!({"a": inner}));
    let schema = chain(900, &json!({"properties": {"a": {"$ref": "#/$defs/0"}}}), |next| next).to_string();
    let refused = problem(&installer, bundle("evil", &deep, &schema)).await.unwrap_err();
    assert!(refused.contains("settings.schema.json cannot be used") && refused.contains("bytes of stack"), "{refused}");
    for cycle in
        [json!({"$ref": "#"}), json!({"allOf": [{"$ref": "#"}]}), chain(3, &json!({"$ref": "#/$defs/0"}), |next| next)]
    {
        let refused = problem(&installer, bundle("evil", &json!({}), &cycle.to_string())).await.unwrap_err();
        assert!(refused.contains("cycle"), "{cycle}: {refused}");
    }
    assert_eq!(problem(&installer, bundle("good", &json!({}), &flat(900))).await, Ok(()));
}

/// The checks of tenants take turns, whichever came first.
// mutant: crates/operator/src/app/bundles/settings.rs: `let _place = self.sandbox.child(&tenant(id)).await;` => `let _place = self.sandbox.child(&Tenant::namespace("all")).await;`
#[tokio::test]
async fn many_bad_bundles_of_one_tenant_hold_up_no_other() {
    let pipeline = operator(worker()).await;
    let installer = pipeline.operator.app.installer();
    let mut checks = FuturesUnordered::new();
    for number in 0..6 {
        let id = BundleId { namespace: Some("evil".to_owned()), name: format!("b{number}") };
        let installation =
            Installation { id, ..bundle("evil", &json!({"number": number}), &doubling(40, &json!(true))) };
        checks.push(checked("evil", &installer, installation));
    }
    // They are all in the queue before the good one comes: each was polled up to there.
    assert!(futures::poll!(checks.next()).is_pending());
    tokio::task::yield_now().await;
    checks.push(checked("good", &installer, bundle("good", &json!({}), r#"{"type": "object"}"#)));
    let order: Vec<_> = checks.collect().await;
    let good = order.iter().position(|(namespace, _)| *namespace == "good").unwrap();
    assert!(good <= 2 && order[good].1.is_ok(), "{order:?}");
}

async fn checked(
    namespace: &'static str,
    installer: &Arc<dyn Installer>,
    installation: Installation,
) -> (&'static str, Result<(), String>) {
    (namespace, problem(installer, installation).await)
}

/// A HookBundle is looked at again and again.
// mutant: crates/operator/src/app/bundles/settings.rs: `known.until.is_none_or(|until| now < until).then(|| known.verdict.clone())` => `None`
#[tokio::test]
async fn the_same_settings_are_checked_once() {
    for (end, part) in [("echo it is wrong >&2; exit 3", "it is wrong"), ("kill -9 $$", "tried again"), ("exit 0", "")]
    {
        let directory = tempfile::tempdir().unwrap();
        let starts = directory.path().join("starts");
        let script = format!("echo started >> {}; cat > /dev/null; {end}", starts.display());
        let args = vec!["-c".to_owned(), script];
        let pipeline = operator(SettingsConfig { command: "/bin/sh".into(), args, ..worker() }).await;
        let installer = pipeline.operator.app.installer();
        for namespace in ["a", "b", "a"] {
            let told = problem(&installer, bundle(namespace, &json!({}), "{}")).await;
            assert!(told.err().unwrap_or_default().contains(part));
        }
        assert_eq!(std::fs::read_to_string(&starts).unwrap().lines().count(), 1, "{end}");
    }
}
