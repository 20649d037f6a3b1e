//! Each kustomize component, on the base, to Available.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value, json};

use super::objects::names;
use super::registry::HOST;
use super::{Node, book};
use crate::harness::{hook_file, workspace};

/// Where the shipped kustomizations are, as the book names them.
const PUBLISHED: &str = "https://github.com/boathook/boathook//deploy/";

impl Node {
    /// Applies the base with components and more of a kustomization.
    async fn kustomized(&self, components: &[&str], more: &str) {
        let components: Vec<_> =
            components.iter().map(|name| format!("- {PUBLISHED}kustomize/components/{name}")).collect();
        let text = format!(
            "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n- {PUBLISHED}kustomize/base\n\
             components:\n{}\n{more}",
            components.join("\n")
        );
        self.kustomization(&text).await;
        self.available().await;
    }

    async fn kustomization(&self, text: &str) {
        let dir = self.written_kustomization("kustomize", text);
        self.sh(&format!("kubectl apply --server-side -k {}", dir.display())).await;
    }

    /// Writes a kustomization that names the published ones, for those of the checkout.
    pub fn written_kustomization(&self, name: &str, text: &str) -> PathBuf {
        let dir = self.dir.join(name);
        std::fs::create_dir_all(&dir).expect("make a directory");
        // kustomize takes paths below the kustomization, or relative ones.
        let above = "../".repeat(dir.components().count() - 1);
        let deploy = format!("{above}{}/deploy/", workspace().display().to_string().trim_start_matches('/'));
        std::fs::write(dir.join("kustomization.yaml"), text.replace(PUBLISHED, &deploy))
            .expect("write a kustomization");
        dir
    }

    /// The lines of `boathook hooks` in the Pod.
    async fn hooks(&self) -> String {
        self.sh("kubectl -n boathook exec deploy/boathook -- boathook hooks").await
    }

    async fn runs(&self, hook: &str) {
        self.until(&format!("the hook {hook} is there"), async || {
            let hooks = self.try_sh("kubectl -n boathook exec deploy/boathook -- boathook hooks").await?;
            if hooks.contains(hook) { Ok(()) } else { Err(hooks) }
        })
        .await;
    }

    /// An image with hooks where the book's Dockerfile has them, and with a `cp`, imported into containerd.
    pub async fn hooks_image(&self, name: &str, hooks: &[&str]) -> String {
        let dockerfile = fenced("admin/install.md", "text");
        let to = dockerfile.lines().find_map(|line| line.strip_prefix("COPY hooks/ ")).expect("the book's Dockerfile");
        let root = self.dir.join("image");
        let place = root.join(to.trim_matches('/'));
        std::fs::create_dir_all(&place).expect("make a directory");
        for hook in hooks {
            std::fs::copy(hook_file(hook), place.join(format!("{hook}.wasm"))).expect("copy a hook");
        }
        let (image, root, tar) =
            (workspace().join("deploy/image/archive.sh"), root.display(), self.dir.join("image.tar"));
        let (image, tar) = (image.display(), tar.display());
        // This machine's cp with its libraries stands for busybox.
        self.sh(&format!(
            "for file in $(command -v cp) $(ldd $(command -v cp) | grep -o '/[^ ]*'); do
                 install -D -m 0755 $(readlink -f $file) {root}$file
             done
             [ -e {root}/bin ] || ln -s usr/bin {root}/bin
             echo '{{\"Env\": [\"PATH=/usr/bin:/bin\"]}}' | {image} {name} {root} {tar}
             ctr images import {tar}"
        ))
        .await;
        root.to_string()
    }
}

/// The first block of a language on a page.
fn fenced(page: &str, language: &str) -> String {
    let text = std::fs::read_to_string(workspace().join("docs").join(page)).expect("read a page");
    let (_, rest) = text.split_once(&format!("```{language}\n")).expect("the page has such a block");
    rest.split("```").next().unwrap_or_default().to_owned()
}

pub async fn all_namespaces(node: Arc<Node>) {
    node.kustomized(&["all-namespaces"], "").await;
    let may = "kubectl auth can-i impersonate serviceaccounts -n default --as system:serviceaccount:boathook:boathook";
    assert_eq!(node.sh(may).await.trim(), "yes");
}

/// Without them nothing is registered, and nothing may be.
pub async fn no_webhooks(node: Arc<Node>) {
    node.kustomized(&["no-webhooks"], "").await;
    assert_eq!(names(&node.list("services -n boathook").await), ["boathook-metrics"]);
    let may = "kubectl auth can-i create validatingwebhookconfigurations --as system:serviceaccount:boathook:boathook || true";
    assert_eq!(node.sh(may).await.trim(), "no");
}

