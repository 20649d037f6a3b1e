//! What records show that a document may leave out, from runs of scripts on a local cluster. The patched document is tried:
//! the records are repeated with it, and no event that led to something is lost.
//!
//! Left out where there is no Go, because the interpreter is not built there.

use std::path::Path;

use boathook_author::{
    advice::{Verdict, judge},
    rbac::Kinds,
};
use boathook_core::{
    hooks::parse,
    model::{Cause, HookName, HookSpec},
};
use boathook_operator::record::Record;
use serde_json::{Value, json};

use super::{Recorded, of_hook, records};
use crate::{
    script::{
        interpreters,
        shell::{left_out, packed, sandbox},
    },
    support::{
        guests::cache_dir,
        process::{Ended, boathook, run},
    },
};

/// A script with this document, as JSON.
fn script(document: &Value, body: &str) -> Vec<u8> {
    let text =
        format!("#!/bin/bash\nif [[ $1 == --config ]]; then\ncat <<'END'\n{document:#}\nEND\nexit\nfi\n{body}\n");
    packed(&[("hook.sh", &text)])
}

async fn advise(arguments: &[&str]) -> Ended {
    let mut command = boathook(["advise"]);
    command.args(arguments).arg("--cache-dir").arg(cache_dir()).env("BOATHOOK_INTERPRETERS", interpreters());
    run(command).await
}

async fn advised(directory: &str) -> Value {
    let ended = advise(&[directory, "-o", "json"]).await;
    assert_eq!(ended.code, Some(1), "{}{}", ended.stdout, ended.stderr);
    let told: Value = serde_json::from_str(&ended.stdout).unwrap();
    told["hooks"][0].clone()
}

fn patched(document: &Value, operations: &Value) -> Value {
    boathook_author::advice::patched(document, operations.as_array().unwrap()).unwrap()
}

fn spec(document: &Value) -> HookSpec {
    parse(&HookName::new("h").unwrap(), &document.to_string(), &|_| Ok(())).unwrap()
}

/// What the advice on one key says.
fn about<'a>(told: &'a Value, at: &str) -> &'a Value {
    let all = told["advice"].as_array().unwrap();
    all.iter().find(|item| item["at"] == at).unwrap_or_else(|| panic!("nothing about {at}: {told:#}"))
}

/// Starts `h` on an empty cluster.
async fn start(document: &Value, body: &str) -> Recorded {
    sandbox().await;
    let hooks = [("h", script(document, body))];
    let recorded = Recorded::start_with(&hooks, |options| options.sandbox.interpreters = vec![interpreters()]).await;
    recorded.operator().ready().await;
    recorded
}

/// Makes an object, and waits for the run that it causes.
async fn make(recorded: &Recorded, object: Value) {
    let before = of_hook(&recorded.path(), "h").len();
    recorded.pipeline.apply(object).await;
    recorded.until("h", before + 1).await;
}

fn map(namespace: &str, name: &str, labels: Value, data: Value) -> Value {
    let metadata = json!({"namespace": namespace, "name": name, "labels": labels});
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})
}

/// Repeats all records with a component of the patched document.
async fn the_patched_document_does_the_same(path: &Path, document: &Value, body: &str) {
    let file = path.join("patched.wasm");
    std::fs::write(&file, script(document, body)).unwrap();
    let mut command = boathook(["replay", path.to_str().unwrap(), "--with", file.to_str().unwrap()]);
    command.arg("--cache-dir").arg(cache_dir()).env("BOATHOOK_INTERPRETERS", interpreters());
    let ended = run(command).await;
    let count = of_hook(path, "h").len();
    assert_eq!(ended.stdout.trim(), format!("{count} runs: {count} same, 0 differ"), "{}", ended.stderr);
}

fn acted(record: &Record) -> bool {
    record.calls.iter().any(|call| !call.request.operations().is_empty())
}

const COPIES: &str = r#"
jq -c '.[] | select(.object.metadata.labels.role == "source") | {
  operation: "CreateIfNotExists",
  object: {apiVersion: "v1", kind: "Secret", metadata: {namespace: .object.metadata.namespace, name: .object.metadata.name}}
}' "$BINDING_CONTEXT_PATH" >> "$KUBERNETES_PATCH_PATH"
"#;

