//! A run in the shadow of another one: a run that has just ended is done again with another version of the hook, and the
//! effects are compared.
//!
//! What both versions request is answered as it was the first time, with the same snapshots, clocks and random numbers. So
//! the second version sees what the first one saw, and a creation that would now find its object is the same creation.
//! Everything else that it requests of the API server is sent, writes as dry runs. It then finds the cluster as the first
//! version has left it. HTTP requests and Kubernetes Events that the first version did not send are not sent.

use std::{
    collections::{BTreeMap, HashMap},
    fmt::Write as _,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::SystemTime,
};

use boathook_core::{
    effect::{self, Ignore},
    model::{
        AccessQuestion, CallError, Caller, EmitEvent, Failure, FailureKind, HookName, HttpBounds, HttpError,
        HttpReason, HttpRequest, HttpResponse, KindListing, Limits, ListQuery, MetricSample, ObjectRef, Operation,
        Page, READING, Resource, SnapshotSet,
    },
};
use boathook_egress::shown;
use boathook_sandbox::{Ambient, Host, LoadedHook, RunReport, Sandbox, Written};
use futures::{FutureExt as _, future::BoxFuture};
use serde_json::Value;

use super::{
    Mode,
    compare::{self, Change, Difference, Secrets},
    host::{Found, Replayed},
    said,
};
use crate::record::{
    Answer, Asked, Call, Given, RecordedAnswer, Request,
    tape::{Recording, metric_line},
};

/// Nothing was replaced, because nothing was stored.
const PLAIN: Secrets<'_> = Secrets { key: None, made: false };
/// The most fields of an example.
const FIELDS: usize = 3;
/// The most bytes of a value in an example, and of an example.
const VALUE: usize = 80;
const EXAMPLE: usize = 512;

/// A run that is noted, so that another version can be compared with it.
pub struct Noted {
    host: Arc<Recording>,
    asked: Asked,
    started: SystemTime,
}

impl Noted {
    /// Notes at most `bound` bytes. `host` answers the run.
    pub fn begin(host: Arc<dyn Host>, bound: usize, asked: Asked) -> Self {
        Self { host: Arc::new(Recording::with_moment(host, bound)), asked, started: SystemTime::now() }
    }

    /// The host to give to the run.
    pub fn host(&self) -> Arc<dyn Host> {
        self.host.clone()
    }

    /// The run has ended. `None` if it cannot be compared: it was interrupted, or there was more to note than fits.
    pub fn end<T: Clone + Into<Given>>(self, report: &RunReport<T>) -> Option<Original> {
        let notes = self.host.take();
        let failure = report.outcome.as_ref().err().cloned();
        let interrupted = failure.as_ref().is_some_and(|failure| failure.kind == FailureKind::Interrupted);
        if notes.full || interrupted {
            return None;
        }
        let since = self.started.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let ambient = Replayed::new(&notes.ambient(), u64::try_from(since.as_millis()).unwrap_or(u64::MAX))?;
        Some(Original {
            asked: self.asked,
            ambient: Arc::new(ambient),
            moment: notes.moment.unwrap_or_default(),
            calls: notes.calls,
            answer: report.outcome.as_ref().ok().and_then(|given| RecordedAnswer::of(&given.clone().into())),
            failure,
            metrics: report.metrics.iter().map(metric_line).collect(),
        })
    }
}

/// A run that has ended, and its effects.
pub struct Original {
    asked: Asked,
    ambient: Arc<Replayed>,
    moment: SnapshotSet,
    calls: Vec<Call>,
    answer: Option<RecordedAnswer>,
    failure: Option<Failure>,
    metrics: Vec<String>,
}

/// How the effects compare.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Compared {
    Equal,
    /// The first difference, in words. Values of Secrets are not in it.
    Different(String),
    /// It is not known: the second run was interrupted.
    Unknown,
}

