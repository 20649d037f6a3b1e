//! What parents refer to, and the Events of answers.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::body::Body;
use boathook_core::model::{HookName, HookPhase, Installation};
use futures::StreamExt as _;
use http_body_util::BodyExt as _;
use k8s_openapi::api::events::v1::Event;
use kube::{Api, Client, api::ListParams};
use serde_json::{Value, json};
use tokio::sync::watch;

use super::{child, cluster, current, definition, map, map_in, wish};
use crate::{
    pipeline::{
        bundles::{Shelf, state},
        fixture::{Operator, Pipeline, missing},
        identity::{account, with_rbac},
    },
    support::{
        cluster::{TestCluster, client},
        guests::guest,
        until,
    },
};

async fn start() -> Pipeline {
    let cluster = cluster().await;
    for name in ["infra", "other"] {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        cluster.admin.create(&namespace).await.unwrap();
    }
    let pipeline = Pipeline::on(cluster, &[("farewell", guest("farewell"))], |_| ()).await;
    pipeline.operator.ready().await;
    pipeline
}

fn secret(namespace: &str, name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": namespace}})
}

/// Waits until the hook saw exactly these related objects.
async fn sees(cluster: &TestCluster, parent: &Value, related: &[&str]) {
    until(&format!("{} sees {related:?}", parent["metadata"]["name"]), async || {
        let found = cluster.admin.get(parent).await.unwrap()?;
        (found["status"]["related"] == json!(related)).then_some(())
    })
    .await;
}

fn said(pipeline: &Pipeline, line: &str) -> usize {
    pipeline.operator.log.said("farewell").iter().filter(|said| *said == line).count()
}

// mutant: crates/operator/src/app/reconcile/sets.rs: `for wake in self.reconciler.referring(&self.informer, Some(&event.item.key)) {` => `for wake in Vec::<Trigger>::new() {`
#[tokio::test]
async fn a_change_of_what_it_refers_to_wakes_a_parent_and_no_other() {
    let pipeline = start().await;
    let (one, two) = (wish("one", json!({"secret": "a", "shared": "plan"})), wish("two", json!({"secret": "b"})));
    for parent in [&one, &two] {
        pipeline.create(parent.clone()).await;
        sees(&pipeline.cluster, parent, &[]).await;
    }
    // Its own status was an event, too.
    tokio::time::sleep(Duration::from_millis(500)).await;
    let asked = said(&pipeline, "reconcile two");
    pipeline.create(secret("default", "a")).await;
    sees(&pipeline.cluster, &one, &["secret default/a"]).await;
    pipeline.create(map_in("infra", "plan")).await;
    sees(&pipeline.cluster, &one, &["secret default/a", "shared infra/plan"]).await;
    // Another namespace, and another name.
    for object in [map_in("default", "plan"), map_in("infra", "other"), secret("other", "b")] {
        pipeline.create(object).await;
    }
    pipeline.delete(secret("default", "a")).await;
    sees(&pipeline.cluster, &one, &["shared infra/plan"]).await;
    assert_eq!(said(&pipeline, "reconcile two"), asked);
    // Both refer to the same, and one of them to something else than before.
    pipeline.apply(wish("one", json!({"secret": "b"}))).await;
    pipeline.create(secret("default", "b")).await;
    sees(&pipeline.cluster, &two, &["secret default/b"]).await;
    sees(&pipeline.cluster, &one, &["secret default/b", "shared infra/plan"]).await;
}

