//! Compares what was found with what is expected. Pure.

mod module;
mod reconcile;

use boathook_core::model::{HttpRequest, Verdict};
use serde_json::Value;

use super::{
    directories::ScenarioFile,
    document::{Count, Expect, Failures, Line, Metric, Sent, SentBody, Write},
    log::{Log, Written},
    matcher::{Difference, differences, shown},
    subject::Subject,
    tree::Node,
};
use crate::scenario::document::{Converted, Reviewed};

pub(super) use module::OfModule;
pub(super) use reconcile::Wants;

/// What was read from a cluster and an operator.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Seen {
    /// The expected objects.
    pub present: Vec<Option<Value>>,
    /// The objects that are expected to be absent.
    pub absent: Vec<Option<Value>>,
    /// Series as text. Empty if no metric is expected.
    pub metrics: String,
    /// The HTTP requests of the hook. Empty if none is expected.
    pub http: Vec<HttpRequest>,
    /// The expected files as they are.
    pub files: Vec<Option<String>>,
    /// The result of the last request.
    pub answer: Option<Answer>,
    pub module: OfModule,
}

/// The result of a request.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Answer {
    /// The decision of all bindings that were called, and the resulting object.
    Reviewed {
        verdict: Verdict,
        object: Option<Value>,
    },
    /// The objects, in order.
    Converted(Vec<Value>),
    Reconciled(Box<Wants>),
    /// There is no response, because the hook failed or cannot answer.
    Failed(String),
}

/// One difference.
#[derive(Debug, Clone)]
pub(super) struct Wrong {
    /// What differs, and how, in several lines.
    pub text: String,
    /// How the expectation can be changed to what was found, if it can.
    pub remedy: Option<Remedy>,
}

/// A change of an expectation.
#[derive(Debug, Clone)]
pub(super) enum Remedy {
    /// Of an expected object.
    Object(Spot, Vec<Difference>),
    /// The text of the file of manifests.
    Manifests(String),
}

/// The place of an expected object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spot {
    /// `present[index]`
    Present(usize),
    /// `admission.object`
    Reviewed,
    /// `conversion.objects[index]`
    Converted(usize),
    /// `reconcile.children[index]`
    Child(usize),
    /// `reconcile.status`
    Status,
    /// `values`
    Values,
    /// `global`
    Global,
    /// `settings`
    Settings,
}

impl From<String> for Wrong {
    fn from(text: String) -> Self {
        Self { text, remedy: None }
    }
}

/// All differences.
pub(super) fn judge(expect: &Expect, seen: &Seen, log: &Log, of: &Subject) -> Vec<Wrong> {
    let mut wrong = objects(expect, seen);
    let said = expect.logged.iter().filter_map(|line| line.differs(log.said(of, &line.text)));
    wrong.extend(said.map(|text| Wrong::from(format!("logged: {text}"))));
    if !expect.writes.is_empty() || expect.only_writes.is_some() {
        wrong.extend(writes(expect, &log.writes(of)).map(Wrong::from));
    }
    wrong.extend(expect.metrics.iter().filter_map(|metric| metric.differs(&seen.metrics)).map(Wrong::from));
    wrong.extend(expect.http.iter().filter_map(|sent| sent.differs(&seen.http)).map(Wrong::from));
    wrong.extend(files(expect, &seen.files));
    let failures = log.failures(of);
    wrong.extend(expect.failures.iter().filter_map(|wanted| wanted.differs(&failures)).map(Wrong::from));
    wrong.extend(answer(expect, seen.answer.as_ref()));
    wrong.extend(module::differs(expect, &seen.module));
    if log.is_full() {
        wrong.push("the operator logged more than can be judged".to_owned().into());
    }
    wrong
}

fn files(expect: &Expect, found: &[Option<String>]) -> Vec<Wrong> {
    let differs = |(file, found): (&ScenarioFile, &Option<String>)| match found {
        Some(text) if *text == file.text => None,
        Some(text) => Some(format!("files: {}: {:?} expected, and it has {text:?}", file.path, file.text).into()),
        None => Some(format!("files: {}: is not there", file.path).into()),
    };
    expect.files.iter().zip(found).filter_map(differs).collect()
}

