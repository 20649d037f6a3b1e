//! The crate's copy of the WIT package is the repository's, and the configuration builder speaks
//! the document's language.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use boathook_sdk::config::Adopt;
use boathook_sdk::prelude::*;
use boathook_sdk::serde_json::{self, Value};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

fn texts(dir: &Path) -> BTreeMap<String, String> {
    let entries = std::fs::read_dir(dir).unwrap_or_else(|e| panic!("{}: {e}", dir.display()));
    let read = |entry: std::io::Result<std::fs::DirEntry>| {
        let path = entry.unwrap().path();
        let is_wit = path.extension().is_some_and(|extension| extension == "wit");
        is_wit.then(|| {
            (path.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read_to_string(&path).unwrap())
        })
    };
    entries.filter_map(read).collect()
}

/// A published crate cannot reach `../../wit`, so it has a copy: `cp wit/*.wit sdk/rust/wit/`.
#[test]
fn the_copy_of_the_wit_package_is_the_repositorys() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let package = here.join("../../wit");
    assert!(!texts(&package).is_empty());
    assert_eq!(texts(&here.join("wit")), texts(&package));
}

fn read(config: impl IntoConfig) -> Value {
    serde_json::from_str(&config.into_config()).unwrap()
}

fn yaml(text: &str) -> Value {
    yaml_serde::from_str(text).unwrap()
}

