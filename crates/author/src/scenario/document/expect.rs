//! The `expect` of a step: what must hold at one time.

use std::time::Duration;

use super::{
    super::{
        problem::Problems,
        reader::{Fields, describe},
        tree::{Kind, Node},
    },
    MAX_WAIT, Object,
    answered::{Converted, Reviewed},
    objects,
};

/// The default time within which an expectation must hold.
const WITHIN: Duration = Duration::from_secs(10);
/// Verbs of writes, as in the audit log.
pub const VERBS: [&str; 4] = ["create", "update", "patch", "delete"];
/// Kinds of failures, as in the log of runs.
pub const FAILURES: [&str; 11] = [
    "retry",
    "retry-after",
    "permanent",
    "trap",
    "limit-time",
    "limit-memory",
    "limit-stack",
    "limit-host-calls",
    "limit-host-bytes",
    "interrupted",
    "host",
];

#[derive(Debug, Clone)]
pub struct Expect {
    pub present: Vec<Object>,
    pub absent: Vec<Object>,
    pub logged: Vec<Line>,
    /// In this order, possibly with others between them.
    pub writes: Vec<Write>,
    /// In this order, and no others.
    pub only_writes: Option<Vec<Write>>,
    pub metrics: Vec<Metric>,
    pub failures: Vec<Failures>,
    /// The response to the last admission request.
    pub admission: Option<Reviewed>,
    /// The response to the last conversion request.
    pub conversion: Option<Converted>,
    /// The time after the beginning of the step within which it must hold.
    pub within: Duration,
}

/// How many lines must contain a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    pub text: String,
    pub count: Count,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Count {
    AtLeast(usize),
    Exactly(usize),
}

/// A write of the hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Write {
    pub verb: &'static str,
    /// `Secret web/s`, or `v1 Secret web/s`.
    pub object: String,
    pub subresource: Option<String>,
    /// `ok`, or the reason of its refusal.
    pub outcome: String,
}

/// One series that the hook has reported.
#[derive(Debug, Clone, PartialEq)]
pub struct Metric {
    pub name: String,
    /// The series has at least these labels.
    pub labels: Vec<(String, String)>,
    pub value: f64,
}

/// Failed runs of one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failures {
    pub kind: &'static str,
    /// The message contains it.
    pub message: Option<String>,
    pub count: Count,
}

impl Expect {
    pub fn read(node: &Node, path: &str, problems: &Problems) -> Option<Self> {
        let fields = Fields::of(node, path, problems)?;
        let parts =
            ["present", "absent", "logged", "writes", "onlyWrites", "metrics", "failures", "admission", "conversion"];
        if !parts.iter().any(|key| has(&fields, key)) {
            fields.wrong(format!("expect needs something in one of {}", parts.join(", ")));
        }
        let expect = Self {
            present: objects(&fields, "present"),
            absent: objects(&fields, "absent"),
            logged: each(&fields, "logged", line).unwrap_or_default(),
            writes: each(&fields, "writes", write).unwrap_or_default(),
            only_writes: each(&fields, "onlyWrites", write),
            metrics: each(&fields, "metrics", metric).unwrap_or_default(),
            failures: each(&fields, "failures", failures).unwrap_or_default(),
            admission: one(&fields, "admission", Reviewed::read),
            conversion: one(&fields, "conversion", Converted::read),
            within: fields.duration("within", MAX_WAIT).unwrap_or(WITHIN),
        };
        fields.finish();
        Some(expect)
    }
}

/// Whether a key requires something. An empty `onlyWrites` requires that there are no writes.
fn has(fields: &Fields<'_>, key: &&'static str) -> bool {
    let empty = |node: &Node| matches!(&node.kind, Kind::List(items) if items.is_empty());
    fields.take(key).is_some_and(|node| *key == "onlyWrites" || !empty(node))
}

fn one<T>(fields: &Fields<'_>, key: &'static str, read: impl Fn(&Node, &str, &Problems) -> Option<T>) -> Option<T> {
    read(fields.take(key)?, &fields.child(key), fields.problems())
}

fn each<T>(
    fields: &Fields<'_>,
    key: &'static str,
    read: impl Fn(&Node, &str, &Problems) -> Option<T>,
) -> Option<Vec<T>> {
    let items = fields.items(key)?;
    Some(items.filter_map(|(node, path)| read(node, &path, fields.problems())).collect())
}

fn line(node: &Node, path: &str, problems: &Problems) -> Option<Line> {
    match &node.kind {
        Kind::Scalar(serde_json::Value::String(text)) => Some(Line { text: text.clone(), count: Count::AtLeast(1) }),
        Kind::Map(_) => {
            let fields = Fields::of(node, path, problems)?;
            let text = fields.needed_text("text");
            let count = count(&fields);
            fields.finish();
            if fields.take("atLeast").is_some() == fields.take("times").is_some() {
                fields.wrong("has just one of atLeast and times; without them, write the text alone");
            }
            Some(Line { text: text?.to_owned(), count: count? })
        }
        _ => {
            problems.add(node.place, path, format!("must be a text, not {}; put it in quotes", describe(node)));
            None
        }
    }
}

fn count(fields: &Fields<'_>) -> Option<Count> {
    match (fields.count("atLeast"), fields.count("times")) {
        (Some(n), None) => Some(Count::AtLeast(n)),
        (None, Some(n)) => Some(Count::Exactly(n)),
        _ => None,
    }
}

fn write(node: &Node, path: &str, problems: &Problems) -> Option<Write> {
    let fields = Fields::of(node, path, problems)?;
    fields.need("verb");
    let verb = fields.word("verb", &VERBS);
    let object = fields.needed_text("object");
    let subresource = fields.text("subresource").map(str::to_owned);
    let outcome = fields.text("outcome").unwrap_or("ok").to_owned();
    fields.finish();
    Some(Write { verb: verb?, object: object?.to_owned(), subresource, outcome })
}

fn metric(node: &Node, path: &str, problems: &Problems) -> Option<Metric> {
    let fields = Fields::of(node, path, problems)?;
    let name = fields.needed_text("name");
    let labels = fields.texts("labels");
    let value = fields.number("value");
    fields.finish();
    Some(Metric { name: name?.to_owned(), labels, value: value? })
}

fn failures(node: &Node, path: &str, problems: &Problems) -> Option<Failures> {
    let fields = Fields::of(node, path, problems)?;
    fields.need("kind");
    let kind = fields.word("kind", &FAILURES);
    let message = fields.text("message").map(str::to_owned);
    let count = match (fields.take("atLeast"), fields.take("times")) {
        (None, None) => Some(Count::AtLeast(1)),
        _ => count(&fields),
    };
    fields.finish();
    if fields.take("atLeast").is_some() && fields.take("times").is_some() {
        fields.wrong("has at most one of atLeast and times");
    }
    Some(Failures { kind: kind?, message, count: count? })
}
