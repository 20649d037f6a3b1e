//! Feeds a binding: runs the filter, publishes the snapshot and passes triggers on. [`Binding`] decides what is a
//! trigger.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use futures::{Stream, StreamExt as _, future::BoxFuture};
use tokio::sync::Notify;
use tracing::{Instrument as _, info, info_span, warn};

use super::{
    Binding, BindingStatus, Filter, FilterError, Projection, Publisher, Room, SourceId, Timings,
    binding::Applied,
    pending::{Pending, Waiting},
    project,
};
use crate::model::{BindingName, Change, Content, HookName, Object, ObjectRef, Resource, Trigger, error_chain};

/// How long a filter that could not run waits for the next try, if its back-off names no time.
const AGAIN: Duration = Duration::from_millis(100);

/// An object whose newest state is not in the snapshot: the filter gave no result, or there is no memory for the object.
#[derive(Debug, thiserror::Error)]
#[error("hook {hook}, binding {binding}: cannot update {object} in the snapshot")]
pub struct ProjectionError {
    hook: HookName,
    binding: BindingName,
    object: ObjectRef,
    #[source]
    source: FilterError,
}

/// What a binding receives, in order. Each variant except `Change` calls the method of [`Binding`] that it links to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// [`Binding::served`]
    Served(Arc<Resource>),
    /// [`Binding::unserved`]
    Unserved,
    /// [`Binding::add_source`]
    SourceAdded(SourceId),
    /// [`Binding::remove_source`]
    SourceRemoved(SourceId),
    /// [`Binding::sources_complete`]
    SourcesComplete,
    /// [`Binding::admit`]
    Admitted,
    /// [`Binding::reported_by_leader`]
    ReportedByLeader,
    /// A change that a source saw.
    Change(SourceId, Change),
}

/// What a driver reports, in order. The snapshot that belongs to it is published before.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "almost all are triggers, and a box would cost each an allocation")]
pub enum Output {
    /// The snapshot shows all objects: for the first time, or again after [`Output::Incomplete`].
    Complete,
    /// The filter could not run on some object, for a reason that is not the object's, or there is no memory to keep the
    /// object. The snapshot shows what was known of it before. Triggers of the same change follow this output.
    Incomplete,
    Trigger(Trigger),
}

/// Knows which changes a hook made itself.
pub trait OwnChanges: Send + Sync + 'static {
    /// Whether this hook brought the object into this state or, with `deleted`, deleted it. This may wait a short time
    /// for the answers to writes that are under way.
    fn is_own<'a>(&'a self, hook: &'a HookName, object: &'a Object, deleted: bool) -> BoxFuture<'a, bool>;
}

/// What a driver works with.
pub struct Driver<F> {
    /// The binding. Nothing else changes it.
    pub binding: Binding,
    /// Its compiled `jqFilter`, if it has one.
    pub filter: Option<Arc<dyn Filter>>,
    /// With `ignoreOwnWrites`: knows the hook's own changes.
    pub own: Option<Arc<dyn OwnChanges>>,
    /// The room for what it keeps.
    pub room: Room,
    /// Requests another list of all objects, when some had no room and there is room again.
    pub relist: Arc<Notify>,
    pub publisher: Publisher,
    pub status: Arc<BindingStatus>,
    /// Receives how long the work takes.
    pub timings: Option<Box<dyn Timings>>,
    /// Receives the outputs.
    pub out: F,
}

/// Runs a binding until its inputs end.
pub async fn drive<F, S>(driver: Driver<F>, mut inputs: S)
where
    F: Fn(Output) + Send,
    S: Stream<Item = Input> + Send + Unpin,
{
    let status = driver.status.clone();
    let mut running = Running { driver, pending: Pending::default(), complete: false };
    loop {
        tokio::select! {
            // The memory for pending objects is bounded. The watch keeps nothing that it cannot pass on.
            input = inputs.next(), if !running.pending.is_full() => match input {
                Some(Input::Change(source, change)) => running.change(source, change).await,
                Some(input) => running.handle(input),
                None => return,
            },
            () = due(running.pending.due()) => running.retry().await,
            () = due(running.driver.room.due()) => running.look_for_room(),
            () = status.asked() => status.answer(&running.driver.binding),
        }
    }
}