impl Original {
    /// Does the run again with another version of the hook. `caller` is that version, and `live` answers what the first
    /// run did not request. `hides` is set if values may come from Secrets.
    pub async fn compare(
        self,
        sandbox: &Sandbox,
        component: &LoadedHook,
        (caller, limits): (Caller, Limits),
        live: Arc<dyn Host>,
        hides: bool,
    ) -> Compared {
        let host = Arc::new(ShadowHost {
            live,
            moment: self.moment,
            ambient: self.ambient,
            state: Mutex::new(State { found: Found::new(&self.calls), made: Vec::new(), unsent: None }),
        });
        let asked = self.asked.again(caller, limits);
        let report = asked.call(sandbox, component, host.clone()).await;
        let failure = report.outcome.as_ref().err();
        if failure.is_some_and(|failure| failure.kind == FailureKind::Interrupted) {
            return Compared::Unknown;
        }
        let (made, unsent) = host.seen();
        if let Some(request) = unsent {
            return Compared::Different(cut(format!("{request} is new; it was not sent"), EXAMPLE));
        }
        let (before, mut now) = (compare::made(&self.calls), compare::made(&made));
        settle(&before, &mut now);
        let mut differences = compare::writes(&before, &now, PLAIN);
        let answer = report.outcome.as_ref().ok().and_then(RecordedAnswer::of);
        differences.extend(compare::answers(self.answer.as_ref(), answer.as_ref(), PLAIN));
        let ended = |failure| said(failure, Mode::Matching);
        if ended(self.failure.as_ref()) != ended(failure) {
            let (recorded, now) = (ended(self.failure.as_ref()), ended(failure));
            differences.push(Difference::Outcome { recorded, now });
        }
        let metrics: Vec<_> = report.metrics.iter().map(metric_line).collect();
        differences.extend(compare::lines(&self.metrics, &metrics));
        let hides = hides || self.calls.iter().chain(&made).any(names_secrets);
        match differences.first() {
            None => Compared::Equal,
            Some(first) => Compared::Different(cut(example(first, hides), EXAMPLE)),
        }
    }
}

/// Writes whose dry run gives the object that the first version has stored are the same writes.
fn settle(before: &[compare::Written], now: &mut [compare::Written]) {
    let mut stored: BTreeMap<&str, Vec<&compare::Written>> = BTreeMap::new();
    for write in before {
        stored.entry(write.object.as_str()).or_default().push(write);
    }
    let mut counts: HashMap<String, usize> = HashMap::new();
    for write in now {
        let index = counts.entry(write.object.clone()).or_default();
        let first = stored.get(write.object.as_str()).and_then(|writes| writes.get(*index));
        *index += 1;
        if let Some(first) = first
            && first.refused.is_none()
            && write.refused.is_none()
            && same_object(first.stored.as_deref(), write.stored.as_deref())
        {
            (write.verb, write.body) = (first.verb, first.body.clone());
        }
    }
}

fn same_object(first: Option<&str>, second: Option<&str>) -> bool {
    let read = |text: Option<&str>| text.and_then(|text| serde_json::from_str::<Value>(text).ok());
    match (read(first), read(second)) {
        (Some(first), Some(second)) => effect::diff(Some(&first), Some(&second), Ignore::default()).is_empty(),
        _ => false,
    }
}

/// Whether a call may have passed values of Secrets or tokens.
fn names_secrets(call: &Call) -> bool {
    let text = serde_json::to_string(call).unwrap_or_default();
    // A hook may write the letters of a kind as escapes.
    text.is_empty()
        || ["Secret", "secret", "TokenRe", "\\\\u", "\"call\":\"http\""].iter().any(|part| text.contains(part))
}

