//! Objects of any form, from the wire to a hook's binding: pages of lists and lines of watches that hold them, filters,
//! snapshots, and what a write is shown as. Whatever comes, the next object is heard of; and what is read is what a plain
//! reading of the JSON finds there.
#![no_main]

use std::{
    convert::Infallible,
    sync::{
        Arc, LazyLock,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use boathook_core::{effect::{self, Effect, Ending, State, Style}, fair::Tenant, filter::{Binding, Projection}, hooks::parse, model::{Cause, Change, HookName, HookSpec, Object, ObjectRef, Resource, RunId}};
use boathook_sandbox::{Program, Sandbox, SandboxConfig};
use boathook_kube::watch::{Observer, Selection, StreamConfig, Streams, WatchErrorKind};
use futures::StreamExt as _;
use kube::client::Body;
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, value::RawValue};
use tokio::time::timeout;
use tower::service_fn;

/// A binding of each content, with filters.
const DOCUMENT: &str = r#"
configVersion: v1
kubernetes:
- {name: full, apiVersion: v1, kind: ConfigMap, previousObject: true}
- {name: metadata, apiVersion: v1, kind: ConfigMap, content: metadata}
- {name: filtered, apiVersion: v1, kind: ConfigMap, content: none, jqFilter: '{labels: .metadata.labels, data: .data}'}
- {name: builtins, apiVersion: v1, kind: ConfigMap, jqFilter: '{name: (.metadata.name | ascii_upcase),
   n: (.data | length), entries: (.metadata.labels | to_entries), text: (.metadata.annotations["x/y"] | tojson | @base64)}'}
"#;

static SPEC: LazyLock<HookSpec> =
    LazyLock::new(|| parse(&HookName::new("fuzz").unwrap(), DOCUMENT, &|_| Ok(())).unwrap());
static PROGRAMS: LazyLock<Vec<Option<Program>>> = LazyLock::new(|| {
    let sandbox = Sandbox::new(SandboxConfig { pooling: false, ..SandboxConfig::default() }).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let (filters, tenant) = (sandbox.filters().clone(), Tenant::hook("fuzz"));
    let compile = |text| runtime.block_on(filters.compile(&tenant, text)).unwrap();
    SPEC.kubernetes.iter().map(|binding| binding.jq_filter.as_deref().map(compile)).collect()
});

/// The objects that follow the input.
const GOOD: &str = r#"{"metadata":{"name":"good","namespace":"n","uid":"g","resourceVersion":"9"},"data":{"a":"b"}}"#;
const AFTER: &str = r#"{"metadata":{"name":"after","namespace":"n","uid":"a","resourceVersion":"10"}}"#;

fuzz_target!(|input: &[u8]| {
    // Time stands still while there is something to do, and passes at once when there is not.
    // Outside of the other runtime, the first time.
    LazyLock::force(&PROGRAMS);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let changes = heard(input).await;
        bind(&changes).await;
    });
    if let Ok(text) = std::str::from_utf8(input) {
        read(text);
        shown(text);
    }
});

/// What a subscriber hears of a server that sends the input, until it hears of the last object.
async fn heard(input: &[u8]) -> Vec<Change> {
    let (pages, watches) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let one_line: Vec<u8> = input.iter().map(|byte| if *byte == b'\n' { b' ' } else { *byte }).collect();
    let input = input.to_vec();
    let server = service_fn(move |request: http::Request<Body>| {
        let watches_on = request.uri().query().is_some_and(|query| query.contains("watch="));
        let asked = if watches_on { &watches } else { &pages }.fetch_add(1, Ordering::Relaxed);
        let body = match (watches_on, asked) {
            (_, 0) if watches_on => lines(&one_line),
            (_, 0) => input.clone(),
            (true, 1) => [input.as_slice(), b"\n"].concat(),
            (false, 1) => page(&one_line),
            (true, _) => lines(AFTER.as_bytes()),
            (false, _) => page(GOOD.as_bytes()),
        };
        async move { Ok::<_, Infallible>(http::Response::new(Body::from(body))) }
    });
    let config = StreamConfig { streaming_lists: false, ..StreamConfig::default() };
    let streams = Streams::new(kube::Client::new(server, "default"), config, Arc::new(Watchful));
    let resource = Resource {
        group: String::new(),
        version: "v1".into(),
        kind: "ConfigMap".into(),
        plural: "configmaps".into(),
        namespaced: true,
    };
    let mut subscription = streams.subscribe(Selection::of(resource.into()));
    let mut changes = Vec::new();
    let last = |change: &Change| matches!(change, Change::Upsert(object) if &*object.key.name == "after");
    let until_last = async {
        while !changes.last().is_some_and(last) {
            changes.push(subscription.next().await.expect("the stream lives"));
        }
    };
    timeout(Duration::from_secs(86_400), until_last).await.expect("the last object is heard of");
    changes
}