pub async fn hooks_init_container(node: Arc<Node>) {
    node.hooks_image("localhost/init:v7", &["schedule"]).await;
    node.kustomized(&["hooks-init-container"], "images: [{name: boathook-hooks, newName: localhost/init, newTag: v7}]")
        .await;
    node.runs("schedule").await;
}

/// A container runtime that mounts images is newer than the one of many machines (containerd 2.1). What is tried without
/// is where the hooks are in the image: a volume with the image's files is in its place.
pub async fn hooks_image_volume(node: Arc<Node>) {
    let root = node.hooks_image("localhost/hooks:v1", &["schedule"]).await;
    node.apply(&json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "hooks"}, "spec": {
        "capacity": {"storage": "1Gi"}, "accessModes": ["ReadOnlyMany"], "storageClassName": "none",
        "hostPath": {"path": root}, "claimRef": {"namespace": "boathook", "name": "hooks"}}}))
        .await;
    node.sh("kubectl create namespace boathook").await;
    node.apply(&json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": "hooks", "namespace": "boathook"},
        "spec": {"accessModes": ["ReadOnlyMany"], "storageClassName": "none", "resources": {"requests": {"storage": "1Gi"}}}}))
        .await;
    let patch = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "boathook", "namespace": "boathook"},
        "spec": {"template": {"spec": {"volumes": [
            {"name": "hooks", "image": null, "persistentVolumeClaim": {"claimName": "hooks", "readOnly": true}}]}}}});
    let more = format!("patches: [{{patch: {}}}]", json!(patch.to_string()));
    node.kustomized(&["hooks-image-volume"], &more).await;
    node.runs("schedule").await;
}

/// With the files replaced as the component advises.
pub async fn bundle_references(node: Arc<Node>) {
    let key = node.push(&format!("{HOST}/team/listed:v1"), &["schedule"]).await;
    std::fs::create_dir_all(node.dir.join("kustomize")).expect("make a directory");
    let policy = json!({"apiVersion": "boathook.dev/v1alpha1", "kind": "BundlePolicy", "sources": [
        {"match": format!("{HOST}/team/*"), "keys": [{"name": "team", "key": key}]}]});
    std::fs::write(node.dir.join("kustomize/policy.yaml"), policy.to_string()).expect("write a policy");
    let page = book::section("admin/install.md", "A list of bundles").yaml;
    let text = page.iter().find(|block| block.contains("configMapGenerator")).expect("the book shows a kustomization");
    node.kustomization(&text.replace("registry.example.com/platform/hooks:v1", &format!("{HOST}/team/listed:v1")))
        .await;
    let plain = json!([{"op": "add", "path": "/spec/template/spec/containers/0/args/-", "value": "--plain-http"}]);
    node.sh(&format!("kubectl -n boathook patch deployment boathook --type=json -p '{plain}'")).await;
    node.available().await;
    node.runs("schedule.listed").await;
}

/// The book's kustomization: several components, and a patch.
pub async fn documented_kustomization(node: Arc<Node>) {
    // What the Prometheus operator brings.
    for (kind, plural) in [("PodMonitor", "podmonitors"), ("PrometheusRule", "prometheusrules")] {
        node.apply(&definition(kind, plural)).await;
        node.sh(&format!("kubectl wait --for=condition=Established crd/{plural}.monitoring.coreos.com --timeout=30s"))
            .await;
    }
    let page = book::section("admin/install.md", "With kustomize").yaml;
    let text = page.first().expect("the page shows a kustomization");
    assert!(text.contains("pod-monitor") && text.contains("registry.example.com/team/hooks-image:v2"), "{text}");
    node.kustomization(text).await;
    let deployment = node.get("deployment boathook -n boathook").await.expect("it is there");
    let volumes = deployment["spec"]["template"]["spec"]["volumes"].as_array().cloned().unwrap_or_default();
    let hooks = volumes.iter().find(|volume| volume["name"] == "hooks").expect("there is the volume of hooks");
    assert_eq!(hooks["image"]["reference"], "registry.example.com/team/hooks-image:v2");
    // That image is nobody's: the Pod waits for it. The other components are known to run.
    node.kustomized(&["pod-monitor", "prometheus-rule"], "").await;
    assert_eq!(node.list("podmonitors -n boathook").await.len(), 1);
    assert!(!node.list("prometheusrules -A").await.is_empty());
    assert!(node.hooks().await.lines().count() <= 2);
}

fn definition(kind: &str, plural: &str) -> Value {
    let schema = json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
    let version = json!({"name": "v1", "served": true, "storage": true, "schema": schema});
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.monitoring.coreos.com"),
            "annotations": {"api-approved.kubernetes.io": "unapproved, for a test"}},
        "spec": {"group": "monitoring.coreos.com", "scope": "Namespaced", "versions": [version],
            "names": {"kind": kind, "plural": plural, "singular": kind.to_lowercase(), "listKind": format!("{kind}List")}}})
}
