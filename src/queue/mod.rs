//! Stage 3: order, merging, retries. Triggers go in, jobs come out, outcomes come back.
//!
//! Never runs a hook itself, never talks to Kubernetes, never logs: what happens is told to an
//! [`Observer`].
//!
//! | file | its job |
//! | --- | --- |
//! | [`state`] | the pure state machine: which job may run now |
//! | `line`, `serial`, `keyed` | one queue: in plain order, or object by object |
//! | `gate` | what waits for a start-up or a synchronization of its hook |
//! | `combine` | which neighbours one run takes together |
//! | `collapse` | how an overfull queue folds what it holds |
//! | `retry` | what a failure means, and the delay |
//! | [`runner`] | the thin driver: a task, a timer, the runs |
//!
//! # Order
//!
//! Every trigger gets a number when it is pushed, and waits only for triggers with smaller numbers:
//! those before it in its queue, and those that close its gate. So the smallest number can always
//! run, and nothing waits in a circle. Besides, a trigger waits for the snapshots that it includes,
//! which wait for no trigger.
//!
//! A shared queue, and a hook's own queue with `concurrency: 1`, is a plain line: one job at a time,
//! head first, and a failed head holds the line until it succeeds or is given up. A hook's own queue
//! with a greater `concurrency` keeps order for each object, and a trigger without an object
//! (start-up, synchronization, tick) is a barrier in it.
//!
//! # Cost
//!
//! n triggers waiting, b in the job at hand. Pushing is O(1) amortised, O(log n) in a queue that is
//! over its bound. Taking and finishing is O(b) in a plain line and O(b log n) in a queue with
//! `concurrency`. A pass over a whole queue happens only when it grows over its bound (it must then
//! fall to half of it before there is another), and when a hook is removed.

mod collapse;
mod combine;
mod config;
mod finished;
mod gate;
mod item;
mod keyed;
mod line;
mod observer;
#[cfg(test)]
mod property;
mod retry;
pub mod runner;
mod serial;
pub mod state;
mod stats;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub use config::QueueConfig;
pub use finished::{Finished, Verdict};
pub use observer::{Enqueued, Observer, Pushed};
pub use retry::{LONGEST_DELAY, SHORTEST_DELAY};
pub use runner::{Action, Drained, Handle, Runner};
pub use state::State;
pub use stats::{HookStats, QueueStats, Stats};
