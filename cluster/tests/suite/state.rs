//! A cluster's objects from YAML and to YAML.

use std::error::Error as _;

use boathook_cluster::{Cluster, Error, Options, State, StateError};

use super::support::{Fixture, start_with};

/// Everything stands before what it needs.
const BACKWARDS: &str = r#"
apiVersion: example.com/v1
kind: Widget
metadata: { name: w, namespace: a, ownerReferences: [{ apiVersion: v1, kind: ConfigMap, name: owner, uid: old }] }
---
apiVersion: v1
kind: List
items:
- { apiVersion: v1, kind: ConfigMap, metadata: { name: owner, namespace: a, uid: old, resourceVersion: "7" } }
- apiVersion: v1
  kind: Pod
  metadata: { name: p, ownerReferences: [{ apiVersion: v1, kind: Node, name: not-here, uid: gone }] }
  spec: { containers: [{ name: c, image: i }] }
  status: { phase: Running }
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: widgets.example.com }
spec:
  group: example.com
  scope: Namespaced
  names: { plural: widgets, kind: Widget }
  versions:
  - { name: v1, served: true, storage: true, schema: { openAPIV3Schema: { type: object } } }
---
{ apiVersion: v1, kind: Namespace, metadata: { name: a } }
---
{ apiVersion: v1, kind: Namespace, metadata: { name: default, labels: { mine: "yes" } } }
"#;

async fn check(f: &Fixture) {
    let (_, owner) = f.get("/api/v1/namespaces/a/configmaps/owner").await;
    assert_ne!(owner["metadata"]["uid"], "old");
    let (_, widget) = f.get("/apis/example.com/v1/namespaces/a/widgets/w").await;
    assert_eq!(widget["metadata"]["ownerReferences"][0]["uid"], owner["metadata"]["uid"], "{widget}");
    let (_, pod) = f.get("/api/v1/namespaces/default/pods/p").await;
    assert_eq!((pod["metadata"].get("ownerReferences"), &pod["status"]["phase"]), (None, &"Running".into()));
    let (_, namespace) = f.get("/api/v1/namespaces/default").await;
    assert_eq!(namespace["metadata"]["labels"]["mine"], "yes");
}

#[tokio::test]
async fn a_state_is_loaded_in_order_and_comes_back() {
    let state = State::parse("backwards.yaml", BACKWARDS).unwrap();
    assert_eq!(state.len(), 6);
    let f = start_with(Options::default().state(state)).await;
    check(&f).await;
    let saved = f.cluster.save();
    let again = start_with(Options::default().state(State::parse("saved", &saved).unwrap())).await;
    check(&again).await;
    assert_eq!(again.cluster.save(), saved.replace(&uid(&f).await, &uid(&again).await));
}

async fn uid(f: &Fixture) -> String {
    f.get("/api/v1/namespaces/a/configmaps/owner").await.1["metadata"]["uid"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn what_the_cluster_does_not_accept_is_named_with_its_place() {
    let text =
        "apiVersion: v1\nkind: Secret\nmetadata:\n  name: a\n---\napiVersion: x.io/v1\nkind: X\nmetadata: {name: a}\n";
    let state = State::parse("f.yaml", text).unwrap();
    let error = Cluster::start(Options::default().state(state)).await.unwrap_err();
    assert!(matches!(&error, Error::State(StateError::Document { document: 2, line: 5, .. })), "{error:?}");
    let why = error.source().unwrap().to_string();
    assert!(why.contains("f.yaml") && why.contains("no kind X in x.io/v1"), "{why}");
}

#[tokio::test]
async fn a_folder_is_read_in_the_order_of_names_and_other_files_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let secret = |name: &str| format!("apiVersion: v1\nkind: Secret\nmetadata:\n  name: {name}\n");
    std::fs::write(folder.path().join("b.yml"), secret("b")).unwrap();
    std::fs::write(folder.path().join("a.yaml"), format!("{}---\n{}", secret("a"), secret("b"))).unwrap();
    std::fs::write(folder.path().join("notes.txt"), "- [").unwrap();
    let state = State::read(folder.path()).unwrap();
    assert_eq!(state.len(), 3);
    let error = Cluster::start(Options::default().state(state)).await.unwrap_err();
    let why = error.source().unwrap().to_string();
    assert!(why.contains("b.yml, document 1") && why.contains("already exists"), "{why}");
    assert!(matches!(State::read(folder.path().join("none.yaml")), Err(StateError::Read { .. })));
}