#[test]
fn every_field_of_a_kubernetes_binding() {
    let binding = Kubernetes::new("pods")
        .api_version("v1")
        .kind("Pod")
        .on_events([Change::Added, Change::Modified, Change::Deleted])
        .on_synchronization(false)
        .wait_for_synchronization(false)
        .resynchronization_period(Duration::from_secs(3600))
        .keep_full_objects_in_memory(false)
        .content(Content::None)
        .names(["a", "b"])
        .labels(
            Labels::new()
                .eq("app", "web")
                .is_in("tier", ["x", "y"])
                .not_in("env", ["dev"])
                .exists("team")
                .missing("skip"),
        )
        .label("more", "yes")
        .field_eq("spec.nodeName", "n1")
        .field_not("status.phase", "Failed")
        .namespaces(["one"])
        .namespace_labels(Labels::new().eq("kind", "app"))
        .jq_filter(r#".metadata.labels["a/b"]"#)
        .include_snapshots_from(["pods"])
        .ignore_own_writes(true)
        .debounce(Duration::from_secs(2))
        .previous_object(true)
        .queue("main")
        .group("all")
        .allow_failure(true)
        .retry(Retry::new().attempts(3));
    let expected = yaml(include_str!("documents/kubernetes.yaml"));
    assert_eq!(read(Config::new().kubernetes(binding)), expected);
}

#[test]
fn every_other_field() {
    let tick = Schedule::new("*/5 * * * *")
        .name("tick")
        .time_zone("Europe/Berlin")
        .missed_runs(MissedRuns::Once)
        .jitter(Duration::from_millis(1500))
        .include_snapshots_from(["pods"])
        .queue("slow")
        .group("all")
        .allow_failure(true)
        .retry(Retry::new().max(Duration::from_secs(60)));
    let config = Config::new()
        .on_startup(-5)
        .before_all(1)
        .after_all(2)
        .before_helm(3)
        .after_helm(4)
        .before_delete_helm(5)
        .after_delete_helm(6)
        .settings(Duration::from_secs(90), 3)
        .failure_events("apps/v1", "Deployment", Some("tools"), "boathook")
        .schedule(tick)
        .schedule(Schedule::new("@hourly").missed_runs(MissedRuns::Skip))
        .permission(Permission::new().resources(["pods"]).verbs(["get"]))
        .permission(
            Permission::new()
                .groups(["apps"])
                .resources(["deployments/scale"])
                .verbs(["patch"])
                .names(["web"])
                .namespaces(["one"]),
        )
        .http(HttpPermission::new(["api.example.com"]).methods(["GET", "POST"]).paths(["/v1/*"]))
        .directory(DirectoryPermission::new("logs"))
        .directory(DirectoryPermission::new("keys").write())
        .limits(
            Limits::new().memory("32Mi").time(Duration::from_secs(2)).host_calls(5).host_bytes("1Mi").log_bytes("1k"),
        )
        .retry(Retry::new().initial(Duration::from_millis(500)).multiplier(1.5).jitter(0.25))
        .concurrency(4)
        .kubernetes(Kubernetes::new("pods").kind("Pod"))
        .reconcile(
            Reconcile::new("hello", "example.com/v1", "HelloApp")
                .owns("apps/v1", "Deployment")
                .owns("v1", "Service")
                .related(Related::by_name("pull", "v1", "Secret", ".spec.pull[].secret").namespace("shared"))
                .related(Related::by_labels("quotas", "v1", "ResourceQuota", Labels::new().eq("app", "web")))
                .namespaces(["one"])
                .labels(Labels::new().eq("app", "web"))
                .decorates()
                .annotations(Annotations::new().eq("a/b", "any text").is_in("c", ["d"]))
                .prune(30, 5)
                .adopt(Adopt::IfUnowned)
                .resync(Duration::from_secs(3600))
                .include_snapshots_from(["pods"])
                .retry(Retry::new().attempts(5)),
        )
        .reconcile(Reconcile::new("kept", "example.com/v1", "Kept").owns("v1", "Service").revisions(5))
        .validating(validating())
        .mutating(mutating())
        .conversion(
            Conversion::new("crontabs", "crontabs.stable.example.com")
                .step("v1alpha1", "v1beta1")
                .step("v1beta1", "v1")
                .group("all")
                .include_snapshots_from(["pods"]),
        );
    let expected = yaml(include_str!("documents/others.yaml"));
    assert_eq!(read(config), expected);
}

fn validating() -> Validating {
    Validating::new("image-policy.example.com")
        .rule(Rule::new(["CREATE", "UPDATE"], ["pods"]))
        .rule(Rule::new(["*"], ["*"]).groups(["apps"]).versions(["v1", "v1beta1"]).scope("Namespaced"))
        .failure_policy(FailurePolicy::Ignore)
        .has_side_effects()
        .timeout(Duration::from_secs(3))
        .match_condition("not-x", "object.metadata.name != 'x'")
        .exact_match()
        .label("app", "web")
        .in_namespaces_with(Labels::new().exists("env"))
        .include_system()
        .audit_annotation("owner", "platform")
        .group("all")
        .include_snapshots_from(["pods"])
}

fn mutating() -> Mutating {
    Mutating::new("pod-defaults.example.com")
        .rule(Rule::new(["CREATE"], ["pods"]).scope("*"))
        .failure_policy(FailurePolicy::Fail)
        .has_side_effects()
        .timeout(Duration::from_secs(30))
        .match_condition("a", "true")
        .exact_match()
        .labels(Labels::new().missing("a"))
        .in_namespaces_with(Labels::new().eq("env", "dev"))
        .include_system()
        .audit_annotation("a", "b")
        .group("all")
        .include_snapshots_from(["pods"])
        .reinvocation_if_needed()
}

#[test]
fn words_of_the_document() {
    for (content, word) in [(Content::Full, "full"), (Content::Metadata, "metadata"), (Content::None, "none")] {
        let config = read(Config::new().kubernetes(Kubernetes::new("a").content(content)));
        assert_eq!(config["kubernetes"][0]["content"], word);
    }
}

#[test]
fn objects_without_a_namespace_get_events_too() {
    let config = Config::new().failure_events("v1", "Node", None, "n1");
    let expected = yaml("configVersion: v1\nfailureEvents: {regarding: {apiVersion: v1, kind: Node, name: n1}}");
    assert_eq!(read(config), expected);
}

#[test]
fn a_text_is_taken_as_it_is() {
    assert_eq!("configVersion: v1\n".into_config(), "configVersion: v1\n");
}
