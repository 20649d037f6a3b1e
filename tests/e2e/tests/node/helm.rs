//! The chart, by Helm itself: its default values, and those that the book prints.

use std::sync::Arc;

use serde_json::json;

use super::registry::HOST;
use super::{Node, book, install};

const PAGE: &str = "admin/install.md";

/// The book's install, upgrade and uninstall.
pub async fn installed_upgraded_and_uninstalled(node: Arc<Node>) {
    let all = book::section(PAGE, "Installing").commands;
    for command in all.iter().filter(|command| command.starts_with("helm ")) {
        node.sh(command).await;
    }
    node.team_at_work().await;
    let before = node.pod().await;
    // A change of the Pod: it is replaced, and HookBundles are at work again.
    node.sh("helm upgrade boathook deploy/charts/boathook -n boathook --set gracePeriod=10s").await;
    node.until("another Pod runs", async || {
        let now = node.pod().await;
        if now["metadata"]["uid"] == before["metadata"]["uid"] { Err("it is the same") } else { Ok(()) }
    })
    .await;
    node.available().await;
    node.bundle_is_ready("hooks").await;
    node.meddles("upgraded").await;
    node.images_are_reviewed().await;
    for command in book::section(PAGE, "Uninstalling a Helm release").commands {
        let said = node.says(&command).await;
        assert!(said.ok, "$ {command}\n{}{}", said.out, said.err);
    }
    install::nothing_is_left(&node, &["boathook"]).await;
}

/// All values that the page prints, in one release; the registry and its key are the test's.
pub async fn documented_values(node: Arc<Node>) {
    let key = node.push(&format!("{HOST}/platform/hooks:v1"), &["schedule"]).await;
    node.sh("kubectl create namespace boathook").await;
    let mut flags = Vec::new();
    for title in ["A list of bundles", "With Helm", "More than one replica"] {
        let yaml = book::section(PAGE, title).yaml;
        // Values, and no kustomization.
        for (number, values) in yaml.iter().filter(|text| !text.starts_with("apiVersion")).enumerate() {
            let file = node.dir.join(format!("{}-{number}.yaml", title.replace(' ', "-")));
            let indent = |text: &str| text.trim_end().replace('\n', "\n      ");
            let pem = "-----BEGIN PUBLIC KEY-----\n      …\n      -----END PUBLIC KEY-----";
            let values = values
                .replace(pem, &indent(&key))
                .replace("registry.example.com/platform", &format!("{HOST}/platform"));
            std::fs::write(&file, values).expect("write values");
            flags.push(format!("--values {}", file.display()));
        }
    }
    assert_eq!(flags.len(), 3, "{flags:?}");
    let flags = flags.join(" ");
    // The test's registry has no TLS.
    let more = "--set extraArgs={--plain-http} --set console.enabled=true";
    node.sh(&format!("helm install boathook deploy/charts/boathook --namespace boathook {flags} {more}")).await;
    node.available().await;
    assert_eq!(node.pods().await.len(), 2);
    node.until("the console is served", async || {
        let log = node.try_sh("kubectl -n boathook logs deploy/boathook").await?;
        if log.contains("127.0.0.1:9117") { Ok(()) } else { Err(log) }
    })
    .await;
    node.until("a replica has the bundle's hook", async || {
        let hooks = node.try_sh("kubectl -n boathook exec deploy/boathook -- boathook hooks").await?;
        if hooks.contains("schedule.hooks") { Ok(()) } else { Err(hooks) }
    })
    .await;
    let deployment = node.get("deployment boathook -n boathook").await.expect("it is there");
    let pod = &deployment["spec"]["template"]["spec"];
    assert_eq!(pod["hostAliases"][0], json!({"ip": "10.0.0.1", "hostnames": ["registry.example.com"]}));
    assert!(pod["containers"][0]["livenessProbe"].is_null());

    // Out of it by what Helm itself prints, with the Lease of the replicas.
    node.until("a replica leads", async || node.get("lease boathook -n boathook").await).await;
    let notes = node.sh("helm get notes boathook --namespace boathook").await;
    let (_, ending) = notes.split_once("Before you uninstall").expect("the notes say how to uninstall");
    let commands: Vec<_> = ending.lines().filter_map(|line| line.strip_prefix("  ")).collect();
    assert_eq!(commands.len(), 3, "{ending}");
    for command in commands {
        node.sh(command).await;
    }
    // A replica that ends would make another Lease as soon as this one is gone.
    assert!(node.get("lease boathook -n boathook").await.is_err());
    node.sh("helm uninstall boathook --namespace boathook").await;
    node.sh("kubectl delete crd hookbundles.boathook.dev modules.boathook.dev; kubectl delete namespace boathook")
        .await;
    install::nothing_is_left(&node, &["boathook"]).await;
}
