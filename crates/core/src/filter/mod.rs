//! Stage 2: what a binding sees of a change, and whether that makes a trigger.
//!
//! | module | content |
//! | --- | --- |
//! | `program`, `error` | a compiled filter as this stage sees it, and why it gives no result |
//! | `project`, `fingerprint` | what is kept of an object, and whether it changed |
//! | `binding`, `sources` | the state machine: objects, events, synchronization; and the watches that feed it |
//! | `snapshots` | what runs read |
//! | `room` | how much memory a binding may use |
//! | `explain` | why a binding did not report an object |
//! | `drive`, `pending`, `status` | the task that feeds a binding, what it has to retry, and its state |
//!
//! This stage neither watches nor queues: changes come in, and triggers go out. It does not know jq: the sandbox compiles
//! and runs filters.

mod binding;
mod drive;
mod error;
mod explain;
mod fingerprint;
mod pending;
mod program;
mod project;
mod room;
mod snapshots;
mod sources;
mod status;

pub use binding::{Applied, Binding, Changes, Projection};
pub use drive::{Driver, Input, Output, OwnChanges, ProjectionError, drive};
pub use error::{CompileError, FilterError, FilterLimit};
pub use explain::{Explanation, ObjectExplained, Verdict};
pub use program::{Filter, Outputs};
pub use project::{item, uses_only_metadata};
pub use room::Room;
pub use snapshots::{Publisher, Snapshots};
pub use sources::SourceId;
pub use status::{BindingStatus, Timings};
