//! Two hooks for one kind: each would delete the children of the other one's.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use boathook_core::model::HookPhase;
use kube::{Client, client::Body};
use serde_json::{Value, json};

use super::{child, cluster, current, gone, map, there, told, wish};
use crate::{
    pipeline::{
        bundles::{Shelf, name_of, state, team},
        fixture::{Operator, Pipeline},
        swap::put,
    },
    support::{cluster::client, guests::guest, until},
};

// mutant: crates/operator/src/app/hook_manager.rs: `self.services.claims.take(spec)?;` => `crate::app::claims::Claims::default().take(spec)?;`
#[tokio::test]
async fn the_second_hook_of_a_kind_is_refused_until_the_first_one_is_gone() {
    let hooks = [("wish", guest("wish")), ("wish2", guest("wish"))];
    let pipeline = Pipeline::on(cluster().await, &hooks, |_| ()).await;
    let operator = &pipeline.operator;
    let says = r#"reconcile binding "wishes" is for Wish.example.com, but the binding "wishes" of the hook wish already reconciles"#;
    let lines = operator.log.told("hook quarantined: it does not run, others do");
    let refused = |line: &Value| line["file"] == "wish2.wasm" && line["reason"].as_str().unwrap().contains(says);
    assert!(lines.iter().any(refused), "{lines:?}");
    let (shelf, installer) = (Shelf::new(), operator.app.installer());
    let (wishes, bundle) = (guest("wish"), || shelf.bundle(&[("wish", &guest("wish")), ("more", &guest("wish"))]));
    installer.install(bundle()).await.unwrap();
    for hook in ["wish", "more"] {
        let held = state(&installer, hook);
        assert!(held.phase == HookPhase::Quarantined && held.reason.contains(says), "{held:?}");
    }
    // The first one works, and so does its next version.
    operator.app.swap(put(operator, "wish", &wishes)).await.unwrap();
    let parent = wish("web", json!({"children": [child("a", "1")]}));
    pipeline.create(parent.clone()).await;
    current(&pipeline.cluster, &parent, 1).await;
    assert!(there(&pipeline.cluster, &map("a")).await["data"]["value"] == "1");
    // When it is gone, the one that waited first takes its place, and nobody had to ask for that.
    assert!(operator.app.quarantine(&name_of("wish"), "it is not needed"));
    operator.until("the next one starts", |operator| operator.app.hook(&name_of("wish2")).map(drop)).await;
    assert_eq!(state(&installer, "wish").phase, HookPhase::Quarantined);
    assert!(operator.app.quarantine(&name_of("wish2"), "it is not needed"));
    until("one hook of the bundle starts", async || {
        (state(&installer, "wish").phase == HookPhase::Ready).then_some(())
    })
    .await;
    // It is no other version of the hook for the bundle.
    let installed = installer.install(bundle()).await.unwrap();
    assert_eq!((installed.kept, installed.held), (vec![name_of("wish")], vec![name_of("more")]));
    let held = state(&installer, "more");
    assert!(held.reason.contains("of the hook wish.team.prod"), "{}", held.reason);
    // An admin took the first one out, so it does not come back.
    assert!(installer.remove(&team()).await);
    let next = wish("next", json!({"children": [child("b", "1")]}));
    pipeline.create(next.clone()).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(pipeline.get(map("b")).await.is_none());
    operator.app.release("wish").await.unwrap();
    current(&pipeline.cluster, &next, 1).await;
}

