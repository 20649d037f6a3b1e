//! Makes a scenario of a recorded run: what it saw is the cluster before, its triggers are steps, and what it did is
//! expected. What the scenario cannot express is a comment in the file. Pure.

mod cluster;
mod restore;

use std::collections::{BTreeMap, BTreeSet};

use boathook_core::model::{
    CallError, CallReason, Cause, Create, HookSpec, HttpError, HttpRequest, HttpResponse, KubernetesBinding,
    ObjectEvent, ObjectRef, Operation, Patch, PatchBody, Update, WatchEventKind,
};
use boathook_operator::record::{Answer, Asks, Record, RecordedAnswer, RecordedQuestion, Request};
use serde_json::{Map, Value, json};

use super::{document::MAX_TIMES, faults::ANSWERS, http::FAILS};
use cluster::{Before, identity, object_of, parse, plain};

/// Why a record cannot become a scenario.
#[derive(Debug, thiserror::Error)]
pub enum NotAScenario {
    #[error("the record is incomplete: {0}")]
    Incomplete(String),
    #[error("the writes of the run were dry runs, so what they would have changed is not in the record")]
    DryRun,
    #[error(
        "the record has too little of the object of the binding {0}: its `content` leaves it out, and its `jqFilter` does \
         more than select fields"
    )]
    NoObject(String),
    #[error("the run was a call of `finalize`: write a scenario that deletes the object")]
    Finalize,
    #[error("the record has a request that is not valid JSON")]
    Json(#[from] serde_json::Error),
    #[error("the scenario cannot be written")]
    Yaml(#[from] yaml_serde::Error),
}

/// An annotation that stands for a change that is not known.
const CHANGED: &str = "scenario.boathook.dev/before";

/// The parts of the scenario.
#[derive(Default)]
struct Parts {
    before: Before,
    faults: Vec<Value>,
    http: Vec<Value>,
    steps: Vec<Value>,
    expect: Map<String, Value>,
    /// How many calls the API server received, by verb, object and subresource.
    received: BTreeMap<(&'static str, String, Option<String>), usize>,
    /// What is not as it was.
    notes: Vec<String>,
}

/// The text of a scenario file. `spec` is the document of the hook.
pub fn of_record(record: &Record, spec: &HookSpec) -> Result<String, NotAScenario> {
    let header = &record.header;
    if let Some(reason) = &header.incomplete {
        return Err(NotAScenario::Incomplete(reason.clone()));
    }
    let asks = record.question.as_ref().map(|question| &question.asks);
    // A question's writes are dry runs where the request is one, and a conversion writes nothing.
    if header.dry_run && matches!(asks, None | Some(Asks::Reconcile { .. })) {
        return Err(NotAScenario::DryRun);
    }
    let mut parts = Parts::default();
    parts.saw(record, spec);
    match &record.question {
        Some(question) => parts.asked(question, record.end.answer.as_ref())?,
        None => parts.triggered(record, spec)?,
    }
    parts.did(record);
    parts.ended(record);
    parts.text(record)
}

impl Parts {
    /// The objects of snapshots and of answers, as far as the run did not change them before.
    fn saw(&mut self, record: &Record, spec: &HookSpec) {
        for snapshot in &record.snapshots {
            let items = snapshot.items.as_deref().unwrap_or_default();
            let binding = binding(spec, snapshot.binding.as_str());
            let objects: Vec<_> = items.iter().filter_map(|item| restore::object(binding?, None, item)).collect();
            if objects.len() < items.len() {
                self.notes.push(format!(
                    "The record has too little of {} objects of the snapshot of {}.",
                    items.len() - objects.len(),
                    snapshot.binding
                ));
            }
            let whole = items.iter().all(|item| item.object.is_some());
            if !whole && !objects.is_empty() {
                self.notes
                    .push(format!("Of the objects of {}, only what its filter picks is known.", snapshot.binding));
            }
            objects.iter().for_each(|object| self.before.add(object));
        }
        let mut written = false;
        for call in &record.calls {
            written |= !call.request.operations().is_empty();
            match &call.answer {
                Some(Answer::Object(Ok(object))) if !written => {
                    parse(object).iter().for_each(|object| self.before.add(object));
                }
                Some(Answer::Page(Ok(page))) if !written => {
                    page.items.iter().filter_map(|item| parse(item)).for_each(|object| self.before.add(&object));
                }
                Some(Answer::Object(Ok(_)) | Answer::Page(Ok(_))) => {
                    self.notes.push(
                        "What the run read after its first write is not a part of the cluster before.".to_owned(),
                    );
                }
                _ => {}
            }
        }
        self.notes.dedup();
    }

    fn triggered(&mut self, record: &Record, spec: &HookSpec) -> Result<(), NotAScenario> {
        for trigger in &record.triggers {
            let event = match &trigger.cause {
                // The start of the operator brings them.
                Cause::Startup | Cause::Synchronization => continue,
                Cause::Schedule(_) => {
                    self.steps.push(json!({"tick": trigger.binding.as_str()}));
                    continue;
                }
                Cause::Event(event) => event,
            };
            let of = binding(spec, trigger.binding.as_str());
            let kind = (&*event.resource.api_version(), &*event.resource.kind);
            let object = of.and_then(|of| restore::object(of, Some(kind), &event.item));
            let Some(object) = object else { return Err(NotAScenario::NoObject(trigger.binding.to_string())) };
            match (event.kind, of.and_then(|of| previous(of, event, &object))) {
                (WatchEventKind::Deleted, _) => {
                    self.before.add(&object);
                    self.steps.push(json!({"delete": named(&object)}));
                }
                (WatchEventKind::Added, _) => {
                    self.before.remove(&object);
                    self.steps.push(json!({"create": plain(&object)}));
                }
                (WatchEventKind::Modified, Some(previous)) => {
                    self.before.replace(&previous);
                    self.steps.push(json!({"patch": difference(&plain(&previous), &plain(&object))}));
                }
                (WatchEventKind::Modified, None) => self.modified(&object, event.item.filter_result.is_some()),
            }
        }
        if record.triggers.len() > 1 {
            self.notes
                .push("The run had several triggers. In the scenario, each may have a run of its own.".to_owned());
        }
        let unopened = |name: &str| !record.snapshots.iter().any(|snapshot| snapshot.binding.as_str() == name);
        let synchronized = record.triggers.iter().filter(|trigger| matches!(trigger.cause, Cause::Synchronization));
        for trigger in synchronized.filter(|trigger| unopened(trigger.binding.as_str())) {
            self.notes.push(format!(
                "The run did not open the snapshot of {}, so its objects are not known.",
                trigger.binding
            ));
        }
        Ok(())
    }

    /// A change of an object whose state before is not in the record.
    fn modified(&mut self, object: &Value, filtered: bool) {
        if filtered {
            self.notes.push(format!(
                "{} was modified, and what it was before is not in the record (previousObject: true): here it is added.",
                identity(object)
            ));
            self.before.remove(object);
            self.steps.push(json!({"create": plain(object)}));
            return;
        }
        self.notes.push(format!(
            "What changed in {} is not in the record (previousObject: true): here an annotation goes.",
            identity(object)
        ));
        let annotated = |value: Value| json!({"metadata": {"annotations": {CHANGED: value}}});
        let mut before = plain(object);
        merge(&mut before, &annotated("true".into()));
        self.before.replace(&before);
        let mut step = named(object);
        merge(&mut step, &annotated(Value::Null));
        self.steps.push(json!({ "patch": step }));
    }

    fn asked(&mut self, question: &RecordedQuestion, answer: Option<&RecordedAnswer>) -> Result<(), NotAScenario> {
        match &question.asks {
            Asks::Validating { request } | Asks::Mutating { request } => {
                let request: Value = serde_json::from_str(request)?;
                self.steps.push(json!({"admission": admission(question.binding.as_str(), &request)}));
                if let Some(answer) = answer {
                    self.expect.insert("admission".to_owned(), reviewed(&request, answer));
                }
            }
            Asks::Conversion { to, objects, .. } => {
                let objects: Vec<Value> = objects.iter().filter_map(|object| parse(object)).collect();
                self.steps.push(json!({"conversion": {"to": to, "objects": objects}}));
                if let Some(RecordedAnswer::Objects { objects }) = answer {
                    let objects: Vec<Value> = objects.iter().filter_map(|object| parse(object)).collect();
                    self.expect.insert("conversion".to_owned(), json!({ "objects": objects }));
                }
            }
            Asks::Reconcile { finalizes: true, .. } => return Err(NotAScenario::Finalize),
            Asks::Reconcile { parent, related, .. } => {
                let parent = parse(parent).unwrap_or_default();
                related.iter().filter_map(|related| parse(&related.object)).for_each(|object| self.before.add(&object));
                self.before.remove(&parent);
                self.before.define(&parent);
                let mut created = plain(&parent);
                if let Some(fields) = created.as_object_mut() {
                    fields.shift_remove("status");
                }
                self.steps.push(json!({ "create": created }));
                if let Some(RecordedAnswer::Reconciled { children, status, .. }) = answer {
                    self.reconciled(&parent, children, status.as_deref());
                }
                self.notes.push("The children are made by the operator. Those that the run saw are not a part of the cluster before.".to_owned());
            }
        }
        Ok(())
    }

    fn reconciled(&mut self, parent: &Value, children: &[String], status: Option<&str>) {
        let namespace = parent.pointer("/metadata/namespace");
        let child = |child: &String| {
            let mut child = plain(&parse(child)?);
            if let (Some(metadata), Some(namespace)) =
                (child.get_mut("metadata").and_then(Value::as_object_mut), namespace)
            {
                metadata.entry("namespace").or_insert_with(|| namespace.clone());
            }
            Some(child)
        };
        let mut present: Vec<Value> = children.iter().filter_map(child).collect();
        if let Some(status) = status.and_then(parse) {
            let mut object = named(parent);
            merge(&mut object, &json!({ "status": status }));
            present.push(object);
        }
        if !present.is_empty() {
            self.expect.insert("present".to_owned(), present.into());
        }
    }

    /// The writes and HTTP requests, with their answers.
    fn did(&mut self, record: &Record) {
        let mut writes = Vec::new();
        // The last state of each object, or none.
        let mut after: BTreeMap<String, (Value, bool)> = BTreeMap::new();
        let mut sent = Vec::new();
        for call in &record.calls {
            let operations = call.request.operations();
            let answers: Vec<_> = match &call.answer {
                Some(Answer::Written(answer)) => vec![Some(answer)],
                Some(Answer::Batch(answers)) => answers.iter().map(Some).collect(),
                _ => vec![None; operations.len()],
            };
            for (operation, answer) in operations.iter().zip(answers) {
                self.wrote(operation, answer, &mut writes, &mut after);
            }
            if let (Request::Get { target, subresource }, Some(Answer::Object(answer))) = (&call.request, &call.answer)
            {
                self.answered("get", &reference(target), subresource.as_deref(), answer.as_ref().err());
            }
            if let Request::Http { request } = &call.request {
                let answer = if let Some(Answer::Http(answer)) = &call.answer { Some(answer) } else { None };
                self.sent(request, answer, &mut sent);
            }
        }
        let (present, absent): (Vec<_>, Vec<_>) = after.into_values().partition(|(_, there)| *there);
        let objects = |all: Vec<(Value, bool)>| all.into_iter().map(|(object, _)| object).collect::<Vec<_>>();
        for (key, all) in
            [("present", objects(present)), ("absent", objects(absent)), ("writes", writes), ("http", sent)]
        {
            if !all.is_empty() {
                self.expect.insert(key.to_owned(), all.into());
            }
        }
    }

    fn wrote(
        &mut self,
        operation: &Operation,
        answer: Option<&Result<Option<String>, CallError>>,
        writes: &mut Vec<Value>,
        after: &mut BTreeMap<String, (Value, bool)>,
    ) {
        let Some((target, subresource)) = target(operation) else {
            self.notes.push("A write of an object whose name the API server makes is left out.".to_owned());
            return;
        };
        let verb = operation.verb();
        let shown = identity(&target);
        let mut write = json!({"verb": verb, "object": shown});
        let fields = [
            ("subresource", subresource.clone().map(Value::from)),
            ("outcome", answer.and_then(|answer| answer.as_ref().err()).map(|error| error.reason.label().into())),
        ];
        for (key, value) in fields {
            if let (Some(fields), Some(value)) = (write.as_object_mut(), value) {
                fields.insert(key.to_owned(), value);
            }
        }
        if let Operation::Patch(Patch { body: PatchBody::Jq(_), .. }) = operation {
            self.answered("get", &target, subresource.as_deref(), None);
        }
        if let Some(answer) = answer {
            self.answered(verb, &target, subresource.as_deref(), answer.as_ref().err());
        }
        match answer {
            Some(Ok(Some(object))) => {
                if let Some(object) = parse(object).filter(|_| subresource.is_none()) {
                    after.insert(shown, (plain(&object), true));
                }
                writes.push(write);
            }
            Some(Ok(None)) if verb == "delete" => {
                after.insert(shown, (named(&target), false));
                writes.push(write);
            }
            Some(Ok(None)) => {}
            Some(Err(_)) => writes.push(write),
            None => self.notes.push(format!("The run ended before the answer to {verb} of {shown}.")),
        }
    }

    /// A call that has an answer. The same calls before it pass.
    fn answered(&mut self, verb: &'static str, target: &Value, subresource: Option<&str>, error: Option<&CallError>) {
        if error.is_some_and(|error| !was_sent(error)) {
            return;
        }
        let received = self.received.entry((verb, target.to_string(), subresource.map(str::to_owned))).or_default();
        let skip = *received;
        *received += 1;
        if let Some(error) = error {
            self.refused(verb, target, subresource, skip, error);
        }
    }

    /// The answer of the API server that a call received, as a fault, unless the cluster gives it by itself.
    fn refused(&mut self, verb: &str, target: &Value, subresource: Option<&str>, skip: usize, error: &CallError) {
        let code = error.code.filter(|code| ![404, 409].contains(code) || (*code == 409 && verb != "create"));
        let Some(code) = code.filter(|code| ANSWERS.iter().any(|(known, _)| known == code)) else { return };
        let mut fault = json!({"verb": verb, "object": target, "answer": code});
        if let (Some(fields), Some(subresource)) = (fault.as_object_mut(), subresource) {
            fields.insert("subresource".to_owned(), subresource.into());
        }
        if skip > MAX_TIMES {
            let shown = identity(target);
            self.notes.push(format!("The answer {code} to {verb} of {shown} is left out: it came after {skip} calls."));
            return;
        }
        if let (Some(fields), true) = (fault.as_object_mut(), skip > 0) {
            fields.insert("skip".to_owned(), skip.into());
        }
        self.faults.push(fault);
    }

    /// What texts of a scenario cannot have of a request and its response.
    fn inexact(&mut self, request: &HttpRequest, answer: Option<&Result<HttpResponse, HttpError>>) {
        let is_text = |bytes: &[u8]| std::str::from_utf8(bytes).is_ok();
        let what = format!("{} {}", request.method, request.url);
        if !is_text(&request.body.0) {
            self.note(format!("The body of {what} is not text, so it is not expected."));
        }
        let Some(Ok(HttpResponse { headers, body, .. })) = answer else { return };
        if !is_text(&body.0) {
            self.note(format!("The body of the response to {what} is not text, so parts of it are replaced."));
        }
        if headers.iter().any(|header| !is_text(&header.1.0)) {
            self.note(format!("A header of the response to {what} is not text, so parts of it are replaced."));
        }
        let names: BTreeSet<_> = headers.iter().map(|header| header.0.to_ascii_lowercase()).collect();
        if names.len() < headers.len() {
            self.note(format!("The response to {what} had several headers of one name. The last one is here."));
        }
    }

    fn note(&mut self, text: String) {
        if !self.notes.contains(&text) {
            self.notes.push(text);
        }
    }

    fn sent(&mut self, request: &HttpRequest, answer: Option<&Result<HttpResponse, HttpError>>, sent: &mut Vec<Value>) {
        let mut response = json!({"method": request.method, "url": request.url, "times": 1});
        let Some(fields) = response.as_object_mut() else { return };
        match answer {
            Some(Ok(HttpResponse { status, headers, body })) => {
                fields.insert("status".to_owned(), (*status).into());
                let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                let headers: Map<String, Value> =
                    headers.iter().map(|header| (header.0.clone(), text(&header.1.0).into())).collect();
                if !headers.is_empty() {
                    fields.insert("headers".to_owned(), headers.into());
                }
                if !body.0.is_empty() {
                    fields.insert("body".to_owned(), text(&body.0).into());
                }
            }
            Some(Err(error)) => match FAILS.iter().find(|(_, reason)| *reason == error.reason) {
                Some((word, _)) => {
                    fields.insert("fails".to_owned(), (*word).into());
                }
                // The operator refuses it before it is sent.
                None => return,
            },
            None => {}
        }
        self.http.push(response);
        self.inexact(request, answer);
        let mut expected = json!({"method": request.method, "url": request.url});
        if let (Some(fields), Ok(body), false) =
            (expected.as_object_mut(), std::str::from_utf8(&request.body.0), request.body.0.is_empty())
        {
            fields.insert("body".to_owned(), body.into());
        }
        if !sent.contains(&expected) {
            sent.push(expected);
        }
    }

    fn ended(&mut self, record: &Record) {
        if let Some(failure) = &record.end.failure {
            match &record.question {
                Some(question) if matches!(question.asks, Asks::Validating { .. } | Asks::Mutating { .. }) => {
                    self.expect.insert("admission".to_owned(), json!({"failed": failure.message}));
                }
                Some(question) if matches!(question.asks, Asks::Conversion { .. }) => {
                    self.expect.insert("conversion".to_owned(), json!({"failed": failure.message}));
                }
                _ => {
                    self.expect.insert("failures".to_owned(), json!([{"kind": failure.kind.label()}]));
                }
            }
        }
        if !record.ambient.wall.is_empty() {
            self.notes.push("The run read the clock, which shows the time of the machine here.".to_owned());
        }
        if record.ambient.random.as_ref().is_none_or(|random| !random.is_empty()) {
            self.notes.push("The run used random numbers, which are other ones here.".to_owned());
        }
        if record.header.attempt > 1 {
            self.notes.push(format!("This was attempt {} of the run. Here it is the first.", record.header.attempt));
        }
        if record.header.redacted {
            self.notes.push("Values of Secrets are placeholders.".to_owned());
        }
        if self.expect.is_empty() {
            // What the hook does at its start, with the objects that exist, may be more than this run did.
            self.notes.push("The run had no effect. The scenario shows only that no run fails.".to_owned());
            let none = ["retry", "permanent", "trap"].map(|kind| json!({"kind": kind, "times": 0}));
            self.expect.insert("failures".to_owned(), none.to_vec().into());
        }
    }

    fn text(mut self, record: &Record) -> Result<String, NotAScenario> {
        let header = &record.header;
        self.before.complete(&self.steps);
        let mut document = Map::new();
        let name = format!("run {} of {} for its binding {}", header.run, header.hook, header.binding);
        document.insert("name".to_owned(), name.into());
        for (key, all) in [("given", self.before.objects()), ("faults", self.faults), ("http", self.http)] {
            if !all.is_empty() {
                document.insert(key.to_owned(), all.into());
            }
        }
        let mut steps = self.steps;
        steps.push(json!({"expect": self.expect}));
        document.insert("steps".to_owned(), steps.into());
        let mut text = "# Made by `boathook replay --to-scenario`.\n".to_owned();
        self.notes.iter().for_each(|note| text.push_str(&format!("# {note}\n")));
        text.push_str(&yaml_serde::to_string(&Value::from(document))?);
        Ok(text)
    }
}

fn binding<'s>(spec: &'s HookSpec, name: &str) -> Option<&'s KubernetesBinding> {
    spec.kubernetes.iter().find(|binding| binding.name.as_str() == name)
}

