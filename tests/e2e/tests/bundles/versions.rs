//! The life of a HookBundle: versions that come, wait, are refused and go back; suspension, settings, its end.
//! It never looks at what the operator thinks, only at its status and at what hooks do.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::process::Command;

use super::registry::{directory, key, meddle, say};
use super::{NAME, OWN, Site, TEAM, condition, grant};
use crate::bindings::told::with_document;
use crate::harness::{Operator, Test, boathook, eventually};

/// Asks for what the first version does not.
const READS_SECRETS: &str = "configVersion: v1\nkubernetes: [{name: maps, apiVersion: v1, kind: ConfigMap}]\n\
    permissions: {kubernetes: [{apiGroups: [''], resources: [secrets], verbs: [get]}]}\n";

// mutant: crates/operator/src/hookbundle/source.rs: `Some(verification) => Ok(Policy::demanding(self.demand(verification).await?)),` => `Some(_) => Ok(Policy::unchecked()),`
pub async fn versions_come_wait_and_go_back(test: Arc<Test>) {
    let site = Site::installed(&test).await;
    let (private, public) = key(test.dir(), "ci").await;
    let (foreign, _) = key(test.dir(), "foreign").await;
    let version = |tag: &str, more: &[(&str, &[u8])]| {
        let own = meddle(&format!("{}{tag}", test.slug()));
        directory(&test.dir().join(tag), &[[("meddle.wasm", own.as_slice())].as_slice(), more].concat())
    };
    let operator = site.operator().await;
    let first = site.registry.push(&version("v1", &[]), "v1").await;
    site.registry.sign("v1", &private).await;
    let trust = json!({"keys": [{"name": "ci", "publicKey": public}]});
    site.bundle("v1", json!({"verification": trust})).await;
    site.runs(&first).await;
    site.works("first", "apply").await;
    site.shows(&["True", &format!("v1@{}", &first[7..19]), "1/1"]).await;

    // Under another tag.
    let second = site.registry.push(&version("v2", &[]), "v2").await;
    site.registry.sign("v2", &private).await;
    site.names("v2").await;
    site.runs(&second).await;
    site.works("second", "patch").await;

    // One that asks for more waits, and says for what.
    let reads = with_document(READS_SECRETS);
    let third = site.registry.push(&version("v3", &[("reads.wasm", &reads)]), "v3").await;
    site.registry.sign("v3", &private).await;
    site.names("v3").await;
    let message = site.condition("Granted=False/MissingGrants").await;
    assert!(message.contains("secrets") && message.contains("get"), "{message}");
    let at_work = |status: &Value| (status["digest"] == second.as_str()).then(|| condition(status, "Ready=True"));
    site.status("the version before goes on", at_work).await.expect("it is ready");
    site.works("waiting", "apply").await;
    site.change(json!({"grants": [grant("configmaps", &["*"]), grant("secrets", &["get"])]})).await;
    site.runs(&third).await;
    site.shows(&["2/2"]).await;

    // Nobody signed it; somebody else did; somebody changed it on the registry's disk.
    site.registry.push(&version("v4", &[]), "v4").await;
    site.names("v4").await;
    site.condition("Verified=False/Unsigned").await;
    site.registry.sign("v4", &foreign).await;
    site.condition("Verified=False/WrongKey").await;
    site.registry.push(&version("v5", &[]), "v5").await;
    site.registry.tamper(&meddle(&format!("{}v5", test.slug())));
    site.registry.sign("v5", &private).await;
    site.names("v5").await;
    site.condition("Verified=False/Tampered").await;
    site.runs(&third).await;
    site.works("refused", "apply").await;

    // Back to the second.
    site.change(json!({"approval": "Manual", "approvedDigest": second})).await;
    site.runs(&second).await;
    site.works("back", "apply").await;

    // While it is suspended, nothing runs. What happens during that time causes no event later.
    site.change(json!({"suspend": true})).await;
    site.condition("Suspended=True").await;
    site.asks("meanwhile", "apply").await;
    site.change(json!({"suspend": false})).await;
    site.condition("Ready=True").await;
    site.works("after", "apply").await;
    assert!(!site.is_done("meanwhile").await, "it ran while it was suspended");

    site.events(&[
        "Installed",
        "Upgraded",
        "MissingGrants",
        "Unsigned",
        "WrongKey",
        "Tampered",
        "Suspended",
        "Resumed",
    ])
    .await;

    // It goes with all that is its own.
    site.cluster.kubectl(&["delete", "hookbundle", NAME, "--namespace", TEAM, "--timeout=20s"]).await;
    site.has_no_hooks(&operator).await;
    operator.stop().await;
}

pub async fn settings_fit_the_schema(test: Arc<Test>) {
    let site = Site::installed(&test).await;
    let schema = json!({
        "type": "object", "properties": {"registry": {"type": "string"}}, "required": ["registry"],
        "additionalProperties": false,
    });
    let own = meddle("1");
    let files = [("meddle.wasm", own.as_slice()), ("settings.schema.json", &schema.to_string().into_bytes())];
    let digest = site.registry.push(&directory(&test.dir().join("v1"), &files), "v1").await;
    let operator = site.operator().await;
    site.bundle("v1", json!({"settings": {"registry": 5}})).await;
    let message = site.condition("Ready=False/SettingsRefused").await;
    assert!(message.contains("registry"), "{message}");
    site.change(json!({"settings": {"registry": "registry.example.com"}})).await;
    site.runs(&digest).await;
    site.works("a", "apply").await;
    // What does not fit changes nothing.
    site.change(json!({"settings": {"other": true}})).await;
    site.condition("Progressing=True/SettingsRefused").await;
    site.works("b", "apply").await;
    operator.stop().await;
}

