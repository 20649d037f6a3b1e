//! `--check`.

use std::{fs, path::PathBuf};

use boathook_cluster::Options;
use serde_json::Value;

use super::rbac;
use crate::{
    pipeline::tell::tell,
    support::{cluster::TestCluster, guests::guest_file},
};

fn arguments(rest: &[&str]) -> Vec<PathBuf> {
    let hooks = ["node-taint", "registry-secret"].map(guest_file);
    hooks.into_iter().chain(["--check".into()]).chain(rest.iter().map(PathBuf::from)).collect()
}

#[tokio::test]
async fn the_log_tells_what_is_not_used() {
    let log = tempfile::NamedTempFile::new().unwrap();
    let file = log.path().to_str().unwrap();
    let lines = |lines: &[&str]| fs::write(log.path(), lines.join("\n")).unwrap();
    let node = r#"{"audit":true,"hook":"node-taint","run":"p-1","verb":"patch","object":"v1 Node a","outcome":"ok"}"#;
    let secret = r#"{"audit":true,"hook":"registry-secret","run":"p-2","verb":"create","object":"v1 Secret a/registry-credentials","outcome":"ok"}"#;
    let pod = r#"{"audit":true,"hook":"node-taint","run":"p-3","verb":"delete","object":"v1 Pod web/a","outcome":"forbidden-by-grant"}"#;

    lines(&["not JSON", node]);
    let ended = rbac(arguments(&["--used", file])).await;
    assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
    assert!(ended.stdout.contains("hook node-taint: it requests what it used"), "{}", ended.stdout);
    assert!(ended.stdout.contains("hook registry-secret: no run of it is recorded"), "{}", ended.stdout);

    lines(&[node, secret, pod]);
    let ended = rbac(arguments(&["--used", file])).await;
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    for part in [
        "unused   permissions.kubernetes[0]: delete secrets\n",
        "unused   permissions.kubernetes[0]: patch secrets\n",
        "refused  delete pods in namespace web, 1×, by the hook's own permissions\n",
        "        - apiGroups: [\"\"]\n          resources: [\"pods\"]\n          verbs: [\"delete\"]\n          namespaces: [\"web\"]\n",
    ] {
        assert!(ended.stdout.contains(part), "{part}\n{}", ended.stdout);
    }
    let ended = rbac(arguments(&["--used", file, "-o", "json"])).await;
    let data: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(data["hooks"][1]["unused"][0]["verb"], "delete");
    assert_eq!(data["hooks"][0]["refused"][0]["by"], "permissions");
    assert_eq!(data["hooks"][1]["permissions"]["kubernetes"][0]["verbs"], serde_json::json!(["create", "get"]));
}

/// A record of `h` that gets a ConfigMap and creates it.
const RECORD: &str = "tests/fixtures/records/version-1.record";

#[tokio::test]
async fn records_tell_what_is_read_too() {
    let directory = tempfile::tempdir().unwrap();
    let hook = directory.path().join("h.wasm");
    let permissions = "{apiGroups: [''], resources: [configmaps], verbs: [get, list, create, delete]}";
    let document = format!("configVersion: v1\nonStartup: 1\npermissions: {{kubernetes: [{permissions}]}}\n");
    fs::write(&hook, tell(&document)).unwrap();
    let hook = hook.to_str().unwrap();
    let ended = rbac([hook, "--check", "--used", RECORD, "-o", "json"]).await;
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    let data: Value = serde_json::from_str(&ended.stdout).unwrap();
    let unused: Vec<_> = data["hooks"][0]["unused"].as_array().unwrap().iter().map(|one| &one["verb"]).collect();
    assert_eq!(unused, ["delete", "list"]);
    assert_eq!(data["hooks"][0]["permissions"]["kubernetes"][0]["verbs"], serde_json::json!(["create", "get"]));

    let none = directory.path().to_str().unwrap();
    let ended = rbac([hook, "--check", "--used", none]).await;
    assert!(ended.code == Some(2) && ended.stderr.contains("holds no record"), "{}", ended.stderr);
    let cut = directory.path().join("cut.record");
    fs::write(&cut, &fs::read(RECORD).unwrap()[..100]).unwrap();
    let ended = rbac([hook, "--check", "--used", none]).await;
    assert!(ended.code == Some(2) && ended.stderr.contains("cut.record: it is truncated"), "{}", ended.stderr);
}

