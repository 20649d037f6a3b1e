//! The published JSON Schema and the reader of documents say the same.

use std::collections::{BTreeMap, BTreeSet};

use boathook_core::hooks::SCHEMA;
use serde_json::{Value, json};

use super::read;

const FULL: &str = include_str!("full.yaml");

/// What only the reader can say: parts of its messages.
const BEYOND: [&str; 22] = [
    "a crontab has 5 fields",
    "is not a value, a range",
    "is not known; there are @yearly",
    "time zone of the IANA",
    "the crontab has a TZ= prefix",
    "is not a jq program",
    "names no kubernetes binding",
    "8784h is allowed",
    "less than `initial`",
    "contradicts `content`",
    "there is a nameSelector",
    "bytes are needed",
    "is not within",
    "watches, one for each name",
    "once more",
    "has this kind, too",
    "is for objects of others",
    "which stands for all",
    "has already",
    "the group of crdName",
    "is the same as fromVersion",
    "plain word",
];

fn schema() -> Value {
    serde_json::from_str(SCHEMA).unwrap()
}

fn full() -> Value {
    yaml_serde::from_str(FULL).unwrap()
}

struct Validator {
    schemas: boon::Schemas,
    index: boon::SchemaIndex,
}

/// Compiling a schema checks it against the schema of schemas.
fn compile(schema: Value) -> Result<Validator, String> {
    let mut compiler = boon::Compiler::new();
    compiler.add_resource("schema.json", schema).map_err(|error| error.to_string())?;
    let mut schemas = boon::Schemas::new();
    let index = compiler.compile("schema.json", &mut schemas).map_err(|error| format!("{error:#}"))?;
    Ok(Validator { schemas, index })
}

fn validator() -> Validator {
    compile(schema()).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn the_published_file_has_the_layout_of_serde() {
    let differs = |(published, printed)| published != printed;
    let printed = format!("{:#}", schema());
    let line = SCHEMA.lines().zip(printed.lines()).position(differs).map(|line| line + 1);
    assert!(SCHEMA.trim_end() == printed, "another layout from line {line:?} on");
}

#[test]
fn it_is_a_schema_itself() {
    validator();
    let mut broken = schema();
    broken["properties"]["onStartup"]["minimum"] = json!("many");
    assert!(compile(broken).is_err());
}

/// The parts of the schema that describe a mapping with known keys, by their JSON pointers.
fn mappings<'s>(schema: &'s Value, pointer: String, found: &mut BTreeMap<String, &'s Value>) {
    match schema {
        Value::Object(map) => {
            if map.get("additionalProperties") == Some(&Value::Bool(false)) {
                found.insert(pointer.clone(), schema);
            }
            map.iter().for_each(|(key, value)| mappings(value, format!("{pointer}/{key}"), found));
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(i, item)| mappings(item, format!("{pointer}/{i}"), found));
        }
        _ => {}
    }
}

type Visit<'v> = dyn FnMut((&str, &str), &str, &Value) + 'v;

/// Goes through a document and the schema side by side: `visit` gets the place of each mapping with
/// known keys in the document, and that of its schema.
fn walk(root: &Value, document: &Value, at: (String, String), schema_at: String, visit: &mut Visit<'_>) {
    let mut schema_at = schema_at;
    let mut part = root.pointer(&schema_at).unwrap();
    if let Some(reference) = part.get("$ref") {
        schema_at = reference.as_str().unwrap().trim_start_matches('#').to_owned();
        part = root.pointer(&schema_at).unwrap();
    }
    let (path, pointer) = at;
    match document {
        Value::Object(map) if part.get("properties").is_some() => {
            visit((&path, &pointer), &schema_at, part);
            for (key, value) in map {
                let dot = if path.is_empty() { "" } else { "." };
                let at = (format!("{path}{dot}{key}"), format!("{pointer}/{key}"));
                walk(root, value, at, format!("{schema_at}/properties/{key}"), visit);
            }
        }
        Value::Array(items) => {
            for (i, item) in items.iter().enumerate() {
                let at = (format!("{path}[{i}]"), format!("{pointer}/{i}"));
                walk(root, item, at, format!("{schema_at}/items"), visit);
            }
        }
        _ => {}
    }
}

