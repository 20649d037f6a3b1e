//! The content of a scenario file. It reports all problems of a file at once.

pub mod answered;
pub mod ask;
pub mod expect;

use std::{fmt, time::Duration};

use serde_json::Value;

use self::{
    ask::{Admission, Conversion, Question},
    expect::Expect,
};
use super::{
    faults::{ANSWERS, VERBS},
    problem::{Place, Problem, Problems},
    reader::{Fields, describe},
    tree::{self, Kind, Node},
};

/// Maximum of a wait.
pub(super) const MAX_WAIT: Duration = Duration::from_secs(600);
/// Maximum time that passes in one step.
pub(super) const MAX_PASS: Duration = Duration::from_secs(366 * 24 * 3600);
/// The keys of a step, which has exactly one of them.
pub(super) const ACTIONS: [&str; 12] = [
    "create",
    "apply",
    "patch",
    "delete",
    "tick",
    "pass",
    "wait",
    "fault",
    "restart",
    "admission",
    "conversion",
    "expect",
];
/// Maximum number of repetitions of a fault.
pub(super) const MAX_TIMES: usize = 1000;

#[derive(Debug, Clone)]
pub struct Scenario {
    /// A sentence that says what the scenario shows.
    pub name: String,
    /// The objects that exist before the hook is loaded.
    pub(super) given: Vec<Object>,
    /// Responses that the operator receives instead of the API server's.
    pub(super) faults: Vec<Fault>,
    pub(super) steps: Vec<Step>,
}

#[derive(Debug, Clone)]
pub(super) struct Step {
    pub place: Place,
    pub action: Action,
}

#[derive(Debug, Clone)]
pub(super) enum Action {
    Create(Object),
    Apply(Object),
    Patch(Object),
    Delete(Object),
    /// Schedules of this name fire.
    Tick(String),
    /// This much time passes at once, for schedules and for triggers in queues.
    Pass(Duration),
    Wait(Duration),
    Fault(Fault),
    /// The operator is stopped and started again.
    Restart,
    /// The hook receives a request of the API server.
    Ask(Question),
    Expect(Box<Expect>),
}

/// The next calls of one kind receive another response than the API server's.
#[derive(Debug, Clone)]
pub(super) struct Fault {
    pub verb: &'static str,
    pub object: Object,
    /// An HTTP status.
    pub answer: u16,
    pub times: usize,
}

/// An object with apiVersion, kind and name.
#[derive(Debug, Clone)]
pub(super) struct Object {
    pub value: Value,
    /// The same, as it is in the file.
    pub node: Node,
}

impl fmt::Display for Object {
    /// `Secret web/registry-credentials`, `Node n1`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |pointer| self.value.pointer(pointer).and_then(Value::as_str);
        write!(f, "{} ", text("/kind").unwrap_or_default())?;
        if let Some(namespace) = text("/metadata/namespace") {
            write!(f, "{namespace}/")?;
        }
        f.write_str(text("/metadata/name").unwrap_or_default())
    }
}

impl Scenario {
    /// Parses a file's text. The problems are in the file's order.
    pub fn parse(text: &str) -> Result<Self, Vec<Problem>> {
        let root = tree::read(text).map_err(|problem| vec![problem])?;
        let problems = Problems::default();
        let scenario = scenario(&root, &problems);
        match (scenario, problems.finish()) {
            (Some(scenario), problems) if problems.is_empty() => Ok(scenario),
            (_, problems) => Err(problems),
        }
    }

    /// Schedules follow the clock, unless a step makes them tick or makes time pass.
    pub(super) fn ticks_by_itself(&self) -> bool {
        !self.steps.iter().any(|step| matches!(step.action, Action::Tick(_) | Action::Pass(_)))
    }
}

fn scenario(root: &Node, problems: &Problems) -> Option<Scenario> {
    let fields = Fields::of(root, "", problems)?;
    let name = fields.needed_text("name");
    let given = objects(&fields, "given");
    let faults = fields.items("faults").into_iter().flatten();
    let faults = faults.filter_map(|(node, path)| fault(node, &path, problems)).collect();
    fields.need("steps");
    let steps = fields.items("steps").into_iter().flatten().filter_map(|(node, path)| step(node, &path, problems));
    let steps = steps.collect();
    fields.finish();
    Some(Scenario { name: name?.to_owned(), given, faults, steps })
}