/// A difference as one line.
fn example(difference: &Difference, hides: bool) -> String {
    match difference {
        Difference::Changed { object, verb, fields } => match fields.iter().find(|field| is_other_write(field)) {
            Some(field) => {
                format!("{verb} {object} is in place of another write ({})", field.path.trim_start_matches('/'))
            }
            None => format!("{verb} {object} differs: {}", changes(fields, hides)),
        },
        Difference::Missing { object, verb, .. } => format!("{verb} {object} is missing"),
        Difference::Added { object, verb, .. } => format!("{verb} {object} is new"),
        Difference::Permission { object, verb, now: Some(_), .. } => {
            format!("{verb} {object} is refused to the new version, by its permissions")
        }
        Difference::Permission { object, verb, .. } => format!("{verb} {object} is refused only to the old version"),
        Difference::Outcome { recorded, now } => format!("the run ends with {now}, and not with {recorded}"),
        Difference::Answer { fields } => format!("the answer differs: {}", changes(fields, hides)),
        Difference::Metrics { recorded, now } => {
            let name = now.first().or(recorded.first()).map_or("", String::as_str);
            format!("the metrics differ: {}", plain(name))
        }
        Difference::Call { number, .. } => format!("call {number} differs"),
    }
}

/// Whether the first version has written in another way: the whole operation is gone.
fn is_other_write(field: &Change) -> bool {
    ["/create", "/update", "/patch", "/delete"].contains(&field.path.as_str()) && field.now.is_none()
}

fn changes(fields: &[Change], hides: bool) -> String {
    let mut text = String::new();
    for (n, Change { path, recorded, now }) in fields.iter().take(FIELDS).enumerate() {
        let separator = if n > 0 { "; " } else { "" };
        let _ = write!(text, "{separator}{}", plain(path)); // writing to a String cannot fail
        if !hides {
            let value =
                |value: &Option<Value>| value.as_ref().map_or("absent".to_owned(), |value| plain(&value.to_string()));
            let _ = write!(text, " from {} to {}", value(recorded), value(now));
        }
    }
    let more = fields.len().saturating_sub(FIELDS);
    if more > 0 {
        let _ = write!(text, "; {more} more");
    }
    text
}

/// Without control characters, because hooks wrote the text.
fn plain(text: &str) -> String {
    let shown: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    cut(shown, VALUE)
}

fn cut(mut text: String, most: usize) -> String {
    if text.len() > most {
        text.truncate(text.floor_char_boundary(most));
        text.push('…');
    }
    text
}

/// The host of the second run.
struct ShadowHost {
    live: Arc<dyn Host>,
    moment: SnapshotSet,
    ambient: Arc<Replayed>,
    state: Mutex<State>,
}

struct State {
    found: Found,
    made: Vec<Call>,
    /// The first HTTP request that was not sent.
    unsent: Option<String>,
}

impl ShadowHost {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn seen(&self) -> (Vec<Call>, Option<String>) {
        let mut state = self.lock();
        (std::mem::take(&mut state.made), state.unsent.take())
    }

    fn note(&self, request: Request, answer: Answer) {
        self.lock().made.push(Call { request, answer: Some(answer) });
    }

    fn known<T>(&self, request: &Request, take: impl FnOnce(Answer) -> Option<T>) -> Option<T> {
        self.lock().found.same(request).and_then(take)
    }

    async fn written(&self, caller: &Caller, operation: Operation) -> Written {
        let known = self.lock().found.same_write(&operation);
        match known {
            Some(written) => written,
            // The hook does not see that it is a dry run, because it may do something else then.
            None => self.live.write(&Caller { dry_run: true, ..caller.clone() }, operation).await,
        }
    }
}

macro_rules! only {
    ($kind:ident) => {
        |answer| match answer {
            Answer::$kind(answer) => Some(answer),
            _ => None,
        }
    };
}