/// The differences of the response to the last request.
pub(super) fn answer(expect: &Expect, answer: Option<&Answer>) -> Vec<Wrong> {
    let asked = expect.admission.is_some() || expect.conversion.is_some() || expect.reconcile.is_some();
    let Some(answer) = answer else {
        let nothing = || "no step has called the hook since the operator started".to_owned().into();
        return asked.then(nothing).into_iter().collect();
    };
    let reviewed = expect.admission.iter().flat_map(|wanted| wanted.differs(answer));
    let converted = expect.conversion.iter().flat_map(|wanted| wanted.differs(answer));
    let reconciled = expect.reconcile.iter().flat_map(|wanted| wanted.differs(answer));
    reviewed.chain(converted).chain(reconciled).collect()
}

fn objects(expect: &Expect, seen: &Seen) -> Vec<Wrong> {
    let mut wrong = Vec::new();
    for (index, (object, found)) in expect.present.iter().zip(&seen.present).enumerate() {
        let Some(found) = found else {
            wrong.push(format!("present[{index}] {object}: is not there").into());
            continue;
        };
        let all = differences(&object.value, found);
        if !all.is_empty() {
            let lines: String = all.iter().map(diff).collect();
            wrong.push(Wrong {
                text: format!("present[{index}] {object}:{lines}"),
                remedy: Some(Remedy::Object(Spot::Present(index), all)),
            });
        }
    }
    for (index, (object, found)) in expect.absent.iter().zip(&seen.absent).enumerate() {
        wrong.extend(found.as_ref().map(|found| format!("absent[{index}] {object}: is there: {found}").into()));
    }
    wrong
}

pub(super) fn diff(difference: &Difference) -> String {
    let Difference { expected, found, .. } = difference;
    format!("\n  {}\n    - expected {}\n    + found    {}", difference.place(), shown(expected), shown(found))
}

impl Count {
    fn holds(self, found: usize) -> bool {
        match self {
            Self::AtLeast(n) => found >= n,
            Self::Exactly(n) => found == n,
        }
    }

    fn shown(self) -> String {
        match self {
            Self::AtLeast(n) => format!("at least {n}"),
            Self::Exactly(n) => n.to_string(),
        }
    }
}

impl Sent {
    /// The difference, if the number of such requests is not the expected one.
    pub fn differs(&self, all: &[HttpRequest]) -> Option<String> {
        let Self { method, url, body, count } = self;
        let same_place: Vec<_> = all.iter().filter(|sent| (&sent.method, &sent.url) == (method, url)).collect();
        let same = |sent: &&&HttpRequest| match body {
            None => true,
            Some(SentBody::Text(text)) => sent.body.0 == text.as_bytes(),
            Some(SentBody::Json(json)) => {
                serde_json::from_slice::<Value>(&sent.body.0).is_ok_and(|found| differences(json, &found).is_empty())
            }
        };
        let found = same_place.iter().filter(same).count();
        if count.holds(found) {
            return None;
        }
        let mut text = format!("http: {} of {method} {url} expected, {found} sent", count.shown());
        for sent in same_place.into_iter().filter(|sent| !same(&sent)).take(SHOWN) {
            text.push_str(&format!(
                "\n  one with the body {}",
                shown(&String::from_utf8_lossy(&sent.body.0).into_owned().into())
            ));
        }
        let other = |sent: &&HttpRequest| (&sent.method, &sent.url) != (method, url);
        for sent in all.iter().filter(other).take(SHOWN) {
            text.push_str(&format!("\n  and {} {}", sent.method, sent.url));
        }
        Some(text)
    }
}

/// How many other requests a difference lists.
const SHOWN: usize = 5;

impl Line {
    /// The difference, if the number of lines is not the expected one.
    pub fn differs(&self, found: usize) -> Option<String> {
        let text = &self.text;
        match self.count {
            count if count.holds(found) => None,
            Count::AtLeast(1) => Some(format!("no line contains {text:?}")),
            count => Some(format!("{found} lines contain {text:?}, expected {}", count.shown())),
        }
    }
}