fn page(item: &[u8]) -> Vec<u8> {
    [br#"{"metadata":{"resourceVersion":"5"},"items":["#, item, b"]}"].concat()
}

fn lines(object: &[u8]) -> Vec<u8> {
    ["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR", "MODIFIED"]
        .map(|kind| [format!(r#"{{"type":"{kind}","object":"#).as_bytes(), object, b"}\n"].concat())
        .concat()
}

/// A watch that died is started again, so that nothing else would show it.
struct Watchful;

impl Observer for Watchful {
    fn on_list(&self, _: &Selection, _: u64, _: Duration) {}

    fn on_watch_error(&self, _: &Selection, _: WatchErrorKind, _: &str, _: Duration) {}

    fn on_rebuilt(&self, _: &Selection, _: Duration) {}

    fn on_invalid_object(&self, _: &Selection, _: &str) {}

    fn on_unserved(&self, _: &Selection) {}

    fn on_died(&self, _: &Selection, text: &str) {
        panic!("a watch died: {text}");
    }

    fn on_lagging(&self, _: &Selection) {}
}

/// Each binding gets all changes, and what it delivers is JSON.
async fn bind(changes: &[Change]) {
    for (spec, program) in SPEC.kubernetes.iter().zip(PROGRAMS.iter()) {
        let (now, mut triggers) = (Instant::now(), Vec::new());
        let mut binding = Binding::new(SPEC.name.clone(), spec.clone());
        binding.add_source(0);
        binding.sources_complete(now);
        binding.admit(now);
        for change in changes {
            let projection = match (change, program) {
                (Change::Upsert(object), Some(program)) if !binding.is_known(object) => {
                    match program.run(&object.json).await {
                        Ok(outputs) => Projection::Result(outputs.combined()),
                        Err(error) => Projection::Failed(error.to_string()),
                    }
                }
                _ => Projection::None,
            };
            triggers.extend(binding.apply(0, change, projection, now).triggers);
        }
        let events = triggers.iter().filter_map(|trigger| match &trigger.cause {
            Cause::Event(event) => Some([
                event.item.object.as_deref(),
                event.item.filter_result.as_deref(),
                event.previous_object.as_deref(),
                event.previous_filter_result.as_deref(),
            ]),
            _ => None,
        });
        let items = binding.items().values().map(|item| [item.object.as_deref(), item.filter_result.as_deref()]);
        for text in events.flatten().chain(items.flatten()).flatten() {
            is_json(text);
        }
    }
}

fn is_json(text: &str) {
    let read = serde_json::from_str::<&RawValue>(text);
    assert!(read.is_ok(), "{read:?}: {text}");
}

/// The object is what a plain reading finds, without managed fields.
fn read(text: &str) {
    let Ok(object) = Object::from_json(text, &"v1".into(), &"ConfigMap".into()) else { return };
    is_json(&object.json);
    // It may be nested too deep, or have numbers that are too large, for a plain reading.
    let Ok(mut plain) = serde_json::from_str::<Value>(text) else { return };
    assert_eq!(plain["metadata"]["name"], *object.key.name);
    assert_eq!(plain["metadata"]["namespace"].as_str(), object.key.namespace.as_deref());
    plain["apiVersion"] = "v1".into();
    plain["kind"] = "ConfigMap".into();
    if let Some(metadata) = plain["metadata"].as_object_mut() {
        metadata.remove("managedFields");
    }
    assert_eq!(serde_json::from_str::<Value>(&object.json).unwrap(), plain);
}

/// A write that makes one of the other, both ways, for people and for programs.
fn shown(text: &str) {
    let (one, other) = (State::read(text), State::read(GOOD));
    for (before, after) in
        [(one.clone(), other.clone()), (other, one.clone()), (State::Absent, one.clone()), (one, State::Absent)]
    {
        let effect = Effect {
            hook: SPEC.name.clone(),
            run: RunId::new("fuzz", 1),
            verb: "patch",
            object: ObjectRef { api_version: "v1".into(), kind: "Secret".into(), namespace: None, name: "x".into() },
            subresource: None,
            before,
            after,
            ending: Ending::Done,
            note: None,
            dry_run: false,
        };
        let _ = (effect.action(), effect::render(&effect, Style::default()), effect::json(&effect, false));
    }
}