impl Host for ShadowHost {
    fn get<'a>(
        &'a self,
        caller: &'a Caller,
        target: ObjectRef,
        subresource: Option<String>,
    ) -> BoxFuture<'a, Result<String, CallError>> {
        let request = Request::Get { target: target.clone(), subresource: subresource.clone() };
        match self.known(&request, only!(Object)) {
            Some(answer) => std::future::ready(answer).boxed(),
            None => self.live.get(caller, target, subresource),
        }
    }

    fn list<'a>(&'a self, caller: &'a Caller, query: ListQuery) -> BoxFuture<'a, Result<Page, CallError>> {
        match self.known(&Request::List { query: query.clone() }, only!(Page)) {
            Some(answer) => std::future::ready(answer).boxed(),
            None => self.live.list(caller, query),
        }
    }

    fn write<'a>(&'a self, caller: &'a Caller, operation: Operation) -> BoxFuture<'a, Written> {
        async move {
            let request = Request::Write { operation: operation.clone(), options: caller.writes };
            let written = self.written(caller, operation).await;
            self.note(request, Answer::Written(written.clone()));
            written
        }
        .boxed()
    }

    fn batch<'a>(&'a self, caller: &'a Caller, operations: Vec<Operation>) -> BoxFuture<'a, Vec<Written>> {
        async move {
            let request = Request::Batch { operations: operations.clone(), options: caller.writes };
            let mut all = Vec::with_capacity(operations.len());
            // One after the other: nobody waits for it.
            for operation in operations {
                all.push(self.written(caller, operation).await);
            }
            self.note(request, Answer::Batch(all.clone()));
            all
        }
        .boxed()
    }

    fn emit_event<'a>(&'a self, _: &'a Caller, event: EmitEvent) -> BoxFuture<'a, Result<(), CallError>> {
        let request = Request::EmitEvent { event };
        let answer = self.known(&request, only!(Emitted)).unwrap_or(Ok(()));
        self.note(request, Answer::Emitted(answer.clone()));
        std::future::ready(answer).boxed()
    }

    fn resolve<'a>(
        &'a self,
        caller: &'a Caller,
        name: String,
        api_version: Option<String>,
    ) -> BoxFuture<'a, Result<Resource, CallError>> {
        let request = Request::Resolve { name: name.clone(), api_version: api_version.clone() };
        match self.known(&request, only!(Resolved)) {
            Some(answer) => std::future::ready(answer).boxed(),
            None => self.live.resolve(caller, name, api_version),
        }
    }

    fn http<'a>(
        &'a self,
        _: &'a Caller,
        request: HttpRequest,
        _: HttpBounds,
    ) -> BoxFuture<'a, Result<HttpResponse, HttpError>> {
        let name = shown(&request);
        let reads = READING.contains(&request.method.as_str());
        let request = Request::Http { request };
        let known = self.known(&request, only!(Http));
        let answer = known.unwrap_or_else(|| {
            self.lock().unsent.get_or_insert_with(|| name.clone());
            let message = format!("{name}: not sent, because this run only shows what the hook would do");
            Err(HttpError { reason: HttpReason::Connection, message })
        });
        if !reads {
            self.note(request, Answer::Http(answer.clone()));
        }
        std::future::ready(answer).boxed()
    }

    fn kinds<'a>(&'a self, caller: &'a Caller) -> BoxFuture<'a, Result<KindListing, CallError>> {
        match self.known(&Request::Kinds, only!(Kinds)) {
            Some(answer) => std::future::ready(answer).boxed(),
            None => self.live.kinds(caller),
        }
    }

    fn allowed<'a>(&'a self, caller: &'a Caller, question: AccessQuestion) -> BoxFuture<'a, Result<bool, CallError>> {
        match self.known(&Request::Allowed { question: question.clone() }, only!(Allowed)) {
            Some(answer) => std::future::ready(answer).boxed(),
            None => self.live.allowed(caller, question),
        }
    }

    fn snapshot_set(&self, _: &HookName) -> SnapshotSet {
        self.moment.clone()
    }

    fn check_metric(&self, caller: &Caller, sample: &MetricSample, in_run: usize) -> Result<(), String> {
        self.live.check_metric(caller, sample, in_run)
    }

    fn prints_lines(&self) -> bool {
        false
    }

    fn ambient(&self) -> Option<Arc<dyn Ambient>> {
        Some(self.ambient.clone())
    }
}

#[cfg(test)]
mod tests {
    use boathook_core::model::{Create, Delete, IfExists, Patch, PatchBody, Propagation, WriteOptions};
    use serde_json::json;

    use super::*;

