//! Tenants and registries that mean harm, and what others notice of them.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::{
    desk::{desk, id},
    gap::often,
    stage::{Stage, get, shown},
};
use crate::{
    bundle::reach::{Service, allowed},
    support::{cluster::client, until},
};

/// More HookBundles than are fetched or installed at the same time.
const MANY: usize = 100;

/// A registry that takes connections and says nothing.
struct Silent {
    _listener: TcpListener,
    host: String,
}

impl Silent {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let host = listener.local_addr().unwrap().to_string();
        Self { _listener: listener, host }
    }
}

/// A HookBundle of another namespace.
fn foreign(namespace: &str, name: &str, reference: &str) -> Value {
    json!({
        "apiVersion": "boathook.dev/v1alpha1", "kind": "HookBundle",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"source": {"oci": {"reference": reference, "insecure": true}}, "verification": {"unsigned": true}},
    })
}

// mutant: crates/operator/src/hookbundle/source.rs: `let (registry, tenant) = (self.registry(at.registry()), Tenant::namespace(namespace));` => `let (registry, tenant) = (self.registry(at.registry()), Tenant::namespace(&namespace[..0]));`
#[tokio::test]
async fn many_stalling_bundles_of_one_namespace_hold_up_no_other() {
    let (stage, desk) = (Stage::new().await, desk());
    let _keeping = stage.keep(desk.clone());
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "greedy"}});
    stage.cluster.admin.create(&namespace).await.unwrap();
    // Each has a registry of its own: the turns at one registry are few.
    let silent = futures::future::join_all((0..MANY).map(|_| Silent::start())).await;
    let references = silent.iter().map(|silent| format!("{}/x:v1", silent.host)).enumerate();
    let all: Vec<_> = references.map(|(n, reference)| foreign("greedy", &format!("n{n}"), &reference)).collect();
    for one in &all {
        stage.cluster.admin.apply(one).await.unwrap();
    }
    for one in &all {
        until("the operator is checking for it", async || {
            let found = stage.cluster.admin.get(one).await.unwrap()?;
            (found["status"]["conditions"][0]["reason"] == "Progressing").then_some(())
        })
        .await;
    }
    stage.push("good", "configmaps").await;
    stage.bundle("good", json!({"grants": [get("configmaps")]})).await;
    stage.condition("good", "Ready=True").await;
    stage.change("good", json!({"suspend": true})).await;
    stage.condition("good", "Suspended=True").await;
    assert!(desk.has(&id("good")).unwrap().suspended);
}

// mutant: crates/operator/src/hookbundle/reconciler/mod.rs: `        self.apply(&of, context).await;` => ``
#[tokio::test]
async fn what_is_taken_away_waits_for_no_download() {
    let (stage, desk, silent) = (Stage::new().await, desk(), Silent::start().await);
    let first = stage.push("a", "configmaps").await;
    let _keeping = stage.keep(desk.clone());
    stage.bundle("a", json!({"grants": [get("configmaps")], "serviceAccountName": "hooks"})).await;
    stage.condition("a", "Ready=True").await;
    let elsewhere = json!({"oci": {"reference": format!("{}/x/a:v1", silent.host), "insecure": true}});
    stage.change("a", json!({"source": elsewhere, "grants": [], "serviceAccountName": "nobody"})).await;
    until("the grants are gone, and the account is another", async || {
        let installed = desk.has(&id("a"))?;
        let account = installed.identity.map(|identity| identity.service_account);
        (installed.grants == Some(Vec::new()) && account.as_deref() == Some("nobody")).then_some(())
    })
    .await;
    stage.change("a", json!({"suspend": true})).await;
    until("it is suspended", async || desk.has(&id("a"))?.suspended.then_some(())).await;
    stage.change("a", json!({"suspend": false})).await;
    until("it is resumed", async || (!desk.has(&id("a"))?.suspended).then_some(())).await;
    assert_eq!(desk.has(&id("a")).unwrap().digest, first);
    stage.delete("a").await;
    until("it is gone", async || stage.get("a").await.is_none().then_some(())).await;
    assert_eq!(desk.has(&id("a")), None);
}

/// Kyverno let a policy of a tenant send requests with its own network's reach. Here a tenant's words are the reference, and
/// what the registry that it names answers.
// mutant: crates/operator/src/hookbundle/source.rs: `reach: options.reach.clone()` => `reach: Reach::Anywhere`
#[tokio::test]
async fn cve_2026_4789_a_tenant_reaches_nothing_inside() {
    let (mut stage, desk, inside) = (Stage::new().await, desk(), Service::internal().await);
    let registry = Service::leading_to(format!("http://{}/metadata", inside.host)).await;
    stage.reach = allowed(&[], &[&registry.host]);
    let _keeping = stage.keep(desk.clone());
    let of = |host: &str, insecure: bool| json!({"source": {"oci": {"reference": format!("{host}/x:v1"), "insecure": insecure}}});
    stage.bundle("plain", of(&inside.host, true)).await;
    stage.bundle("tls", of(&inside.host, false)).await;
    stage.bundle("sent", of(&registry.host, true)).await;
    for name in ["plain", "tls", "sent"] {
        let status = stage.condition(name, "Ready=False/RegistryNotAllowed").await;
        assert!(shown(&status).join("\n").contains(&inside.host), "{status:#}");
    }
    assert_eq!(inside.asked(), Vec::<String>::new());
    assert_eq!(registry.asked().first().map(String::as_str), Some("/v2/x/manifests/v1 "));
}