/// Each change of an object would be a run of each parent that refers to it.
// mutant: crates/operator/src/app/reconcile/sets.rs: `let waits = !self.state().queued.insert(key.clone());` => `let waits = false;`
#[tokio::test]
async fn many_changes_of_what_is_related_are_one_run_of_each_parent() {
    let pipeline = start().await;
    let parents = ["one", "two"].map(|name| wish(name, json!({"secret": "a"})));
    pipeline.create(secret("default", "a")).await;
    for parent in &parents {
        pipeline.create(parent.clone()).await;
        sees(&pipeline.cluster, parent, &["secret default/a"]).await;
    }
    // Their own statuses were events, too.
    tokio::time::sleep(Duration::from_millis(500)).await;
    let (operator, queue) = (&pipeline.operator, pipeline.operator.app.queue());
    let waiting = |_: &Operator| queue.stats().queues.iter().map(|queue| queue.length).sum::<usize>();
    let asked = || ["one", "two"].map(|name| said(&pipeline, &format!("reconcile {name}")));
    let before = asked();
    assert!(queue.pause(&HookName::new("farewell").unwrap()));
    for n in 0..5 {
        let mut changed = secret("default", "a");
        changed["metadata"]["labels"] = json!({"n": n.to_string()});
        pipeline.apply(changed).await;
    }
    operator.until("they wait", |operator| (waiting(operator) > 0).then_some(())).await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(waiting(operator), 2);
    assert!(queue.resume(&HookName::new("farewell").unwrap()));
    operator.until("they run", |operator| (waiting(operator) == 0).then_some(())).await;
    operator.until("both were asked", |_| (asked() == before.map(|count| count + 1)).then_some(())).await;
    // The next change counts again.
    pipeline.delete(secret("default", "a")).await;
    for parent in &parents {
        sees(&pipeline.cluster, parent, &[]).await;
    }
}

#[tokio::test]
async fn a_selector_is_for_the_parents_of_a_namespace() {
    let pipeline = start().await;
    let elsewhere = json!({"apiVersion": "example.com/v1", "kind": "Wish",
        "metadata": {"name": "far", "namespace": "other"}, "spec": {}});
    let parent = wish("near", json!({}));
    for parent in [&parent, &elsewhere] {
        pipeline.create(parent.clone()).await;
        current(&pipeline.cluster, parent, 1).await;
    }
    let account = |name: &str, label: &str| {
        let metadata = json!({"name": name, "namespace": "default", "labels": {"wish": label}});
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})
    };
    for (name, label) in [("b", "true"), ("a", "true"), ("c", "false")] {
        pipeline.create(account(name, label)).await;
    }
    sees(&pipeline.cluster, &parent, &["accounts default/a", "accounts default/b"]).await;
    pipeline.apply(account("b", "false")).await;
    sees(&pipeline.cluster, &parent, &["accounts default/a"]).await;
    sees(&pipeline.cluster, &elsewhere, &[]).await;
}

/// Kyverno CVE-2026-22039: a name in a custom resource leads to no other namespace.
// mutant: crates/core/src/model/reconcile.rs: `(Some(object), Some(namespace)) => object == namespace,` => `(Some(_), Some(_)) => true,`
//     with: crates/operator/src/app/reconcile/ask.rs: `let namespace = entry.namespace.as_deref().or(own).map(Arc::<str>::from);` => `let namespace = Some(Arc::<str>::from("other")).filter(|_| own.is_some());`
#[tokio::test]
async fn cve_2026_22039_a_reference_leads_to_no_other_namespace() {
    let pipeline = start().await;
    for object in [secret("other", "key"), secret("infra", "key"), map_in("other", "plan"), map_in("infra", "plan")] {
        pipeline.create(object).await;
    }
    for (name, spec) in [("name", "key"), ("path", "other/key"), ("up", "../other/key")] {
        let parent = wish(name, json!({"secret": spec, "shared": "plan"}));
        pipeline.create(parent.clone()).await;
        // Only the namespace that the document names, and only for what it names there.
        sees(&pipeline.cluster, &parent, &["shared infra/plan"]).await;
    }
}

