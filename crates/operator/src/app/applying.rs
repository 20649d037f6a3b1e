//! Sends what a set decides. `reconcile` bindings and modules share this; the crate `boathook-applyset` decides.

use std::{
    collections::{BTreeMap, HashSet},
    time::{Duration, Instant},
};

use boathook_applyset::{Action, Owner, Plan, Request, Set, Verb};
use boathook_core::model::{CallError, CallReason, Caller, Delete, ObjectRef, Operation, PART_OF, Patch, PatchBody};
use futures::{FutureExt as _, StreamExt as _, future::BoxFuture, stream};
use serde::Deserialize;
use serde_json::Value;

use super::Services;

/// Requests at the same time for one parent.
const REQUESTS: usize = 8;

/// What has the set of one parent.
pub(super) trait HasSet: Sync {
    fn with<T>(&self, act: impl FnOnce(&mut Set) -> T) -> T;

    /// An object that was there before has become a member. The log says so already.
    fn adopted(&self, _object: &ObjectRef, _from: &Owner) {}
}

/// The set that the object says it is a member of. Reads nothing else of the object.
pub(super) fn set_of(json: &str) -> Option<Box<str>> {
    #[derive(Deserialize)]
    struct Head {
        metadata: Metadata,
    }
    #[derive(Deserialize)]
    struct Metadata {
        #[serde(default)]
        labels: BTreeMap<String, String>,
    }
    let head: Head = serde_json::from_str(json).ok()?;
    head.metadata.labels.get(PART_OF).map(|set| set.as_str().into())
}

/// Sends the requests for one parent.
pub(super) struct Applier<'a> {
    pub services: &'a Services,
    /// Who writes members.
    pub caller: &'a Caller,
    /// Who writes what the parent says about its set.
    pub of_parent: &'a Caller,
    /// The field manager.
    pub manager: String,
}

impl Applier<'_> {
    /// Sends what the set decides, until there is nothing more to send, or for this long. It can be dropped at any time.
    pub async fn apply(&self, of: &impl HasSet, patience: Duration) -> Plan {
        let deadline = Instant::now() + patience;
        let mut planned = HashSet::new();
        loop {
            // In a plan, nothing is stored. The set would find that out and begin again.
            let room = if self.services.plan { usize::MAX } else { REQUESTS };
            let mut requests = of.with(|set| set.take(room, Instant::now()));
            if self.services.plan {
                requests.retain(|request| planned.insert(request.object.clone()));
            }
            if requests.is_empty() || Instant::now() > deadline {
                return of.with(|set| set.plan(Instant::now()));
            }
            // All of them count as on their way from here on, also those whose turn has not come.
            let fly = |request| self.fly(Flight { of, request: Some(request) }).boxed();
            let sent: Vec<BoxFuture<'_, ()>> = requests.into_iter().map(fly).collect();
            stream::iter(sent).buffer_unordered(REQUESTS).collect::<()>().await;
        }
    }

    async fn fly<S: HasSet>(&self, flight: Flight<'_, S>) {
        let Some(request) = &flight.request else { return };
        let result = self.send(flight.of, request).await;
        if let (Action::Adopt { from }, Ok(_), false) = (&request.action, &result, self.services.plan) {
            let (manager, object) = (&self.manager, &request.object);
            tracing::info!(%manager, %object, "adopted an object that belonged to {from}");
            flight.of.adopted(object, from);
        }
        flight.landed(result);
    }

    async fn send(&self, of: &impl HasSet, request: &Request) -> Result<Option<String>, CallError> {
        let (access, caller) = (&self.services.operator.access, self.caller);
        let apply = |object: &str, force, manager: String| {
            Operation::Patch(Patch {
                target: request.object.clone(),
                body: PatchBody::Apply { object: object.to_owned(), force, field_manager: Some(manager) },
                subresource: None,
                ignore_missing: false,
            })
        };
        match &request.verb {
            // The response says which fields are owned, down to those in the items of lists.
            Verb::Apply { body, force } => access.write_whole(caller, &apply(body, *force, self.manager.clone())).await,
            Verb::Mark { body } => {
                access.write(self.of_parent, &apply(body, true, format!("{}-set", self.manager))).await
            }
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
                let Some(patch) = of.with(|set| set.release(&value)) else { return Ok(Some(text)) };
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
}

/// A request on its way. If nobody waits for its response any more, the set learns that, too.
struct Flight<'f, S: HasSet> {
    of: &'f S,
    request: Option<Request>,
}

impl<S: HasSet> Flight<'_, S> {
    fn landed(mut self, result: Result<Option<String>, CallError>) {
        let Some(request) = self.request.take() else { return };
        let text = result.as_ref().map(|text| text.as_deref()).map_err(Clone::clone);
        self.of.with(|set| set.finished(&request, text, Instant::now()));
    }
}

impl<S: HasSet> Drop for Flight<'_, S> {
    fn drop(&mut self) {
        let Some(request) = self.request.take() else { return };
        let message = "the response was not waited for, because something newer is to be applied".to_owned();
        let error = CallError { reason: CallReason::Timeout, message, code: None, status: None };
        self.of.with(|set| set.finished(&request, Err(error), Instant::now()));
    }
}
