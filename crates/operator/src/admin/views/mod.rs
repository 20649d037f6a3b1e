//! What the operator shows about itself, as JSON in the style of the Kubernetes API: camelCase, absent fields left out,
//! times in RFC 3339.

mod dead_letters;
mod hooks;
mod log_level;
mod queues;
mod runs;
mod snapshots;

pub use dead_letters::{Count, DeadLetterView, DeadLettersView, RetriedView};
pub use hooks::{BindingKind, BindingView, HookState, HookView, HooksView, LastRun, RunCounts};
pub use log_level::{LogLevelView, Parameter, SetLogLevel};
pub use queues::{OtherQueues, QueueView, QueuesView, Summary, TaskView};
pub use runs::{AnswerView, RunOutcome, RunResult, RunView, RunsView, TriggerView};
pub use snapshots::{BindingSnapshot, OperationCounts, Operations, SnapshotItem, SnapshotsView};