// mutant: crates/operator/src/hookbundle/reconciler/mod.rs: `if let Some(why) = of.dropped {` => `if let Some(why) = of.dropped.filter(|_| false) {`
// mutant: crates/operator/src/hookbundle/reconciler/mod.rs: `if wanted == running.installed && of.dropped.is_none() {` => `if wanted == running.installed {`
#[tokio::test]
async fn what_is_too_large_is_left_out_and_the_status_says_so() {
    let (stage, desk) = (Stage::new().await, desk());
    stage.push("a", "configmaps").await;
    let _keeping = stage.keep(desk.clone());
    let large = json!({"x": "x".repeat(300_000)});
    stage.bundle("a", json!({"grants": [get("configmaps")], "settings": large})).await;
    let text = "spec.settings has 300008 bytes, and 262144 are allowed: let the hooks read large data from ConfigMaps";
    stage.condition("a", &format!("Ready=False/SpecTooLarge: {text}")).await;
    assert_eq!(desk.has(&id("a")), None);
    let installed = || desk.has(&id("a")).unwrap();
    stage.change("a", json!({"settings": null})).await;
    stage.condition("a", "Ready=True/HooksReady").await;
    assert_eq!(installed().settings, None);
    // The version goes on without settings, as before; it is not as if they had been taken out.
    stage.change("a", json!({"settings": large})).await;
    let status = stage.condition("a", "Progressing=True/SpecTooLarge").await;
    assert!(shown(&status).join("\n").contains("Ready=True/HooksReady"), "{status:#}");
    // What is taken away counts all the same.
    stage.change("a", json!({"grants": []})).await;
    stage.condition("a", "Ready=False/HooksNotReady").await;
    assert_eq!(installed().grants, Some(Vec::new()));
    stage.change("a", json!({"suspend": true})).await;
    until("it is suspended", async || installed().suspended.then_some(())).await;
    stage.change("a", json!({"suspend": false, "settings": {"x": "small"}, "grants": [get("configmaps")]})).await;
    stage.condition("a", "Progressing=False/Settled").await;
    assert_eq!(installed().settings.as_deref(), Some(r#"{"x":"small"}"#));

    let names: Vec<_> = (0..256).map(|n| format!("name-{n}")).collect();
    let rule = json!({"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"], "resourceNames": names});
    stage.change("a", json!({"grants": vec![rule; 20]})).await;
    let status = stage.condition("a", "Progressing=True/SpecTooLarge: it is tried again: spec.grants has ").await;
    assert!(shown(&status).join("\n").contains("Ready=False/HooksNotReady"), "{status:#}");
    assert_eq!(installed().grants, Some(Vec::new()));
}

/// A page is in memory as a whole.
// mutant: crates/operator/src/hookbundle/controller.rs: `watcher::Config::default().page_size(PAGE)` => `watcher::Config::default()`
// mutant: crates/operator/src/hookbundle/list.rs: `ListParams::default().limit(PAGE)` => `ListParams::default()`
#[tokio::test]
async fn many_hook_bundles_are_listed_in_small_pages_and_all_are_found() {
    const ALL: usize = 20;
    let (stage, desk, asked) = (Stage::new().await, desk(), Arc::new(Mutex::new(Vec::new())));
    for n in 0..ALL {
        stage.bundle(&format!("n{n}"), json!({"suspend": true})).await;
    }
    let (inner, asked_for) = (client(&stage.cluster.cluster.url()), asked.clone());
    let send = move |request: http::Request<kube::client::Body>| {
        let query = request.uri().query().unwrap_or_default();
        if request.uri().path().ends_with("/v1alpha1/hookbundles") && !query.contains("watch=") {
            asked_for.lock().unwrap().push(query.to_owned());
        }
        let inner = inner.clone();
        async move { inner.send(request).await }
    };
    let recorded = kube::Client::new(tower::service_fn(send), "default");
    let _keeping = stage.keep_by(recorded, desk.clone(), often(Duration::from_millis(200)));
    for n in 0..ALL {
        stage.condition(&format!("n{n}"), "Suspended=True").await;
    }
    // The controller's list, and some of those that look for gaps: each has three pages.
    until("there are lists", async || (asked.lock().unwrap().len() > 12).then_some(())).await;
    let asked = asked.lock().unwrap().clone();
    let small = |query: &String| query.contains("limit=8") || query.contains("limit=1&") || query.ends_with("limit=1");
    assert!(asked.iter().all(small), "{asked:?}");
    assert!(asked.iter().filter(|query| query.contains("continue=")).count() >= 6, "{asked:?}");
    assert_eq!(desk.log(), Vec::<String>::new(), "what is on a later page is not gone");
}
