//! What each write did to its object, if something receives effects. The object is read before the write, and the
//! response is taken as its state afterwards.
//!
//! This costs nothing if nothing receives effects. It never fails a write: a state that cannot be read is shown as
//! unknown. If somebody else writes between the read and the write, their change is shown as the hook's.

use boathook_core::{
    effect::{Effect, Ending, State},
    model::{CallError, Caller, Create, Delete, ObjectRef, Operation},
};
use serde_json::Value;

/// What is known about a write under way.
#[derive(Debug)]
pub(super) struct EffectRecorder {
    pub object: ObjectRef,
    /// Stays absent for a create, because a create succeeds only if nothing is there.
    pub before: State,
    after: State,
    ending: Ending,
    note: Option<String>,
}

impl EffectRecorder {
    pub fn new(object: ObjectRef) -> Self {
        let after = State::Unknown("there was no answer".to_owned());
        Self { object, before: State::Absent, after, ending: Ending::Interrupted, note: None }
    }

    /// Notes how the write ended. `pretended`: the object exists only in the plan.
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
                self.note = Some(format!("it exists, and is kept: ifExists is {:?}", create.if_exists));
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

    /// Notes how a Kubernetes Event that was sent with this body ended.
    pub fn emitted(&mut self, body: &str, result: &Result<(), CallError>) {
        self.ending = Ending::of(result);
        self.after = State::read(body);
    }

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

/// The state after a deletion. An object that only has a deletion timestamp is still there. For some kinds, the server
/// responds with the last state of an object that is gone.
fn after_deletion(caller: &Caller, delete: &Delete, answer: Option<State>) -> State {
    let waited = delete.wait.is_some() && !caller.dry_run;
    let ends = |object: &Value| object.pointer("/metadata/deletionTimestamp").is_some_and(|time| !time.is_null());
    match answer {
        Some(State::Present(object)) if !waited && ends(&object) => State::Present(object),
        _ => State::Absent,
    }
}
