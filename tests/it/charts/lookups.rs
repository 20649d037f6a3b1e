//! What a chart asks the cluster for.

use std::sync::{Arc, Mutex};

use boathook_sandbox::{Lookup, LookupQuery, RenderError};
use futures::future::{BoxFuture, FutureExt as _};
use serde_json::{Value, json};

use super::{first, left_out, request, sandbox, template, tenant};

/// A cluster with these objects.
pub struct Objects {
    all: Value,
    asked: Mutex<Vec<LookupQuery>>,
}

impl Objects {
    pub fn new(all: Value) -> Self {
        Self { all, asked: Mutex::default() }
    }

    fn answer(&self, query: &LookupQuery) -> Option<String> {
        let LookupQuery { api_version, kind, namespace, name } = query;
        let ours = |one: &&Value| {
            one["apiVersion"] == **api_version
                && one["kind"] == **kind
                && (namespace.is_empty() || one["metadata"]["namespace"] == **namespace)
        };
        let mut found = self.all.as_array().unwrap().iter().filter(ours);
        if !name.is_empty() {
            return found.find(|one| one["metadata"]["name"] == **name).map(Value::to_string);
        }
        let items: Vec<_> = found.collect();
        Some(json!({"apiVersion": api_version, "kind": format!("{kind}List"), "items": items}).to_string())
    }
}

impl Lookup for Objects {
    fn lookup(&self, query: LookupQuery) -> BoxFuture<'_, Result<Option<String>, String>> {
        async move {
            let answer = self.answer(&query);
            self.asked.lock().unwrap().push(query);
            // The answer of a real cluster takes a while.
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
            Ok(answer)
        }
        .boxed()
    }
}

/// A cluster in which nothing may be read.
struct Forbidden;

impl Lookup for Forbidden {
    fn lookup(&self, _: LookupQuery) -> BoxFuture<'_, Result<Option<String>, String>> {
        async { Err("the module may not get secrets: grant it".to_owned()) }.boxed()
    }
}

#[tokio::test]
async fn lookups_go_to_the_host() {
    if left_out().await {
        return;
    }
    let cluster = Arc::new(Objects::new(
        json!([{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a", "namespace": "web"}, "data": {"k": "dg=="}}]),
    ));
    let text = r#"
kind: A
found: {{ (lookup "v1" "Secret" "web" "a").data.k }}
none: {{ lookup "v1" "Secret" "web" "b" | toJson }}
list: {{ range (lookup "v1" "Secret" "" "").items }}{{ .metadata.name }}{{ end }}
"#;
    let rendered = sandbox().charts().render(&tenant(), request(template(text)), cluster.clone()).await.unwrap();
    assert_eq!(first(&rendered), json!({"kind": "A", "found": "dg==", "none": {}, "list": "a"}));
    let asked: Vec<_> =
        cluster.asked.lock().unwrap().iter().map(|one| (one.namespace.clone(), one.name.clone())).collect();
    let texts = |a: &str, b: &str| (a.to_owned(), b.to_owned());
    assert_eq!(asked, [texts("web", "a"), texts("web", "b"), texts("", "")]);
}

// mutant: crates/sandbox/src/charts/instance.rs: `Err(why) => Err(Ended::Lookup(format!("{what}: {why}")).into()),` => `Err(_) => Ok(Ok(None)),`
#[tokio::test]
async fn a_lookup_that_is_not_allowed_ends_the_rendering_with_its_reason() {
    if left_out().await {
        return;
    }
    let chart = template("a: {{ lookup \"v1\" \"Secret\" \"web\" \"a\" | toJson }}");
    let error = sandbox().charts().render(&tenant(), request(chart), Arc::new(Forbidden)).await.unwrap_err();
    let wanted = "lookup of v1 Secret web/a: the module may not get secrets: grant it";
    assert_eq!(error, RenderError::Lookup(wanted.to_owned()));
    assert!(error.is_transient());
}
