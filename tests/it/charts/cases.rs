//! The component gives what Helm's own library gives. `interpreters/helm/differential` writes what that is.

use std::{fs, sync::Arc};

use boathook_sandbox::{Capabilities, KubeVersion, Manifest, Operation, RenderError, RenderRequest, Rendered};
use serde_json::{Value, json};

use super::{chart, left_out, lookups::Objects, request, sandbox, sandbox_with, tenant, testdata};

fn case(case: &Value) -> RenderRequest {
    let text = |key: &str| case[key].as_str();
    let mut request = request(chart(text("chart").unwrap()));
    let mut kube = KubeVersion::parse(text("kube").unwrap_or("v1.36.0")).unwrap();
    kube.minor = text("minor").map_or(kube.minor, str::to_owned);
    let versions = case["apiVersions"].as_array();
    let api_versions = versions.into_iter().flatten().map(|one| one.as_str().unwrap().to_owned()).collect();
    request.capabilities = Arc::new(Capabilities { kube, api_versions, assumed: versions.is_none() });
    request.values = case.get("values").cloned().unwrap_or(json!({}));
    request.skip_schema = case["skipSchema"] == true;
    request.release.revision = u32::try_from(case["revision"].as_u64().unwrap_or(1)).unwrap();
    if case["upgrade"] == true {
        request.release.operation = Operation::Upgrade;
    }
    request
}

/// The form of the files of `expected`. Helm gives definitions, warnings and the lines of an error in any order.
fn shown(outcome: &Result<Arc<Rendered>, RenderError>) -> Value {
    let manifest = |one: &Manifest| json!({"Source": one.source, "Text": one.text});
    let list = |all: Vec<Value>| if all.is_empty() { Value::Null } else { Value::Array(all) };
    match outcome {
        Err(error) => {
            let text = error.to_string();
            let mut lines: Vec<&str> = text.split('\n').collect();
            lines.sort_unstable();
            json!({
                "Manifests": null, "Hooks": null, "Definitions": null, "Notes": "", "Warnings": null,
                "Error": lines.join("\n"),
            })
        }
        Ok(rendered) => {
            let hooks = rendered.hooks.iter().map(|hook| {
                json!({
                    "Manifest": manifest(&hook.manifest), "Name": hook.name, "Kind": hook.kind,
                    "Events": list(hook.events.iter().map(|one| json!(one)).collect()), "Weight": hook.weight,
                    "DeletePolicies": list(hook.delete_policies.iter().map(|one| json!(one)).collect()),
                })
            });
            let mut definitions = rendered.definitions.clone();
            definitions.sort_by_key(|one| format!("{}{}", one.source, one.text));
            let mut warnings = rendered.warnings.clone();
            warnings.sort_unstable();
            json!({
                "Manifests": list(rendered.manifests.iter().map(manifest).collect()), "Hooks": list(hooks.collect()),
                "Definitions": list(definitions.iter().map(manifest).collect()), "Notes": rendered.notes,
                "Warnings": list(warnings.iter().map(|one| json!(one)).collect()), "Error": "",
            })
        }
    }
}

#[tokio::test]
async fn charts_render_as_with_helms_own_library() {
    if left_out().await {
        return;
    }
    let read =
        |file: &str| -> Value { yaml_serde::from_str(&fs::read_to_string(testdata().join(file)).unwrap()).unwrap() };
    let (sandbox, cluster) = (sandbox(), Arc::new(Objects::new(read("cluster.yaml"))));
    let (cases, mut wrong) = (read("cases.yaml"), Vec::new());
    let cases = cases.as_array().unwrap();
    assert!(cases.len() >= 19, "{}", cases.len());
    for one in cases {
        let name = one["name"].as_str().unwrap();
        let outcome = sandbox.charts().render(&tenant(), case(one), cluster.clone()).await;
        let expected = fs::read_to_string(testdata().join(format!("expected/{name}.json"))).unwrap();
        let (got, expected) = (shown(&outcome), serde_json::from_str::<Value>(&expected).unwrap());
        if got != expected {
            wrong.push(format!("{name}: Helm renders\n{expected:#}\nand the component\n{got:#}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn an_error_of_a_chart_is_helms_own() {
    if left_out().await {
        return;
    }
    let error = super::rendered(&sandbox(), request(chart("fails"))).await.unwrap_err();
    let wanted = "execution error at (fails/templates/a.yaml:1:6): port is missing: set it";
    assert_eq!(error, RenderError::Chart(wanted.to_owned()));
    assert!(!error.is_transient());
}

/// A chart that gave the same bytes before is not rendered again.
#[tokio::test]
async fn results_are_remembered_unless_the_chart_asked_the_cluster() {
    if left_out().await {
        return;
    }
    let sandbox = sandbox();
    let first = super::rendered(&sandbox, request(chart("functions"))).await.unwrap();
    let again = super::rendered(&sandbox, request(chart("functions"))).await.unwrap();
    assert!(Arc::ptr_eq(&first, &again));
    let mut other = request(chart("functions"));
    other.release.revision = 2;
    assert!(!Arc::ptr_eq(&first, &super::rendered(&sandbox, other).await.unwrap()));
    let first = super::rendered(&sandbox, request(chart("app"))).await.unwrap();
    let again = super::rendered(&sandbox, request(chart("app"))).await.unwrap();
    assert!(!Arc::ptr_eq(&first, &again) && first == again);
    let forgetful = sandbox_with(boathook_sandbox::ChartConfig { remembered: 0, ..super::bounds() });
    let first = super::rendered(&forgetful, request(chart("functions"))).await.unwrap();
    let again = super::rendered(&forgetful, request(chart("functions"))).await.unwrap();
    assert!(!Arc::ptr_eq(&first, &again) && first == again);
}
