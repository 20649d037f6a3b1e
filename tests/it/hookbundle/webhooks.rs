//! What a HookBundle's hooks forbid stays forbidden while the operator is away, while its registry is, and until
//! somebody says otherwise.

use std::time::Duration;

use boathook_bundle::{HookInput, Input, pack};
use boathook_core::model::HookName;
use boathook_kube::election::ElectionConfig;
use boathook_operator::{
    app::{Awaited, CertificateSource, Options, Reached, WebhookOptions},
    telemetry::Readiness,
    webhook::Settings,
};
use serde_json::{Value, json};

use super::stage::{Keeping, Stage};
use crate::{
    bundle::send,
    pipeline::fixture::Operator,
    support::{
        cluster::AdminError,
        guests::{guest, image_policy_asks},
        until,
    },
};

/// Of the operator.
const OWN: &str = "boathook";

/// Of the API server for a hook's denial, and for a webhook that is not answered.
type Refused = Result<(), (u16, String)>;

fn options(options: &mut Options) {
    options.awaited = Awaited { bundles: Vec::new(), hook_bundles: true };
    options.webhooks = Some(WebhookOptions {
        listen: ([127, 0, 0, 1], 0).into(),
        settings: Settings::default(),
        instance: OWN.to_owned(),
        namespace: OWN.to_owned(),
        left_out: WebhookOptions::left_out(Some(OWN)),
        reached: Reached::Address,
        certificates: CertificateSource::Secret("certificates".to_owned(), CertificateSource::LIFETIME),
        client_ca: None,
    });
}

/// A Pod whose image the namespace's policy does not allow.
async fn create(stage: &Stage, name: &str) -> Refused {
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "team", "name": name},
        "spec": {"containers": [{"name": "c", "image": "elsewhere.example.com/x"}]},
    });
    match stage.cluster.admin.create(&pod).await {
        Ok(_) => Ok(()),
        Err(AdminError::Api(kube::Error::Api(status))) => Err((status.code, status.message)),
        Err(error) => panic!("{error}"),
    }
}

async fn registered(stage: &Stage) -> bool {
    let metadata = json!({"name": "boathook-image-policy.a.team"});
    let kind = "ValidatingWebhookConfiguration";
    let object = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": metadata});
    stage.cluster.admin.get(&object).await.unwrap().is_some()
}

/// Why the bundle is not there, and whether the operator waits for it.
fn missing(readiness: &Readiness) -> Option<(String, bool)> {
    let of_it = readiness.sources.iter().find(|source| source.source == "HookBundle team/a");
    of_it.map(|source| (source.missing.clone(), source.counts))
}

async fn scene() -> Stage {
    let mut stage = Stage::new().await;
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": OWN}});
    stage.cluster.admin.create(&namespace).await.unwrap();
    let policy = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "team", "name": "image-policy"},
        "data": {"registries": "registry.example.com"}});
    stage.cluster.admin.create(&policy).await.unwrap();
    let name = HookName::new("image-policy").unwrap();
    let hooks = vec![HookInput { name, component: guest("image-policy").into(), asks: image_policy_asks() }];
    let packed = pack(Input { hooks, ..Input::default() }).unwrap();
    send(&packed, &stage.registry.place("team/a:v1")).await;
    stage
        .bundle(
            "a",
            json!({"grants": [
                {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["watch"]},
                {"apiGroups": [""], "resources": ["pods", "pods/ephemeralcontainers"], "verbs": ["validate"]},
            ]}),
        )
        .await;

    let (operator, keeping) = start(&stage).await;
    stage.condition("a", "Ready=True/HooksReady").await;
    let (code, message) = create(&stage, "asked").await.unwrap_err();
    assert!(code == 403 && message.contains("image-policy.boathook.dev"), "{code} {message}");
    drop(keeping);
    operator.shutdown().await;
    let (code, message) = create(&stage, "nobody-there").await.unwrap_err();
    assert!(code == 500 && message.contains("failed calling webhook"), "{code} {message}");
    // What the operator knows of the bundle is gone, and so is its registry.
    stage.registry.end();
    stage.forget();
    stage
}

async fn start(stage: &Stage) -> (Operator, Keeping) {
    let operator = Operator::start(stage.cluster.admin.client.clone(), &[], options).await;
    let keeping = stage.keep(operator.app.installer());
    (operator, keeping)
}

// mutant: crates/operator/src/hookbundle/plan.rs: `false if !spec.suspend =>` => `false if false =>`
// mutant: crates/operator/src/app/health.rs: `self.sources.readiness(replicas)` => `self.sources.readiness(true)`
#[tokio::test]
async fn a_start_without_the_registry_and_with_an_empty_store_lets_nothing_in() {
    let stage = scene().await;
    let (operator, _keeping) = start(&stage).await;
    let readiness = operator.app.readiness();
    let listed = |readiness: &Readiness| readiness.sources.iter().all(|source| source.missing.is_empty());
    assert!(!listed(&readiness) && !readiness.ready(), "{readiness:?}");
    assert_eq!(create(&stage, "starting").await.unwrap_err().0, 500);
    let looked = |operator: &Operator| {
        let (why, counts) = missing(&operator.app.readiness())?;
        why.contains("cannot connect").then_some(counts)
    };
    let counts = operator.until("the registry is away", looked).await;
    assert!(counts, "a replica waits a while for tenants' bundles");
    assert!(operator.app.readiness().serves, "nobody else answers for the hooks of others");
    assert_eq!(create(&stage, "away").await.unwrap_err().0, 500);
    assert!(registered(&stage).await);

    // Somebody says that it is not to answer any more.
    stage.change("a", json!({"suspend": true})).await;
    until("the registration goes", async || (!registered(&stage).await).then_some(())).await;
    assert_eq!(create(&stage, "suspended").await, Ok(()));
    operator.until("nothing is waited for", |operator| operator.app.readiness().ready().then_some(())).await;
}

#[tokio::test]
async fn reviews_are_not_routed_to_a_new_replica_before_it_has_the_hooks() {
    let stage = scene().await;
    let operator = Operator::start(stage.cluster.admin.client.clone(), &[], |all| {
        options(all);
        all.election = Some(ElectionConfig::new("default", "boathook", "new", Duration::from_secs(300)));
    })
    .await;
    let _keeping = stage.keep(operator.app.installer());
    operator
        .until("the registry is away", |operator| {
            missing(&operator.app.readiness())?.0.contains("cannot connect").then_some(())
        })
        .await;
    assert!(!operator.app.readiness().serves);
    stage.change("a", json!({"suspend": true})).await;
    operator.until("nothing is waited for", |operator| operator.app.readiness().serves.then_some(())).await;
}

#[tokio::test]
async fn a_bundle_that_was_deleted_meanwhile_loses_its_registration_once_that_is_known() {
    let stage = scene().await;
    // Without the operator's word.
    let object: Value = stage.get("a").await.unwrap();
    let mut free = object.clone();
    free["metadata"] = json!({"name": "a", "namespace": "team", "finalizers": []});
    stage.delete("a").await;
    stage.cluster.admin.apply(&free).await.unwrap();
    until("it is gone", async || stage.get("a").await.is_none().then_some(())).await;
    assert!(registered(&stage).await);
    let (operator, _keeping) = start(&stage).await;
    let gone = operator.until("the registration goes", |operator| {
        operator.log.told("registration removed: no hook needs it").first().cloned()
    });
    gone.await;
    assert!(!registered(&stage).await);
    assert_eq!(create(&stage, "gone").await, Ok(()));
}
