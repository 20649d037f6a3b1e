//! What a scenario file holds, and what is wrong with one.
//!
//! Never looks at a cluster.

use std::fmt;

use serde::Deserialize;
use serde_json::Value;

/// A whole file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    pub name: String,
    #[serde(default)]
    pub given: Vec<Object>,
    pub steps: Vec<Step>,
}

/// One of the keys of a step.
#[derive(Debug, Deserialize)]
#[serde(try_from = "Keys")]
pub enum Step {
    Apply(Object),
    Delete(Object),
    Expect(Expect),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Keys {
    apply: Option<Object>,
    delete: Option<Object>,
    expect: Option<Expect>,
}

impl TryFrom<Keys> for Step {
    type Error = &'static str;

    fn try_from(keys: Keys) -> Result<Self, Self::Error> {
        match (keys.apply, keys.delete, keys.expect) {
            (Some(object), None, None) => Ok(Self::Apply(object)),
            (None, Some(object), None) => Ok(Self::Delete(object)),
            (None, None, Some(expect)) => Ok(Self::Expect(expect)),
            _ => Err("a step has just one of apply, delete and expect"),
        }
    }
}

/// What must hold at one time.
#[derive(Debug, Deserialize)]
#[serde(try_from = "ExpectKeys")]
pub struct Expect {
    pub present: Vec<Object>,
    pub absent: Vec<Object>,
    pub logged: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ExpectKeys {
    #[serde(default)]
    present: Vec<Object>,
    #[serde(default)]
    absent: Vec<Object>,
    #[serde(default)]
    logged: Vec<String>,
}

impl TryFrom<ExpectKeys> for Expect {
    type Error = &'static str;

    fn try_from(keys: ExpectKeys) -> Result<Self, Self::Error> {
        let ExpectKeys { present, absent, logged } = keys;
        if present.is_empty() && absent.is_empty() && logged.is_empty() {
            return Err("expect needs something in present, absent or logged");
        }
        Ok(Self { present, absent, logged })
    }
}

/// An object, of which at least kind and name are known.
#[derive(Debug, Deserialize)]
#[serde(try_from = "Value")]
pub struct Object(pub Value);

impl TryFrom<Value> for Object {
    type Error = String;

    fn try_from(object: Value) -> Result<Self, Self::Error> {
        for pointer in ["/apiVersion", "/kind", "/metadata/name"] {
            if object.pointer(pointer).and_then(Value::as_str).is_none_or(str::is_empty) {
                let key = pointer.trim_start_matches('/').replace('/', ".");
                return Err(format!("an object needs {key}: {object}"));
            }
        }
        Ok(Self(object))
    }
}

impl fmt::Display for Object {
    /// `Secret web/registry-credentials`, `Node n1`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |pointer| self.0.pointer(pointer).and_then(Value::as_str);
        write!(f, "{} ", text("/kind").unwrap_or_default())?;
        if let Some(namespace) = text("/metadata/namespace") {
            write!(f, "{namespace}/")?;
        }
        f.write_str(text("/metadata/name").unwrap_or_default())
    }
}

impl Scenario {
    pub fn parse(text: &str) -> Result<Self, yaml_serde::Error> {
        yaml_serde::from_str(text)
    }
}

#[test]
fn everything_that_a_scenario_may_hold() {
    let scenario = Scenario::parse(
        "name: all
given: [{apiVersion: v1, kind: Node, metadata: {name: n}}]
steps:
  - apply: {apiVersion: v1, kind: Secret, metadata: {namespace: a, name: s}, data: {a: null}}
  - delete: {apiVersion: v1, kind: Secret, metadata: {namespace: a, name: s}}
  - expect: {logged: [x]}
",
    )
    .unwrap();
    assert_eq!((scenario.name.as_str(), scenario.given[0].to_string().as_str()), ("all", "Node n"));
    let Step::Apply(secret) = &scenario.steps[0] else { panic!("{:?}", scenario.steps) };
    assert_eq!((secret.to_string().as_str(), &secret.0["data"]), ("Secret a/s", &serde_json::json!({"a": null})));
    assert!(matches!(&scenario.steps[1], Step::Delete(_)));
    assert!(matches!(&scenario.steps[2], Step::Expect(expect) if expect.logged == ["x"]));
}

#[test]
fn what_a_scenario_may_not_hold() {
    for (text, complaint) in [
        ("steps: []", "missing field `name`"),
        ("name: x", "missing field `steps`"),
        ("name: x\nsteps: []\nwhen: now", "unknown field `when`"),
        ("name: x\nsteps: [{wait: 1s}]", "unknown field `wait`"),
        ("name: x\nsteps: [{expect: {logs: [x]}}]", "unknown field `logs`"),
        ("name: x\nsteps: [{expect: {}}]", "expect needs something"),
        ("name: x\nsteps: [{}]", "just one of"),
        (
            "name: x\nsteps: [{expect: {logged: [x]}, delete: {apiVersion: v1, kind: N, metadata: {name: n}}}]",
            "just one of",
        ),
        ("name: x\nsteps: [{apply: {apiVersion: v1, kind: Node}}]", "metadata.name"),
        ("name: x\nsteps: [{apply: {kind: Node, metadata: {name: n}}}]", "apiVersion"),
        ("name: x\nsteps: {", "line"),
    ] {
        let error = Scenario::parse(text).unwrap_err().to_string();
        assert!(error.contains(complaint), "{text}: {error}");
    }
}
