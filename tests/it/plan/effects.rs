//! What is reported about real writes: without a plan, with the state before.

use boathook_core::effect::Action;
use serde_json::json;

use super::Seen;
use crate::{
    pipeline::fixture::{Pipeline, config_map, guests},
    support::cluster::TestCluster,
};

#[tokio::test]
async fn each_write_tells_what_it_did() {
    let (seen, sink) = Seen::shared();
    let pipeline =
        Pipeline::on(TestCluster::start().await, &guests(["allkube"]), |options| options.effects = Some(sink)).await;
    pipeline.operator.ready().await;
    pipeline.create(config_map("start", ("test", "allkube"), json!({}))).await;
    pipeline.operator.told("run succeeded", "allkube", 1).await;
    let shown = seen.shown();
    let is_shown = |text: &str| assert!(shown.iter().any(|shown| shown.contains(text)), "no {text:?} in {shown:#?}");
    is_shown(
        "+ create v1 ConfigMap default/a\n  + metadata:\n  +   labels:\n  +     made-by: allkube\n  + data:\n  +   key: '1'\n",
    );
    is_shown("~ update v1 ConfigMap default/a\n  ~ data.key: '1' -> '4'\n");
    is_shown("! update v1 ConfigMap default/a: conflict: ");
    is_shown("~ patch v1 ConfigMap default/a\n  - data.json: '1'\n  + data.merge: '1'\n");
    is_shown("~ update v1 ConfigMap default/a\n  + data.jq: '1'\n");
    is_shown("  update v1 ConfigMap default/a: no change\n");
    is_shown(
        "  patch v1 ConfigMap default/missing: no change\n    (there is no such object, which is no failure here)\n",
    );
    is_shown("+ patch v1 ConfigMap default/applied\n");
    is_shown("+ spec.template.spec.containers[name=side]:\n");
    is_shown("~ patch apps/v1 Deployment default/web (scale)\n  ~ spec.replicas: 1 -> 2\n");
    is_shown("~ patch apps/v1 Deployment default/web (status)\n");
    is_shown("- delete v1 ConfigMap default/a\n");
    is_shown("- delete v1 ConfigMap default/applied\n");
    is_shown("! patch v1 ConfigMap default/b: not-found: ");
    let generated = seen.all().into_iter().find(|effect| effect.object.name.starts_with("gen-")).unwrap();
    assert!(generated.object.name.len() > 5, "the name that the server chose: {}", generated.object);
    assert_eq!(generated.action(), Action::Create);
}
