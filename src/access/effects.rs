//! What each write did to its object, for those who want to know: reads the object before it, and takes the
//! answer for what it is afterwards.
//!
//! It never costs anything when nobody asks, and never fails a write: what can't be read is not known. Somebody else
//! may write between the reading and the write; their change is shown as the hook's then.

use serde_json::Value;

use super::{Access, audit::Audit, request::Place, send::Meter, write::Intent};
use crate::{
    effect::{Effect, Ending, State},
    model::{CallError, CallReason, Caller, Create, Delete, ObjectRef, Operation},
};

/// What is found out about a write under way.
#[derive(Debug)]
pub(super) struct Watched {
    pub object: ObjectRef,
    /// Of a create, that succeeds only where there is nothing: absent.
    pub before: State,
    after: State,
    ending: Ending,
    note: Option<String>,
}

impl Watched {
    pub fn new(object: ObjectRef) -> Self {
        let after = State::Unknown("there was no answer".to_owned());
        Self { object, before: State::Absent, after, ending: Ending::Interrupted, note: None }
    }

    /// How the write ended. `pretended`: the object exists only in the plan.
    pub fn settle(
        &mut self,
        caller: &Caller,
        operation: &Operation,
        result: &Result<Option<String>, CallError>,
        pretended: bool,
    ) {
        self.ending = Ending::of(result);
        let Ok(answer) = result else { return };
        let answer = answer.as_deref().map(State::read);
        match (operation, answer) {
            (Operation::Delete(delete), answer) => self.after = after_deletion(caller, delete, answer),
            (Operation::Create(Create { subresource: Some(_), object, .. }), Some(_)) => {
                self.after = State::read(object)
            }
            (Operation::Create(create), None) => {
                self.after = State::Absent;
                self.note = Some(format!("it is there already, and is kept: ifExists is {:?}", create.if_exists));
            }
            (_, Some(answer)) => self.after = answer,
            (_, None) => self.after = State::Absent,
        }
        if let (None, Operation::Patch(_) | Operation::Delete(_), State::Absent) = (&self.note, operation, &self.before)
        {
            self.note = match (&self.after, pretended) {
                (State::Absent, true) => {
                    Some("the plan only pretends to create it: what this would do to it is not known".to_owned())
                }
                (State::Absent, false) => Some("there is no such object, which is no failure here".to_owned()),
                _ => None,
            };
        }
        if let Some(name) =
            self.after.object().and_then(|object| object.pointer("/metadata/name")).and_then(Value::as_str)
            && self.object.name.ends_with('*')
        {
            self.object.name = name.to_owned();
        }
    }

    /// How a Kubernetes Event that was sent with this body ended.
    pub fn emitted(&mut self, body: &str, result: &Result<(), CallError>) {
        self.ending = Ending::of(result);
        self.after = State::read(body);
    }

    /// All that was found out.
    pub fn into_effect(self, caller: &Caller, verb: &'static str, subresource: Option<&str>) -> Effect {
        Effect {
            hook: caller.hook.clone(),
            run: caller.run.clone(),
            verb,
            object: self.object,
            subresource: subresource.map(str::to_owned),
            before: self.before,
            after: self.after,
            ending: self.ending,
            note: self.note,
            dry_run: caller.dry_run,
        }
    }
}

/// An object whose end is only asked for is still there; of others, some kinds are answered with their last state.
fn after_deletion(caller: &Caller, delete: &Delete, answer: Option<State>) -> State {
    let waited = delete.wait.is_some() && !caller.dry_run;
    let ends = |object: &Value| object.pointer("/metadata/deletionTimestamp").is_some_and(|time| !time.is_null());
    match answer {
        Some(State::Present(object)) if !waited && ends(&object) => State::Present(object),
        _ => State::Absent,
    }
}

impl Access {
    /// Begins to watch a write, if anybody wants to know.
    pub(super) fn watched(&self, object: impl FnOnce() -> ObjectRef) -> Option<Watched> {
        self.observer.effects().map(|_| Watched::new(object()))
    }

    /// Reads the object before it is written.
    pub(super) async fn look(&self, place: &Place<'_>, audit: &mut Audit<'_>) {
        let caller = audit.caller;
        let Some(watched) = &mut audit.effect else { return };
        let read = self.fetch(caller, &format!("get {}", place.named), place.uri(""), &mut Meter::default()).await;
        watched.before = match read {
            Ok(object) => State::read(&object),
            Err(error) if error.reason == CallReason::NotFound => State::Absent,
            Err(error) => State::Unknown(error.message),
        };
    }
}

impl Audit<'_> {
    /// The object was read as a part of the write.
    pub(super) fn found(&mut self, object: &str) {
        if let Some(watched) = &mut self.effect {
            watched.before = State::read(object);
        }
    }
}

impl Intent<'_> {
    /// The object, with `?` for what is not known of it.
    pub(super) fn reference(&self) -> ObjectRef {
        match (self.target(), &self.head) {
            (Some(target), _) => target.clone(),
            (None, Ok(head)) => head.reference(),
            (None, Err(_)) => {
                let unknown = || "?".to_owned();
                ObjectRef { api_version: unknown(), kind: unknown(), namespace: None, name: unknown() }
            }
        }
    }
}
