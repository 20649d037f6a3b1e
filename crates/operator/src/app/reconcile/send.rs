//! The requests for one parent: what its set decides, its status, and its marks.

use std::{
    collections::HashSet,
    time::{Duration, Instant},
};

use boathook_applyset::{Plan, Request, Stage, Verb};
use boathook_core::model::{CallError, CallReason, Delete, ObjectRef, Operation, Patch, PatchBody};
use futures::{StreamExt as _, stream};
use serde_json::Value;

use super::{
    Pass,
    decorations::Decoration,
    marks::{Marks, still_marked},
    sets::Entry,
    status::{self, Shown},
};

/// Requests at the same time for one parent.
const REQUESTS: usize = 8;
/// How long one run may write, before it lets other parents have its slot.
const PATIENCE: Duration = Duration::from_secs(60);

impl Pass<'_> {
    /// Sends what the set decides, until there is nothing more to send.
    pub(super) async fn apply(&self, entry: &Entry) -> Plan {
        let deadline = Instant::now() + PATIENCE;
        let mut planned = HashSet::new();
        loop {
            // In a plan, nothing is stored. The set would find that out and begin again.
            let room = if self.services.plan { usize::MAX } else { REQUESTS };
            let mut requests = entry.with(|set| set.take(room, Instant::now()));
            if self.services.plan {
                requests.retain(|request| planned.insert(request.object.clone()));
            }
            if requests.is_empty() || Instant::now() > deadline {
                return entry.with(|set| set.plan(Instant::now()));
            }
            let pass = &self;
            let sent = requests.into_iter().map(|request| async move {
                let result = pass.send(entry, &request).await;
                let text = result.as_ref().map(|text| text.as_deref()).map_err(Clone::clone);
                entry.with(|set| set.finished(&request, text, Instant::now()));
            });
            stream::iter(sent).buffer_unordered(REQUESTS).collect::<()>().await;
        }
    }

    async fn send(&self, entry: &Entry, request: &Request) -> Result<Option<String>, CallError> {
        let (access, caller) = (&self.services.operator.access, &self.writer);
        let apply = |object: &str, force, manager: String| {
            Operation::Patch(Patch {
                target: request.object.clone(),
                body: PatchBody::Apply { object: object.to_owned(), force, field_manager: Some(manager) },
                subresource: None,
                ignore_missing: false,
            })
        };
        match &request.verb {
            Verb::Apply { body, force } => access.write(caller, &apply(body, *force, self.manager())).await,
            Verb::Mark { body } => access.write(caller, &apply(body, true, format!("{}-set", self.manager()))).await,
            Verb::Delete { uid, propagation } => {
                let delete = Delete {
                    target: request.object.clone(),
                    propagation: *propagation,
                    ignore_missing: false,
                    uid: Some(uid.clone()),
                    resource_version: None,
                    wait: None,
                };
                access.write(caller, &Operation::Delete(delete)).await
            }
            Verb::Read => access.get(caller, &request.object, None).await.map(Some),
            Verb::Release => {
                let text = access.get(caller, &request.object, None).await?;
                let value: Value = serde_json::from_str(&text).unwrap_or_default();
                let Some(patch) = entry.with(|set| set.release(&value)) else { return Ok(Some(text)) };
                let patch = Patch {
                    target: request.object.clone(),
                    body: PatchBody::Merge(patch.to_string()),
                    subresource: None,
                    ignore_missing: false,
                };
                access.write(caller, &Operation::Patch(patch)).await
            }
        }
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
