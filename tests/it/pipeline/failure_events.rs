//! Failed runs, told of by Kubernetes Events.

use std::time::Duration;

use k8s_openapi::api::events::v1::Event;
use kube::{Api, api::ListParams};

use super::{
    fixture::Pipeline,
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
