//! Makes every call that the interface `kube` has and logs each answer: for tests of the calls.
//!
//! It never fails because of an answer; the test judges them.
//!
//! It is woken by a ConfigMap labelled `test=allkube` and works in that namespace. Each answer is
//! one line of JSON: `call`, and `ok` (the answer, shortened to what matters) or `error`
//! (`reason`, `code`, `message`).

// `Value` answers null, and makes what is missing, where a list would panic.
#![allow(clippy::indexing_slicing)]

mod calls;

use boathook_sdk::kube::Object;
use boathook_sdk::prelude::*;
use boathook_sdk::serde_json::{Value, json};
use boathook_sdk::{DataError, Json};

fn config() -> Config {
    let configmaps = Kubernetes::new("configmaps")
        .api_version("v1")
        .kind("ConfigMap")
        .label("test", "allkube")
        .on_events([Change::Added])
        .on_synchronization(false);
    let all = ["get", "list", "create", "update", "patch", "delete"];
    Config::new()
        .kubernetes(configmaps)
        .permission(Permission::new().resources(["configmaps"]).verbs(all))
        .permission(
            Permission::new()
                .groups(["apps"])
                .resources(["deployments", "deployments/status", "deployments/scale"])
                .verbs(all),
        )
        .permission(Permission::new().groups(["", "events.k8s.io"]).resources(["events"]).verbs(["create"]))
}

fn run(ctx: Context) -> Result<()> {
    for event in ctx.events("configmaps") {
        let namespace = event.target.namespace.as_deref().unwrap_or("default");
        let tester = Tester { namespace };
        tester.reads_and_creates();
        tester.updates_and_patches();
        tester.deployment();
        tester.deletes();
        tester.batch();
        tester.others(&event.target);
        log::info!("{}", json!({"call": "end", "ok": null}));
    }
    Ok(())
}

/// Makes the calls in one namespace.
struct Tester<'a> {
    namespace: &'a str,
}

impl Tester<'_> {
    fn configmap(&self, name: &str) -> ObjectRef {
        ObjectRef::new("v1", "ConfigMap", self.namespace, name)
    }

    fn deployment_ref(&self) -> ObjectRef {
        ObjectRef::new("apps/v1", "Deployment", self.namespace, "web")
    }

    /// A ConfigMap with one key.
    fn object(&self, name: &str, value: &str) -> Value {
        json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": self.namespace, "labels": {"made-by": "allkube"}},
            "data": {"key": value},
        })
    }
}

/// Logs an answer.
fn report(call: &str, answer: Result<Value, kube::Error>) {
    let line = match answer {
        Ok(ok) => json!({"call": call, "ok": ok}),
        Err(error) => json!({
            "call": call,
            "error": {
                "reason": format!("{:?}", error.reason()),
                "code": error.code(),
                "message": error.to_string(),
            },
        }),
    };
    log::info!("{line}");
}

/// Logs the answer of a write.
fn report_write(call: &str, answer: Result<Option<Json>, kube::Error>) {
    report(call, answer.map(|json| json.map_or(Value::Null, |json| shorten(json.parse()))));
}

/// What matters of an object.
fn shorten(object: Result<Object, DataError>) -> Value {
    match object {
        Ok(object) => json!({
            "kind": object.kind(),
            "name": object.name(),
            "generation": object.pointer("/metadata/generation"),
            "labels": object.pointer("/metadata/labels"),
            "data": object.pointer("/data"),
            "replicas": object.pointer("/spec/replicas"),
            "status": object.pointer("/status"),
        }),
        Err(error) => json!(error.to_string()),
    }
}

boathook_sdk::hook!(config, run);
