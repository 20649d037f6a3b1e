//! The content of a scenario file. It reports all problems of a file at once.

mod disturbed;
mod module;
mod reconcile;

use std::{fmt, time::Duration};

use boathook_core::model::{ObjectRef, Variables};
use serde_json::Value;

use super::{
    directories::{self, ScenarioFile},
    http,
    reader::{Fields, describe},
    tree::{self, Kind, Node, Place, Problem, Problems},
};

/// Maximum of a wait.
pub(super) const MAX_WAIT: Duration = Duration::from_secs(600);
/// Maximum time that passes in one step.
pub(super) const MAX_PASS: Duration = Duration::from_secs(366 * 24 * 3600);
/// The keys of a step, which has exactly one of them.
pub(super) const ACTIONS: [&str; 17] = [
    "create",
    "apply",
    "patch",
    "delete",
    "tick",
    "pass",
    "wait",
    "fault",
    "http",
    "restart",
    "settle",
    "again",
    "settings",
    "admission",
    "conversion",
    "reconcile",
    "expect",
];
/// What a `settle` step waits for.
pub(super) const SETTLES: [&str; 2] = ["operator", "all"];
/// Maximum number of repetitions of a fault.
pub(super) const MAX_TIMES: usize = 1000;

pub(super) use disturbed::Fault;
pub(super) use module::{Belongs, Configured};
pub(super) use reconcile::{Answered, Asking, Condition, EVENT_TYPES, STATUSES};

#[derive(Debug, Clone)]
pub struct Scenario {
    /// A sentence that says what the scenario shows.
    pub name: String,
    /// The objects that exist before the hook is loaded.
    pub(super) given: Vec<Object>,
    /// Responses that the operator receives instead of the API server's.
    pub(super) faults: Vec<Fault>,
    /// Responses to the hook's HTTP requests.
    pub(super) http: Vec<http::Answer>,
    /// The files of the hook's directories.
    pub(super) files: Vec<ScenarioFile>,
    /// The values of variables in selectors.
    pub(super) variables: Variables,
    /// What users configure of the module from the start.
    pub(super) settings: Option<Configured>,
    /// The directory of global hooks, from the folder of the scenario.
    pub(super) global_hooks: Option<String>,
    /// The module of the hook that the scenario is about.
    pub(super) belongs: Option<Belongs>,
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
    /// From now on, a server responds in this way.
    Http(http::Answer),
    /// The operator is stopped and started again.
    Restart,
    /// The operator has nothing more to do. Before, the events that faults hold back arrive, if `release` is true.
    Settle {
        release: bool,
    },
    /// The triggers of the last run arrive again.
    Again,
    /// Users configure the module in another way.
    Settings(Configured),
    /// The hook receives a request of the API server.
    Ask(Question),
    Expect(Box<Expect>),
}

/// An object with apiVersion, kind and name.
#[derive(Debug, Clone)]
pub(super) struct Object {
    pub value: Value,
    /// The same, as it is in the file.
    pub node: Node,
}

impl Object {
    pub fn target(&self) -> ObjectRef {
        let text = |pointer| self.value.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        ObjectRef {
            api_version: text("/apiVersion").unwrap_or_default(),
            kind: text("/kind").unwrap_or_default(),
            namespace: text("/metadata/namespace"),
            name: text("/metadata/name").unwrap_or_default(),
        }
    }
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
    let faults = faults.filter_map(|(node, path)| Fault::read(node, &path, problems)).collect();
    let http = fields.items("http").into_iter().flatten();
    let http = http.filter_map(|(node, path)| disturbed::http_answer(node, &path, problems)).collect();
    let files = files(&fields);
    let variables = variables(&fields);
    let settings = Configured::read(&fields);
    let global_hooks = fields.text("globalHooks").map(str::to_owned);
    let belongs = Belongs::read(&fields);
    // A sweep adds it to the steps.
    one(&fields, "sweep", swept);
    fields.need("steps");
    let steps = fields.items("steps").into_iter().flatten().filter_map(|(node, path)| step(node, &path, problems));
    let steps = steps.collect();
    fields.finish();
    let name = name?.to_owned();
    Some(Scenario { name, given, faults, http, files, variables, settings, global_hooks, belongs, steps })
}