/// The object before a change: as the binding kept it, or with what its filter returned then.
fn previous(binding: &KubernetesBinding, event: &ObjectEvent, object: &Value) -> Option<Value> {
    if let Some(previous) = event.previous_object.as_deref() {
        return parse(previous);
    }
    let mut before = object.clone();
    restore::put(&mut before, binding.jq_filter.as_deref()?, event.previous_filter_result.as_deref()?)?;
    (before != *object).then_some(before)
}

/// Only apiVersion, kind, namespace and name.
fn named(object: &Value) -> Value {
    let text = |pointer: &str| object.pointer(pointer).cloned().unwrap_or_default();
    object_of(text("/apiVersion"), text("/kind"), text("/metadata/namespace"), text("/metadata/name"))
}

fn reference(target: &ObjectRef) -> Value {
    object_of(
        target.api_version.to_string().into(),
        target.kind.to_string().into(),
        target.namespace.as_ref().map_or(Value::Null, |namespace| namespace.to_string().into()),
        target.name.to_string().into(),
    )
}

/// The object that an operation is about, and its subresource. None if its name is not known before.
fn target(operation: &Operation) -> Option<(Value, Option<String>)> {
    let whole = |text: &str| parse(text).map(|object| named(&object));
    let (object, subresource) = match operation {
        Operation::Create(Create { subresource: Some((name, target)), .. }) => (reference(target), Some(name.clone())),
        Operation::Create(Create { object, .. }) => (whole(object)?, None),
        Operation::Update(Update { object, subresource }) => (whole(object)?, subresource.clone()),
        Operation::Patch(Patch { body: PatchBody::Apply { object, .. }, subresource, .. }) => {
            (whole(object)?, subresource.clone())
        }
        Operation::Patch(Patch { target, subresource, .. }) => (reference(target), subresource.clone()),
        Operation::Delete(delete) => (reference(&delete.target), None),
    };
    object.pointer("/metadata/name").and_then(Value::as_str).is_some_and(|name| !name.is_empty()).then_some(())?;
    Some((object, subresource))
}

