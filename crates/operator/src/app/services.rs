//! What the tasks of bindings and schedules work with.

use std::sync::Arc;

use boathook_core::{
    fair::Pool,
    filter::{Evaluator, Snapshots},
    queue,
    tasks::Tasks,
};
use boathook_kube::{discovery::Discovery, election::Leadership, watch::Streams};
use tokio::sync::watch;

use super::{
    health::Health,
    history::{History, LastRuns},
    host::Operator,
};

pub(super) struct Services {
    /// The API server's address, for messages.
    pub server: String,
    pub discovery: Arc<Discovery>,
    pub streams: Streams,
    /// What all bindings together may keep, in units of [`UNIT`](boathook_core::memory::UNIT).
    pub kept: Pool,
    pub evaluator: Arc<Evaluator>,
    pub snapshots: Arc<Snapshots>,
    pub queue: queue::Handle,
    /// For runs. It is fenced, so its writes end with the leadership.
    pub operator: Arc<Operator>,
    /// For answers to the API server, which every replica gives.
    pub answering: Arc<Operator>,
    pub leadership: Leadership,
    pub health: Arc<Health>,
    pub history: Arc<History>,
    pub schedules_tick: bool,
    pub last: Arc<LastRuns>,
    /// Whether hooks are started but not run.
    pub hold: bool,
    pub tasks: Tasks,
    /// Notifies that the wall clock was set.
    pub jumps: watch::Sender<()>,
}