/// What is read of a cluster after a fault.
fn swept(node: &Node, path: &str, problems: &Problems) -> Option<Expect> {
    if let Kind::Map(entries) = &node.kind {
        let kept = ["present", "absent", "files", "within"];
        for entry in entries.iter().filter(|entry| !kept.contains(&entry.key.as_str())) {
            let message = format!("is not the end of a scenario; allowed: {}", kept.join(", "));
            problems.add(entry.place, &format!("{path}.{}", entry.key), message);
        }
    }
    Expect::read(node, path, problems)
}

fn files(fields: &Fields<'_>) -> Vec<ScenarioFile> {
    let files = fields.texts("files").into_iter().map(|(path, text)| ScenarioFile { path, text });
    let good = |file: &ScenarioFile| {
        let problem = directories::problem(&file.path);
        problem.inspect(|problem| fields.wrong(format!("files: {problem}"))).is_none()
    };
    files.filter(good).collect()
}

fn variables(fields: &Fields<'_>) -> Variables {
    let mut variables = Variables::default();
    for (name, value) in fields.texts("variables") {
        if let Err(problem) = variables.set(&name, &value) {
            fields.wrong(format!("variables: {problem}"));
        }
    }
    variables
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
        .or_else(|| Fault::read(fields.take("fault")?, &fields.child("fault"), problems).map(Action::Fault))
        .or_else(|| disturbed::http_answer(fields.take("http")?, &fields.child("http"), problems).map(Action::Http))
        .or_else(|| fields.word("restart", &["operator"]).map(|_| Action::Restart))
        .or_else(|| fields.word("settle", &SETTLES).map(|word| Action::Settle { release: word == "all" }))
        .or_else(|| fields.word("again", &["last run"]).map(|_| Action::Again))
        .or_else(|| Configured::read(&fields).map(Action::Settings))
        .or_else(|| {
            let asked = Admission::read(fields.take("admission")?, &fields.child("admission"), problems);
            asked.map(|asked| Action::Ask(Question::Admission(Box::new(asked))))
        })
        .or_else(|| {
            let asked = Conversion::read(fields.take("conversion")?, &fields.child("conversion"), problems);
            asked.map(|asked| Action::Ask(Question::Conversion(asked)))
        })
        .or_else(|| {
            let asked = Asking::read(fields.take("reconcile")?, &fields.child("reconcile"), problems);
            asked.map(|asked| Action::Ask(Question::Reconcile(Box::new(asked))))
        })
        .or_else(|| {
            let expect = Expect::read(fields.take("expect")?, &fields.child("expect"), problems);
            expect.map(|expect| Action::Expect(Box::new(expect)))
        })?;
    Some(Step { place: node.place, action })
}

fn method(fields: &Fields<'_>) -> String {
    let method = fields.text("method").unwrap_or("GET");
    if method.is_empty() || !method.bytes().all(|byte| byte.is_ascii_uppercase()) {
        fields.wrong(format!("method is {method:?}; write it in upper case, such as GET"));
    }
    method.to_owned()
}