#[tokio::test]
async fn what_can_not_be_used_is_named() {
    let text = tempfile::NamedTempFile::new().unwrap();
    fs::write(text.path(), "INFO audit hook=x").unwrap();
    let file = text.path().to_str().unwrap();
    for (rest, parts) in [
        (vec!["--used", file], vec![file, "--log-format json"]),
        (vec!["--used", "gone.jsonl"], vec!["gone.jsonl"]),
        (vec!["--kubeconfig", "gone.yaml"], vec!["gone.yaml"]),
        (vec!["--crds", "gone-crds.yaml", "--used", file], vec!["gone-crds.yaml"]),
        (vec!["--namespace", "A_b"], vec!["A_b", "lower-case"]),
        (vec!["--used", file, "--as", "x"], vec!["--as"]),
    ] {
        let ended = rbac(arguments(&rest)).await;
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""), "{rest:?}: {}", ended.stderr);
        parts.iter().for_each(|part| assert!(ended.stderr.contains(part), "{part}\n{}", ended.stderr));
    }
}

/// Kinds come from a cluster that serves them, or from their definition in a file.
#[tokio::test]
async fn definitions_name_what_hooks_bind() {
    let definition = r#"{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "paritygadgetz.parity.example.com"},
        "spec": {"group": "parity.example.com", "scope": "Namespaced",
            "names": {"plural": "paritygadgetz", "singular": "paritygadget", "kind": "ParityGadget"},
            "versions": [{"name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]}}"#;
    let directory = tempfile::tempdir().unwrap();
    let hook = directory.path().join("gadgets.wasm");
    let document = "configVersion: v1\nkubernetes: [{name: g, kind: ParityGadget}]\n";
    fs::write(&hook, tell(document)).unwrap();
    let file = directory.path().join("crds.yaml");
    fs::write(&file, definition).unwrap();

    let ended = rbac([&hook]).await;
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("hook gadgets, binding g") && ended.stderr.contains("--crds"), "{}", ended.stderr);
    let ended = rbac([hook.as_os_str(), "--crds".as_ref(), file.as_os_str()]).await;
    assert!(ended.stdout.contains("resources: [\"paritygadgetz\"]"), "{}{}", ended.stdout, ended.stderr);
    assert!(ended.stdout.contains("# hook gadgets: binding g, whose kind may come and go\n"), "{}", ended.stdout);

    let cluster = TestCluster::start().await;
    cluster.admin.create(&serde_json::from_str(definition).unwrap()).await.unwrap();
    let kubeconfig = directory.path().join("kubeconfig");
    fs::write(&kubeconfig, cluster.cluster.kubeconfig()).unwrap();
    let ended = rbac([hook.as_os_str(), "--kubeconfig".as_ref(), kubeconfig.as_os_str()]).await;
    assert!(ended.stdout.contains("resources: [\"paritygadgetz\"]"), "{}{}", ended.stdout, ended.stderr);
}

/// `serve` takes the namespace of the kubeconfig's context for its own, and asks for Events, certificates and Leases there.
#[tokio::test]
async fn the_namespace_asked_about_is_that_of_the_operator_with_this_kubeconfig() {
    let cluster = TestCluster::with(Options::default().rbac(true)).await;
    let directory = tempfile::tempdir().unwrap();
    let kubeconfig = |namespace: &str| {
        let file = directory.path().join(namespace);
        let text = cluster
            .cluster
            .kubeconfig()
            .replace("user: boathook\nusers", &format!("user: boathook\n    namespace: {namespace}\nusers"));
        assert!(text.contains(namespace));
        fs::write(&file, text).unwrap();
        file.to_str().unwrap().to_owned()
    };
    let (ops, nowhere) = (kubeconfig("ops"), cluster.cluster.kubeconfig());
    let plain = directory.path().join("plain");
    fs::write(&plain, nowhere).unwrap();
    let plain = plain.to_str().unwrap();
    let nobody = "system:serviceaccount:team:nobody";
    for (rest, namespace) in [
        (vec!["--kubeconfig", &ops], "ops"),
        (vec!["--kubeconfig", plain], "default"),
        (vec!["--kubeconfig", &ops, "--namespace", "mine"], "mine"),
        (vec!["--kubeconfig", &ops, "--as", nobody], "team"),
        (vec!["--kubeconfig", &ops, "--as", "jane"], "boathook"),
    ] {
        let ended = rbac(arguments(&[&rest[..], &["-o", "json"]].concat())).await;
        let told: Value = serde_json::from_str(&ended.stdout).unwrap_or_else(|_| panic!("{}", ended.stderr));
        assert_eq!(told["namespace"], namespace, "{rest:?}: {told:#}");
        let missing = told["missing"].as_array().unwrap();
        let events = missing.iter().find(|access| access["resource"] == "events");
        assert_eq!(
            events.map(|events| &events["namespace"]),
            rest.contains(&"--as").then_some(&namespace.into()),
            "{told:#}"
        );
    }
    let ended = rbac(arguments(&["--kubeconfig", &ops])).await;
    assert!(ended.stdout.contains("accesses of an operator in namespace ops are allowed"), "{}", ended.stdout);
}
