//! Failed runs, reported by Kubernetes Events.

use std::time::Duration;

use boathook_core::model::Installation;
use k8s_openapi::api::events::v1::Event;
use kube::{Api, api::ListParams};
use serde_json::json;

use super::{
    bundles::Shelf,
    fixture::Pipeline,
    identity::{account, with_rbac_and},
    written::{Deed, hook},
};
use crate::support::{cluster::TestCluster, until};

const FAILS: &str = "configVersion: v1, onStartup: 1, limits: {time: 50ms}, retry: {initial: 20ms, max: 20ms}";

impl Pipeline {
    async fn failures(&self, namespace: &str) -> Vec<Event> {
        let events: Api<Event> = Api::namespaced(self.cluster.admin.client.clone(), namespace);
        let mut found = events.list(&ListParams::default()).await.unwrap().items;
        found.retain(|event| event.reporting_controller.as_deref() == Some("boathook.dev/boathook"));
        found
    }
}

#[tokio::test]
async fn a_failing_hook_is_seen_on_the_operators_namespace_as_one_event() {
    let hooks = [("spin", hook(&format!("{{{FAILS}}}"), &Deed::Spins))];
    let pipeline = Pipeline::on(TestCluster::start().await, &hooks, |options| {
        options.grace_period = Duration::ZERO;
    })
    .await;
    pipeline.operator.told("run failed", "spin", 5).await;
    let event = until("an Event", async || pipeline.failures("default").await.pop()).await;
    assert_eq!((event.reason.as_deref(), event.type_.as_deref()), (Some("RunFailed"), Some("Warning")));
    let regarding = event.regarding.clone().unwrap();
    assert_eq!((regarding.kind.as_deref(), regarding.name.as_deref()), (Some("Namespace"), Some("default")));
    let note = event.note.clone().unwrap();
    assert!(note.starts_with("hook spin, binding onStartup: limit-time: ") && note.contains("50ms"), "{note}");
    pipeline.operator.told("run failed", "spin", 10).await;
    assert_eq!(pipeline.failures("default").await.len(), 1, "the same failure is told once");
}

/// It fails on purpose, so that an Event of its own words stands in another namespace.
// mutant: crates/operator/src/app/events.rs: `Caller { permissions, ..hook.caller(RunId::new("event", 0), false) }` => `Caller::new(hook.spec.name.clone(), RunId::new("event", 0), permissions, false)`
#[tokio::test]
async fn a_tenants_hook_tells_of_its_failures_with_its_own_rights() {
    let pipeline = with_rbac_and(|options| options.grace_period = Duration::ZERO).await;
    let (shelf, installer) = (Shelf::new(), pipeline.operator.app.installer());
    // Another limit is another text, and so another Event.
    let spins = |time: &str, more: &str| hook(&format!("{{{}{more}}}", FAILS.replace("50ms", time)), &Deed::Spins);
    let elsewhere =
        spins("50ms", ", failureEvents: {regarding: {apiVersion: v1, kind: Namespace, name: x, namespace: default}}");
    let bundle = Installation { identity: account("prod"), ..shelf.bundle(&[("spin", &elsewhere)]) };
    installer.install(bundle.clone()).await.unwrap();
    let refused = "failures' Kubernetes Events cannot be written: ServiceAccount prod/hook may not create and patch \
                   events.events.k8s.io";
    let told = until("it is refused, or told", async || {
        let refused = !pipeline.operator.log.told(refused).is_empty();
        (refused || !pipeline.failures("default").await.is_empty()).then_some(refused)
    });
    assert!(told.await);
    assert_eq!(pipeline.failures("default").await.len(), 0);

    // With a right of its own, about the HookBundle, where its document names nothing.
    allow_events(&pipeline).await;
    let own = spins("60ms", "");
    installer.install(Installation { identity: account("prod"), ..shelf.bundle(&[("spin", &own)]) }).await.unwrap();
    let event = until("an Event", async || pipeline.failures("prod").await.pop()).await;
    let regarding = event.regarding.clone().unwrap();
    assert_eq!((regarding.kind.as_deref(), regarding.name.as_deref()), (Some("HookBundle"), Some("team")));
    assert_eq!(pipeline.failures("default").await.len(), 0);
}

async fn allow_events(pipeline: &Pipeline) {
    let (group, meta) = ("rbac.authorization.k8s.io", json!({"name": "events", "namespace": "prod"}));
    let api = format!("{group}/v1");
    let rules = json!([{"apiGroups": ["events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch"]}]);
    pipeline.apply(json!({"apiVersion": api, "kind": "Role", "metadata": meta, "rules": rules})).await;
    pipeline
        .apply(json!({"apiVersion": api, "kind": "RoleBinding", "metadata": meta,
            "roleRef": {"apiGroup": group, "kind": "Role", "name": "events"},
            "subjects": [{"kind": "ServiceAccount", "name": "hook", "namespace": "prod"}]}))
        .await;
}