/// The keys that the reader allows, from its message about an unknown key.
fn allowed_by_the_reader(document: &Value, path: &str, pointer: &str) -> BTreeSet<String> {
    let mut document = document.clone();
    document.pointer_mut(pointer).unwrap().as_object_mut().unwrap().insert("strange".into(), json!(1));
    let problems = read(&document.to_string()).unwrap_err().problems;
    let place = if path.is_empty() { "strange".to_owned() } else { format!("{path}.strange") };
    let problem = problems.iter().find(|problem| problem.path == place).unwrap_or_else(|| panic!("{problems:#?}"));
    let (_, allowed) = problem.message.split_once("allowed: ").unwrap();
    allowed.split(", ").map(str::to_owned).collect()
}

#[test]
fn the_reader_and_the_schema_know_the_same_keys() {
    let (schema, full) = (schema(), full());
    let mut unseen = BTreeMap::new();
    mappings(&schema, String::new(), &mut unseen);
    assert!(unseen.len() > 10, "{:?}", unseen.keys());
    let mut unused = BTreeSet::new();
    walk(&schema, &full, Default::default(), String::new(), &mut |(path, pointer), schema_at, part| {
        unseen.remove(schema_at);
        let known: BTreeSet<_> = part["properties"].as_object().unwrap().keys().cloned().collect();
        assert_eq!(allowed_by_the_reader(&full, path, pointer), known, "at {path:?}");
        let used = full.pointer(pointer).unwrap().as_object().unwrap();
        unused.extend(known.into_iter().filter(|key| !used.contains_key(key)).map(|key| format!("{path}.{key}")));
    });
    assert!(unseen.is_empty(), "the full document has no {:?}", unseen.keys());
    // A label that must be missing has no values.
    unused.retain(|key| !key.ends_with("matchExpressions[1].values"));
    // A decorator keeps no revisions, so the second binding is for `revisions`.
    unused.retain(|key| key != "reconcile[0].revisions" && !key.starts_with("reconcile[1]."));
    assert!(unused.is_empty(), "the full document does without {unused:?}");
}

/// The SDKs' own tests show that they make these.
#[test]
fn the_sdks_can_say_everything() {
    says_everything(&[
        include_str!("../../../sdk/rust/tests/documents/kubernetes.yaml"),
        include_str!("../../../sdk/rust/tests/documents/others.yaml"),
    ]);
    says_everything(&[include_str!("../../../sdk/go/testdata/everything.json")]);
}

fn says_everything(documents: &[&str]) {
    let schema = schema();
    let mut known: BTreeSet<(String, String)> = BTreeSet::new();
    let mut used = BTreeSet::new();
    for text in documents {
        let spec = super::good(text);
        assert!(spec.warnings.is_empty(), "{:?}", spec.warnings);
        let document: Value = yaml_serde::from_str(text).unwrap();
        walk(&schema, &document, Default::default(), String::new(), &mut |(_, pointer), schema_at, part| {
            let keys = |map: &Value| map.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
            known.extend(keys(&part["properties"]).into_iter().map(|key| (schema_at.to_owned(), key)));
            let used_here = keys(document.pointer(pointer).unwrap());
            used.extend(used_here.into_iter().map(|key| (schema_at.to_owned(), key)));
        });
    }
    let missing: Vec<_> = known.difference(&used).map(|(at, key)| format!("{at}/{key}")).collect();
    // An older name of executeHookOnEvent.
    assert_eq!(missing, ["/$defs/kubernetes/watchEvent"]);
}

/// What the two agree about a document: whether it is refused. The reader may refuse more, for
/// reasons that a schema cannot have.
fn agree(validator: &Validator, document: &Value) -> Result<bool, String> {
    let by_schema = validator.schemas.validate(document, validator.index);
    let by_reader = read(&document.to_string());
    match (&by_reader, by_schema) {
        (Ok(_), Ok(())) => Ok(false),
        (Err(_), Err(_)) => Ok(true),
        (Ok(_), Err(error)) => Err(format!("only the schema refuses: {error:#}")),
        (Err(error), Ok(())) => {
            let beyond = |message: &str| BEYOND.iter().any(|part| message.contains(part));
            let unexplained: Vec<_> = error.problems.iter().filter(|problem| !beyond(&problem.message)).collect();
            if unexplained.is_empty() { Ok(true) } else { Err(format!("only the reader refuses: {unexplained:#?}")) }
        }
    }
}

