//! Stage 2: what a binding sees of a change, and whether that makes a trigger.
//!
//! | module | its job |
//! | --- | --- |
//! | [`jq`] | filters: compiled, bounded, run here or in a process that can be killed |
//! | `project`, `fingerprint` | what is kept of an object, and whether it changed |
//! | `binding` | the state machine: objects, events, synchronization |
//! | `snapshots` | what runs read |
//!
//! Never watches and never queues: changes come in, triggers go out.

mod binding;
mod fingerprint;
pub mod jq;
mod project;
mod snapshots;

pub use binding::{Applied, Binding, Projection};
pub use snapshots::{Publisher, Snapshots};