#[tokio::test]
async fn a_wide_document_becomes_as_narrow_as_its_runs() {
    if left_out() {
        return;
    }
    let document = json!({
        "configVersion": "v1",
        "limits": {"memory": "256Mi", "time": "1h"},
        "kubernetes": [{
            "name": "maps", "apiVersion": "v1", "kind": "ConfigMap", "executeHookOnSynchronization": false,
            "executeHookOnEvent": ["Added"],
        }],
        "permissions": {
            "kubernetes": [
                {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]},
                {"apiGroups": [""], "resources": ["secrets", "configmaps"], "verbs": ["*"]},
            ],
            "http": [{"hosts": ["api.example.com"]}],
        },
    });
    let recorded = start(&document, COPIES).await;
    recorded.pipeline.create(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}})).await;
    for number in 0..10 {
        make(&recorded, map("team", &format!("s-{number}"), json!({"role": "source"}), json!({"a": "b"}))).await;
    }
    for number in 0..4 {
        make(&recorded, map("default", &format!("o-{number}"), json!({"role": "other"}), json!({"a": "b"}))).await;
    }
    let (_records, path) = recorded.stop().await;
    let told = advised(path.to_str().unwrap()).await;
    let all = records(&path);
    assert_eq!((&told["hook"], told["runs"].as_u64()), (&json!("h"), Some(all.len() as u64)));

    let idle =
        all.iter().filter(|record| !acted(record) && matches!(record.triggers[0].cause, Cause::Event(_))).count();
    assert_eq!(about(&told, "permissions.kubernetes[0]")["advice"], "remove it");
    let needed = about(&told, "permissions.kubernetes[1]");
    assert_eq!(needed["advice"], "only create secrets in team");
    assert_eq!(about(&told, "permissions.http[0]")["advice"], "remove it");
    assert_eq!(about(&told, "limits.time")["runs"], told["runs"]);
    let label = about(&told, "kubernetes[0].labelSelector");
    assert_eq!(
        (&label["advice"], label["spares"].as_u64()),
        (&json!("only objects with role=source"), Some(idle as u64))
    );
    assert_eq!(about(&told, "kubernetes[0].namespace.nameSelector")["advice"], "only team");
    // The script reads labels, and no data.
    assert_eq!(about(&told, "kubernetes[0].content")["advice"], "metadata in place of full");

    // Each patch alone, and all of them, take nothing from any run.
    let before = spec(&document);
    for item in told["advice"].as_array().unwrap().iter().chain([&json!({"patch": told["patch"], "spares": idle})]) {
        let after = spec(&patched(&document, &item["patch"]));
        let mut spared = 0;
        for record in &all {
            match judge(record, &before, &after, &Kinds::default(), false) {
                Verdict::Same => {}
                Verdict::Spared => {
                    assert!(!acted(record), "{item:#}");
                    spared += 1;
                }
                Verdict::Contradicted(why) => panic!("{why}: {item:#}"),
            }
        }
        assert_eq!(Some(spared), item["spares"].as_u64(), "{item:#}");
    }
    let narrow = patched(&document, &told["patch"]);
    assert_eq!(
        narrow["permissions"],
        json!({"kubernetes": [{
            "apiGroups": [""], "resources": ["secrets"], "verbs": ["create"], "namespaces": ["team"],
        }]})
    );
    the_patched_document_does_the_same(&path, &narrow, COPIES).await;

    // The text has it all, and an author who has followed the advice gets no more of it.
    let ended = advise(&[path.to_str().unwrap()]).await;
    for part in
        ["hook h, ", "  permissions.kubernetes[0]: remove it\n", "all of it, as a JSON Patch", r#""op":"remove""#]
    {
        assert!(ended.stdout.contains(part), "{part}: {}", ended.stdout);
    }
}

const GOES: &str = r#"
jq -c '.[] | select(.filterResult.a == "go") | {
  operation: "CreateIfNotExists",
  object: {apiVersion: "v1", kind: "Secret", metadata: {namespace: "default", name: .filterResult.name}}
}' "$BINDING_CONTEXT_PATH" >> "$KUBERNETES_PATCH_PATH"
"#;

