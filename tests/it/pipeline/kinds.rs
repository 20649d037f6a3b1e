//! A kind that the cluster does not know yet: its binding waits, and nothing else does.

use serde_json::{Value, json};

use super::{
    fixture::{Operator, Pipeline, config_map, missing},
    tell::{change, tell, told_of},
    written::{Deed, hook},
};
use crate::support::cluster::TestCluster;

const ONLY_WIDGETS: &str = "configVersion: v1\nkubernetes: [{name: widgets, apiVersion: example.com/v1, kind: Widget}]";
const BOTH: &str = "
configVersion: v1
kubernetes:
- {name: widgets, kind: widgets}
- {name: maps, apiVersion: v1, kind: ConfigMap, labelSelector: {matchLabels: {wakes: both}}}
";
const INCLUDES: &str = "
configVersion: v1
kubernetes:
- {name: widgets, kind: Widget, executeHookOnSynchronization: false}
- {name: maps, apiVersion: v1, kind: ConfigMap, includeSnapshotsFrom: [widgets]}
";

pub fn widgets() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
            }],
        },
    })
}

fn runs(operator: &Operator, hook: &str, binding: &str) -> usize {
    let lines = operator.log.told("run succeeded");
    lines.iter().filter(|line| line["hook"] == hook && line["binding"] == binding).count()
}

#[tokio::test]
async fn a_binding_waits_for_its_kind_and_starts_by_itself() {
    let says = Deed::Says("woken");
    let hooks =
        [("only-widgets", hook(ONLY_WIDGETS, &says)), ("both", hook(BOTH, &says)), ("includes", hook(INCLUDES, &says))];
    let pipeline = Pipeline::on(TestCluster::start().await, &hooks, |_| ()).await;
    let operator = &pipeline.operator;
    for name in ["only-widgets", "both", "includes"] {
        let pending = operator.told("binding pending: it starts when the kind is served", name, 1).await;
        assert_eq!(pending[0]["binding"], "widgets");
    }
    // The other binding of the hook does not wait.
    operator.until("the other binding starts", |operator| (runs(operator, "both", "maps") >= 1).then_some(())).await;
    pipeline.create(config_map("a", ("wakes", "both"), json!({}))).await;
    operator.until("the other binding works", |operator| (runs(operator, "both", "maps") >= 2).then_some(())).await;
    let readiness = operator.app.readiness();
    let why = missing(&readiness, "only-widgets");
    assert_eq!(
        why,
        "binding widgets is pending: the API server serves no kind, plural or short name \"Widget\" in \
         example.com/v1; see `kubectl api-resources`"
    );
    assert!(missing(&readiness, "both").contains("binding widgets is pending"));
    // There are no objects of a kind that is not served: a binding that includes the snapshot sees it empty.
    operator
        .until("the binding that includes it runs", |operator| (runs(operator, "includes", "maps") >= 1).then_some(()))
        .await;
    assert_eq!(runs(operator, "includes", "widgets"), 0);

    pipeline.create(widgets()).await;
    operator.ready().await;
    for name in ["only-widgets", "both"] {
        assert_eq!(runs(operator, name, "widgets"), 1, "the synchronization of {name}");
    }
    let metadata = json!({"namespace": "default", "name": "w"});
    pipeline.create(json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": metadata})).await;
    let woken = |operator: &Operator| {
        ["only-widgets", "both"].iter().all(|name| runs(operator, name, "widgets") == 2).then_some(())
    };
    operator.until("an object of the kind wakes the hooks", woken).await;
}

#[tokio::test]
async fn a_kind_that_goes_takes_its_objects_along_and_may_come_again() {
    let cluster = TestCluster::start().await;
    cluster.admin.create(&widgets()).await.unwrap();
    let widget = |name: &str| json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"namespace": "default", "name": name}});
    cluster.admin.create(&widget("a")).await.unwrap();
    let pipeline = Pipeline::on(cluster, &[("tell", tell(ONLY_WIDGETS))], |_| ()).await;
    let operator = &pipeline.operator;
    operator.ready().await;
    pipeline.delete(widgets()).await;
    let events = told_of(operator, "tell", "Event", 1).await;
    assert_eq!(change(&events[0]), "Deleted default/a");
    operator.told("binding pending: it starts when the kind is served", "tell", 1).await;
    assert!(missing(&operator.app.readiness(), "tell").contains("binding widgets is pending"));
    pipeline.create(widgets()).await;
    pipeline.create(widget("b")).await;
    let events = told_of(operator, "tell", "Event", 2).await;
    assert_eq!(change(&events[1]), "Added default/b");
    operator.ready().await;
    assert_eq!(told_of(operator, "tell", "Synchronization", 1).await.len(), 1);
}