/// The pointers of all values.
fn places(value: &Value, pointer: String, found: &mut Vec<String>) {
    match value {
        Value::Object(map) => map.iter().for_each(|(key, value)| {
            places(value, format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1")), found);
        }),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(i, item)| places(item, format!("{pointer}/{i}"), found));
        }
        _ => {}
    }
    found.push(pointer);
}

fn remove(document: &mut Value, pointer: &str) {
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    match document.pointer_mut(parent).unwrap() {
        Value::Object(map) => drop(map.shift_remove(&key.replace("~1", "/").replace("~0", "~"))),
        Value::Array(items) => drop(items.remove(key.parse().unwrap())),
        other => panic!("{other} holds nothing"),
    }
}

fn compare(validator: &Validator, documents: impl IntoIterator<Item = (String, Value)>) -> usize {
    let mut refused = 0;
    let mut disagreements = Vec::new();
    for (what, document) in documents {
        match agree(validator, &document) {
            Ok(is_refused) => refused += usize::from(is_refused),
            Err(error) => disagreements.push(format!("{what}: {error}")),
        }
    }
    assert!(disagreements.is_empty(), "{} disagreements\n{}", disagreements.len(), disagreements.join("\n"));
    refused
}

/// Each value of the full document in turn gives way to others, and each key is taken away.
#[test]
fn they_agree_about_wrong_values_everywhere() {
    let validator = validator();
    let full = full();
    assert_eq!(agree(&validator, &full), Ok(false));
    let long: String = "x".repeat(300);
    let others = [
        json!(null),
        json!(true),
        json!(0),
        json!(-1),
        json!(1.0),
        json!(1.5),
        json!(1001),
        json!(""),
        json!("word"),
        json!("5s"),
        json!("0s"),
        json!("64Mi"),
        json!("a/b/c"),
        json!(".."),
        json!("none"),
        json!(long),
        json!([]),
        json!(["a"]),
        json!([1]),
        json!(["Added"]),
        json!([{}]),
        json!({}),
        json!({"a": "b"}),
        json!({"a": 1}),
        json!({"-a": "b"}),
        json!({"matchNames": []}),
        json!({"matchLabels": {}}),
    ];
    let mut pointers = Vec::new();
    places(&full, String::new(), &mut pointers);
    let mut documents = Vec::new();
    for pointer in pointers {
        for other in &others {
            let mut changed = full.clone();
            *changed.pointer_mut(&pointer).unwrap() = other.clone();
            documents
                .push((format!("{pointer} = {}", other.to_string().chars().take(60).collect::<String>()), changed));
        }
        if !pointer.is_empty() {
            let mut changed = full.clone();
            remove(&mut changed, &pointer);
            documents.push((format!("no {pointer}"), changed));
        }
    }
    // `null` is no document at all for the reader either, and what has no version is read as v0.
    documents.retain(|(_, document)| document.get("configVersion").is_some());
    let total = documents.len();
    let refused = compare(&validator, documents);
    assert!(refused > total / 2 && refused < total, "{refused} of {total} are refused");
}

