//! Feeds a binding: has the filter run, publishes the snapshot, hands triggers on.
//!
//! Never decides what is a trigger; [`Binding`] does.

use std::{sync::Arc, time::Instant};

use futures::{Stream, StreamExt as _};
use tracing::warn;

use super::{
    Binding, BindingStatus, Evaluator, FilterError, Program, Projection, Publisher, binding::Applied, refused::Refused,
};
use crate::model::{BindingName, Change, HookName, Object, ObjectRef, Trigger};

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

/// What a driver works with.
pub struct Driver<F> {
    /// The binding, which nobody else touches.
    pub binding: Binding,
    /// Its compiled `jqFilter`, if it has one.
    pub filter: Option<Program>,
    /// Runs the filter.
    pub evaluator: Arc<Evaluator>,
    /// Where its snapshot goes.
    pub publisher: Publisher,
    /// Kept up to date.
    pub status: Arc<BindingStatus>,
    /// Takes triggers; a snapshot that a trigger belongs to is published before.
    pub out: F,
}

/// Runs a binding until its changes end. Each comes with the number of its source.
pub async fn drive<F, S>(driver: Driver<F>, mut changes: S)
where
    F: Fn(Trigger) + Send,
    S: Stream<Item = (usize, Change)> + Send + Unpin,
{
    let mut running = Running { driver, refused: Refused::default() };
    loop {
        tokio::select! {
            // A change first: it may make a second try needless.
            biased;
            change = changes.next() => match change {
                Some((source, change)) => running.change(source, change).await,
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
    async fn change(&mut self, source: usize, change: Change) {
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
        let applied = self.driver.binding.apply(source, &change, projection, Instant::now());
        self.finish(applied, error);
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
        match self.driver.evaluator.evaluate(filter, &object.json).await {
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
        if applied.changed && self.driver.binding.is_synchronised() {
            self.driver.publisher.publish(self.driver.binding.items().clone());
        }
        for trigger in applied.triggers {
            (self.driver.out)(trigger);
        }
        // Last: who sees that the binding is synchronised finds its synchronization in the queue.
        self.driver.status.update(&self.driver.binding);
    }
}
