//! `boathook rbac` for hooks that answer the API server: the generated roles let the operator register them, and
//! nothing of the roles is there for nothing.
//! It never gives the operator another right.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::harness::{Operator, Test, boathook, eventually, port};
use crate::rbac::{ACCOUNT, Setup, is_refusal, path, text};
use crate::webhooks::SECRET;
use crate::webhooks::reviewer::{CONFIGURATION, DEFINITION, HOOK, definition};

const KIND: &str = "validatingwebhookconfiguration";

pub async fn roles_for_webhooks_are_enough(test: Arc<Test>) {
    let setup = setup(&test).await;
    setup.apply_roles(&[]).await;
    let kubeconfig = setup.kubeconfig().await;
    let url = url();
    let operator = start(&test, &kubeconfig, &url).await;
    operator.ready().await;
    registered(&setup).await;

    // All that it ever does: it repairs the configuration, creates it again, and exchanges certificates.
    let cluster = &setup.cluster;
    let broken = r#"[{"op": "replace", "path": "/webhooks/0/failurePolicy", "value": "Ignore"}]"#;
    cluster.kubectl(&["patch", KIND, CONFIGURATION, "--type=json", "--patch", broken]).await;
    cluster.kubectl(&["delete", "mutatingwebhookconfiguration", CONFIGURATION]).await;
    cluster.kubectl(&["delete", "secret", SECRET, "--namespace", ACCOUNT]).await;
    let repaired =
        |line: &Value| line["message"].as_str().is_some_and(|text| text.starts_with("registration repaired"));
    operator.logs("both repairs", |_| operator.log().iter().filter(|line| repaired(line)).count() >= 2).await;
    let secret = ["get", "secret", SECRET, "--namespace", ACCOUNT];
    eventually("the Secret is made anew", async || cluster.try_kubectl(&secret).await).await;
    registered(&setup).await;
    operator.stop().await;

    // The hook goes; another keeps webhooks needed, and needs none of its other rights.
    std::fs::remove_file(test.dir().join("hooks/reviewer.wasm")).expect("remove a hook");
    let operator = start_with(&test, &kubeconfig, &url, &["crontab-conversion"]).await;
    eventually("its registration is gone", async || match cluster.try_kubectl(&["get", KIND, CONFIGURATION]).await {
        Ok(found) => Err(found),
        Err(_) => Ok(()),
    })
    .await;
    converts(&setup, false).await;
    // Only what the other hook would need is not there.
    let other = |line: &Value| line.to_string().contains("crontabs.stable.example.com");
    let refused: Vec<_> = operator.log().into_iter().filter(|line| is_refusal(line) && !other(line)).collect();
    assert!(refused.is_empty(), "{refused:?}");
    operator.stop().await;
    let checked = setup.rbac(&["--check", "--kubeconfig", path(&kubeconfig)]).await;
    assert_eq!(checked.status.code(), Some(0), "{}", text(&checked));
}

/// Takes one rule after the other away; each time something is refused, and comes right with it.
pub async fn every_rule_for_webhooks_is_needed(test: Arc<Test>) {
    let setup = setup(&test).await;
    setup.apply_roles(&[]).await;
    let kubeconfig = setup.kubeconfig().await;
    let of_webhooks = |resource: &String| {
        ["webhookconfigurations", "customresourcedefinitions", "secrets"].iter().any(|what| resource.ends_with(what))
    };
    let rules = setup.rules().await;
    let rules: Vec<_> =
        rules.iter().filter(|(_, rule)| rule.resources.iter().flatten().any(of_webhooks)).cloned().collect();
    assert_eq!(rules.len(), 6, "{rules:?}");
    for (namespace, rule) in rules {
        uninstall(&setup).await;
        setup.without(namespace.as_deref(), &rule).await;
        setup.has_not(&kubeconfig, namespace.as_deref(), &rule).await;
        let operator = start(&test, &kubeconfig, &url()).await;
        operator.logs(&format!("what is refused without {rule:?}"), is_refusal).await;
        setup.apply_roles(&[]).await;
        registered(&setup).await;
        operator.kill().await;
    }
}

async fn setup(test: &Test) -> Setup {
    let setup = Setup::new(test, &[HOOK]).await;
    setup.apply(&definition(&json!({"strategy": "None"}))).await;
    setup
}

fn url() -> String {
    format!("127.0.0.1:{}", port())
}

async fn start(test: &Test, kubeconfig: &Path, address: &str) -> Operator {
    start_with(test, kubeconfig, address, &[HOOK]).await
}

async fn start_with(test: &Test, kubeconfig: &Path, address: &str, hooks: &[&str]) -> Operator {
    let flags = ["--webhook-listen", address, "--webhook-url", &format!("https://{address}")];
    Operator::start_with(test.dir(), kubeconfig, hooks, &flags).await
}

/// Waits until all that the hook wants is there.
async fn registered(setup: &Setup) {
    for kind in [KIND, "mutatingwebhookconfiguration"] {
        let policy = "--output=jsonpath={.webhooks[0].failurePolicy}";
        eventually("the hook is registered", async || {
            match setup.cluster.try_kubectl(&["get", kind, CONFIGURATION, policy]).await?.as_str() {
                "Fail" => Ok(()),
                other => Err(format!("its policy is {other:?}")),
            }
        })
        .await;
    }
    converts(setup, true).await;
}

async fn converts(setup: &Setup, wanted: bool) {
    let strategy = "--output=jsonpath={.spec.conversion.strategy}";
    eventually("the definition asks the hook, or does not", async || {
        let found = setup.cluster.try_kubectl(&["get", "customresourcedefinition", DEFINITION, strategy]).await?;
        if (found == "Webhook") == wanted { Ok(()) } else { Err(found) }
    })
    .await;
}

/// As an administrator does it, whose rights are no matter here.
async fn uninstall(setup: &Setup) {
    let mut command = tokio::process::Command::new(boathook());
    command.args(["uninstall", "--yes", "--instance", ACCOUNT]);
    command.arg("--kubeconfig").arg(&setup.cluster.kubeconfig).env_remove("KUBECONFIG");
    let ended = command.kill_on_drop(true).output().await.expect("start boathook uninstall");
    assert!(ended.status.success(), "{}", text(&ended));
    let _ = setup.cluster.try_kubectl(&["delete", "secret", SECRET, "--namespace", ACCOUNT]).await;
}
