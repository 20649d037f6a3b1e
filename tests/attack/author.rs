//! The hostile author: components that a tenant runs in good faith. They come from the hostile registry, and the program
//! keeps all of them awake. What is hostile in a single run is taken from the fixtures that tests of the sandbox use.

use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

use futures::future::join_all;
use serde_json::{Value, json};

use super::cluster::{Cluster, bundles, core};
use super::program::{pause, say, wanted};
use super::registry;
use crate::harness::hook_file;

/// The tenant that runs them.
const TEAM: &str = "team-a";
/// The one of all that does no harm.
pub const GOOD: &str = "good";
/// The objects that wake the hooks.
const WAKES: usize = 8;
/// Until all bundles are made once, they come one after the other.
const BETWEEN: Duration = Duration::from_millis(250);
/// Requests that hooks of the author review at the same time.
const REVIEWS: usize = 4;

/// What an author ships as one bundle.
pub struct Work {
    pub name: &'static str,
    code: Code,
    pub schema: Option<String>,
    /// The HookBundle's settings.
    settings: Value,
}

enum Code {
    /// A document, and the text of the core module around it.
    Text { document: String, body: String },
    /// A guest of the tests.
    Guest(&'static str),
}

/// Writes the components into a directory, out of which the registry has them.
pub fn ships(to: &Path) {
    for work in works() {
        let component = match &work.code {
            Code::Text { document, body } => component(document, body),
            Code::Guest(name) => std::fs::read(hook_file(name)).expect("make guests builds the guests of the tests"),
        };
        std::fs::write(to.join(format!("{}.wasm", work.name)), component).expect("write a component");
    }
}

macro_rules! fixtures {
    ($($name:literal),+ $(,)?) => {
        [$(($name, include_str!(concat!("../fixtures/hostile/", $name, ".wat")))),+]
    };
}

/// Everything that this author ships.
pub fn works() -> Vec<Work> {
    let runs = fixtures![
        "bad-pointer",
        "bad-utf8",
        "crash",
        "endless-line",
        "exit",
        "handle-flood",
        "host-call-flood",
        "huge-argument",
        "huge-request",
        "invalid-result",
        "log-flood",
        "memory-bomb",
        "panic",
        "recursion",
        "spin-config",
        "spin-run",
        "spin-start",
        "stdout-flood",
        "table-bomb",
        "waiting-call",
    ];
    let greedy = "concurrency: 1000\nlimits: {memory: 256Mi, time: 10m}\nretry: {initial: 1s, max: 1s}\n";
    let of = |name, code| Work { name, code, schema: None, settings: Value::Null };
    let work = |name, document, body: &str| of(name, Code::Text { document, body: body.to_owned() });
    let plain = |name, document| work(name, document, include_str!("../fixtures/hostile/good.wat"));
    let mut all = vec![plain(GOOD, document("", "", ""))];
    all.extend(filters().into_iter().map(|(name, filter)| plain(name, document("", &filter, ""))));
    all.push(plain("asks-for-10-12-rights", many_rights()));
    all.push(plain("a-thousand-bindings", many_bindings()));
    all.push(plain("all-of-the-cluster", document("", "", "\n- {name: secrets, apiVersion: v1, kind: Secret}")));
    let there = "\n- {name: theirs, apiVersion: v1, kind: Secret, namespace: {nameSelector: {matchNames: [team-b, kube-system]}}}";
    all.push(plain("secrets-of-others", document("", "", there)));
    all.push(plain("a-document-of-megabytes", format!("{}# {}", document("", "", ""), "x".repeat(900_000))));
    all.push(plain("a-document-of-brackets", format!("{}a: {}", document("", "", ""), "[".repeat(500_000))));
    all.push(of("spin-review", Code::Guest("test/hostile-spin-review")));
    all.push(work("hard-to-compile", document("", "", ""), &hard_to_compile()));
    for (name, schema, settings) in schemas() {
        all.push(Work { schema: Some(schema), settings, ..plain(name, document("", "", "")) });
    }
    // Last, since these take what the same tenant's other hooks need to be loaded.
    all.extend(runs.into_iter().map(|(name, body)| work(name, document(greedy, "", ""), body)));
    all.push(plain("many-views", many_views()));
    all
}

/// A document with one binding, which the program wakes.
fn document(top: &str, filter: &str, more: &str) -> String {
    let filter = if filter.is_empty() { String::new() } else { format!(", jqFilter: {filter:?}") };
    format!(
        "configVersion: v1\n{top}kubernetes:\n- {{name: wakes, apiVersion: v1, kind: ConfigMap, labelSelector: \
         {{matchLabels: {{hostile: 'true'}}}}{filter}}}{more}\npermissions: {{kubernetes: [{{apiGroups: [''], resources: \
         [configmaps], verbs: [get]}}]}}\n"
    )
}

/// Programs of jq that do not end, or that take all memory.
fn filters() -> Vec<(&'static str, String)> {
    vec![
        ("filter-endless", "def f: f; f".to_owned()),
        ("filter-numbers", "[range(1e12)] | length".to_owned()),
        ("filter-text", "[limit(40; repeat(\"x\"))] | reduce .[] as $x (\"x\"; . + .)".to_owned()),
        ("filter-product", "[range(1e5)] as $a | [$a[] as $x | $a[] as $y | $x * $y] | add".to_owned()),
        ("filter-until", "last(range(1; infinite))".to_owned()),
        ("filter-deep", format!("{}1{}", "[".repeat(400), "]".repeat(400))),
        ("filter-pattern", "[range(60)] | map(\"a\") | add | test(\"^(a+)+$b\")".to_owned()),
    ]
}

/// One permission of four lists: 300 × 300 × 300 × 1 rights.
fn many_rights() -> String {
    let list = |letter: char| (0..300).map(|n| format!("{letter}{n}")).collect::<Vec<_>>().join(",");
    format!(
        "configVersion: v1\nonStartup: 1\npermissions: {{kubernetes: [{{apiGroups: [{}], resources: [{}], resourceNames: [{}], \
         namespaces: [{}], verbs: [get]}}]}}\n",
        list('g'),
        list('r'),
        list('n'),
        list('s')
    )
}

fn many_bindings() -> String {
    let mut text = String::from("configVersion: v1\nkubernetes:\n");
    for n in 0..1000 {
        let _ = writeln!(
            text,
            "- {{name: b{n}, apiVersion: v1, kind: ConfigMap, labelSelector: {{matchLabels: {{hostile: 'true', n: '{n}'}}}}}}"
        );
    }
    text
}

/// Watches that no two bindings share, and that each see all objects of the tenant.
fn many_views() -> String {
    let mut text = String::from("configVersion: v1\nkubernetes:\n");
    for n in 0..300 {
        let _ = writeln!(
            text,
            "- {{name: v{n}, apiVersion: v1, kind: ConfigMap, labelSelector: {{matchExpressions: [{{key: none, operator: \
             NotIn, values: ['{n}']}}]}}}}"
        );
    }
    text
}

/// Schemas of settings that take much stack, time or memory.
fn schemas() -> Vec<(&'static str, String, Value)> {
    let chain = |n: usize| -> Value {
        let links = (0..n).map(|at| (format!("d{at}"), json!({"$ref": format!("#/$defs/d{}", at + 1)})));
        let mut defs: serde_json::Map<_, _> = links.collect();
        defs.insert(format!("d{n}"), json!({"type": "object"}));
        json!({"$ref": "#/$defs/d0", "$defs": defs})
    };
    let twice = |n: usize| -> Value {
        let next = |at: usize| json!({"$ref": format!("#/$defs/d{}", at + 1)});
        let mut defs: serde_json::Map<_, _> =
            (0..n).map(|at| (format!("d{at}"), json!({"allOf": [next(at), next(at)]}))).collect();
        defs.insert(format!("d{n}"), json!({"type": "object"}));
        json!({"$ref": "#/$defs/d0", "$defs": defs})
    };
    let deep = format!("{}true{}", "{\"not\":".repeat(30_000), "}".repeat(30_000));
    let text = json!({"type": "object", "properties": {"text": {"pattern": "^(a|a|aa)+$"}}});
    vec![
        ("schema-chain", chain(5_000).to_string(), json!({"a": 1})),
        ("schema-exponential", twice(40).to_string(), json!({"a": 1})),
        ("schema-deep", deep, json!({"a": 1})),
        ("schema-pattern", text.to_string(), json!({"text": format!("{}b", "a".repeat(200_000))})),
    ]
}

/// Functions that each take the compiler long, and much of its memory.
fn hard_to_compile() -> String {
    let mut text = String::from(include_str!("../fixtures/hostile/good.wat"));
    for function in 0..4 {
        let _ = write!(text, "\n(func $f{function} (param i64) (result i64) (local i64)");
        for n in 0..6_000 {
            let _ = write!(
                text,
                " block local.get 0 local.get 1 i64.mul local.tee 1 i64.const {n} i64.rotl local.tee 0 i64.eqz br_if 0 \
                 local.get 1 local.get 0 i64.xor local.set 1 end"
            );
        }
        text.push_str(" local.get 1)");
    }
    text
}

/// A component that returns the document, around a core module with this body.
fn component(document: &str, body: &str) -> Vec<u8> {
    // Behind what runs use; the beginning of the memory stays as the fixtures expect it.
    const AT: usize = 1 << 20;
    let pages = 1 + (AT + document.len()) / 65536;
    let escaped: String = document.bytes().map(|byte| format!("\\{byte:02x}")).collect();
    let place: String = [AT, document.len()]
        .iter()
        .flat_map(|n| (*n as u32).to_le_bytes())
        .map(|byte| format!("\\{byte:02x}"))
        .collect();
    let template = include_str!("../fixtures/hostile/template.wat")
        .replace("(memory (export \"memory\") 1)", &format!("(memory (export \"memory\") {pages})"))
        .replace(
            "(data (i32.const 2048) \"\\00\\04\\00\\00\\1f\\00\\00\\00\")",
            &format!("(data (i32.const 2048) \"{place}\") (data (i32.const {AT}) \"{escaped}\")"),
        );
    assert!(template.contains(&place), "the fixtures' template has the place of its document");
    wat::parse_str(template.replace(";; <body>", body)).expect("the fixtures are components")
}

/// Has the tenant run all of it, wakes the hooks again and again, and has them review what is never stored.
pub async fn run() {
    let cluster = Cluster::new().await;
    tokio::join!(keeps_awake(&cluster), join_all((0..REVIEWS).map(|n| asks(&cluster, n))));
}

async fn asks(cluster: &Cluster, n: usize) {
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": format!("asked-{n}"), "namespace": TEAM, "labels": {"reviewed": "true"}}});
    loop {
        let _ = cluster.create(&format!("{}?dryRun=All", core(TEAM, "configmaps")), &object).await;
        pause(BETWEEN).await;
    }
}

async fn keeps_awake(cluster: &Cluster) {
    let mut made = 0_usize;
    let wanted = works().into_iter().filter(|work| work.name != GOOD && wanted(work.name));
    let names: Vec<_> = wanted.map(|work| (work.name, work.settings)).collect();
    for round in 0_u64.. {
        // What was refused for a while may start later.
        if let Some((name, settings)) = names.get(made % names.len().max(1)) {
            let mut spec = json!({
                "source": {"oci": {"reference": format!("{}/author/{name}:v1", registry::AUTHORS), "insecure": true, "interval": "10s"}},
                "serviceAccountName": "hooks", "verification": {"unsigned": true},
                "grants": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}],
            });
            if !settings.is_null() {
                spec["settings"] = settings.clone();
            }
            let object = json!({"apiVersion": "boathook.dev/v1alpha1", "kind": "HookBundle",
                "metadata": {"name": format!("author-{name}"), "namespace": TEAM}, "spec": spec});
            let answer = cluster.apply(&format!("{}/author-{name}", bundles(TEAM)), &object).await;
            if let Err(error) = answer {
                say(&json!({"refused": name, "why": error}));
            }
            made += 1;
        }
        let name = format!("wake-{}", round as usize % WAKES);
        let wake = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"round": round.to_string()},
            "metadata": {"name": name, "namespace": TEAM, "labels": {"hostile": "true"}}});
        let _ = cluster.apply(&format!("{}/{name}", core(TEAM, "configmaps")), &wake).await;
        pause(BETWEEN).await;
    }
}
