//! Stage 5: a hook's calls to Kubernetes, checked against its grants before anything is sent.
//!
//! This module does not decide what a hook is granted, and never logs an object's content.
//!
//! ```text
//!  call ─▶ request (names, body, kind) ─▶ grants (pure) ─▶ send (tries, retry, bounds) ─▶ API server
//!                                            └─ refused ─┐        └─ errors (code → reason)
//!                                     audit ◀────────────┴─ one record for each write
//! ```

mod answer;
mod audit;
mod create;
mod delete;
mod dry_run_objects;
mod effects;
mod errors;
mod events;
mod grants;
mod intent;
mod jq;
mod made;
mod own_writes;
mod read;
mod request;
mod retry;
mod rights;
mod send;
mod text;
mod update;
mod write;

use std::{sync::Arc, time::Duration};

use futures::future::BoxFuture;

pub use audit::{Observer, WriteRecord};
pub use made::{Made, MadeVersion, Stored};
pub use own_writes::{Followed, OwnWrites};
pub use rights::Right;
pub use send::Exchanged;

use boathook_core::model::HookName;

use crate::{discovery::Discovery, election::Leadership};

/// The limits of calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessConfig {
    /// How long one try of a request may take, including the response. Default 10 s.
    pub request_timeout: Duration,
    /// How often a request is repeated at most. Default 5.
    pub retries: u32,
    /// If the API server requests a longer pause than this, the call fails at once instead of waiting. Default 5 s,
    /// which is half of a run's default time, so that the hook learns about it.
    pub max_retry_after: Duration,
    /// How many operations of one batch are in flight at the same time, at least 1. Default 16.
    pub batch_concurrency: usize,
    /// The largest request body and the largest response about one object, in bytes. Default 4 MiB. The API server
    /// itself accepts 3 MiB.
    pub max_object_bytes: usize,
    /// The largest page of a list, in bytes as the server sends it. Default 32 MiB.
    pub max_list_bytes: usize,
    /// The `reportingInstance` of Kubernetes Events, such as the Pod's name. Default `boathook`.
    pub reporting_instance: String,
}

impl Default for AccessConfig {
    fn default() -> Self {
        const MIB: usize = 1024 * 1024;
        Self {
            request_timeout: Duration::from_secs(10),
            retries: 5,
            max_retry_after: Duration::from_secs(5),
            batch_concurrency: 16,
            max_object_bytes: 4 * MIB,
            max_list_bytes: 32 * MIB,
            reporting_instance: "boathook".to_owned(),
        }
    }
}

/// Runs the jq programs of hooks where they cannot block the operator.
pub trait JqRunner: Send + Sync + 'static {
    /// Runs `program` on `object` (JSON). Returns its one result as JSON, or an error message.
    fn run(&self, hook: &HookName, program: &str, object: String) -> BoxFuture<'_, Result<String, String>>;
}

/// Executes the calls of all hooks. Cheap to clone.
#[derive(Clone)]
pub struct Access {
    sender: send::Sender,
    discovery: Arc<Discovery>,
    jq: Arc<dyn JqRunner>,
    config: AccessConfig,
    observer: Arc<dyn Observer>,
    own: Arc<OwnWrites>,
    dry_run_objects: Arc<dry_run_objects::DryRunObjects>,
}

impl Access {
    /// Sends no request yet.
    ///
    /// Build `client` with `kube::Config::default_retry` off. Retries are decided here, by whether an operation may be
    /// repeated, and kube's own retries would repeat a create after a 504.
    pub fn new(
        client: kube::Client,
        discovery: Arc<Discovery>,
        jq: Arc<dyn JqRunner>,
        config: AccessConfig,
        observer: Arc<dyn Observer>,
    ) -> Self {
        let of_exchanges = observer.clone();
        let on_exchange = Arc::new(move |hook: &HookName, exchanged| of_exchanges.exchanged(hook, exchanged));
        let sender = send::Sender::new(client, &config, on_exchange);
        Self { sender, discovery, jq, config, observer, own: Arc::default(), dry_run_objects: Arc::default() }
    }

    /// Returns a copy that writes only while this process leads. After that, it sends no write and waits for no
    /// response to one.
    pub fn fenced(&self, leadership: Leadership) -> Self {
        Self { sender: self.sender.fenced(leadership), ..self.clone() }
    }

    /// The writes of hooks.
    pub fn own_writes(&self) -> &Arc<OwnWrites> {
        &self.own
    }
}

#[cfg(test)]
mod tests {
    use boathook_core::model::{CallError, Caller, EmitEvent, ListQuery, ObjectRef, Operation};

    use super::*;

    /// Calls are awaited inside runs, which move between threads. It is enough that this compiles.
    #[allow(dead_code)]
    fn every_call_can_move_between_threads<'a>(
        access: &'a Access,
        caller: &'a Caller,
        (target, query): (&'a ObjectRef, &'a ListQuery),
        operations: &'a [Operation],
        event: &'a EmitEvent,
    ) -> Vec<BoxFuture<'a, Result<(), CallError>>> {
        vec![
            Box::pin(async move { access.get(caller, target, None).await.map(drop) }),
            Box::pin(async move { access.list(caller, query).await.map(drop) }),
            Box::pin(async move { access.batch(caller, operations).await.pop().map_or(Ok(()), |done| done.map(drop)) }),
            Box::pin(async move { access.emit_event(caller, event).await }),
        ]
    }
}