impl Write {
    fn is(&self, written: &Written) -> bool {
        let object = written.object == self.object || written.object.ends_with(&format!(" {}", self.object));
        let rest = (&self.subresource, self.outcome.as_str()) == (&written.subresource, written.outcome.as_str());
        object && rest && self.verb == written.verb
    }
}

/// The differences of the writes, as a list of them.
fn writes(expect: &Expect, found: &[Written]) -> Option<String> {
    if let Some(only) = &expect.only_writes {
        let same = only.len() == found.len() && only.iter().zip(found).all(|(wanted, found)| wanted.is(found));
        if !same {
            return Some(format!("onlyWrites:{}", compared(only, found)));
        }
    }
    let mut rest = found.iter();
    let in_order = expect.writes.iter().all(|wanted| rest.any(|found| wanted.is(found)));
    (!in_order).then(|| format!("writes, in this order:{}", compared(&expect.writes, found)))
}

fn compared(wanted: &[Write], found: &[Written]) -> String {
    let write = |verb: &str, object: &str, subresource: &Option<String>, outcome: &str| {
        let subresource = subresource.as_ref().map(|name| format!("/{name}")).unwrap_or_default();
        format!("{verb} {object}{subresource} {outcome}")
    };
    let wanted =
        wanted.iter().map(|w| format!("\n  - expected {}", write(w.verb, &w.object, &w.subresource, &w.outcome)));
    let found =
        found.iter().map(|w| format!("\n  + found    {}", write(&w.verb, &w.object, &w.subresource, &w.outcome)));
    wanted.chain(found).collect()
}

impl Failures {
    fn differs(&self, found: &[(String, String)]) -> Option<String> {
        let alike = |(kind, message): &&(String, String)| {
            kind == self.kind && self.message.as_ref().is_none_or(|text| message.contains(text))
        };
        let count = found.iter().filter(alike).count();
        let about = self.message.as_ref().map(|text| format!(" with {text:?}")).unwrap_or_default();
        let all: String = found.iter().map(|(kind, message)| format!("\n  + found    {kind}: {message}")).collect();
        let wanted = self.count.shown();
        (!self.count.holds(count))
            .then(|| format!("failures: {count} runs failed with {}{about}, expected {wanted}{all}", self.kind))
    }
}