/// The operator may read Secrets, and the tenant may not.
// mutant: crates/operator/src/app/service_account.rs: `let Some(identity) = as_identity.as_deref() else { return Ok(()) };` => `let Some(identity) = as_identity.as_deref().filter(|_| false) else { return Ok(()) };`
#[tokio::test]
async fn a_tenant_refers_to_what_its_service_account_may_read() {
    let pipeline = with_rbac().await;
    pipeline.create(definition("Wish")).await;
    let (shelf, installer) = (Shelf::new(), pipeline.operator.app.installer());
    let namespaced =
        Installation { confined_to: Some("prod".to_owned()), ..shelf.bundle(&[("farewell", &guest("farewell"))]) };
    // `infra` is out of its reach, whatever its rights are.
    installer.install(namespaced).await.unwrap();
    let held = state(&installer, "farewell");
    assert!(held.phase == HookPhase::Quarantined && held.reason.contains("infra"), "{held:?}");
    // Everything but Secrets.
    let rule =
        |groups: &str, resources: &[&str]| json!({"apiGroups": [groups], "resources": resources, "verbs": ["*"]});
    let mut rules = vec![
        rule("example.com", &["wishes", "wishes/status"]),
        rule("", &["configmaps", "serviceaccounts"]),
        rule("events.k8s.io", &["events"]),
    ];
    allow(&pipeline, &rules).await;
    let own = || Installation { identity: account("prod"), ..shelf.bundle(&[("farewell", &guest("farewell"))]) };
    installer.install(own()).await.unwrap();
    let held = state(&installer, "farewell");
    assert_eq!(held.phase, HookPhase::Forbidden);
    assert!(held.reason.contains("ServiceAccount prod/hook may not list, watch secrets"), "{held:?}");
    rules.push(rule("", &["secrets"]));
    allow(&pipeline, &rules).await;
    until("it may run", async || {
        installer.install(own()).await.unwrap();
        (state(&installer, "farewell").phase != HookPhase::Forbidden).then_some(())
    })
    .await;
    let parent = json!({"apiVersion": "example.com/v1", "kind": "Wish", "metadata": {"name": "web", "namespace": "prod"},
        "spec": {"secret": "key"}});
    for object in [secret("prod", "key"), parent.clone()] {
        pipeline.create(object).await;
    }
    sees(&pipeline.cluster, &parent, &["secret prod/key"]).await;
}

/// Lets the ServiceAccount `prod/hook` do this in all namespaces.
async fn allow(pipeline: &Pipeline, rules: &[Value]) {
    let (group, metadata) = ("rbac.authorization.k8s.io", json!({"name": "hook"}));
    let api = format!("{group}/v1");
    pipeline.apply(json!({"apiVersion": api, "kind": "ClusterRole", "metadata": metadata, "rules": rules})).await;
    let binding = json!({"apiVersion": api, "kind": "ClusterRoleBinding", "metadata": metadata,
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "hook"},
        "subjects": [{"kind": "ServiceAccount", "name": "hook", "namespace": "prod"}]});
    pipeline.apply(binding).await;
}

/// Nothing is reconciled before everything that is declared was listed.
// mutant: crates/core/src/model/reconcile.rs: `let parents = KubernetesBinding { include_snapshots_from: self.inputs(), ..parents };` => ``
//     with: crates/operator/src/app/reconcile/sets.rs: `snapshots: self.inputs.clone(),` => `snapshots: self.binding.include_snapshots_from.clone(),`
#[tokio::test]
async fn nothing_is_reconciled_before_what_is_related_was_listed() {
    let cluster = cluster().await;
    let parent = wish("web", json!({"secret": "a", "children": [child("a", "1")]}));
    for object in [&parent, &secret("default", "a")] {
        cluster.admin.create(object).await.unwrap();
    }
    let (blind, refused) = (watch::Sender::new(true), Arc::default());
    let hooks = [("farewell", guest("farewell"))];
    let operator = Operator::start(without_secrets(&cluster.cluster.url(), &blind, &refused), &hooks, |_| ()).await;
    let pending = "binding wishes/related/secret is pending";
    operator
        .until("the others do not wait", |operator| {
            missing(&operator.app.readiness(), "farewell").contains(pending).then_some(())
        })
        .await;
    // Without the Secret, the hook would take it for one that does not exist.
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(operator.log.said("farewell"), [""; 0]);
    assert_eq!(cluster.admin.get(&map("a")).await.unwrap(), None);
    blind.send_replace(false);
    sees(&cluster, &parent, &["secret default/a"]).await;
    assert!(cluster.admin.get(&map("a")).await.unwrap().is_some());
}