    fn map(data: &Value) -> Value {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "n", "name": "a"}, "data": data})
    }

    fn target() -> ObjectRef {
        ObjectRef::of(&map(&json!({})))
    }

    fn call(operation: Operation, stored: &Value) -> Call {
        let answer = Answer::Written(Ok(Some(stored.to_string())));
        Call { request: Request::Write { operation, options: WriteOptions::default() }, answer: Some(answer) }
    }

    fn create(object: &Value) -> Operation {
        Operation::Create(Create { object: object.to_string(), if_exists: IfExists::Fail, subresource: None })
    }

    fn merge(body: &Value) -> Operation {
        Operation::Patch(Patch {
            target: target(),
            body: PatchBody::Merge(body.to_string()),
            subresource: None,
            ignore_missing: false,
        })
    }

    fn delete() -> Operation {
        let (propagation, target) = (Propagation::Background, target());
        let (uid, resource_version, wait) = (None, None, None);
        Operation::Delete(Delete { target, propagation, ignore_missing: false, uid, resource_version, wait })
    }

    fn differences(before: &[Call], now: &[Call]) -> Vec<String> {
        let (before, mut now) = (compare::made(before), compare::made(now));
        settle(&before, &mut now);
        compare::writes(&before, &now, PLAIN).iter().map(|difference| example(difference, false)).collect()
    }

    #[test]
    fn a_write_that_gives_the_same_object_is_the_same() {
        let stored = |version: &str| {
            let mut object = map(&json!({"x": "1"}));
            object["metadata"]["resourceVersion"] = version.into();
            object
        };
        let before = [call(create(&map(&json!({"x": "1"}))), &stored("5"))];
        let now = [call(merge(&json!({"data": {"x": "1"}})), &stored("6"))];
        assert_eq!(differences(&before, &now), [""; 0]);
        let other = [call(merge(&json!({"data": {"x": "2"}})), &map(&json!({"x": "2"})))];
        assert_eq!(differences(&before, &other).len(), 1);
    }

    /// The answer to a deletion is the object that goes, as it was stored.
    // mutant: crates/operator/src/record/replay/compare.rs: `(Operation::Delete(_), _) => None,` => ``
    #[test]
    fn a_deletion_is_never_the_same_as_another_write() {
        let stored = map(&json!({"x": "1"}));
        let before = [call(merge(&json!({"data": {"x": "1"}})), &stored)];
        let other = "delete v1 ConfigMap n/a is in place of another write (patch)";
        assert_eq!(differences(&before, &[call(delete(), &stored)]), [other]);
        assert_eq!(differences(&[], &[call(delete(), &stored)]), ["delete v1 ConfigMap n/a is new"]);
        assert_eq!(differences(&[call(delete(), &stored)], &[]), ["delete v1 ConfigMap n/a is missing"]);
        assert_eq!(differences(&[call(delete(), &stored)], &[call(delete(), &stored)]), [""; 0]);
    }

    #[test]
    fn an_example_shows_values_unless_they_may_be_those_of_secrets() {
        let changed = |path: &str| Change { path: path.to_owned(), recorded: Some(json!("old")), now: None };
        let difference = Difference::Changed {
            object: "v1 ConfigMap n/a".to_owned(),
            verb: "apply".to_owned(),
            fields: ["/a", "/b", "/c", "/d"].map(changed).to_vec(),
        };
        let shown = example(&difference, false);
        assert!(shown.starts_with("apply v1 ConfigMap n/a differs: /a from \"old\" to absent; /b from"), "{shown}");
        assert!(shown.ends_with("; 1 more"), "{shown}");
        assert_eq!(example(&difference, true), "apply v1 ConfigMap n/a differs: /a; /b; /c; 1 more");
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}});
        assert!(names_secrets(&call(create(&secret), &secret)));
        assert!(!names_secrets(&call(create(&map(&json!({}))), &map(&json!({})))));
        assert!(cut("ä".repeat(1000), EXAMPLE).len() <= EXAMPLE + 3);
    }
}
