//! The calls `write` and `batch`: execute operations and make their audit records. The files named after the kinds of
//! operations build the requests.

use std::collections::HashMap;

use boathook_core::{
    effect::State,
    model::{CallError, CallReason, Caller, FieldValidation, ObjectRef, Operation, PatchBody},
};
use bytes::Bytes;
use futures::{StreamExt, stream};
use http::Method;

use super::{
    Access,
    audit::Audit,
    effects::EffectRecorder,
    errors,
    intent::{Intent, field_manager},
    own_writes::Target,
    read::object,
    request::ResourcePath,
    send::{ApiRequest, JSON, RequestStats},
    text::encoded,
};

/// The object in the server's response to a write, or `None` if there was nothing to write.
pub(super) type Written = Result<Option<String>, CallError>;

impl Access {
    /// Starts to collect the effect of a write, if something receives effects.
    pub(super) fn watched(&self, object: impl FnOnce() -> ObjectRef) -> Option<EffectRecorder> {
        self.observer.effects().map(|_| EffectRecorder::new(object()))
    }

    /// Reads the object before it is written, if something receives effects.
    pub(super) async fn look(&self, place: &ResourcePath<'_>, audit: &mut Audit<'_>) {
        let caller = audit.caller;
        let Some(watched) = &mut audit.effect else { return };
        let read =
            self.fetch(caller, &format!("get {}", place.named), place.uri(""), &mut RequestStats::default()).await;
        watched.before = match read {
            Ok(object) => State::read(&object),
            Err(error) if error.reason == CallReason::NotFound => State::Absent,
            Err(error) => State::Unknown(error.message),
        };
    }

    /// Executes a write. Returns the object in the server's response, or `None` if there was nothing to write.
    pub async fn write(&self, caller: &Caller, operation: &Operation) -> Result<Option<String>, CallError> {
        self.execute(caller, Intent::read(operation), &mut None).await
    }

    /// Executes a write, and returns the server's response with `metadata.managedFields`, which [`Access::write`] leaves out.
    pub async fn write_whole(&self, caller: &Caller, operation: &Operation) -> Written {
        let mut response = Some(String::new());
        let written = self.execute(caller, Intent::read(operation), &mut response).await?;
        Ok(response.filter(|_| written.is_some()))
    }

    /// If `response` is `Some`, it becomes the server's response as it arrived.
    pub(super) async fn execute(&self, caller: &Caller, intent: Intent<'_>, response: &mut Option<String>) -> Written {
        let (verb, object) = (intent.operation.verb(), intent.object());
        let mut audit = Audit::start(&*self.observer, caller, verb, object, intent.subresource());
        audit.own = self.own.begin(caller, &intent);
        audit.about = (!caller.dry_run).then(|| intent.reference());
        audit.manager = intent.manager(&caller.hook);
        audit.effect = self.watched(|| intent.reference());
        audit.response = response.take();
        let (operation, target) = (intent.operation, caller.dry_run.then(|| intent.reference()));
        let mut result = self.dispatch(intent, &mut audit).await;
        if let Some(target) = &target {
            result = result.map_err(|error| self.dry_run_objects.explain(caller, target, error));
        }
        if let Some(watched) = &mut audit.effect {
            let pretended =
                target.as_ref().is_some_and(|target| self.dry_run_objects.needed_by(caller, target).is_some());
            watched.settle(caller, operation, &result, pretended);
        }
        if let (Some(target), Ok(Some(_))) = (target, &result) {
            self.pretend(caller, operation, target, audit.effect.as_ref());
        }
        *response = audit.response.take();
        audit.finish(&result);
        result
    }

    /// Executes many writes at once. Writes to the same object run one after another, and a failed operation does not
    /// stop the others. Returns one result for each, in the given order.
    pub async fn batch(&self, caller: &Caller, operations: &[Operation]) -> Vec<Written> {
        let lines = lines(operations.iter().map(Intent::read));
        let lines: Vec<_> = lines.into_iter().map(|line| self.execute_line(caller, line)).collect();
        let mut done: Vec<(usize, Written)> = stream::iter(lines)
            .buffer_unordered(self.config.batch_concurrency.max(1))
            .flat_map(stream::iter)
            .collect()
            .await;
        done.sort_unstable_by_key(|(index, _)| *index);
        done.into_iter().map(|(_, written)| written).collect()
    }

