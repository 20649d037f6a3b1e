//! The CustomResourceDefinition: the file that is installed, what it describes, and what it refuses.

use std::{fs, path::Path};

use boathook_operator::{hookbundle::definition, module};
use serde_json::{Value, json};

use crate::support::{cluster::TestCluster, until};

/// What a `make` target and an admin apply. `BOATHOOK_WRITE_CRDS=1` regenerates it.
#[test]
fn the_file_is_the_types() {
    for (name, definition) in [("hookbundles", definition()), ("modules", module::definition())] {
        let file = format!("deploy/crds/{name}.boathook.dev.yaml");
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(&file);
        let text = yaml_serde::to_string(&definition).unwrap();
        if std::env::var_os("BOATHOOK_WRITE_CRDS").is_some() {
            fs::write(&path, &text).unwrap();
        }
        let there = fs::read_to_string(&path).unwrap_or_default();
        assert!(there == text, "write {file} with BOATHOOK_WRITE_CRDS=1");
    }
}

/// For `kubectl explain`.
#[test]
fn every_field_is_described() {
    fn undescribed(schema: &Value, path: &str, found: &mut Vec<String>) {
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            let path = format!("{path}.{name}");
            if property["description"].as_str().is_none_or(str::is_empty) {
                found.push(path.clone());
            }
            undescribed(property, &path, found);
            undescribed(&property["items"], &path, found);
        }
    }
    for definition in [definition(), module::definition()] {
        let mut found = Vec::new();
        let schema = &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
        undescribed(schema, "", &mut found);
        assert!(found.is_empty(), "{found:?}");
        assert!(schema["properties"]["spec"]["properties"].as_object().unwrap().len() > 5);
        assert!(!definition.to_string().contains("nullable"));
    }
}

/// A cluster that serves HookBundles.
pub async fn cluster() -> TestCluster {
    let cluster = TestCluster::start().await;
    serve(&cluster).await;
    cluster
}

pub async fn serve(cluster: &TestCluster) {
    let definition = definition();
    cluster.admin.create(&definition).await.unwrap();
    until("HookBundles are served", async || {
        let found = cluster.admin.get(&definition).await.unwrap()?;
        let conditions = found["status"]["conditions"].as_array()?.clone();
        conditions.iter().any(|one| one["type"] == "Established" && one["status"] == "True").then_some(())
    })
    .await;
}

/// The cases, which tests on a real API server play, too.
pub fn cases() -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/hookbundles/cases.yaml");
    yaml_serde::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

#[tokio::test]
async fn what_is_wrong_is_refused_with_its_reason() {
    let cluster = cluster().await;
    cluster
        .admin
        .create(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}}))
        .await
        .unwrap();
    let mut problems = Vec::new();
    for (n, case) in cases().iter().enumerate() {
        let object = json!({
            "apiVersion": "boathook.dev/v1alpha1", "kind": "HookBundle",
            "metadata": {"name": format!("case-{n}"), "namespace": "team"}, "spec": case["spec"],
        });
        let answer = cluster.admin.create(&object).await;
        match (case["refused"].as_str(), answer) {
            (None, Ok(_)) => {}
            (Some(wanted), Err(error)) if error.to_string().contains(wanted) => {}
            (wanted, answer) => {
                let answer = answer.map(|_| "accepted").map_err(|error| error.to_string());
                problems.push(format!("{}: wanted {wanted:?}, got {answer:?}", case["name"]));
            }
        }
    }
    assert!(problems.is_empty(), "\n{}", problems.join("\n"));
}

#[tokio::test]
async fn defaults_are_filled_in() {
    let cluster = cluster().await;
    cluster
        .admin
        .create(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}}))
        .await
        .unwrap();
    let object = json!({
        "apiVersion": "boathook.dev/v1alpha1", "kind": "HookBundle",
        "metadata": {"name": "a", "namespace": "team"},
        "spec": {"source": {"oci": {"reference": "r.example.com/team/hooks:v1"}}, "verification": {"unsigned": true}},
    });
    let made = cluster.admin.create(&object).await.unwrap();
    assert_eq!(
        made["spec"],
        json!({
            "source": {"oci": {"reference": "r.example.com/team/hooks:v1", "insecure": false}},
            "verification": {"unsigned": true, "tagMustMatch": false},
            "approval": "Automatic", "serviceAccountName": "default", "suspend": false,
        })
    );
}
