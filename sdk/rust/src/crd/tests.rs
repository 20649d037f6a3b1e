#![allow(clippy::unwrap_used, clippy::indexing_slicing, dead_code)]
use super::*;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Deserialize, JsonSchema)]
struct Spec {
    #[schemars(length(min = 1))]
    image: String,
    #[serde(default = "one")]
    #[schemars(range(max = 100))]
    size: u32,
}

fn one() -> u32 {
    1
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Status {
    ready_replicas: u32,
}

fn properties<T: JsonSchema>() -> Result<Value, String> {
    Ok(Value::Object(schema::object(schema::of::<T>(), "Thing.spec")?)["properties"].take())
}

#[test]
fn a_definition_is_whole() {
    let web = Definition::new::<Spec>("example.com/v1alpha1", "WebApp")
        .status::<Status>()
        .short_name("wa")
        .category("all")
        .column(Column::string("Image", ".spec.image"))
        .column(Column::date("Age", ".metadata.creationTimestamp").priority(1).description("how old it is"));
    let web = web.to_value().unwrap();
    assert_eq!(
        (&web["kind"], &web["metadata"]["name"]),
        (&json!("CustomResourceDefinition"), &json!("webapps.example.com"))
    );
    let names = json!({"kind": "WebApp", "plural": "webapps", "singular": "webapp", "shortNames": ["wa"], "categories": ["all"]});
    assert_eq!((&web["spec"]["names"], &web["spec"]["scope"]), (&names, &json!("Namespaced")));
    let mut version = web["spec"]["versions"][0].clone();
    let schema = version["schema"]["openAPIV3Schema"].take();
    assert_eq!(
        version["additionalPrinterColumns"],
        json!([
            {"name": "Image", "type": "string", "jsonPath": ".spec.image"},
            {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp", "priority": 1, "description": "how old it is"},
        ])
    );
    assert_eq!(
        (&version["name"], &version["served"], &version["storage"]),
        (&json!("v1alpha1"), &json!(true), &json!(true))
    );
    assert_eq!(version["subresources"], json!({"status": {}}));
    assert_eq!((&schema["type"], &schema["required"]), (&json!("object"), &json!(["spec"])));
    let spec = json!({
        "type": "object",
        "required": ["image"],
        "properties": {
            "image": {"type": "string", "minLength": 1},
            "size": {"type": "integer", "minimum": 0, "maximum": 100, "default": 1},
        },
    });
    assert_eq!(schema["properties"]["spec"], spec);
    let status = &schema["properties"]["status"];
    assert_eq!((&status["type"], &status["required"]), (&json!("object"), &Value::Null));
    // In a build with all crates, maps keep the order of the fields.
    let fields: BTreeSet<_> = status["properties"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(Vec::from_iter(fields), ["conditions", "observedGeneration", "readyReplicas"]);
    assert_eq!(status["properties"]["conditions"]["x-kubernetes-list-map-keys"], json!(["type"]));

    let policy =
        Definition::new::<Spec>("example.com/v1", "NetworkPolicy").cluster_scoped().singular("policy").to_value();
    let policy = policy.unwrap();
    assert_eq!(
        (&policy["metadata"]["name"], &policy["spec"]["scope"]),
        (&json!("networkpolicies.example.com"), &json!("Cluster"))
    );
    assert_eq!(policy["spec"]["names"]["singular"], "policy");
    assert!(texts([web_of("a"), web_of("b")].into_definitions()).is_ok());
}

fn web_of(plural: &str) -> Definition {
    Definition::new::<Spec>("example.com/v1", "WebApp").plural(plural)
}

/// A port.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Port {
    name: String,
    /// Of the Pods.
    #[schemars(range(min = 1))]
    port: u16,
    protocol: Option<Protocol>,
}

#[derive(Serialize, Deserialize, JsonSchema, Default)]
#[serde(rename_all = "UPPERCASE")]
enum Protocol {
    #[default]
    Tcp,
    /// Without connections.
    Udp,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
enum Source {
    Git { url: String },
    Image(String),
}

#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
enum IntOrString {
    Int(i32),
    String(String),
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Everything {
    share: Option<f64>,
    far: i64,
    target: IntOrString,
    #[schemars(length(max = 3), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    ports: Vec<Port>,
    #[serde(default)]
    labels: BTreeMap<String, String>,
    #[serde(default)]
    protocol: Protocol,
    source: Source,
    backup: Option<Source>,
    first: Option<Port>,
    template: serde_json::Map<String, Value>,
    /// Whatever.
    rest: Value,
    #[schemars(range(min = 1))]
    weight: u8,
    #[serde(flatten)]
    more: More,
}

#[derive(Deserialize, JsonSchema)]
struct More {
    paused: bool,
    #[schemars(regex(pattern = "^a+$"))]
    word: Option<String>,
}

#[test]
fn types_are_structural_schemas() {
    let port = json!({
        "type": "object",
        "description": "A port.",
        "required": ["name", "port"],
        "properties": {
            "name": {"type": "string"},
            "port": {"type": "integer", "description": "Of the Pods.", "minimum": 1, "maximum": 65535},
            "protocol": {"type": "string", "enum": ["TCP", "UDP"]},
        },
    });
    let git = json!({"type": "object", "required": ["url"], "properties": {"url": {"type": "string"}}});
    let source = json!({
        "type": "object",
        "properties": {"git": git, "image": {"type": "string"}},
        "oneOf": [{"required": ["git"]}, {"required": ["image"]}],
    });
    let expected = json!({
        "share": {"type": "number", "format": "double"},
        "far": {"type": "integer", "format": "int64"},
        "target": {"x-kubernetes-int-or-string": true},
        "ports": {
            "type": "array", "items": port, "maxItems": 3, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
        },
        "labels": {"type": "object", "additionalProperties": {"type": "string"}, "default": {}},
        "protocol": {"type": "string", "enum": ["TCP", "UDP"], "default": "TCP"},
        "source": source,
        "backup": source,
        "first": port,
        "template": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
        "rest": {"description": "Whatever.", "x-kubernetes-preserve-unknown-fields": true},
        "weight": {"type": "integer", "minimum": 1, "maximum": 255},
        "paused": {"type": "boolean"},
        "word": {"type": "string", "pattern": "^a+$"},
    });
    let found = properties::<Everything>().unwrap();
    for (name, schema) in expected.as_object().unwrap() {
        assert_eq!(found[name], *schema, "{name}");
    }
    assert_eq!(found.as_object().unwrap().len(), expected.as_object().unwrap().len());
}

#[derive(JsonSchema)]
struct Node {
    children: Vec<Node>,
}

#[derive(JsonSchema)]
struct Pair {
    pair: (String, u32),
}

#[derive(JsonSchema)]
#[serde(untagged)]
enum Mixed {
    Text(String),
    Number(f64),
}

#[derive(JsonSchema)]
struct Either {
    one: Vec<Mixed>,
}

#[derive(JsonSchema)]
#[serde(tag = "kind")]
enum Tagged {
    A { a: String },
    B { b: String },
}

#[derive(JsonSchema)]
struct Chosen {
    by: BTreeMap<String, Tagged>,
}

#[derive(JsonSchema)]
struct Open {
    name: String,
    #[serde(flatten)]
    rest: BTreeMap<String, String>,
}

#[derive(JsonSchema)]
struct Unique {
    names: std::collections::BTreeSet<String>,
}

#[test]
fn what_a_definition_cannot_express_is_named_with_its_place() {
    let told = [
        (properties::<Node>(), "Thing.spec.children[]: the type contains itself"),
        (properties::<Pair>(), "Thing.spec.pair: a definition cannot express a tuple"),
        (properties::<Either>(), "Thing.spec.one[]: a definition cannot express this choice of types"),
        (properties::<Chosen>(), "Thing.spec.by.*: a definition cannot express this choice of types"),
        (properties::<Open>(), "Thing.spec: an object has fields with names, or any names, and not both"),
        (properties::<Unique>(), "Thing.spec.names: a definition cannot have the keyword uniqueItems"),
        (properties::<String>(), "Thing.spec: its type must be a struct"),
        (properties::<bool>(), "Thing.spec: its type must be a struct"),
    ];
    for (found, part) in told {
        let error = found.unwrap_err();
        assert!(error.starts_with(part), "{error}");
    }
    let error = Definition::new::<Spec>("v1", "Thing").to_value().unwrap_err();
    assert!(error.starts_with("\"v1\" is not the apiVersion of a custom resource"), "{error}");
    let twice = texts(vec![web_of("webs"), web_of("webs")]).unwrap_err();
    assert_eq!(twice, "webs.example.com is defined twice");
}
