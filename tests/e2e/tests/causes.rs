//! What caused what: five hooks pass objects on, and the operator's account of it is compared with their own books.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, PostParams};
use serde_json::Value;
use tokio::process::Command;

use crate::harness::{Operator, Test, boathook, eventually_within, for_each};
use crate::objects::meta;

const HOOKS: [&str; 5] = ["relay-1", "relay-2", "relay-3", "relay-4", "relay-5"];
/// Objects at the same time. Each goes once around.
const ROUND: usize = 20;
/// Events in all, unless the environment says another number. Each write is one.
const EVENTS: &str = "BOATHOOK_E2E_EVENTS";

/// A write, as the hook that made it tells: the hook, its run, and the versions that it saw and made.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    hook: String,
    run: String,
    saw: String,
    made: String,
}

pub async fn every_write_is_linked_to_its_cause(test: Arc<Test>) {
    let cluster = test.own_cluster().await;
    // A socket's path has at most 107 bytes.
    let place = std::env::temp_dir().join(format!("boathook-e2e-{}-{:?}", std::process::id(), test.backend));
    let socket = place.join("admin.sock");
    let hooks: Vec<String> = HOOKS.iter().map(|name| format!("{name}=test/relay")).collect();
    let hooks: Vec<&str> = hooks.iter().map(String::as_str).collect();
    let flags = ["--admin-socket", socket.to_str().expect("a path")];
    let operator = Operator::start_with(test.dir(), &cluster.kubeconfig, &hooks, &flags).await;
    operator.ready().await;

    let wanted: usize = std::env::var(EVENTS).map_or(300, |text| text.parse().expect("a number of events"));
    let api = Api::<ConfigMap>::namespaced(cluster.client.clone(), "default");
    let mut linked = 0;
    for round in 0.. {
        if linked >= wanted {
            break;
        }
        let names: Vec<String> = (0..ROUND).map(|number| format!("relayed-{round}-{number}")).collect();
        for_each(names.clone(), ROUND, |name| {
            let api = api.clone();
            async move { create(&api, &name).await }
        })
        .await;
        let books = eventually_within(Duration::from_secs(60), "all objects went around", async || {
            let books = books(&operator);
            let left: Vec<_> = names.iter().filter(|name| books.get(*name).map_or(0, Vec::len) < HOOKS.len()).collect();
            if left.is_empty() { Ok(books) } else { Err(format!("{} did not, {} among them", left.len(), left[0])) }
        })
        .await;
        for name in &names {
            let book = &books[name];
            assert_eq!(book.iter().map(|entry| entry.hook.as_str()).collect::<Vec<_>>(), HOOKS, "{name}");
            assert_eq!(told(&socket, name).await, *book, "{name}");
            linked += book.len();
        }
    }
    operator.stop().await;
    let _ = std::fs::remove_dir_all(place);
}

async fn create(api: &Api<ConfigMap>, name: &str) {
    let data = [("holder", HOOKS[0].to_owned()), ("order", HOOKS.join(" ")), ("left", HOOKS.len().to_string())];
    let map = ConfigMap {
        metadata: meta(name, &[("test", "relay")]),
        data: Some(data.map(|(key, value)| (key.to_owned(), value)).into()),
        ..ConfigMap::default()
    };
    let created = api.create(&PostParams::default(), &map).await;
    created.unwrap_or_else(|error| panic!("create {name}: {error}"));
}

/// The hooks' books: the writes to each object, oldest first.
fn books(operator: &Operator) -> HashMap<String, Vec<Entry>> {
    let mut books: HashMap<String, Vec<Entry>> = HashMap::new();
    for line in operator.log().iter().filter(|line| line["target"] == "hook") {
        let Some(told) = line["message"].as_str().and_then(|text| serde_json::from_str::<Value>(text).ok()) else {
            continue;
        };
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        if let Some(name) = told["relay"].as_str() {
            let (saw, made) = (text(&told["saw"]), text(&told["made"]));
            let entry = Entry { hook: text(&line["hook"]), run: text(&line["run"]), saw, made };
            books.entry(name.to_owned()).or_default().push(entry);
        }
    }
    // The next hook may log its write before this one does.
    for book in books.values_mut() {
        book.sort_by_key(|entry| entry.made.parse::<u64>().unwrap_or_default());
    }
    books
}

/// The same, as the operator tells it: the chain of the last write.
async fn told(socket: &Path, name: &str) -> Vec<Entry> {
    let object = format!("configmap/default/{name}");
    let socket = socket.to_str().expect("a path");
    let arguments = ["why", &object, "-o", "json", "--socket", socket];
    let said = Command::new(boathook()).args(arguments).output().await.expect("run boathook");
    let view: Value = serde_json::from_slice(&said.stdout).unwrap_or_else(|error| panic!("{error}: {said:?}"));
    let chain = &view["chains"][0];
    assert!(chain["origin"].as_str().is_some_and(|origin| origin.starts_with("somebody else")), "{view:#}");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut steps: Vec<Entry> = chain["steps"]
        .as_array()
        .expect("steps")
        .iter()
        .map(|step| {
            assert_eq!(
                (step["certainty"].as_str(), step["possibly"].as_bool()),
                (Some("certain"), Some(false)),
                "{step:#}"
            );
            Entry {
                hook: text(&step["hook"]),
                run: text(&step["run"]),
                saw: text(&step["reason"]["resourceVersion"]),
                made: text(&step["resourceVersion"]),
            }
        })
        .collect();
    steps.reverse();
    steps
}