/// What may not be listed any more is not taken for what does not exist: nothing is deleted because of it.
#[tokio::test]
async fn what_may_not_be_listed_any_more_stays_known() {
    let cluster = cluster().await;
    let parent = wish("web", json!({"secret": "a", "children": [child("a", "1"), child("b", "1")]}));
    for object in [&parent, &secret("default", "a")] {
        cluster.admin.create(object).await.unwrap();
    }
    let (blind, refused) = (watch::Sender::new(false), Arc::<AtomicUsize>::default());
    let hooks = [("farewell", guest("farewell"))];
    let operator = Operator::start(without_secrets(&cluster.cluster.url(), &blind, &refused), &hooks, |_| ()).await;
    sees(&cluster, &parent, &["secret default/a"]).await;
    // The watch breaks, and neither a list nor another watch is allowed.
    blind.send_replace(true);
    until("it was refused", async || (refused.load(Ordering::SeqCst) > 0).then_some(())).await;
    cluster.admin.delete(&secret("default", "a")).await.unwrap();
    cluster.admin.apply(&wish("web", json!({"children": [child("a", "2"), child("b", "1")]}))).await.unwrap();
    let found = current(&cluster, &parent, 2).await;
    assert_eq!(found["status"]["related"], json!(["secret default/a"]), "as it was known last");
    for name in ["a", "b"] {
        assert!(cluster.admin.get(&map(name)).await.unwrap().is_some());
    }
    blind.send_replace(false);
    sees(&cluster, &parent, &[]).await;
    drop(operator);
}

/// A client that may not read Secrets for now, and whose watches of them end when that begins.
fn without_secrets(url: &str, blind: &watch::Sender<bool>, refused: &Arc<AtomicUsize>) -> Client {
    let (inner, blind, refused) = (client(url), blind.subscribe(), refused.clone());
    let send = move |request: http::Request<kube::client::Body>| {
        let (inner, mut blind, refused) = (inner.clone(), blind.clone(), refused.clone());
        async move {
            let is_about = request.uri().path().contains("/secrets");
            if is_about && *blind.borrow() {
                refused.fetch_add(1, Ordering::SeqCst);
                let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403,
                    "message": "secrets is forbidden"});
                return Ok(http::Response::builder().status(403).body(Body::from(status.to_string())).unwrap());
            }
            let (head, body) = inner.send(request).await?.into_parts();
            let end = async move {
                if !is_about || blind.wait_for(|blind| *blind).await.is_err() {
                    std::future::pending::<()>().await;
                }
            };
            let shown = body.into_data_stream().take_until(Box::pin(end));
            Ok::<_, kube::Error>(http::Response::from_parts(head, Body::from_stream(shown)))
        }
    };
    Client::new(tower::service_fn(send), "default")
}

impl Pipeline {
    async fn events_of(&self, parent: &Value) -> Vec<Event> {
        let uid = self.get(parent.clone()).await.unwrap()["metadata"]["uid"].as_str().unwrap().to_owned();
        let events: Api<Event> = Api::namespaced(self.cluster.admin.client.clone(), "default");
        let mut found = events.list(&ListParams::default()).await.unwrap().items;
        found.retain(|event| event.regarding.as_ref().and_then(|about| about.uid.as_ref()) == Some(&uid));
        found
    }
}

#[tokio::test]
async fn events_are_about_the_parent_and_equal_ones_are_one() {
    let pipeline = start().await;
    let said = |reason: &str, of: &str| json!({"type": of, "reason": reason, "message": format!("it is {reason}")});
    let parent = wish("web", json!({"events": [said("Blue", "Normal"), said("Wet", "Warning")]}));
    pipeline.create(parent.clone()).await;
    current(&pipeline.cluster, &parent, 1).await;
    let mut events = until("both Events are there", async || {
        let events = pipeline.events_of(&parent).await;
        (events.len() == 2).then_some(events)
    })
    .await;
    events.sort_by_key(|event| event.reason.clone());
    let [blue, wet] = &events[..] else { panic!("{events:?}") };
    assert_eq!((blue.type_.as_deref(), wet.type_.as_deref()), (Some("Normal"), Some("Warning")));
    assert_eq!(blue.note.as_deref(), Some("it is Blue"));
    // The same again is no other Event.
    pipeline
        .apply(wish("web", json!({"secret": "x", "events": [said("Blue", "Normal"), said("New", "Normal")]})))
        .await;
    until("the third one is there", async || (pipeline.events_of(&parent).await.len() == 3).then_some(())).await;
}