async fn due(at: Option<tokio::time::Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

struct Running<F> {
    driver: Driver<F>,
    pending: Pending,
    /// What the last [`Output::Complete`] or [`Output::Incomplete`] reported.
    complete: bool,
}

impl<F: Fn(Output) + Send> Running<F> {
    fn handle(&mut self, input: Input) {
        let (binding, now) = (&mut self.driver.binding, Instant::now());
        let applied = match input {
            Input::Served(resource) => {
                binding.served(resource);
                Applied::default()
            }
            Input::Unserved => binding.unserved(now),
            Input::SourceAdded(source) => {
                binding.add_source(source);
                Applied::default()
            }
            Input::SourceRemoved(source) => binding.remove_source(source, now),
            Input::SourcesComplete => binding.sources_complete(now),
            Input::Admitted => binding.admit(now),
            Input::ReportedByLeader => {
                binding.reported_by_leader();
                Applied::default()
            }
            Input::Change(source, change) => binding.apply(source, &change, Projection::None, now),
        };
        self.finish(applied, None);
    }

    async fn change(&mut self, source: SourceId, change: Change) {
        let begun = Instant::now();
        let own = self.is_own(source, &change).await;
        let (own, projected) = match &change {
            Change::Upsert(object) => {
                // The state that is pending may be somebody else's change, which the hook has not received yet. The
                // hook's own change must not hide it.
                let before = self.pending.forget(&object.key);
                let own = own && before.is_none_or(|before| before.own);
                (own, self.project(object, own).await)
            }
            Change::Delete(object) => {
                self.pending.forget(&object.key);
                (own, (Projection::None, None))
            }
            Change::ListStarted | Change::ListDone | Change::Unserved => (own, (Projection::None, None)),
        };
        let (projection, error) = projected;
        let binding = &mut self.driver.binding;
        let applied = match own {
            true => binding.apply_own(source, &change, projection, Instant::now()),
            false => binding.apply(source, &change, projection, Instant::now()),
        };
        self.finish(applied, error);
        if let (Some(timings), Change::Upsert(_) | Change::Delete(_)) = (&self.driver.timings, &change) {
            timings.handled(begun.elapsed());
        }
    }

    /// A list shows only what is there, and not the changes that led to it. The hook's own change may hide others.
    async fn is_own(&self, source: SourceId, change: &Change) -> bool {
        let Driver { binding, own: Some(own), .. } = &self.driver else { return false };
        if !binding.is_live() || binding.is_listing(source) {
            return false;
        }
        match change {
            Change::Upsert(object) if !binding.is_known(object) => own.is_own(binding.hook(), object, false).await,
            Change::Delete(object) => own.is_own(binding.hook(), object, true).await,
            _ => false,
        }
    }

    async fn retry(&mut self) {
        let Some(Waiting { object, own }) = self.pending.take() else { return };
        // Its source may be gone, or a list without the object may have arrived.
        if !self.driver.binding.is_late(&object) {
            return;
        }
        let (projection, error) = self.project(&object, own).await;
        let applied = self.driver.binding.retry(&object, projection, own, Instant::now());
        self.finish(applied, error);
    }

    async fn project(&mut self, object: &Arc<Object>, own: bool) -> (Projection, Option<ProjectionError>) {
        if self.driver.binding.is_known(object) {
            return (Projection::None, None);
        }
        let (projection, error) = match &self.driver.filter {
            Some(_) => self.filter(object, own).await,
            None => (Projection::None, None),
        };
        let result = match &projection {
            Projection::None => None,
            Projection::Result(result) => Some(&**result),
            Projection::Failed(_) | Projection::Late => return (projection, error),
        };
        let Driver { binding, room, .. } = &mut self.driver;
        let content = binding.spec().content;
        let before = binding.items().get(&object.key).map_or(0, |item| project::own(item, content));
        let own = project::most(object, content, result);
        let text = if content == Content::Full { object.json.len() } else { 0 };
        let has_room = room.hold(binding.own_bytes().saturating_sub(before) + own);
        if has_room && (text == 0 || room.keep(object)) {
            return (projection, error);
        }
        let error = self.no_room(object, own + text);
        (Projection::Late, Some(error))
    }

    fn no_room(&mut self, object: &Object, bytes: usize) -> ProjectionError {
        let source = FilterError::NoRoom(self.driver.room.lacks(bytes));
        self.error(object, source)
    }

    fn error(&self, object: &Object, source: FilterError) -> ProjectionError {
        let binding = &self.driver.binding;
        let (hook, name) = (binding.hook().clone(), binding.spec().name.clone());
        let error = ProjectionError { hook, binding: name, object: object.reference(), source };
        self.driver.status.failed(&format!("{error}: {}", error.source));
        error
    }

    /// An object that had no room was not kept. It takes a list to see it again.
    fn look_for_room(&mut self) {
        let Driver { binding, room, .. } = &mut self.driver;
        if room.is_back(binding.own_bytes()) {
            self.driver.relist.notify_one();
        }
    }

    async fn filter(&mut self, object: &Arc<Object>, own: bool) -> (Projection, Option<ProjectionError>) {
        let Some(filter) = &self.driver.filter else { return (Projection::None, None) };
        let (begun, binding) = (Instant::now(), &self.driver.binding);
        let span = info_span!(
            // This span is for traces, not for the log.
            target: "boathook::trace", "filter",
            hook = %binding.hook(), binding = %binding.spec().name, object = %object.reference()
        );
        let outputs = filter.evaluate(&object.json).instrument(span).await;
        if let Some(timings) = &self.driver.timings {
            timings.filtered(begun.elapsed());
        }
        let source = match outputs {
            Ok(outputs) => return (Projection::Result(outputs.combined()), None),
            Err(source) => source,
        };
        if !source.is_transient() {
            return (Projection::Failed(source.to_string()), Some(self.error(object, source)));
        }
        if !self.driver.room.keep(object) {
            let error = self.no_room(object, object.json.len());
            return (Projection::Late, Some(error));
        }
        let wait = if let FilterError::BackingOff { wait, .. } = source { wait } else { AGAIN };
        self.pending.push(Waiting { object: object.clone(), own }, wait, tokio::time::Instant::now());
        (Projection::Late, Some(self.error(object, source)))
    }

    fn finish(&mut self, applied: Applied, error: Option<ProjectionError>) {
        let Driver { binding, room, .. } = &mut self.driver;
        room.hold(binding.own_bytes());
        if binding.late() == 0 {
            room.is_enough();
        }
        let (complete, first_late) = (self.driver.binding.is_complete(), self.driver.status.late() == 0);
        if let Some(error) = &error {
            self.warn(error, applied.new_error, first_late);
        } else if self.driver.binding.late() == 0 && !first_late {
            let binding = &self.driver.binding;
            info!(hook = %binding.hook(), binding = %binding.spec().name, "no object is waiting: the snapshot is complete");
        }
        // A snapshot without all objects of the start is not published. One that became empty again is.
        if applied.changed && (self.driver.binding.is_listed() || self.driver.status.is_listed()) {
            self.driver.publisher.publish(self.driver.binding.items().clone());
        }
        if self.complete && self.driver.binding.late() > 0 {
            self.complete = false;
            (self.driver.out)(Output::Incomplete);
        }
        for trigger in applied.triggers {
            (self.driver.out)(Output::Trigger(trigger));
        }
        // After the triggers, because they belong to what the snapshot shows from now on.
        if complete && !self.complete {
            self.complete = true;
            (self.driver.out)(Output::Complete);
        }
        // Last: code that sees that the binding is synchronized must find its synchronization in the queue.
        self.driver.status.update(&self.driver.binding);
    }

    /// Of many objects that wait for the machine, the log names only the first.
    fn warn(&self, error: &ProjectionError, new: bool, first_late: bool) {
        let ProjectionError { hook, binding, object, source } = error;
        let reason = source.label();
        if !source.is_transient() {
            if new {
                warn!(%hook, %binding, %object, reason, error = %source, "filter failed");
            }
        } else if first_late {
            let error = error_chain(source);
            if matches!(source, FilterError::NoRoom(_)) {
                warn!(
                    %hook, %binding, %object, reason, error,
                    "no memory for an object: runs that include this snapshot wait"
                );
                return;
            }
            warn!(
                %hook, %binding, %object, reason, error,
                "filter cannot run: runs that include this snapshot wait"
            );
        }
    }
}
