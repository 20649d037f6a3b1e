//! Stage 2 on its own: filters, bindings, drivers.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod binding;
mod driver;
mod history;
mod hostile;
mod late;
mod semantics;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use boathook_core::{
    fair::Tenant,
    filter::{Applied, Binding},
    model::{
        BindingName, Content, HookName, KubernetesBinding, Object, QueueName, Resource, RetryPolicy, WatchEventKind,
    },
};

use boathook_sandbox::{FilterConfig, Filters, Program};

use crate::support;

fn filters() -> Filters {
    // Only hostile programs come near this.
    support::filters::filters(FilterConfig { cpu_time: Duration::from_secs(20), ..FilterConfig::default() })
}

async fn compile(filters: &Filters, program: &str) -> Program {
    filters.compile(&Tenant::hook("h"), program).await.unwrap()
}

fn hook() -> HookName {
    HookName::new("hook").unwrap()
}

fn spec(filter: Option<&str>) -> KubernetesBinding {
    KubernetesBinding {
        name: BindingName::new("pods"),
        role: None,
        api_version: None,
        kind: "Pod".into(),
        names: vec![],
        namespaces: vec![],
        namespace_labels: None,
        label_selector: None,
        field_selector: None,
        events: vec![WatchEventKind::Added, WatchEventKind::Modified, WatchEventKind::Deleted],
        on_synchronization: true,
        wait_for_synchronization: true,
        resynchronization_period: None,
        ignore_own_writes: false,
        debounce: std::time::Duration::ZERO,
        previous_object: false,
        content: Content::Full,
        jq_filter: filter.map(Arc::from),
        group: None,
        include_snapshots_from: Arc::new([]),
        queue: QueueName::Own(hook()),
        allow_failure: false,
        retry: RetryPolicy::default(),
        may_watch: Default::default(),
    }
}

/// A binding with sources numbered from 0, which goes live when all are listed.
fn binding(spec: KubernetesBinding, sources: usize) -> Binding {
    let mut binding = waiting(spec, sources);
    assert_eq!(binding.admit(Instant::now()), Applied::default());
    binding
}

/// One that was not admitted.
fn waiting(spec: KubernetesBinding, sources: usize) -> Binding {
    let mut binding = Binding::new(hook(), spec);
    binding.served(pods());
    (0..sources).for_each(|source| binding.add_source(source));
    assert_eq!(binding.sources_complete(Instant::now()), Applied::default());
    binding
}

fn pods() -> Arc<Resource> {
    Arc::new(Resource::of("v1", "Pod", "pods", true))
}

fn pod(json: &serde_json::Value) -> Arc<Object> {
    Arc::new(Object::from_json(&json.to_string(), &"v1".into(), &"Pod".into()).unwrap())
}

/// Waits until something is so; fails after a while, which is long because machines are slow.
async fn eventually(what: &str, mut so: impl FnMut() -> bool) {
    let wait = async {
        while !so() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), wait).await.unwrap_or_else(|_| panic!("never: {what}"));
}
