//! Stage 3: order, merging, retries. Triggers go in, jobs come out, outcomes come back.
//!
//! Never runs a hook itself, never talks to Kubernetes, never logs: what happens is told to an
//! [`Observer`].
//!
//! | file | its job |
//! | --- | --- |
//! | [`state`] | the pure state machine: which job may run now |
//! | `roster` | which hooks it knows, and which of them are paused |
//! | `outcome` | what comes of a job's outcome |
//! | `line`, `serial`, `keyed` | one queue: in plain order, or object by object |
//! | `debounce` | events that wait for their object to be quiet |
//! | `gate` | what waits for a start-up, a list, or a synchronization of its hook |
//! | `shares` | which tenant's queue is asked next, so that none takes all run slots |
//! | `bucket` | how often a hook's jobs may begin |
//! | `combine` | which neighbours one run takes together |
//! | `bound`, `collapse` | how an overfull queue folds what it holds |
//! | `held`, `press` | what a tenant's triggers hold of the memory that all queues share, and what happens when it has its share |
//! | `retry` | what a failure means, and the delay |
//! | `letters`, `revive` | dead letters, and what becomes of them |
//! | `revise` | what waits of a hook that is replaced |
//! | `stats`, `dump` | for people and metrics |
//! | `handle` | what others push with and ask by |
//! | [`runner`] | the thin driver: a task, a timer, the runs |
//!
//! # Order
//!
//! Every trigger gets a number when it is pushed, and waits only for triggers with smaller numbers:
//! those before it in its queue, and those that close its gate. So the smallest number can always
//! run, and nothing waits in a circle. Besides, a trigger waits for lists and for tokens, which wait
//! for no trigger. A binding's first synchronization gets the number that was kept for it when its
//! list began to be expected, and goes to that place in its queue: so a hook's synchronizations come
//! before its ticks and events.
//!
//! A shared queue, and a hook's own queue with `concurrency: 1`, is a plain line: one job at a time,
//! head first, and a failed head holds the line until it succeeds or is given up. A hook's own queue
//! with a greater `concurrency` keeps order for each object, and a trigger that tells of no object
//! (start-up, synchronization, tick, all of a group) is a barrier in it.
//!
//! A token is taken when a job begins, for whatever reason, before its triggers are put together: what
//! comes while it waits joins it. A queue whose head waits for a token waits with it.
//!
//! A paused hook keeps its own queue as it is; in a shared queue its triggers and its failed job are put
//! aside, and get their places back when it is resumed. A hook that is being replaced is held in the same
//! way, whether it is paused or not. So is, in a shared queue, a hook whose next trigger waits for a list or a complete
//! snapshot: what it may watch, and whether its filter runs, is its own affair.
//!
//! # Shares
//!
//! Run slots are shared by tenants: the hooks of one namespace of HookBundles together, or one of the admin's hooks. A
//! tenant begins another job only while its jobs are within three times the slots that are then free, or while it has
//! none: so one tenant, with however many hooks, queues and `concurrency`, takes three quarters of the slots at most, and
//! the last free slot goes to a tenant that has none. Tenants take turns, and within a tenant its queues do.
//!
//! # Groups
//!
//! A run is told of a group, not of objects: so a trigger of a group carries none, and in a run's list a
//! trigger is left out when the next one is of the same group. It still counts as taken: those left out
//! are tried again and given up like the others.
//!
//! # Attempts and dead letters
//!
//! Each trigger counts the failed runs that it was part of; host failures and interruptions are not
//! among them. When a job fails, those that have had all their attempts become a dead letter, and those
//! that joined the job later go on without them. A dead letter's event never runs again once the hook
//! was told of a later one of the same object and binding, or of a later synchronization of the binding.
//!
//! # Cost
//!
//! n triggers waiting, b in the job at hand. Pushing is O(1) amortised, O(log n) in a queue that is
//! over its bound. Taking and finishing is O(b) in a plain line and O(b log n) in a queue with
//! `concurrency`; with k synchronizations of groups in the job, O(b k). A pass over a whole queue happens
//! only when it grows over its bound (it must then fall to half of it before there is another), when
//! a hook is resumed or removed, when dead letters are tried again, and when a synchronization goes to
//! the place that was kept for it.

mod bound;
mod bucket;
mod collapse;
mod combine;
mod config;
mod debounce;
mod dump;
mod finished;
mod gate;
mod handle;
mod held;
mod item;
mod letters;
mod line;
mod observer;
mod outcome;
mod press;
#[cfg(test)]
mod property;
mod retry;
mod revise;
mod revive;
mod roster;
pub mod runner;
mod shares;
pub mod state;
mod stats;
mod terms;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub use config::QueueConfig;
pub use dump::{QueueDump, QueueState, TriggerDump};
pub use finished::{Finished, Verdict};
pub use handle::Handle;
pub use letters::{DeadLetter, Letters};
pub use observer::{Enqueued, Observer, Pushed};
pub use retry::{LONGEST_DELAY, SHORTEST_DELAY};
pub use revive::Retried;
pub use runner::{Action, Drained, Runner};
pub use state::State;
pub use stats::{HookStats, QueueStats, Stats};
pub use terms::HookTerms;