pub async fn what_makes_no_sense_is_refused(test: Arc<Test>) {
    let site = Site::installed(&test).await;
    let reference = site.registry.reference("v1");
    for (wrong, part) in [
        (json!({"verification": null}), "say why to trust it"),
        (json!({"approvedDigest": format!("sha256:{}", "0".repeat(64))}), "approval: Manual"),
        (json!({"serviceAccountName": "other:hooks"}), "without a namespace"),
        (json!({"source": {"oci": {"reference": reference, "interval": "1s"}}}), "between 10s and 24h"),
        (json!({"source": {"oci": {"reference": "nowhere"}}}), "HOST must have a dot or a port"),
        (json!({"verification": {"unsigned": false}}), "nothing is allowed"),
        (json!({"limits": {"time": "2h"}}), "between 1ms and 1h"),
        (json!({"rollout": {"strategy": "Shadow"}}), "say how long a new version is compared"),
        (json!({"rollout": {"strategy": "Shadow", "runs": 1}, "approval": "Manual"}), "leave approval out"),
    ] {
        let complaint = site.try_bundle("v1", wrong.clone()).await.expect_err("it is refused");
        assert!(complaint.contains(part), "{wrong}: {complaint}");
    }
}

pub async fn nothing_is_left_by_uninstall(test: Arc<Test>) {
    let site = Site::installed(&test).await;
    let own = meddle("1");
    let policy = std::fs::read(crate::harness::hook_file("image-policy")).expect("read a hook");
    let files = [("meddle.wasm", own.as_slice()), ("image-policy.wasm", &policy)];
    let digest = site.registry.push(&directory(&test.dir().join("v1"), &files), "v1").await;
    site.allows("image-policy").await;
    let address = format!("127.0.0.1:{}", crate::harness::port());
    let url = format!("https://{address}");
    let operator = site.operator_with(&["--webhook-listen", &address, "--webhook-url", &url]).await;
    site.bundle("v1", json!({"grants": [grant("*", &["*"])]})).await;
    site.runs(&digest).await;
    let registered = ["get", "validatingwebhookconfigurations", crate::webhooks::MANAGED, "--output=name"];
    eventually("the hook is registered", async || match site.cluster.kubectl(&registered).await {
        found if found.contains("image-policy") => Ok(()),
        found => Err(found),
    })
    .await;
    operator.stop().await;

    // Nobody would let it go.
    site.cluster.kubectl(&["delete", "hookbundle", NAME, "--namespace", TEAM, "--wait=false"]).await;
    let there = ["get", "hookbundle", NAME, "--namespace", TEAM, "--ignore-not-found", "--output=name"];
    assert_ne!(site.cluster.kubectl(&there).await, "", "its finalizer keeps it");
    let mut uninstall = Command::new(boathook());
    // The kubeconfig names another namespace.
    uninstall.args(["uninstall", "--yes", "--namespace", OWN, "--kubeconfig"]).arg(&site.cluster.kubeconfig);
    let said = say(&mut uninstall).await;
    assert!(said.contains(&format!("no longer keeps HookBundle {TEAM}/{NAME}")), "{said}");
    assert_eq!(site.cluster.kubectl(&there).await, "");
    assert_eq!(site.cluster.kubectl(&registered).await, "");
    let secret = ["get", "secrets", "--all-namespaces", crate::webhooks::MANAGED, "--output=name"];
    assert_eq!(site.cluster.kubectl(&secret).await, "");
    let mut again = Command::new(boathook());
    again.args(["uninstall", "--namespace", OWN, "--kubeconfig"]).arg(&site.cluster.kubeconfig);
    let said = say(&mut again).await;
    assert!(said.contains("has left nothing") && said.contains("in namespace boathook"), "{said}");
}

impl Site {
    /// Another tag.
    pub(super) async fn names(&self, tag: &str) {
        self.change(json!({"source": {"oci": {"reference": self.registry.reference(tag)}}})).await;
    }

    /// `kubectl get` has these in the line of the HookBundle.
    async fn shows(&self, words: &[&str]) {
        eventually("kubectl shows it", async || {
            let table = self.cluster.try_kubectl(&["get", "hookbundles", "--namespace", TEAM]).await?;
            for column in ["NAME", "READY", "VERSION", "HOOKS", "MESSAGE", "AGE"] {
                assert!(table.lines().next().is_some_and(|head| head.contains(column)), "{table}");
            }
            let row = table.lines().find(|line| line.starts_with(NAME)).unwrap_or_default();
            if words.iter().all(|word| row.contains(word)) { Ok(()) } else { Err(table) }
        })
        .await;
    }

    /// Waits until there were Events about the HookBundle for these reasons.
    pub(super) async fn events(&self, reasons: &[&str]) {
        let about = format!("--field-selector=regarding.name={NAME},regarding.kind=HookBundle");
        let get = ["get", "events.events.k8s.io", "--namespace", TEAM, &about, "--output=jsonpath={.items[*].reason}"];
        eventually("all Events are there", async || {
            let found = self.cluster.kubectl(&get).await;
            let there: Vec<_> = found.split(' ').collect();
            if reasons.iter().all(|reason| there.contains(reason)) { Ok(()) } else { Err(found) }
        })
        .await;
    }

    /// The operator has no hook of the bundle any more.
    pub(super) async fn has_no_hooks(&self, operator: &Operator) {
        eventually("its hooks are gone", async || match operator.get("/readyz?format=json").await? {
            (_, body) if body.contains(NAME) => Err(body),
            _ => Ok(()),
        })
        .await;
    }

    /// The roles that a hook of the team needs beyond ConfigMaps.
    async fn allows(&self, hook: &str) {
        let roles = self.rbac(&crate::harness::hook_file(hook), &[]).await;
        self.apply_text(&roles).await;
    }
}