/// A client that lets writes to ConfigMaps through when the gate is open.
fn gated(url: &str, open: &Arc<AtomicBool>) -> Client {
    let (inner, open) = (client(url), open.clone());
    let send = move |request: http::Request<Body>| {
        let (inner, open) = (inner.clone(), open.clone());
        async move {
            let waits = request.method() == http::Method::PATCH && request.uri().path().contains("/configmaps/");
            while waits && !open.load(Ordering::SeqCst) {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            inner.send(request).await
        }
    };
    Client::new(tower::service_fn(send), "default")
}

/// The hook gets another name in the bundle. Two hooks must not reconcile one object at the same time.
// mutant: crates/operator/src/app/bundles/mod.rs: `|name| leaving.contains(name), whole)` => `|_| false, whole)`
// mutant: crates/operator/src/app/bundles/mod.rs: `let leaving: Vec<_> = left.iter()` => `let leaving: Vec<_> = left.iter().take(0)`
#[tokio::test]
async fn a_kind_moves_between_the_hooks_of_a_bundle() {
    let (cluster, open) = (cluster().await, Arc::new(AtomicBool::new(false)));
    let operator = Operator::start(gated(&cluster.cluster.url(), &open), &[], |_| ()).await;
    let (shelf, installer, hook) = (Shelf::new(), operator.app.installer(), guest("wish"));
    installer.install(shelf.bundle(&[("first", &hook)])).await.unwrap();
    operator.ready().await;
    let parent = wish("web", json!({"children": [child("a", "1"), child("b", "1")]}));
    cluster.admin.create(&parent).await.unwrap();
    operator.said("first.team.prod", "web").await;
    let second = name_of("second.team.prod");
    let (installed, ()) = tokio::join!(installer.install(shelf.bundle(&[("second", &hook)])), async {
        // The first one still writes.
        tokio::time::sleep(Duration::from_millis(700)).await;
        assert!(operator.app.hook(&second).is_none());
        open.store(true, Ordering::SeqCst);
    });
    let installed = installed.unwrap();
    assert_eq!((installed.started, installed.removed), (vec![name_of("second")], vec![name_of("first")]));
    // Its own objects work, and those of the first one when they are handed over.
    let own = wish("own", json!({"children": [child("c", "1")]}));
    cluster.admin.create(&own).await.unwrap();
    current(&cluster, &own, 1).await;
    told(&cluster, &parent, "Stalled", "True", "OtherManager").await;
    let mut handed = wish("web", json!({"children": [child("a", "2")]}));
    handed["metadata"]["annotations"] = json!({"boathook.dev/manager": "boathook.dev/second.team.prod"});
    cluster.admin.apply(&handed).await.unwrap();
    gone(&cluster, &map("b")).await;
    current(&cluster, &parent, 2).await;
    drop(installer);
}

/// After a restart, the hook that was refused may load first. It knows nothing of the other one's children.
// mutant: crates/operator/src/app/reconcile/mod.rs: `if let Stage::OtherTool(_) | Stage::OtherManager { .. } = entry.with(|set| set.stage())` => `if false`
//     with: crates/applyset/src/id.rs: `.filter(|known| *known != manager)` => `.filter(|_| false)`
#[tokio::test]
async fn a_hook_of_another_name_leaves_children_alone_until_they_are_handed_over() {
    let pipeline = Pipeline::on(cluster().await, &[("first", guest("wish"))], |_| ()).await;
    pipeline.operator.ready().await;
    let children = |names: &[&str]| json!({"children": names.iter().map(|name| child(name, "1")).collect::<Vec<_>>()});
    let parent = wish("web", children(&["a", "b", "c"]));
    pipeline.create(parent.clone()).await;
    current(&pipeline.cluster, &parent, 1).await;
    let Pipeline { cluster, operator } = pipeline;
    operator.shutdown().await;
    let operator = Operator::start(cluster.admin.client.clone(), &[("second", guest("wish"))], |_| ()).await;
    operator.ready().await;
    cluster.admin.apply(&wish("web", children(&["a", "b"]))).await.unwrap();
    let message = told(&cluster, &parent, "Stalled", "True", "OtherManager").await;
    let manager = "boathook.dev/manager";
    let says = format!(
        "boathook.dev/first writes this set: if it no longer does, set the annotation {manager} to boathook.dev/second"
    );
    assert_eq!(message, says);
    // Parents of its own work.
    let own = wish("own", children(&["d"]));
    cluster.admin.create(&own).await.unwrap();
    current(&cluster, &own, 1).await;
    there(&cluster, &map("c")).await;
    assert_eq!(operator.log.said("second").iter().filter(|said| said.contains("web")).count(), 0, "it was not asked");
    let mut handed = wish("web", Value::Null);
    handed.as_object_mut().unwrap().remove("spec");
    handed["metadata"]["annotations"] = json!({manager: "boathook.dev/second"});
    cluster.admin.apply(&handed).await.unwrap();
    gone(&cluster, &map("c")).await;
    there(&cluster, &map("b")).await;
}
