//! Two hooks for one kind: each would delete the children of the other one's.

use boathook_core::model::{HookName, HookPhase};
use serde_json::{Value, json};

use super::{child, cluster, current, gone, map, there, told, wish};
use crate::{
    pipeline::{
        bundles::{Shelf, state},
        fixture::{Operator, Pipeline},
        swap::put,
    },
    support::{guests::guest, until},
};

// mutant: crates/operator/src/app/hook_manager.rs: `self.services.claims.take(spec)?;` => `crate::app::claims::Claims::default().take(spec)?;`
#[tokio::test]
async fn the_second_hook_of_a_kind_is_refused_until_the_first_one_is_gone() {
    let hooks = [("wish", guest("wish")), ("wish2", guest("wish"))];
    let pipeline = Pipeline::on(cluster().await, &hooks, |_| ()).await;
    let operator = &pipeline.operator;
    let says =
        r#"reconcile binding "wishes" is about Wish.example.com, and the binding "wishes" of the hook wish reconciles"#;
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
    // When it is gone, one of the others takes its place.
    assert!(operator.app.quarantine(&HookName::new("wish").unwrap(), "it is not needed"));
    until("one hook of the bundle starts", async || {
        installer.install(bundle()).await.unwrap();
        (state(&installer, "wish").phase != HookPhase::Quarantined).then_some(())
    })
    .await;
    let held = state(&installer, "more");
    assert!(held.reason.contains("of the hook wish.team.prod"), "{}", held.reason);
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