fn step(node: &Node, path: &str, problems: &Problems) -> Option<Step> {
    let fields = Fields::of(node, path, problems)?;
    let present = ACTIONS.iter().filter(|key| fields.take(key).is_some()).count();
    fields.finish();
    let unknown_only = present == 0 && matches!(&node.kind, Kind::Map(entries) if !entries.is_empty());
    if unknown_only {
        return None;
    }
    if present != 1 {
        fields.wrong(format!("a step has just one of {}", ACTIONS.join(", ")));
        return None;
    }
    let object = |key| object(fields.take(key)?, &fields.child(key), problems);
    let action = None
        .or_else(|| object("create").map(Action::Create))
        .or_else(|| object("apply").map(Action::Apply))
        .or_else(|| object("patch").map(Action::Patch))
        .or_else(|| object("delete").map(Action::Delete))
        .or_else(|| fields.text("tick").map(|name| Action::Tick(name.to_owned())))
        .or_else(|| fields.duration("pass", MAX_PASS).map(Action::Pass))
        .or_else(|| fields.duration("wait", MAX_WAIT).map(Action::Wait))
        .or_else(|| fault(fields.take("fault")?, &fields.child("fault"), problems).map(Action::Fault))
        .or_else(|| fields.word("restart", &["operator"]).map(|_| Action::Restart))
        .or_else(|| {
            let asked = Admission::read(fields.take("admission")?, &fields.child("admission"), problems);
            asked.map(|asked| Action::Ask(Question::Admission(Box::new(asked))))
        })
        .or_else(|| {
            let asked = Conversion::read(fields.take("conversion")?, &fields.child("conversion"), problems);
            asked.map(|asked| Action::Ask(Question::Conversion(asked)))
        })
        .or_else(|| {
            let expect = Expect::read(fields.take("expect")?, &fields.child("expect"), problems);
            expect.map(|expect| Action::Expect(Box::new(expect)))
        })?;
    Some(Step { place: node.place, action })
}

fn fault(node: &Node, path: &str, problems: &Problems) -> Option<Fault> {
    let fields = Fields::of(node, path, problems)?;
    for key in ["verb", "object", "answer"] {
        fields.need(key);
    }
    let verb = fields.word("verb", &VERBS);
    let object = fields.take("object").and_then(|node| object(node, &fields.child("object"), problems));
    let codes = ANSWERS.map(|(code, _)| code);
    let answer = fields.count("answer");
    let answer = answer.and_then(|answer| {
        codes.into_iter().find(|code| usize::from(*code) == answer).or_else(|| {
            let allowed = codes.map(|code| code.to_string()).join(", ");
            fields.wrong(format!("answer is {answer}; allowed: {allowed}"));
            None
        })
    });
    let times = fields.count("times").unwrap_or(1);
    if !(1..=MAX_TIMES).contains(&times) {
        fields.wrong(format!("times is {times}; it is from 1 to {MAX_TIMES}"));
    }
    fields.finish();
    Some(Fault { verb: verb?, object: object?, answer: answer?, times })
}

/// The objects of a list. Empty if the key is missing.
pub(super) fn objects(fields: &Fields<'_>, key: &'static str) -> Vec<Object> {
    let items = fields.items(key).into_iter().flatten();
    items.filter_map(|(node, path)| object(node, &path, fields.problems())).collect()
}

pub(super) fn object(node: &Node, path: &str, problems: &Problems) -> Option<Object> {
    let Kind::Map(_) = &node.kind else {
        problems.add(node.place, path, format!("must be an object, not {}", describe(node)));
        return None;
    };
    let value = node.value();
    let mut whole = true;
    for pointer in ["/apiVersion", "/kind", "/metadata/name"] {
        if value.pointer(pointer).and_then(Value::as_str).is_none_or(str::is_empty) {
            let key = pointer.trim_start_matches('/').replace('/', ".");
            problems.add(node.place, path, format!("an object needs {key}, a text"));
            whole = false;
        }
    }
    whole.then(|| Object { value, node: node.clone() })
}
