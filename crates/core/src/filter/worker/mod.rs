//! A separate process for filters that may not end: the child's side, the parent's side, and their protocol.

mod child;
mod frame;
mod limits;
mod process;

pub use child::serve;
pub use process::{Worker, WorkerConfig};