/// Whether a call that failed left the operator.
fn was_sent(error: &CallError) -> bool {
    error.code.is_some() || matches!(error.reason, CallReason::Timeout | CallReason::Unavailable)
}

fn merge(into: &mut Value, from: &Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                merge(into.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from.clone(),
    }
}

/// A merge patch with the object's name, from one state to another.
fn difference(before: &Value, after: &Value) -> Value {
    let mut patch = named(after);
    if let Some(changes) = changes(before, after) {
        merge(&mut patch, &changes);
    }
    patch
}

fn changes(before: &Value, after: &Value) -> Option<Value> {
    match (before, after) {
        (before, after) if before == after => None,
        (Value::Object(before), Value::Object(after)) => {
            let mut all = Map::new();
            for (key, value) in after {
                let change = before.get(key).map_or_else(|| Some(value.clone()), |before| changes(before, value));
                all.extend(change.map(|change| (key.clone(), change)));
            }
            all.extend(before.keys().filter(|key| !after.contains_key(*key)).map(|key| (key.clone(), Value::Null)));
            Some(all.into())
        }
        (_, after) => Some(after.clone()),
    }
}

fn admission(binding: &str, request: &Value) -> Value {
    let mut admission = Map::new();
    admission.insert("binding".to_owned(), binding.into());
    let text = |pointer: &str| request.pointer(pointer).filter(|value| value.as_str().is_some_and(|it| !it.is_empty()));
    for (key, pointer) in [("operation", "/operation"), ("subresource", "/subResource"), ("user", "/userInfo/username")]
    {
        admission.extend(text(pointer).map(|value| (key.to_owned(), value.clone())));
    }
    for (key, pointer) in [("object", "/object"), ("oldObject", "/oldObject")] {
        admission.extend(request.pointer(pointer).filter(|it| it.is_object()).map(|it| (key.to_owned(), it.clone())));
    }
    let groups = request.pointer("/userInfo/groups").filter(|groups| groups.is_array());
    admission.extend(groups.map(|groups| ("groups".to_owned(), groups.clone())));
    if request.get("dryRun") == Some(&Value::Bool(true)) {
        admission.insert("dryRun".to_owned(), true.into());
    }
    admission.into()
}