#[test]
fn they_agree_about_these() {
    let v1 = |mut document: Value| {
        document.as_object_mut().unwrap().insert("configVersion".into(), "v1".into());
        (document.to_string(), document)
    };
    let pod = |key: &str, value: Value| v1(json!({"kubernetes": [{"kind": "Pod", key: value}]}));
    let duration = |text: &str| pod("resynchronizationPeriod", json!(text));
    let label = |key: &str, value: &str| pod("labelSelector", json!({"matchLabels": {key: value}}));
    let bytes = |value: Value| v1(json!({"limits": {"memory": value}}));
    let corpus = [
        v1(json!({})),
        v1(json!({"limits": {}})),
        v1(json!({"settings": {}})),
        v1(json!({"onStartup": i64::MIN})),
        v1(json!({"onStartup": i64::MAX})),
        v1(json!({"onStartup": u64::MAX})),
        v1(json!({"concurrency": 1000})),
        pod("apiVersion", json!("a.b-c/v1")),
        pod("apiVersion", json!("/v1")),
        pod("apiVersion", json!("v1/")),
        pod("apiVersion", json!("v_1")),
        duration("1h2m3.5s"),
        duration("+5s"),
        duration("-5s"),
        duration("5"),
        duration(".5h"),
        duration("5.h"),
        duration(".h"),
        duration("1h 2m"),
        duration("5\u{b5}s"),
        duration("1d"),
        label("a", ""),
        label("a.b/c", "d"),
        label("a.b/", "d"),
        label("/c", "d"),
        label("A.b/c", "d"),
        label("a/b/c", "d"),
        label("a-", "d"),
        label("a", "-d"),
        label("a", "d_.D-9"),
        label("a", "$(NODE_NAME)"),
        label("a", "x$(NODE_NAME)"),
        label("a", "$(node)"),
        label("a", "$()"),
        label(&"a".repeat(63), &"b".repeat(63)),
        label(&"a".repeat(64), "b"),
        label("a", &"b".repeat(64)),
        label("ä", "b"),
        label("a\n", "b"),
        bytes(json!("+1")),
        bytes(json!("1.5Gi")),
        bytes(json!("1Ki")),
        bytes(json!("1kb")),
        bytes(json!(u64::MAX)),
        bytes(json!(1e30)),
        pod("labelSelector", json!({"matchExpressions": [{"key": "a", "operator": "In"}]})),
        pod("labelSelector", json!({"matchExpressions": [{"key": "a", "operator": "Exists", "values": []}]})),
        pod("labelSelector", json!({"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["b"]}]})),
        pod("nameSelector", json!({"matchNames": ["a.b", ".", "..", "a/b"]})),
        pod("nameSelector", json!({"matchNames": ["..."]})),
        pod("executeHookOnEvent", json!([])),
        pod("includeSnapshotsFrom", json!(vec!["kubernetes"; 1001])),
        pod("name", json!("")),
        v1(json!({"schedule": [{"crontab": ""}]})),
        v1(json!({"schedule": [{"crontab": "@daily"}, {"crontab": "@daily"}]})),
        v1(json!({"permissions": {}})),
        v1(json!({"permissions": {"http": [{"hosts": ["a.io", "*.a.io:8443", "http://a.io", "[::1]:1"]}]}})),
        v1(json!({"permissions": {"http": [{"hosts": ["*"]}]}})),
        v1(json!({"permissions": {"http": [{"hosts": ["*.[::1]"]}]}})),
        v1(json!({"permissions": {"http": [{"hosts": ["https://a.io"]}]}})),
        v1(json!({"permissions": {"http": [{"hosts": ["a.io"], "methods": ["get"]}]}})),
        v1(json!({"permissions": {"http": [{"hosts": ["a.io"], "paths": ["/a#b"]}]}})),
        v1(json!({"permissions": {"directories": [{"name": "keys"}, {"name": "a-1", "access": "write"}]}})),
        v1(json!({"permissions": {"directories": [{"name": "a", "access": "all"}]}})),
        v1(json!({"permissions": {"directories": [{"name": "-a"}]}})),
        v1(json!({"permissions": {"directories": [{"name": "A/b"}]}})),
        v1(json!({"permissions": {"directories": [{"access": "read"}]}})),
        v1(json!({"permissions": {"kubernetes": [{"apiGroups": ["apps/v1"], "resources": ["a"], "verbs": ["*"]}]}})),
        v1(json!({"permissions": {"kubernetes": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["watch"]}]}})),
        v1(json!({"permissions": {"kubernetes": [{"apiGroups": [""], "resources": ["a", "a"], "verbs": ["get"]}]}})),
        (String::from("v2"), json!({"configVersion": "v2", "onStartup": 1})),
        (String::from("a list"), json!([])),
    ];
    let total = corpus.len();
    let refused = compare(&validator(), corpus);
    assert!(refused > total / 3 && refused < total, "{refused} of {total} are refused");
}

/// The comparison finds a difference where there is one.
#[test]
fn a_difference_would_be_found() {
    let mut looser = schema();
    looser["properties"]["colour"] = json!({"type": "string"});
    let looser = compile(looser).unwrap();
    assert!(agree(&looser, &json!({"configVersion": "v1", "colour": "red"})).is_err());
    let mut stricter = schema();
    stricter["properties"]["onStartup"]["maximum"] = json!(5);
    let stricter = compile(stricter).unwrap();
    assert!(agree(&stricter, &json!({"configVersion": "v1", "onStartup": 6})).is_err());
}
