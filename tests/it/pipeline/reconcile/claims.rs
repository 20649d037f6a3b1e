//! Two hooks for one kind: each would delete the children of the other one's.

use boathook_core::model::{HookName, HookPhase};
use serde_json::{Value, json};

use super::{child, cluster, current, map, there, wish};
use crate::{
    pipeline::{
        bundles::{Shelf, state},
        fixture::Pipeline,
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