fn reviewed(request: &Value, answer: &RecordedAnswer) -> Value {
    let RecordedAnswer::Review { denied, warnings, audit_annotations, patch, object } = answer else {
        return json!({"allowed": true});
    };
    let mut expected = Map::new();
    expected.insert("allowed".to_owned(), denied.is_none().into());
    if let Some(denied) = denied {
        expected.insert("message".to_owned(), denied.message.clone().into());
        expected.extend(denied.code.map(|code| ("code".to_owned(), code.into())));
        expected.extend(denied.reason.clone().map(|reason| ("reason".to_owned(), reason.into())));
    }
    expected.insert("warnings".to_owned(), warnings.clone().into());
    if !audit_annotations.is_empty() {
        let audit = audit_annotations.iter().map(|(key, value)| (key.clone(), Value::from(value.clone())));
        expected.insert("audit".to_owned(), audit.collect::<Map<_, _>>().into());
    }
    let patched = || {
        let patch: json_patch::Patch = serde_json::from_str(patch.as_deref()?).ok()?;
        let mut object = request.get("object").cloned()?;
        json_patch::patch(&mut object, &patch).ok()?;
        Some(object)
    };
    let object = object.as_deref().and_then(parse).or_else(patched);
    expected.extend(object.map(|object| ("object".to_owned(), object)));
    expected.into()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use boathook_core::model::{HttpBody, HttpHeader};

    use super::*;

    fn failed(reason: CallReason, code: Option<u16>) -> CallError {
        CallError { reason, message: String::new(), code, status: None }
    }

    #[test]
    fn a_fault_skips_the_same_calls_before_it() {
        let mut parts = Parts::default();
        let one = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}});
        let other = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "o"}});
        let forbidden = failed(CallReason::ForbiddenByCluster, Some(403));
        parts.answered("patch", &one, None, None);
        // It never left the operator.
        parts.answered("patch", &one, None, Some(&failed(CallReason::ForbiddenByGrant, None)));
        parts.answered("patch", &one, Some("status"), Some(&forbidden));
        parts.answered("patch", &other, None, Some(&forbidden));
        parts.answered("patch", &one, None, Some(&forbidden));
        parts.answered("patch", &one, None, Some(&forbidden));
        let skips: Vec<_> = parts.faults.iter().map(|fault| fault.get("skip").and_then(Value::as_u64)).collect();
        assert_eq!(skips, [None, None, Some(1), Some(2)]);
        assert_eq!((&parts.faults[0]["subresource"], &parts.faults[2]["answer"]), (&json!("status"), &json!(403)));
    }

    #[test]
    fn what_texts_cannot_have_of_http_is_told() {
        let mut parts = Parts::default();
        let body = || HttpBody(vec![0xff]);
        let request =
            HttpRequest { method: "PUT".into(), url: "https://a.io/".into(), headers: Vec::new(), body: body() };
        let header = || HttpHeader("Set-Cookie".into(), HttpBody(b"a".to_vec()));
        let response = HttpResponse { status: 200, headers: vec![header(), header()], body: body() };
        let mut sent = Vec::new();
        parts.sent(&request, Some(&Ok(response)), &mut sent);
        assert_eq!(
            parts.notes,
            [
                "The body of PUT https://a.io/ is not text, so it is not expected.",
                "The body of the response to PUT https://a.io/ is not text, so parts of it are replaced.",
                "The response to PUT https://a.io/ had several headers of one name. The last one is here.",
            ]
        );
    }
}