#[tokio::test]
async fn a_filter_loses_what_no_run_reads_and_that_wakes_the_hook_for_nothing() {
    if left_out() {
        return;
    }
    let filter = "{name: .metadata.name, a: .data.a, b: .data.b}";
    let document = json!({
        "configVersion": "v1",
        "kubernetes": [{
            "name": "maps", "apiVersion": "v1", "kind": "ConfigMap", "executeHookOnSynchronization": false,
            "labelSelector": {"matchLabels": {"watched": "yes"}}, "jqFilter": filter, "keepFullObjectsInMemory": true,
        }],
        "permissions": {"kubernetes": [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["create"], "namespaces": ["default"]}]},
    });
    let recorded = start(&document, GOES).await;
    let watched = |name: &str, data: Value| map("default", name, json!({"watched": "yes"}), data);
    for number in 0..8 {
        make(&recorded, watched(&format!("m-{number}"), json!({"a": "go", "b": "0"}))).await;
    }
    for number in 0..5 {
        make(&recorded, watched("waits", json!({"a": "stop", "b": number.to_string()}))).await;
    }
    let (_records, path) = recorded.stop().await;
    let told = advised(path.to_str().unwrap()).await;
    let filtered = about(&told, "kubernetes[0].jqFilter");
    assert_eq!(
        (&filtered["advice"], filtered["spares"].as_u64()),
        (&json!(format!("({filter}) | del(.[\"b\"])")), Some(4))
    );
    assert_eq!(about(&told, "kubernetes[0].content")["advice"], "none in place of full");
    let narrow = patched(&document, &told["patch"]);
    assert!(narrow["kubernetes"][0].get("keepFullObjectsInMemory").is_none(), "{narrow:#}");
    the_patched_document_does_the_same(&path, &narrow, GOES).await;

    // A run that cannot be the same again says nothing of what it reads.
    let name = of_hook(&path, "h").first().unwrap().to_string();
    let mut other = boathook_operator::record::read(&path.join(&name)).unwrap();
    other.end.metrics.push("set x{} 1".to_owned());
    std::fs::write(path.join(&name), boathook_operator::record::encode(&other).unwrap()).unwrap();
    let told = advised(path.to_str().unwrap()).await;
    assert!(!told["advice"].to_string().contains("jqFilter"), "{told:#}");
    assert!(told["notes"].to_string().contains("a run is not the same again"), "{told:#}");
    // Nor does one that lacks something.
    other.header.incomplete = Some("more than fits".to_owned());
    std::fs::write(path.join(&name), boathook_operator::record::encode(&other).unwrap()).unwrap();
    let told = advised(path.to_str().unwrap()).await;
    assert!(told["advice"].as_array().unwrap().iter().all(|item| item["at"].as_str().unwrap().starts_with("limits.")));
    assert!(told["notes"].to_string().contains("1 of its records do not show everything"), "{told:#}");
}

#[tokio::test]
async fn few_runs_give_no_advice_and_what_is_not_there_is_named() {
    let recorded = Recorded::start(&crate::pipeline::fixture::guests(["startup"]), |_| ()).await;
    recorded.until("startup", 1).await;
    let (_records, path) = recorded.stop().await;
    let directory = path.to_str().unwrap();
    let ended = advise(&[directory]).await;
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stdout.contains("1 run is recorded, and advice needs 10: record more of them"), "{}", ended.stdout);
    let ended = advise(&[directory, "--hook", "other"]).await;
    assert!(ended.code == Some(2) && ended.stderr.contains("there is no record of hook other"), "{}", ended.stderr);
    std::fs::remove_dir_all(path.join("components")).unwrap();
    let ended = advise(&[directory]).await;
    assert!(ended.code == Some(2) && ended.stderr.contains("--component-dir"), "{}", ended.stderr);
    let empty = tempfile::tempdir().unwrap();
    let ended = advise(&[empty.path().to_str().unwrap()]).await;
    assert!(ended.code == Some(2) && ended.stderr.contains("--record DIR"), "{}", ended.stderr);
}
