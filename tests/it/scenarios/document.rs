//! What a scenario file holds, and what is wrong with one.
//!
//! Never looks at a cluster.

use std::{fmt, time::Duration};

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
    /// The operator is stopped and started again.
    Restart,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Keys {
    apply: Option<Object>,
    delete: Option<Object>,
    expect: Option<Expect>,
    restart: Option<Part>,
}

/// What can be restarted.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Part {
    Operator,
}

impl TryFrom<Keys> for Step {
    type Error = &'static str;

    fn try_from(keys: Keys) -> Result<Self, Self::Error> {
        match (keys.apply, keys.delete, keys.expect, keys.restart) {
            (Some(object), None, None, None) => Ok(Self::Apply(object)),
            (None, Some(object), None, None) => Ok(Self::Delete(object)),
            (None, None, Some(expect), None) => Ok(Self::Expect(expect)),
            (None, None, None, Some(Part::Operator)) => Ok(Self::Restart),
            _ => Err("a step has just one of apply, delete, expect and restart"),
        }
    }
}

/// What must hold at one time.
#[derive(Debug, Deserialize)]
#[serde(try_from = "ExpectKeys")]
pub struct Expect {
    pub present: Vec<Object>,
    pub absent: Vec<Object>,
    pub logged: Vec<Line>,
    /// It holds within this time after the step begins.
    pub within: Duration,
}

/// Within this time an expectation holds, unless it says another.
const WITHIN: u64 = 10;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ExpectKeys {
    #[serde(default)]
    present: Vec<Object>,
    #[serde(default)]
    absent: Vec<Object>,
    #[serde(default)]
    logged: Vec<Line>,
    within: Option<String>,
}

impl TryFrom<ExpectKeys> for Expect {
    type Error = &'static str;

    fn try_from(keys: ExpectKeys) -> Result<Self, Self::Error> {
        let ExpectKeys { present, absent, logged, within } = keys;
        if present.is_empty() && absent.is_empty() && logged.is_empty() {
            return Err("expect needs something in present, absent or logged");
        }
        let within = within.map_or(Ok(WITHIN), |text| seconds(&text).ok_or("within is a number of seconds: 15s"))?;
        Ok(Self { present, absent, logged, within: Duration::from_secs(within) })
    }
}

fn seconds(text: &str) -> Option<u64> {
    text.strip_suffix('s')?.parse().ok()
}

/// How often there are lines that contain a text.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "LineKeys")]
pub struct Line {
    pub text: String,
    pub count: Count,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Count {
    AtLeast(usize),
    Exactly(usize),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum LineKeys {
    Text(String),
    Counted(Counted),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Counted {
    text: String,
    at_least: Option<usize>,
    times: Option<usize>,
}

impl TryFrom<LineKeys> for Line {
    type Error = &'static str;

    fn try_from(keys: LineKeys) -> Result<Self, Self::Error> {
        let (text, count) = match keys {
            LineKeys::Text(text) => (text, Count::AtLeast(1)),
            LineKeys::Counted(Counted { text, at_least: Some(n), times: None }) => (text, Count::AtLeast(n)),
            LineKeys::Counted(Counted { text, at_least: None, times: Some(n) }) => (text, Count::Exactly(n)),
            LineKeys::Counted(_) => return Err("a logged text has just one of atLeast and times"),
        };
        Ok(Self { text, count })
    }
}

impl Line {
    /// What is wrong when there are so many lines.
    pub fn differs(&self, found: usize) -> Option<String> {
        let text = &self.text;
        let wanted = match self.count {
            Count::AtLeast(n) if found >= n => return None,
            Count::Exactly(n) if found == n => return None,
            Count::AtLeast(1) => return Some(format!("no line contains {text:?}")),
            Count::AtLeast(n) => format!("at least {n}"),
            Count::Exactly(n) => n.to_string(),
        };
        Some(format!("{found} lines contain {text:?}, expected {wanted}"))
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
  - expect: {logged: [x, {text: y, times: 0}, {text: z, atLeast: 2}], within: 15s}
  - restart: operator
",
    )
    .unwrap();
    assert_eq!((scenario.name.as_str(), scenario.given[0].to_string().as_str()), ("all", "Node n"));
    let Step::Apply(secret) = &scenario.steps[0] else { panic!("{:?}", scenario.steps) };
    assert_eq!((secret.to_string().as_str(), &secret.0["data"]), ("Secret a/s", &serde_json::json!({"a": null})));
    assert!(matches!(&scenario.steps[1], Step::Delete(_)));
    let Step::Expect(expect) = &scenario.steps[2] else { panic!("{:?}", scenario.steps) };
    let counts: Vec<_> = expect.logged.iter().map(|line| (line.text.as_str(), line.count)).collect();
    assert_eq!(counts, [("x", Count::AtLeast(1)), ("y", Count::Exactly(0)), ("z", Count::AtLeast(2))]);
    assert_eq!(expect.within, Duration::from_secs(15));
    assert!(matches!(&scenario.steps[3], Step::Restart));
}

#[test]
fn lines_are_counted_as_the_scenario_says() {
    let differs = |count, found| Line { text: "x".into(), count }.differs(found);
    assert_eq!(differs(Count::AtLeast(1), 0).unwrap(), "no line contains \"x\"");
    assert_eq!(differs(Count::AtLeast(2), 1).unwrap(), "1 lines contain \"x\", expected at least 2");
    assert_eq!(differs(Count::Exactly(1), 2).unwrap(), "2 lines contain \"x\", expected 1");
    assert_eq!(differs(Count::Exactly(0), 1).unwrap(), "1 lines contain \"x\", expected 0");
    for (count, found) in [(Count::AtLeast(1), 3), (Count::AtLeast(2), 2), (Count::Exactly(0), 0)] {
        assert_eq!(differs(count, found), None);
    }
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
        ("name: x\nsteps: [{expect: {logged: [{text: y}]}}]", "just one of atLeast and times"),
        ("name: x\nsteps: [{expect: {logged: [{text: y, times: 1, atLeast: 1}]}}]", "just one of atLeast and times"),
        ("name: x\nsteps: [{expect: {logged: [{line: y, times: 1}]}}]", "logged"),
        ("name: x\nsteps: [{expect: {logged: [y], within: 1}}]", "within"),
        ("name: x\nsteps: [{expect: {logged: [y], within: 1m}}]", "a number of seconds"),
        ("name: x\nsteps: [{restart: cluster}]", "unknown variant `cluster`"),
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