impl Metric {
    fn differs(&self, text: &str) -> Option<String> {
        let label = |(name, value): &(String, String)| {
            format!("{name}=\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
        };
        let wanted: Vec<String> = self.labels.iter().map(label).collect();
        let alike: Vec<&str> = text.lines().filter(|line| self.is_named(line, &wanted)).collect();
        let value = |line: &&str| line.rsplit_once(' ').and_then(|(_, value)| value.parse::<f64>().ok());
        if alike.iter().filter_map(value).any(|value| value == self.value) {
            return None;
        }
        let found: String = alike.iter().map(|line| format!("\n  + found    {line}")).collect();
        let found = if found.is_empty() { "\n  + found    no such series".to_owned() } else { found };
        Some(format!("metrics:\n  - expected {}{{{}}} {}{found}", self.name, wanted.join(","), self.value))
    }

    fn is_named(&self, line: &str, labels: &[String]) -> bool {
        let Some(rest) = line.strip_prefix(&self.name).and_then(|rest| rest.strip_prefix('{')) else { return false };
        let inner = rest.rsplit_once("} ").map_or(rest, |(labels, _)| labels);
        let padded = format!(",{inner},");
        labels.iter().all(|label| padded.contains(&format!(",{label},")))
    }
}

/// HTTP status and reason of a denial that does not set them.
const DENIED: (u16, &str) = (403, "Forbidden");

impl Reviewed {
    /// The differences.
    pub fn differs(&self, answer: &Answer) -> Vec<Wrong> {
        let (verdict, object) = match (answer, &self.failed) {
            (Answer::Failed(text), Some(wanted)) if text.contains(wanted) => return Vec::new(),
            (Answer::Reviewed { verdict, object }, None) => (verdict, object),
            (answer, wanted) => return vec![no_answer("admission", wanted.as_deref(), answer)],
        };
        let mut lines = String::new();
        let mut check = |key: &str, wanted: Option<String>, found: String, holds: bool| {
            if let Some(wanted) = wanted.filter(|_| !holds) {
                lines.push_str(&format!("\n  {key}\n    - expected {wanted}\n    + found    {found}"));
            }
        };
        let Verdict { denied, warnings, audit_annotations } = verdict;
        let message = denied.as_ref().map(|denied| denied.message.clone());
        let allowed = match &message {
            None => "true".to_owned(),
            Some(message) => format!("false: {message}"),
        };
        check("allowed", self.allowed.map(|it| it.to_string()), allowed, self.allowed == Some(denied.is_none()));
        let shown_text =
            |text: Option<&str>| text.map_or("nothing: it is allowed".to_owned(), |text| format!("{text:?}"));
        let holds = |wanted: &Option<String>| message.as_ref().zip(wanted.as_ref()).is_some_and(|(m, w)| m.contains(w));
        check("message", quoted(&self.message), shown_text(message.as_deref()), holds(&self.message));
        let code = denied.as_ref().map(|denied| usize::from(denied.code.unwrap_or(DENIED.0)));
        let shown = code.map_or_else(|| shown_text(None), |code| code.to_string());
        check("code", self.code.map(|it| it.to_string()), shown, self.code == code);
        let reason = denied.as_ref().map(|denied| denied.reason.as_deref().unwrap_or(DENIED.1));
        check("reason", quoted(&self.reason), shown_text(reason), self.reason.as_deref() == reason);
        let alike = self.warnings.as_ref().is_some_and(|wanted| {
            wanted.len() == warnings.len() && wanted.iter().zip(warnings).all(|(w, found)| found.contains(w))
        });
        let wanted = self.warnings.as_ref().map(|it| format!("{it:?}"));
        check("warnings", wanted, format!("{warnings:?}"), alike);
        for pair in &self.audit {
            check(
                "audit",
                Some(format!("{pair:?}")),
                format!("{audit_annotations:?}"),
                audit_annotations.contains(pair),
            );
        }
        let mut wrong = Vec::new();
        if !lines.is_empty() {
            wrong.push(Wrong::from(format!("admission:{lines}")));
        }
        if let Some(wanted) = &self.object {
            let found = object.clone().unwrap_or_default();
            wrong.extend(object_differs("admission.object", wanted, &found, Spot::Reviewed));
        }
        wrong
    }
}

impl Converted {
    /// The differences.
    pub fn differs(&self, answer: &Answer) -> Vec<Wrong> {
        let objects = match (answer, &self.failed) {
            (Answer::Failed(text), Some(wanted)) if text.contains(wanted) => return Vec::new(),
            (Answer::Converted(objects), None) => objects,
            (answer, wanted) => return vec![no_answer("conversion", wanted.as_deref(), answer)],
        };
        if objects.len() != self.objects.len() {
            return vec![Wrong::from(format!(
                "conversion: {} objects, expected {}",
                objects.len(),
                self.objects.len()
            ))];
        }
        let pairs = self.objects.iter().zip(objects).enumerate();
        let differs = |(n, (wanted, found)): (usize, (&Node, _))| {
            object_differs(&format!("conversion.objects[{n}]"), wanted, found, Spot::Converted(n))
        };
        pairs.filter_map(differs).collect()
    }
}

fn object_differs(title: &str, wanted: &Node, found: &serde_json::Value, spot: Spot) -> Option<Wrong> {
    let all = differences(&wanted.value(), found);
    let lines: String = all.iter().map(diff).collect();
    (!all.is_empty()).then(|| Wrong { text: format!("{title}:{lines}"), remedy: Some(Remedy::Object(spot, all)) })
}

fn no_answer(key: &str, wanted: Option<&str>, answer: &Answer) -> Wrong {
    let found = match answer {
        Answer::Failed(text) => format!("it failed: {text}"),
        Answer::Reviewed { .. } => "an answer to an admission".to_owned(),
        Answer::Converted(_) => "an answer to a conversion".to_owned(),
        Answer::Reconciled(_) => "an answer about an object that the hook reconciles".to_owned(),
    };
    let wanted = wanted.map_or("an answer".to_owned(), |text| format!("it fails with {text:?}"));
    format!("{key}:\n  - expected {wanted}\n  + found    {found}").into()
}

fn quoted(text: &Option<String>) -> Option<String> {
    text.as_ref().map(|text| format!("{text:?}"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use super::*;

    fn write(verb: &'static str, object: &str) -> Write {
        Write { verb, object: object.to_owned(), subresource: None, outcome: "ok".to_owned() }
    }

    fn expected(writes: Vec<Write>, only_writes: Option<Vec<Write>>) -> Expect {
        let (present, absent, logged, metrics, failures, within) = Default::default();
        let (admission, conversion, reconcile, http, files) = (None, None, None, Vec::new(), Vec::new());
        let (values, global, settings, manifests, failed) = (None, None, None, None, None);
        Expect {
            present,
            absent,
            logged,
            writes,
            only_writes,
            metrics,
            http,
            files,
            failures,
            admission,
            conversion,
            reconcile,
            values,
            global,
            settings,
            manifests,
            failed,
            within,
        }
    }

    #[test]
    fn writes_come_in_order_with_others_between() {
        let found = [("create", "v1 Secret a/s"), ("patch", "v1 Node n"), ("delete", "v1 Secret a/s")];
        let found = found.map(|(verb, object)| Written {
            verb: verb.to_owned(),
            object: object.to_owned(),
            subresource: None,
            outcome: "ok".to_owned(),
        });
        let wrong = |expect: Expect| writes(&expect, &found).is_some();
        let (create, patch, delete) =
            (write("create", "Secret a/s"), write("patch", "v1 Node n"), write("delete", "Secret a/s"));
        assert!(!wrong(expected(vec![create.clone(), delete.clone()], None)));
        assert!(wrong(expected(vec![delete.clone(), create.clone()], None)));
        assert!(wrong(expected(vec![create.clone(), create.clone()], None)));
        assert!(wrong(expected(vec![write("create", "s")], None)));
        assert!(wrong(expected(vec![Write { outcome: "conflict".to_owned(), ..create.clone() }], None)));
        assert!(wrong(expected(Vec::new(), Some(vec![create.clone(), delete.clone()]))));
        assert!(wrong(expected(Vec::new(), Some(Vec::new()))));
        assert!(!wrong(expected(Vec::new(), Some(vec![create, patch, delete]))));
    }

    #[test]
    fn a_series_has_at_least_the_labels() {
        let text = "# TYPE m counter\nm{hook=\"h\",a=\"x,\\\"y\\\"\",b=\"2\"} 3\nm{hook=\"h\",a=\"z\",b=\"\"} 4\nmm{hook=\"h\"} 9\n";
        let differs = |labels: &[(&str, &str)], value| {
            let labels = labels.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            Metric { name: "m".to_owned(), labels, value }.differs(text)
        };
        assert_eq!(differs(&[], 4.0), None);
        assert_eq!(differs(&[("b", "2"), ("a", "x,\"y\"")], 3.0), None);
        assert!(differs(&[("a", "z")], 3.0).unwrap().contains("+ found    m{hook=\"h\",a=\"z\",b=\"\"} 4"));
        assert!(differs(&[], 9.0).is_some(), "of another name");
        assert!(differs(&[("a", "x")], 3.0).unwrap().contains("no such series"));
    }

    #[test]
    fn failures_are_counted_by_kind_and_message() {
        let found = [("trap".to_owned(), "unreachable".to_owned()), ("retry".to_owned(), "later".to_owned())];
        let differs = |kind, message: Option<&str>, count| {
            Failures { kind, message: message.map(str::to_owned), count }.differs(&found).is_some()
        };
        assert!(!differs("trap", Some("reach"), Count::Exactly(1)));
        assert!(differs("trap", Some("later"), Count::AtLeast(1)));
        assert!(!differs("permanent", None, Count::Exactly(0)));
        assert!(differs("retry", None, Count::AtLeast(2)));
    }
}