/// `body`, or `json` as text.
fn body(fields: &Fields<'_>) -> Option<String> {
    let (body, json) = (fields.text("body"), fields.take("json"));
    if body.is_some() && json.is_some() {
        fields.wrong("has just one of body and json");
    }
    body.map(str::to_owned).or_else(|| json.map(|node| node.value().to_string()))
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

/// The expected response to an admission request.
#[derive(Debug, Clone)]
pub struct Reviewed {
    pub allowed: Option<bool>,
    /// The message of the denial contains it.
    pub message: Option<String>,
    pub code: Option<usize>,
    pub reason: Option<String>,
    /// The number must match, and each is contained in its warning.
    pub warnings: Option<Vec<String>>,
    pub audit: Vec<(String, String)>,
    /// The object has at least these fields.
    pub object: Option<Node>,
    /// There is no response, for this reason.
    pub failed: Option<String>,
}

/// The expected response to a conversion request.
#[derive(Debug, Clone)]
pub struct Converted {
    /// The number must match.
    pub objects: Vec<Node>,
    pub failed: Option<String>,
}

impl Reviewed {
    pub fn read(node: &Node, path: &str, problems: &Problems) -> Option<Self> {
        let fields = Fields::of(node, path, problems)?;
        let owned = |key| fields.text(key).map(str::to_owned);
        let object = fields.take("object").filter(|node| is_map(node, &fields.child("object"), problems)).cloned();
        let reviewed = Self {
            allowed: flag(&fields, "allowed"),
            message: owned("message"),
            code: fields.count("code"),
            reason: owned("reason"),
            warnings: texts(&fields, "warnings"),
            audit: fields.texts("audit"),
            object,
            failed: owned("failed"),
        };
        fields.finish();
        if matches!(&node.kind, Kind::Map(entries) if entries.is_empty()) {
            fields.wrong("needs at least one key");
        }
        Some(reviewed)
    }
}

impl Converted {
    pub fn read(node: &Node, path: &str, problems: &Problems) -> Option<Self> {
        let fields = Fields::of(node, path, problems)?;
        let items = fields.items("objects").into_iter().flatten();
        let objects = items.filter(|(node, path)| is_map(node, path, problems)).map(|(node, _)| node.clone()).collect();
        let failed = fields.text("failed").map(str::to_owned);
        if fields.take("objects").is_some() == failed.is_some() {
            fields.wrong("has just one of objects and failed");
        }
        fields.finish();
        Some(Self { objects, failed })
    }
}

fn is_map(node: &Node, path: &str, problems: &Problems) -> bool {
    let map = matches!(node.kind, Kind::Map(_));
    if !map {
        problems.add(node.place, path, format!("must be an object, not {}", describe(node)));
    }
    map
}

/// The operations of admission requests.
pub const OPERATIONS: [&str; 4] = ["CREATE", "UPDATE", "DELETE", "CONNECT"];
/// The default user of a request.
const USER: &str = "kubernetes-admin";

#[derive(Debug, Clone)]
pub enum Question {
    Admission(Box<Admission>),
    Conversion(Conversion),
    Reconcile(Box<Asking>),
}

/// An admission request.
#[derive(Debug, Clone)]
pub struct Admission {
    /// None for every binding whose rules match.
    pub binding: Option<String>,
    pub operation: &'static str,
    pub object: Option<Object>,
    pub old_object: Option<Object>,
    pub subresource: Option<String>,
    pub user: String,
    pub groups: Vec<String>,
    pub dry_run: bool,
}

/// A conversion request.
#[derive(Debug, Clone)]
pub struct Conversion {
    /// None for the CustomResourceDefinition of the objects' group.
    pub crd: Option<String>,
    /// `v1` or `stable.example.com/v1`
    pub to: String,
    pub objects: Vec<Object>,
}

impl Admission {
    pub fn read(node: &Node, path: &str, problems: &Problems) -> Option<Self> {
        let fields = Fields::of(node, path, problems)?;
        fields.need("operation");
        let operation = fields.word("operation", &OPERATIONS);
        let given = |key: &'static str| fields.take(key).map(|node| object(node, &fields.child(key), problems));
        let (new, old) = (given("object"), given("oldObject"));
        let complaint = match operation {
            Some("DELETE") if old.is_none() || new.is_some() => Some("DELETE has just an oldObject"),
            Some("UPDATE") if old.is_none() || new.is_none() => Some("UPDATE has an object and an oldObject"),
            Some("CREATE" | "CONNECT") if new.is_none() || old.is_some() => {
                Some("CREATE and CONNECT have just an object")
            }
            _ => None,
        };
        complaint.into_iter().for_each(|text| fields.wrong(text));
        let user = fields.text("user").unwrap_or(USER).to_owned();
        let admission = Self {
            binding: fields.text("binding").map(str::to_owned),
            operation: operation.unwrap_or_default(),
            object: new.flatten(),
            old_object: old.flatten(),
            subresource: fields.text("subresource").map(str::to_owned),
            user,
            groups: texts(&fields, "groups").unwrap_or_default(),
            dry_run: flag(&fields, "dryRun").unwrap_or_default(),
        };
        fields.finish();
        Some(admission)
    }

    /// The object of the request.
    pub fn subject(&self) -> Option<&Object> {
        self.object.as_ref().or(self.old_object.as_ref())
    }
}

impl Conversion {
    pub fn read(node: &Node, path: &str, problems: &Problems) -> Option<Self> {
        let fields = Fields::of(node, path, problems)?;
        let to = fields.needed_text("to").unwrap_or_default().to_owned();
        if matches!(fields.need("objects").map(|node| &node.kind), Some(Kind::List(items)) if items.is_empty()) {
            fields.wrong("objects is empty: there is nothing to convert");
        }
        let (crd, objects) = (fields.text("crd").map(str::to_owned), objects(&fields, "objects"));
        fields.finish();
        Some(Self { crd, to, objects })
    }
}

/// A list of texts. None if the key is missing.
pub fn texts(fields: &Fields<'_>, key: &'static str) -> Option<Vec<String>> {
    let text = |(node, path): (&Node, String)| match &node.kind {
        Kind::Scalar(Value::String(text)) => Some(text.clone()),
        _ => {
            let message = format!("must be a text, not {}; put it in quotes", describe(node));
            fields.problems().add(node.place, &path, message);
            None
        }
    };
    Some(fields.items(key)?.filter_map(text).collect())
}

pub fn flag(fields: &Fields<'_>, key: &'static str) -> Option<bool> {
    let node = fields.take(key)?;
    if let Kind::Scalar(Value::Bool(flag)) = &node.kind {
        return Some(*flag);
    }
    fields.problems().add(node.place, &fields.child(key), format!("must be true or false, not {}", describe(node)));
    None
}

/// The default time within which an expectation must hold.
const WITHIN: Duration = Duration::from_secs(10);
/// Verbs of writes, as in the audit log.
pub const WRITE_VERBS: [&str; 4] = ["create", "update", "patch", "delete"];
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
    /// HTTP requests that were sent.
    pub http: Vec<Sent>,
    /// The texts of files.
    pub(super) files: Vec<ScenarioFile>,
    pub failures: Vec<Failures>,
    /// The response to the last admission request.
    pub admission: Option<Reviewed>,
    /// The response to the last conversion request.
    pub conversion: Option<Converted>,
    /// The answer to the last call about an object that the hook reconciles.
    pub reconcile: Option<Answered>,
    /// What the values of the module have.
    pub values: Option<Node>,
    /// What the values of all modules have.
    pub global: Option<Node>,
    /// What the configuration of the module has.
    pub settings: Option<Node>,
    /// The file with the manifests that the module renders to.
    pub manifests: Option<String>,
    /// The module fails, or its settings are refused, for a reason that contains this.
    pub failed: Option<String>,
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

/// An HTTP request of the hook.
#[derive(Debug, Clone, PartialEq)]
pub struct Sent {
    pub method: String,
    pub url: String,
    pub body: Option<SentBody>,
    pub count: Count,
}

#[derive(Debug, Clone, PartialEq)]
pub enum SentBody {
    Text(String),
    /// The body has at least these fields.
    Json(Value),
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
        let parts = [
            "present",
            "absent",
            "logged",
            "writes",
            "onlyWrites",
            "metrics",
            "http",
            "files",
            "failures",
            "admission",
            "conversion",
            "reconcile",
            "values",
            "global",
            "settings",
            "manifests",
            "failed",
        ];
        if !parts.iter().any(|key| has(&fields, key)) {
            fields.wrong(format!("expect needs something in one of {}", parts.join(", ")));
        }
        let map = |key| fields.take(key).filter(|node| is_map(node, &fields.child(key), problems)).cloned();
        let expect = Self {
            present: objects(&fields, "present"),
            absent: objects(&fields, "absent"),
            logged: each(&fields, "logged", line).unwrap_or_default(),
            writes: each(&fields, "writes", write).unwrap_or_default(),
            only_writes: each(&fields, "onlyWrites", write),
            metrics: each(&fields, "metrics", metric).unwrap_or_default(),
            http: each(&fields, "http", sent).unwrap_or_default(),
            files: files(&fields),
            failures: each(&fields, "failures", failures).unwrap_or_default(),
            admission: one(&fields, "admission", Reviewed::read),
            conversion: one(&fields, "conversion", Converted::read),
            reconcile: one(&fields, "reconcile", Answered::read),
            values: map("values"),
            global: map("global"),
            settings: map("settings"),
            manifests: module::snapshot(&fields),
            failed: fields.text("failed").map(str::to_owned),
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

fn sent(node: &Node, path: &str, problems: &Problems) -> Option<Sent> {
    let fields = Fields::of(node, path, problems)?;
    let (method, url, text, json) =
        (method(&fields), fields.needed_text("url"), fields.text("body"), fields.take("json"));
    if text.is_some() && json.is_some() {
        fields.wrong("has just one of body and json");
    }
    let text = text.map(|text| SentBody::Text(text.to_owned()));
    let body = text.or_else(|| json.map(|node| SentBody::Json(node.value())));
    let count = fields.count("times").map_or(Count::AtLeast(1), Count::Exactly);
    fields.finish();
    Some(Sent { method, url: url?.to_owned(), body, count })
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
    let verb = fields.word("verb", &WRITE_VERBS);
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
