//! Stage 2: what a binding sees of a change, and whether that makes a trigger.
//!
//! | module | content |
//! | --- | --- |
//! | [`jq`] | compiles, bounds and runs filters |
//! | [`evaluator`] | decides where a filter runs: in this process, or in one that can be killed |
//! | [`worker`] | that process |
//! | `project`, `fingerprint` | what is kept of an object, and whether it changed |
//! | `binding`, `sources` | the state machine: objects, events, synchronization; and the watches that feed it |
//! | `snapshots` | what runs read |
//! | `room` | how much memory a binding may use |
//! | `drive`, `pending`, `status` | the task that feeds a binding, what it has to retry, and its state |
//!
//! This stage neither watches nor queues: changes come in, and triggers go out.

mod binding;
mod drive;
pub mod evaluator;
mod fingerprint;
pub mod jq;
mod pending;
mod project;
mod room;
mod snapshots;
mod sources;
mod status;
pub mod worker;

pub use binding::{Applied, Binding, Changes, Projection};
pub use drive::{Driver, Input, Output, OwnChanges, ProjectionError, drive};
pub use evaluator::{Evaluator, Program, compile, compile_for};
pub use jq::{CompileError, FilterError, FilterLimit, Outputs};
pub use project::{item, uses_only_metadata};
pub use room::Room;
pub use snapshots::{Publisher, Snapshots};
pub use sources::SourceId;
pub use status::{BindingStatus, Timings};
pub use worker::WorkerConfig;
