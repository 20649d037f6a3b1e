//! The requests for one parent: what its set decides, its status, and its marks.

use std::time::Duration;

use boathook_applyset::{Owner, Plan, Stage};
use boathook_core::model::{CallError, CallReason, EventType, ObjectRef, Operation, OwnEvent, Patch, PatchBody};
use serde_json::Value;

use super::{
    super::{
        applying::{Applier, HasSet as _},
        events,
    },
    Pass,
    decorations::Decoration,
    marks::{Marks, still_marked},
    sets::Entry,
    status::{self, Shown},
};

/// How long one run may write, before it lets other parents have its slot.
const PATIENCE: Duration = Duration::from_secs(60);

impl Pass<'_> {
    /// Sends what the set decides, until there is nothing more to send.
    pub(super) async fn apply(&self, entry: &Entry) -> Plan {
        let (services, caller) = (self.services, &self.writer);
        let writer = Applier { services, caller, of_parent: caller, manager: self.manager() };
        let plan = writer.apply(entry, PATIENCE).await;
        self.report_adopted(entry);
        plan
    }

    /// Reports objects that were somebody else's. There is an Event if the hook has the permission for Events.
    fn report_adopted(&self, entry: &Entry) {
        let adopted = entry.take_adopted();
        if adopted.is_empty() {
            return;
        }
        let event = |(object, from): (ObjectRef, Owner)| OwnEvent {
            r#type: EventType::Normal,
            reason: "Adopted".to_owned(),
            message: format!("{object} is a child from now on: it belonged to {from}"),
        };
        let said: Vec<_> = adopted.into_iter().map(event).collect();
        let about =
            entry.with(|set| events::Parent { object: set.parent().object.clone(), uid: set.parent().uid.to_string() });
        self.services.events.answered(&self.hook.tenant(), &self.hook.spec.name, &self.binding.name, &about, &said);
    }

    /// Writes the status if it is not like that.
    pub(super) async fn status(&self, entry: &Entry, parent: &Value, shown: Shown<'_>) -> Result<(), CallError> {
        let Plan { stage, waits, .. } = shown.plan;
        entry.has_status();
        if *stage == Stage::Deleted || *stage == Stage::Deleting && !waits {
            return Ok(());
        }
        let answer = entry.answer();
        let wanted = status::wanted(shown, answer.as_deref(), parent);
        if entry.shows_status(&wanted, parent) {
            return Ok(());
        }
        let mut object = status::identity(parent);
        if let Some(object) = object.as_object_mut() {
            object.insert("status".to_owned(), wanted.clone());
        }
        let patch = Patch {
            target: ObjectRef::of(parent),
            body: PatchBody::Apply {
                object: object.to_string(),
                force: true,
                field_manager: Some(format!("{}-status", self.manager())),
            },
            subresource: Some("status".to_owned()),
            ignore_missing: false,
        };
        match self.services.operator.access.write(&self.writer, &Operation::Patch(patch)).await {
            Ok(response) => {
                let made: Value = response.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
                entry.wrote_status(wanted, made.get("status").cloned().unwrap_or_default());
                Ok(())
            }
            // It was deleted in the meantime.
            Err(error) if error.reason == CallReason::NotFound => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Sets a decorator's labels and annotations if the parent does not have them. Without force, so that two that want the
    /// same label do not fight: the second one fails, and the error names the first one.
    pub(super) async fn decorate(&self, decoration: &Decoration, parent: &Value) -> Result<(), CallError> {
        let Some(body) = decoration.body(parent, &self.names) else { return Ok(()) };
        let patch = Patch {
            target: ObjectRef::of(parent),
            body: PatchBody::Apply {
                object: body.to_string(),
                force: false,
                field_manager: Some(self.names.decorates.clone()),
            },
            subresource: None,
            ignore_missing: false,
        };
        match self.services.operator.access.write(&self.writer, &Operation::Patch(patch)).await {
            Ok(_) => Ok(()),
            // It was deleted in the meantime.
            Err(error) if error.reason == CallReason::NotFound => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Writes the parent's marks if it has others. Returns those that it has now.
    pub(super) async fn mark(&self, has: Marks, wanted: Marks, parent: &Value) -> Result<Marks, CallError> {
        if has == wanted {
            return Ok(has);
        }
        let mut object = status::identity(parent);
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.extend(wanted.fields(&self.names));
        }
        let patch = Patch {
            target: ObjectRef::of(parent),
            body: PatchBody::Apply {
                object: object.to_string(),
                force: true,
                field_manager: Some(self.names.manager.clone()),
            },
            subresource: None,
            ignore_missing: false,
        };
        let access = &self.services.operator.access;
        let made = access.write(&self.writer, &Operation::Patch(patch)).await?;
        let Some(patch) = still_marked(made.as_deref(), &wanted, &self.names) else { return Ok(wanted) };
        // Another manager set the marks, too.
        let patch = Patch {
            target: ObjectRef::of(parent),
            body: PatchBody::Merge(patch.to_string()),
            subresource: None,
            ignore_missing: true,
        };
        let made = access.write(&self.writer, &Operation::Patch(patch)).await?;
        if still_marked(made.as_deref(), &wanted, &self.names).is_some() {
            let message =
                format!("the finalizer {} of {} cannot be removed", self.names.finalizer, ObjectRef::of(parent));
            return Err(CallError { reason: CallReason::Other, message, code: None, status: None });
        }
        Ok(wanted)
    }
}
