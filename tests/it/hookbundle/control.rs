//! What the controller does about a HookBundle, and what it says.

use boathook_bundle::{Attestation, Document, Policy, PrivateKey, attach, sign};
use boathook_core::{
    model::{CredentialProblem, CredentialProblemKind},
    tasks::Tasks,
};
use boathook_operator::app::release;
use serde_json::json;
use tokio::net::TcpListener;

use super::{
    desk::{desk, id},
    stage::{Stage, get, packed, shown},
};
use crate::{bundle::trust::p256_pem, support::until};

#[tokio::test]
async fn a_bundle_is_installed_and_its_status_says_so() {
    let (stage, desk) = (Stage::new().await, desk());
    let digest = stage.push("a", "configmaps").await;
    let _keeping = stage.keep(desk.clone());
    let more = json!({
        "grants": [get("configmaps")], "serviceAccountName": "hooks", "settings": {"a": 1},
        "limits": {"memory": "16Mi"},
    });
    stage.bundle("a", more).await;
    let status = stage.condition("a", "Ready=True/HooksReady").await;
    assert_eq!(status["digest"], digest.as_str());
    assert_eq!(status["version"], format!("v1@{}", &digest[7..19]));
    assert_eq!(status["hooksReady"], "1/1");
    assert_eq!(status["hooks"][0]["name"], "copy");
    assert_eq!(status["hooks"][0]["hook"], "copy.a.team");
    assert_eq!(status["hooks"][0]["state"], "Ready");
    assert_eq!(status["hooks"][0]["lastRun"], "2026-09-21T14:13:20Z");
    assert_eq!(status["hooks"][0]["permissions"], json!([get("configmaps")]));
    assert_eq!(status["observedGeneration"], 1);
    assert_eq!(status.get("pending"), None);
    let shown = shown(&status).join("\n");
    assert!(shown.contains("Verified=Unknown/Unchecked") && shown.contains("Granted=True/Granted"), "{shown}");
    assert!(shown.contains("Progressing=False/Settled") && shown.contains("Suspended=False"), "{shown}");

    let installed = desk.has(&id("a")).unwrap();
    assert_eq!(installed.identity.unwrap().to_string(), "ServiceAccount team/hooks");
    assert_eq!(installed.confined_to.as_deref(), Some("team"));
    assert_eq!(installed.settings.as_deref(), Some(r#"{"a":1}"#));
    assert_eq!(installed.limits.memory, Some(16 << 20));
    assert_eq!(installed.grants.unwrap().len(), 1);
    until("its Events", async || (stage.events("a").await == ["Normal Installed", "Normal Ready"]).then_some(())).await;
}

#[tokio::test]
async fn without_the_list_of_hook_bundles_the_operator_is_broken() {
    const LIST: &str = "list of HookBundles";
    let (stage, tasks) = (Stage::new().await, Tasks::default());
    let _keeping = stage.keep_among(desk(), tasks.clone());
    until("it lists", async || tasks.names().iter().any(|name| name == LIST).then_some(())).await;
    assert!(tasks.kill(LIST));
    assert_eq!(tasks.ended().await.task, LIST);
}

// mutant: crates/operator/src/hookbundle/controller.rs: `AssertUnwindSafe(reconcile_as_leader(&kept, control)).catch_unwind()` => `async { Ok::<_, Box<dyn std::any::Any + Send>>(reconcile_as_leader(&kept, control).await) }`
#[tokio::test]
async fn a_defect_with_one_bundle_ends_the_work_on_no_other() {
    let (stage, desk) = (Stage::new().await, desk());
    for name in ["a", "b"] {
        stage.push(name, "configmaps").await;
    }
    let _keeping = stage.keep(desk.clone());
    stage.bundle("a", json!({"grants": [get("configmaps")], "settings": {"panic": true}})).await;
    let begun = async || desk.log().iter().any(|line| line.starts_with("install team/a")).then_some(());
    until("the defect", begun).await;
    stage.bundle("b", json!({"grants": [get("configmaps")]})).await;
    stage.condition("b", "Ready=True/HooksReady").await;
    // And it is over when its cause is.
    stage.bundle("a", json!({"grants": [get("configmaps")], "settings": {"panic": false}})).await;
    stage.condition("a", "Ready=True/HooksReady").await;
}

#[tokio::test]
async fn a_hook_that_asks_for_more_does_not_start_and_the_rules_are_named() {
    let (stage, desk) = (Stage::new().await, desk());
    stage.push("a", "secrets").await;
    let _keeping = stage.keep(desk.clone());
    stage.bundle("a", json!({})).await;
    let status = stage.condition("a", "Granted=False/MissingGrants").await;
    let shown = shown(&status).join("\n");
    assert!(shown.contains("Ready=False/HooksNotReady"), "{shown}");
    let rule = get("secrets");
    assert!(shown.contains(&format!("- {rule}")), "one could paste it: {shown}");
    assert_eq!(status["hooks"][0]["missing"], json!([rule]));
    assert_eq!(status["hooksReady"], "0/1");
    stage.change("a", json!({"grants": [rule]})).await;
    stage.condition("a", "Ready=True").await;
}

// mutant: crates/operator/src/hookbundle/version.rs: `grants: Some(permissions(&spec.grants)),` => `grants: Some(self.requested.values().flatten().cloned().collect()),`
#[tokio::test]
async fn a_version_that_asks_for_more_waits_and_the_one_before_goes_on() {
    let (stage, desk) = (Stage::new().await, desk());
    let first = stage.push("a", "configmaps").await;
    let _keeping = stage.keep(desk.clone());
    stage.bundle("a", json!({"grants": [get("configmaps")], "source": {"oci": {"interval": "10s"}}})).await;
    stage.condition("a", "Ready=True").await;
    let second = stage.push("a", "secrets").await;
    let status = stage.condition("a", "Granted=False/MissingGrants").await;
    assert_eq!(status["digest"], first.as_str());
    assert_eq!(status["available"]["digest"], second.as_str());
    assert_eq!(status["pending"]["digest"], second.as_str());
    assert_eq!(status["pending"]["reason"], "MissingGrants");
    assert_eq!(status["pending"]["missing"], json!([get("secrets")]));
    let text = shown(&status).join("\n");
    assert!(text.contains("Ready=True/HooksReady") && text.contains("waits: it requests more"), "{text}");
    assert_eq!(desk.has(&id("a")).unwrap().digest, first);

    stage.change("a", json!({"grants": [get("configmaps"), get("secrets")]})).await;
    let status = stage.status("a", "the upgrade", |status| status["digest"] == second.as_str()).await;
    assert_eq!((status.get("pending"), status.get("available")), (None, None));
    until("its Events", async || {
        let events = stage.events("a").await;
        let wanted = ["Normal Installed", "Normal Ready", "Normal Upgraded", "Warning MissingGrants"];
        (events == wanted).then_some(())
    })
    .await;
}

/// Otherwise an administrator who takes a grant back would wait for the author.
#[tokio::test]
async fn less_that_is_granted_counts_at_once_whatever_waits() {
    let (stage, desk) = (Stage::new().await, desk());
    let first = stage.push("a", "configmaps").await;
    let _keeping = stage.keep(desk.clone());
    stage.bundle("a", json!({"grants": [get("configmaps")]})).await;
    stage.condition("a", "Ready=True").await;
    stage.push("a", "secrets").await;
    stage.change("a", json!({"grants": [], "settings": {"refuse": true}})).await;
    stage.condition("a", "Ready=False/HooksNotReady").await;
    let installed = desk.has(&id("a")).unwrap();
    assert_eq!((installed.digest, installed.grants, installed.settings), (first, Some(Vec::new()), None));
}

// mutant: crates/operator/src/hookbundle/source.rs: `Some(verification) => Ok(Policy::demanding(self.demand(verification).await?)),` => `Some(_) => Ok(Policy::unchecked()),`
#[tokio::test]
async fn each_refusal_has_its_reason_and_the_version_before_stays() {
    let (stage, desk) = (Stage::new().await, desk());
    let first = stage.push("a", "configmaps").await;
    let (key, other) = (p256_pem(), p256_pem());
    let private = |pem: &str| PrivateKey::from_pem(pem).unwrap();
    let place = stage.registry.place("team/a:v1");
    sign(&place, &private(&key)).await.unwrap();
    let _keeping = stage.keep(desk.clone());
    let keys = |pem: &str| json!([{"name": "ci", "publicKey": private(pem).public().to_pem()}]);
    let more = json!({
        "grants": [get("*")], "verification": {"unsigned": null, "keys": keys(&key), "tagMustMatch": true},
        "source": {"oci": {"interval": "10s"}},
    });
    stage.bundle("a", more).await;
    let status = stage.condition("a", "Verified=True/Signed").await;
    assert!(shown(&status).join("\n").contains("signed by ci"));
    stage.condition("a", "Ready=True").await;

    let second = stage.push("a", "pods").await;
    let status = stage.condition("a", "Verified=False/Unsigned").await;
    let text = shown(&status).join("\n");
    assert!(text.contains("Ready=True/HooksReady") && text.contains("another version is refused"), "{text}");
    sign(&place, &private(&other)).await.unwrap();
    stage.condition("a", "Verified=False/WrongKey").await;
    sign(&place, &private(&key)).await.unwrap();
    stage.status("a", "the signed version", |status| status["digest"] == second.as_str()).await;

    // Somebody with access to the registry's disk; before it is signed nobody brings its layers.
    let third = packed("services");
    crate::bundle::send(&third, &place).await;
    let component = |digest: &String| {
        let bytes = std::fs::read(stage.registry.file(digest)).unwrap_or_default();
        bytes.starts_with(b"a component")
    };
    let layer = third.blobs.keys().map(ToString::to_string).find(component).unwrap();
    let file = stage.registry.file(&layer);
    let good = std::fs::read(&file).unwrap();
    // As long as before, or the registry itself would notice.
    std::fs::write(&file, good.to_ascii_uppercase()).unwrap();
    sign(&place, &private(&key)).await.unwrap();
    let status = stage.condition("a", "Verified=False/Tampered").await;
    assert_eq!(status["digest"], second.as_str());
    std::fs::write(&file, good).unwrap();
    let digest = third.manifest.digest.to_string();
    stage.status("a", "the mended version", |status| status["digest"] == digest.as_str()).await;
    assert_ne!(first, second);
}

/// Before a version is installed, its SBOM is there and one of the keys attests it.
// mutant: crates/operator/src/hookbundle/source.rs: `Ok(Demand { digests, keys, minimum, tag_must_match: verification.tag_must_match, require })` => `Ok(Demand { digests, keys, minimum, tag_must_match: verification.tag_must_match, require: Some(require).filter(Vec::is_empty).unwrap_or_default() })`
#[tokio::test]
async fn a_version_without_what_is_required_is_not_installed() {
    let (stage, desk) = (Stage::new().await, desk());
    let key = PrivateKey::from_pem(&p256_pem()).unwrap();
    let place = stage.registry.place("team/a:v1");
    stage.push("a", "configmaps").await;
    sign(&place, &key).await.unwrap();
    let _keeping = stage.keep(desk.clone());
    let keys = json!([{"name": "ci", "publicKey": key.public().to_pem()}]);
    let more = json!({
        "grants": [get("configmaps")], "source": {"oci": {"interval": "10s"}},
        "verification": {"unsigned": null, "keys": keys, "require": ["sbom"]},
    });
    stage.bundle("a", more).await;
    let status = stage.condition("a", "Verified=False/AttestationMissing").await;
    let text = shown(&status).join("\n");
    assert!(text.contains("boathook bundle attach --sbom"), "{text}");
    assert_eq!(desk.log(), Vec::<String>::new());
    let bytes = br#"{"bomFormat": "CycloneDX"}"#.to_vec();
    attach(&place, &Document { kind: Attestation::Sbom, bytes }, "sbom.json", &key).await.unwrap();
    stage.condition("a", "Ready=True").await;
}

// mutant: crates/operator/src/hookbundle/reconciler/mod.rs: `Decision::Stay => {` => `Decision::Stay if self.refused.is_some() => false, Decision::Stay => {`
#[tokio::test]
async fn a_registry_that_is_away_changes_nothing() {
    let (mut stage, desk) = (Stage::new().await, desk());
    let digest = stage.push("a", "configmaps").await;
    let _keeping = stage.keep(desk.clone());
    stage.bundle("a", json!({"grants": [get("configmaps")]})).await;
    stage.condition("a", "Ready=True").await;
    stage.registry.end();
    stage.change("a", json!({"settings": {"b": 2}})).await;
    let status = stage.condition("a", "Verified=Unknown/RegistryUnavailable").await;
    assert!(shown(&status).join("\n").contains("Ready=True/HooksReady"));
    assert_eq!(status["digest"], digest.as_str());
    // What needs no registry is done all the same.
    until("the settings", async || (desk.has(&id("a"))?.settings? == r#"{"b":2}"#).then_some(())).await;
}

#[tokio::test]
async fn only_what_is_approved_runs() {
    let (stage, desk) = (Stage::new().await, desk());
    let first = stage.push("a", "configmaps").await;
    let _keeping = stage.keep(desk.clone());
    let more = json!({"approval": "Manual", "grants": [get("*")], "source": {"oci": {"interval": "10s"}}});
    stage.bundle("a", more).await;
    let status = stage.condition("a", "Ready=False/AwaitingApproval").await;
    assert_eq!(status["pending"]["digest"], first.as_str());
    assert_eq!(desk.log(), Vec::<String>::new());
    stage.change("a", json!({"approvedDigest": first})).await;
    stage.condition("a", "Ready=True").await;
    let second = stage.push("a", "secrets").await;
    let status = stage.status("a", "it waits", |status| status["pending"]["digest"] == second.as_str()).await;
    assert_eq!(status["pending"]["reason"], "AwaitingApproval");
    assert_eq!(desk.has(&id("a")).unwrap().digest, first);
    stage.change("a", json!({"approvedDigest": second})).await;
    stage.status("a", "the upgrade", |status| status["digest"] == second.as_str()).await;
    // Back, though the tag has gone on.
    stage.change("a", json!({"approvedDigest": first})).await;
    stage.status("a", "the way back", |status| status["digest"] == first.as_str()).await;
}

#[tokio::test]
async fn suspended_and_resumed() {
    let (stage, desk) = (Stage::new().await, desk());
    let digest = stage.push("a", "configmaps").await;
    let _keeping = stage.keep(desk.clone());
    stage.bundle("a", json!({"grants": [get("configmaps")]})).await;
    stage.condition("a", "Ready=True").await;
    stage.change("a", json!({"suspend": true})).await;
    let status = stage.condition("a", "Suspended=True").await;
    assert_eq!((&status["digest"], &status["hooks"][0]["state"]), (&json!(digest), &json!("Suspended")));
    assert!(desk.has(&id("a")).unwrap().suspended);
    stage.change("a", json!({"suspend": false})).await;
    stage.condition("a", "Ready=True").await;
    let log = desk.log();
    assert_eq!(log[1..], ["suspend team/a true", "suspend team/a false"], "the version is not installed anew");
    // That it was ready twice, in the same words, is one Event that counts.
    let wanted = ["Normal Installed", "Normal Ready", "Normal Resumed", "Normal Suspended"];
    until("its Events", async || (stage.events("a").await == wanted).then_some(())).await;
}

#[tokio::test]
async fn a_deleted_one_goes_with_its_hooks() {
    let (stage, desk) = (Stage::new().await, desk());
    stage.push("a", "configmaps").await;
    let keeping = stage.keep(desk.clone());
    stage.bundle("a", json!({"grants": [get("configmaps")]})).await;
    stage.condition("a", "Ready=True").await;
    assert_eq!(stage.get("a").await.unwrap()["metadata"]["finalizers"], json!(["boathook.dev/hooks"]));
    // Nobody keeps it: it must wait.
    drop(keeping);
    stage.delete("a").await;
    assert!(stage.get("a").await.is_some());
    let _keeping = stage.keep(desk.clone());
    until("it is gone", async || stage.get("a").await.is_none().then_some(())).await;
    assert_eq!(desk.has(&id("a")), None);
}

#[tokio::test]
async fn without_an_operator_it_can_be_let_go() {
    let stage = Stage::new().await;
    stage.push("a", "configmaps").await;
    let keeping = stage.keep(desk());
    stage.bundle("a", json!({"grants": [get("configmaps")]})).await;
    stage.condition("a", "Ready=True").await;
    drop(keeping);
    let client = || stage.cluster.admin.client.clone();
    assert_eq!(release(&client(), true).await.unwrap(), ["HookBundle team/a"]);
    stage.delete("a").await;
    assert!(stage.get("a").await.is_some());
    assert_eq!(release(&client(), false).await.unwrap(), ["HookBundle team/a"]);
    assert!(stage.get("a").await.is_none());
    assert!(release(&client(), false).await.unwrap().is_empty());
}

/// With its registry away, and the tag gone on.
#[tokio::test]
async fn a_start_takes_what_ran_from_the_store() {
    let (mut stage, first_desk) = (Stage::new().await, desk());
    let digest = stage.push("a", "configmaps").await;
    let keeping = stage.keep(first_desk);
    stage.bundle("a", json!({"grants": [get("configmaps")]})).await;
    stage.condition("a", "Ready=True").await;
    drop(keeping);
    stage.registry.end();
    let desk = desk();
    let _keeping = stage.keep(desk.clone());
    let status = stage.condition("a", "Verified=Unknown/RegistryUnavailable").await;
    assert!(shown(&status).join("\n").contains("Ready=True/HooksReady"));
    assert_eq!(desk.has(&id("a")).unwrap().digest, digest);
}

#[tokio::test]
async fn after_a_restart_the_version_that_ran_comes_back() {
    let (stage, first_desk) = (Stage::new().await, desk());
    let first = stage.push("a", "configmaps").await;
    let keeping = stage.keep(first_desk);
    stage.bundle("a", json!({"grants": [get("configmaps")]})).await;
    stage.condition("a", "Ready=True").await;
    drop(keeping);
    let second = stage.push("a", "secrets").await;
    let desk = desk();
    let _keeping = stage.keep(desk.clone());
    let status = stage.condition("a", "Granted=False/MissingGrants").await;
    assert_eq!((&status["digest"], &status["pending"]["digest"]), (&json!(first), &json!(second)));
    assert_eq!(desk.has(&id("a")).unwrap().digest, first);
    assert_eq!(desk.log(), [format!("install team/a {first}"), format!("install team/a {second}")]);
}

/// A registry that takes connections and says nothing.
// mutant: crates/operator/src/hookbundle/source.rs: `registries.entry(host.to_owned())` => `registries.entry(host.get(..0).unwrap_or_default().to_owned())`
#[tokio::test]
async fn bad_ones_do_not_hold_up_a_good_one() {
    let (stage, desk) = (Stage::new().await, desk());
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let host = silent.local_addr().unwrap();
    let _keeping = stage.keep(desk.clone());
    for n in 0..20 {
        let reference = format!("{host}/team/{n}:v1");
        stage.bundle(&format!("silent-{n}"), json!({"source": {"oci": {"reference": reference}}})).await;
    }
    stage.bundle("gone", json!({})).await;
    stage.push("garbage", "configmaps").await;
    stage
        .bundle("garbage", json!({"verification": {"unsigned": null, "keys": [{"name": "a", "publicKey": "x"}]}}))
        .await;
    stage.push("good", "configmaps").await;
    stage.bundle("good", json!({"grants": [get("configmaps")]})).await;
    stage.condition("good", "Ready=True").await;
    stage.condition("gone", "Ready=False/NotFound").await;
    let status = stage.condition("garbage", "Ready=False/KeyInvalid").await;
    assert!(shown(&status).join("\n").contains("spec.verification.keys: a"));
    stage.condition("silent-0", "Ready=False/Progressing").await;
}

// mutant: crates/operator/src/hookbundle/source.rs: `if self.options.policy.as_ref().is_some_and(|policy| !policy.covers(&at.source())) {` => `if false {`
//     with: crates/operator/src/hookbundle/source.rs: `if let Some(policy) = &self.options.policy {` => `if let Some(policy) = self.options.policy.as_ref().filter(|_| false) {`
#[tokio::test]
async fn the_admin_s_policy_holds_besides() {
    let (stage, desk) = (Stage::new().await, desk());
    stage.push("a", "configmaps").await;
    let _keeping = stage.keep_with(desk.clone(), Some(Policy::default()));
    stage.bundle("a", json!({"grants": [get("*")]})).await;
    let status = stage.condition("a", "Verified=False/SourceNotAllowed").await;
    assert!(shown(&status).join("\n").contains("ask its admin"));
    assert_eq!(desk.log(), Vec::<String>::new());
}

// mutant: crates/operator/src/hookbundle/source.rs: `Api::namespaced_with(self.client.clone(), self.namespace, &kind)` => `Api::namespaced_with(self.client.clone(), "default", &kind)`
#[tokio::test]
async fn logins_come_from_the_own_namespace() {
    let (mut stage, desk) = (Stage::new().await, desk());
    stage.registry = crate::bundle::registry::Registry::private();
    let config = json!({"auths": {&stage.registry.host: {"username": "team", "password": "secret"}}}).to_string();
    let connect = crate::bundle::registry::plain(&config);
    let place = boathook_bundle::Place::registry(&stage.registry.reference("team/a:v1"), &connect).unwrap();
    crate::bundle::send(&packed("configmaps"), &place).await;
    let _keeping = stage.keep(desk.clone());
    let login = |namespace: &str| {
        json!({
            "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/dockerconfigjson",
            "metadata": {"name": "login", "namespace": namespace}, "stringData": {".dockerconfigjson": config},
        })
    };
    // The operator may read this one, and the tenant may not.
    stage.cluster.admin.create(&login("default")).await.unwrap();
    let more = json!({"grants": [get("configmaps")], "source": {"oci": {"pullSecrets": [{"name": "login"}]}}});
    stage.bundle("a", more).await;
    let status = stage.condition("a", "Ready=False/SecretMissing").await;
    assert!(shown(&status).join("\n").contains("spec.source.oci.pullSecrets: Secret login"));
    stage.cluster.admin.create(&login("team")).await.unwrap();
    stage.condition("a", "Ready=True").await;
}

#[tokio::test]
async fn credentials_that_cannot_be_used_are_a_condition_and_an_event() {
    let (stage, desk) = (Stage::new().await, desk());
    stage.push("a", "configmaps").await;
    let problem = |kind, message: &str| CredentialProblem { kind, message: message.to_owned() };
    *desk.credentials.lock().unwrap() = vec![
        problem(CredentialProblemKind::Missing, "there is no Secret team/api"),
        problem(CredentialProblemKind::Forbidden, "nobody may get it"),
    ];
    let _keeping = stage.keep(desk.clone());
    let http = json!({"http": {"hosts": ["a.io"]}});
    stage.bundle("a", json!({"grants": [get("configmaps"), http]})).await;
    stage.condition("a", "Ready=True").await;
    let credentials = |secret: &str| {
        json!([
            {"host": "a.io", "secretName": secret, "basic": {}},
            {"host": "b.io", "secretName": secret, "awsSigV4": {"region": "r", "service": "s3"}},
        ])
    };
    assert!(!shown(&stage.get("a").await.unwrap()["status"]).join("\n").contains("Credentials"));
    stage.change("a", json!({"httpCredentials": credentials("api")})).await;
    let status = stage.condition("a", "Credentials=False/SecretMissing").await;
    let text = shown(&status).join("\n");
    assert!(text.contains("there is no Secret team/api; nobody may get it") && text.contains("Ready=True"), "{text}");
    let installed = desk.has(&id("a")).unwrap().credentials;
    assert_eq!(installed[0].place, "spec.httpCredentials of HookBundle team/a");
    assert_eq!(installed[0].keys(), ["username", "password"]);
    assert_eq!(installed[1].keys(), ["accessKeyId", "secretAccessKey"]);
    let missing = "Warning SecretMissing".to_owned();
    until("its Event", async || stage.events("a").await.contains(&missing).then_some(())).await;

    desk.credentials.lock().unwrap().clear();
    stage.change("a", json!({"httpCredentials": credentials("other")})).await;
    stage.condition("a", "Credentials=True/CredentialsReady").await;
    stage.change("a", json!({"httpCredentials": []})).await;
    stage.status("a", "no word about credentials", |status| !shown(status).join("\n").contains("Credentials=")).await;
}