    async fn execute_line(&self, caller: &Caller, line: Vec<(usize, Intent<'_>)>) -> Vec<(usize, Written)> {
        let mut done = Vec::with_capacity(line.len());
        for (index, intent) in line {
            done.push((index, self.execute(caller, intent, &mut None).await));
        }
        done
    }

    async fn dispatch(&self, intent: Intent<'_>, audit: &mut Audit<'_>) -> Written {
        let head = intent.head.map_err(|error| CallError { message: format!("{}: {error}", audit.verb), ..error })?;
        match intent.operation {
            Operation::Create(create) => self.create(create, &head, audit).await,
            Operation::Update(update) => self.update(update, &head, audit).await,
            Operation::Patch(patch) => match &patch.body {
                PatchBody::Jq(program) => self.patch_by_jq(patch, program, audit).await,
                _ => self.patch(patch, &head, audit).await,
            },
            Operation::Delete(delete) => self.delete(delete, audit).await,
        }
    }

    /// Sends a body and returns the object in the response.
    pub(super) async fn store(&self, what: &str, wire: &ApiRequest, audit: &mut Audit<'_>) -> Written {
        let body = self.sender.send(Some(audit.caller), what, wire, &mut audit.meter).await?;
        if let Ok(text) = std::str::from_utf8(&body) {
            audit.answered(wire, text);
        }
        let object = object(what, &body)?;
        if let Some(own) = &audit.own {
            own.wrote(wire, &object);
        }
        if let Some(response) = &mut audit.response {
            *response = String::from_utf8_lossy(&body).into_owned();
        }
        Ok(Some(object))
    }
}

/// A write of a JSON body.
pub(super) fn wire(method: Method, uri: String, body: &str, repeatable: bool) -> ApiRequest {
    let body = Bytes::copy_from_slice(body.as_bytes());
    ApiRequest { method, uri, content_type: JSON, body, repeatable, list: false, asks: false }
}

/// The query of every write except deletions.
pub(super) fn write_query(caller: &Caller, manager: Option<&str>, force: Option<bool>) -> String {
    let own = field_manager(&caller.hook);
    let manager = Some(("fieldManager", manager.unwrap_or(&own)));
    let force = force.map(|force| ("force", if force { "true" } else { "false" }));
    let dry_run = caller.dry_run.then_some(("dryRun", "All"));
    let validation = caller.writes.field_validation.map(|validation| {
        let validation = match validation {
            FieldValidation::Strict => "Strict",
            FieldValidation::Ignore => "Ignore",
        };
        ("fieldValidation", validation)
    });
    encoded([manager, force, dry_run, validation].into_iter().flatten())
}

/// Rejects a field manager that the API server would reject.
pub(super) fn check_manager(manager: &str) -> Result<(), CallError> {
    let valid = (1..=128).contains(&manager.len()) && !manager.chars().any(char::is_control);
    if valid {
        Ok(())
    } else {
        Err(errors::invalid("the field manager is not valid: use 1 to 128 printable characters"))
    }
}

/// Groups the operations on one object into one line, in their order. The lines are in the order of their first
/// operations.
fn lines<'a>(intents: impl Iterator<Item = Intent<'a>>) -> Vec<Vec<(usize, Intent<'a>)>> {
    let mut lines: Vec<Vec<(usize, Intent<'a>)>> = Vec::new();
    let mut line_of: HashMap<Target, usize> = HashMap::new();
    for (index, intent) in intents.enumerate() {
        let line = match key(&intent) {
            Some(key) => *line_of.entry(key).or_insert(lines.len()),
            None => lines.len(),
        };
        match lines.get_mut(line) {
            Some(line) => line.push((index, intent)),
            None => lines.push(vec![(index, intent)]),
        }
    }
    lines
}

/// `None` if the server chooses the name, or if the body cannot be parsed.
fn key(intent: &Intent<'_>) -> Option<Target> {
    Target::of(intent).filter(|target| target.name.is_some())
}

#[cfg(test)]
mod tests {
    use boathook_core::model::{Create, Delete, HookName, IfExists, ObjectRef, Propagation, RunId, WriteOptions};

    use super::*;

    fn create(object: &str) -> Operation {
        Operation::Create(Create { object: object.to_owned(), if_exists: IfExists::Fail, subresource: None })
    }

    fn delete(api_version: &str, namespace: Option<&str>, name: &str) -> Operation {
        let target = ObjectRef {
            api_version: api_version.to_owned(),
            kind: "Deployment".to_owned(),
            namespace: namespace.map(str::to_owned),
            name: name.to_owned(),
        };
        Operation::Delete(Delete {
            target,
            propagation: Propagation::Background,
            ignore_missing: false,
            uid: None,
            resource_version: None,
            wait: None,
        })
    }

    #[test]
    fn the_options_of_a_write_are_in_its_query() -> Result<(), Box<dyn std::error::Error>> {
        let caller = |dry_run, field_validation| -> Result<_, Box<dyn std::error::Error>> {
            let caller = Caller::new(HookName::new("h")?, RunId::new("p", 1), [].into(), dry_run);
            Ok(Caller { writes: WriteOptions { field_validation, ..WriteOptions::default() }, ..caller })
        };
        let query = |caller: &Caller| write_query(caller, Some("m"), None);
        assert_eq!(query(&caller(false, None)?), "fieldManager=m");
        assert_eq!(query(&caller(true, None)?), "fieldManager=m&dryRun=All");
        let (strict, ignore) = (Some(FieldValidation::Strict), Some(FieldValidation::Ignore));
        assert_eq!(query(&caller(false, strict)?), "fieldManager=m&fieldValidation=Strict");
        assert_eq!(query(&caller(true, ignore)?), "fieldManager=m&dryRun=All&fieldValidation=Ignore");
        Ok(())
    }

    #[test]
    fn operations_of_one_object_stand_in_one_line() {
        let operations = [
            delete("apps/v1", Some("n"), "a"),
            create(r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"namespace":"n","name":"b"}}"#),
            create(r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"namespace":"n","name":"a"}}"#),
            create(r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"namespace":"n","generateName":"a"}}"#),
            create(r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"namespace":"n","generateName":"a"}}"#),
            create("not JSON"),
            delete("apps/v1beta1", Some("n"), "b"),
            delete("apps/v1", Some("m"), "a"),
            delete("v1", Some("n"), "a"),
            create("not JSON"),
        ];
        let lines = lines(operations.iter().map(Intent::read));
        let indices: Vec<Vec<usize>> =
            lines.iter().map(|line| line.iter().map(|(index, _)| *index).collect()).collect();
        assert_eq!(indices, [vec![0, 2], vec![1, 6], vec![3], vec![4], vec![5], vec![7], vec![8], vec![9]]);
    }
}
