//! Feeds a binding: has the filter run, publishes the snapshot, hands triggers on.
//!
//! Never decides what is a trigger; [`Binding`] does.

use std::{sync::Arc, time::Instant};

use futures::{Stream, StreamExt as _, future::BoxFuture};
use tracing::{Instrument as _, info_span, warn};

use super::{
    Binding, BindingStatus, Evaluator, FilterError, Program, Projection, Publisher, SourceId, binding::Applied,
    refused::Refused,
};
use crate::model::{BindingName, Change, HookName, Object, ObjectRef, Resource, Trigger};

/// A filter that failed on an object.
#[derive(Debug, thiserror::Error)]
#[error("hook {hook}, binding {binding}: no filterResult for {object}")]
pub struct ProjectionError {
    hook: HookName,
    binding: BindingName,
    object: ObjectRef,
    #[source]
    source: FilterError,
}

/// What a binding is told, in order. Each but `Change` is the method of [`Binding`] of that name.
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
    /// [`Binding::told_elsewhere`]
    ToldElsewhere,
    /// A change that a source saw.
    Change(SourceId, Change),
}

/// Knows which changes a hook made itself.
pub trait OwnChanges: Send + Sync + 'static {
    /// Whether this hook brought the object into this state, or with `deleted`, deleted it. May wait
    /// a short time for the answers to writes that are under way.
    fn is_own<'a>(&'a self, hook: &'a HookName, object: &'a Object, deleted: bool) -> BoxFuture<'a, bool>;
}

/// What a driver works with.
pub struct Driver<F> {
    /// The binding, which nobody else touches.
    pub binding: Binding,
    /// Its compiled `jqFilter`, if it has one.
    pub filter: Option<Program>,
    /// Runs the filter.
    pub evaluator: Arc<Evaluator>,
    /// With `ignoreOwnWrites`, who knows them.
    pub own: Option<Arc<dyn OwnChanges>>,
    /// Where its snapshot goes.
    pub publisher: Publisher,
    /// Kept up to date.
    pub status: Arc<BindingStatus>,
    /// Takes triggers; a snapshot that a trigger belongs to is published before.
    pub out: F,
}

/// Runs a binding until its inputs end.
pub async fn drive<F, S>(driver: Driver<F>, mut inputs: S)
where
    F: Fn(Trigger) + Send,
    S: Stream<Item = Input> + Send + Unpin,
{
    let mut running = Running { driver, refused: Refused::default() };
    loop {
        tokio::select! {
            // A change first: it may make a second try needless.
            biased;
            input = inputs.next() => match input {
                Some(Input::Change(source, change)) => running.change(source, change).await,
                Some(input) => running.told(input),
                None => return,
            },
            () = due(running.refused.due()) => running.retry().await,
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
    refused: Refused,
}

impl<F: Fn(Trigger) + Send> Running<F> {
    fn told(&mut self, input: Input) {
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
            Input::ToldElsewhere => {
                binding.told_elsewhere();
                Applied::default()
            }
            Input::Change(source, change) => binding.apply(source, &change, Projection::None, now),
        };
        self.finish(applied, None);
    }

    async fn change(&mut self, source: SourceId, change: Change) {
        let begun = Instant::now();
        let own = self.is_own(source, &change).await;
        let projection = match &change {
            Change::Upsert(object) => {
                self.refused.forget(&object.key);
                self.project(object).await
            }
            Change::Delete(object) => {
                self.refused.forget(&object.key);
                Ok(Projection::None)
            }
            Change::ListStarted | Change::ListDone | Change::Unserved => Ok(Projection::None),
        };
        let (projection, error) = self.failure(projection);
        let binding = &mut self.driver.binding;
        let applied = match own {
            true => binding.apply_own(source, &change, projection, Instant::now()),
            false => binding.apply(source, &change, projection, Instant::now()),
        };
        self.finish(applied, error);
        if let (Some(timings), Change::Upsert(_) | Change::Delete(_)) = (self.driver.status.timings(), &change) {
            timings.handled(begun.elapsed());
        }
    }

    /// A list tells only what is there, and not what led to it: other changes may be hidden behind
    /// the hook's own.
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
        let Some(object) = self.refused.take() else { return };
        let projection = self.project(&object).await;
        let (projection, error) = self.failure(projection);
        let applied = self.driver.binding.retry(&object, projection, Instant::now());
        self.finish(applied, error);
    }

    async fn project(&mut self, object: &Arc<Object>) -> Result<Projection, ProjectionError> {
        let Some(filter) = self.driver.filter.as_ref().filter(|_| self.driver.binding.wants_filter(object)) else {
            return Ok(Projection::None);
        };
        let (begun, binding) = (Instant::now(), &self.driver.binding);
        let span = info_span!(
            // A span of traces, and no log.
            target: "boathook::trace", "filter",
            hook = %binding.hook(), binding = %binding.spec().name, object = %object.reference()
        );
        let outputs = self.driver.evaluator.evaluate(filter, &object.json).instrument(span).await;
        if let Some(timings) = self.driver.status.timings() {
            timings.filtered(begun.elapsed());
        }
        match outputs {
            Ok(outputs) => Ok(Projection::Result(outputs.combined())),
            Err(source) => {
                if let FilterError::BackingOff { wait, .. } = source {
                    self.refused.push(object.clone(), wait, tokio::time::Instant::now());
                }
                let binding = &self.driver.binding;
                let (hook, name) = (binding.hook().clone(), binding.spec().name.clone());
                Err(ProjectionError { hook, binding: name, object: object.reference(), source })
            }
        }
    }

    fn failure(&self, projection: Result<Projection, ProjectionError>) -> (Projection, Option<ProjectionError>) {
        match projection {
            Ok(projection) => (projection, None),
            Err(error) => {
                self.driver.status.failed(&format!("{error}: {}", error.source));
                (Projection::Failed(error.source.identity()), Some(error))
            }
        }
    }

    fn finish(&self, applied: Applied, error: Option<ProjectionError>) {
        if let Some(error) = error.filter(|_| applied.new_error) {
            warn!(
                hook = %error.hook, binding = %error.binding, object = %error.object,
                reason = error.source.label(), error = %error.source, "filter failed"
            );
        }
        // An incomplete snapshot is shown to nobody; that it is empty again, is.
        if applied.changed && (self.driver.binding.is_listed() || self.driver.status.is_listed()) {
            self.driver.publisher.publish(self.driver.binding.items().clone());
        }
        for trigger in applied.triggers {
            (self.driver.out)(trigger);
        }
        // Last: who sees that the binding is synchronised finds its synchronization in the queue.
        self.driver.status.update(&self.driver.binding);
    }
}
