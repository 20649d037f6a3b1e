//! A process of its own for filters that may not end: the child's side, the parent's side, and what
//! they say to each other.
//!
//! Never decides which program needs one.

mod child;
mod frame;
mod limits;
mod process;

pub use child::serve;
pub use process::{Worker, WorkerConfig};
