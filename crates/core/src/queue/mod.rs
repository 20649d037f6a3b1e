//! Stage 3: order, merging, retries. Triggers go in, jobs come out, outcomes come back.
//!
//! This stage does not run hooks itself, does not use Kubernetes, and does not log. It reports what happens to an
//! [`Observer`].
//!
//! | file | content |
//! | --- | --- |
//! | [`state`] | the pure state machine: which job may run now, and what happens after a job's outcome |
//! | `line`, `serial`, `keyed` | one queue: in plain order, or object by object |
//! | `debounce` | events that wait for their object to be quiet |
//! | `preconditions` | what waits for a start-up, a list, or a synchronization of its hook |
//! | `shares` | which tenant's queue is asked next, so that no tenant takes all run slots |
//! | `rate_limit` | how often a hook's jobs may begin |
//! | `batching` | which neighbours one run takes together |
//! | `coalesce` | how an overfull queue folds what it holds |
//! | `held` | what a tenant's triggers hold of the shared memory |
//! | `overflow` | what happens to events without room |
//! | `retry` | what a failure means, and the delay |
//! | `dead_letters` | triggers that were given up |
//! | `stats` | the state of the queues, for people and metrics |
//! | `handle` | how other code pushes triggers and queries the queues |
//! | [`runner`] | the thin driver: a task, a timer, the runs |
//!
//! # Order
//!
//! Every trigger gets a number when it is pushed. Of other triggers, it waits only for those with smaller numbers:
//! those before it in its queue, and those that close its gate. The smallest number can therefore always run, and
//! triggers never wait for each other in a circle. A trigger also waits for lists and for tokens, which wait for no
//! trigger. A binding's first synchronization gets the number that was kept for it since its list was first expected,
//! and goes to that place in its queue. A hook's synchronizations therefore come before its ticks and events.
//!
//! A shared queue, and a hook's own queue with `concurrency: 1`, is a plain line: one job at a time, head first. A
//! failed head holds the line until it succeeds or is given up. A hook's own queue with a greater `concurrency` keeps
//! order for each object. A trigger that is about no object (start-up, synchronization, tick, everything of a group) is
//! a barrier in it.
//!
//! A job takes a token when it begins, for whatever reason, before its triggers are combined. What arrives while it
//! waits for the token joins it. A queue whose head waits for a token waits with it.
//!
//! A paused hook's own queue stays as it is. In a shared queue, the hook's triggers and its failed job are put aside,
//! and get their places back when the hook is resumed. A hook that is being replaced is held in the same way, whether
//! it is paused or not. The same happens in a shared queue to a hook whose next trigger waits for a list or a complete
//! snapshot, because what a hook may watch, and whether its filter runs, must not hold up other hooks.
//!
//! # Shares
//!
//! Tenants share the run slots. A tenant is all hooks of one namespace of HookBundles together, or one of the admin's
//! hooks. A tenant begins another job only while its jobs are within three times the slots that are then free, or while
//! it has none. One tenant, however many hooks, queues and `concurrency` it has, therefore takes at most three quarters
//! of the slots, and the last free slot goes to a tenant that has none. Tenants take turns, and so do the queues of a
//! tenant.
//!
//! # Groups
//!
//! A run receives a group, and not objects. A trigger of a group therefore carries no object, and a run's list leaves
//! out a trigger if the next one is of the same group. Such a trigger still counts as taken: it is retried and given up
//! like the others.
//!
//! # Attempts and dead letters
//!
//! Each trigger counts the failed runs that it was part of, without host failures and interruptions. When a job fails,
//! the triggers that have had all their attempts become a dead letter. Those that joined the job later continue without
//! them. A dead letter's event never runs again after the hook received a later one of the same object and binding, or
//! a later synchronization of the binding.
//!
//! # Room
//!
//! A tenant whose triggers have no room in the memory of all queues has its events folded, and events that fold with
//! nothing wait without their texts. If there is no room for that either, bindings lose their waiting events and
//! synchronize again. Only the binding's own events wait for such a synchronization, so the hook stays ready.
//!
//! # Cost
//!
//! Let n be the waiting triggers, and b those in the current job. A push is O(1) amortised, and O(log n) in a queue
//! that is over its bound. Taking and finishing is O(b) in a plain line, and O(b log n) in a queue with `concurrency`.
//! With k synchronizations of groups in the job, it is O(b k). A pass over a whole queue happens only when the queue
//! grows over its bound (it must then fall to half of it before there is another pass), when a hook is resumed or
//! removed, when dead letters are retried, and when a synchronization goes to the place that was kept for it.

mod about;
mod batching;
mod coalesce;
mod config;
mod dead_letters;
mod debounce;
mod handle;
mod held;
mod item;
mod line;
mod observer;
mod overflow;
mod preconditions;
#[cfg(test)]
mod property;
mod rate_limit;
mod retry;
pub mod runner;
mod shares;
pub mod state;
mod stats;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub use about::{Place, Unfinished};
pub use config::{HookQueueConfig, QueueConfig};
pub use dead_letters::{DeadLetter, Letters};
pub use handle::Handle;
pub use observer::{Enqueued, Finished, Observer, Pushed, Verdict};
pub use overflow::Emptied;
pub use retry::{LONGEST_DELAY, SHORTEST_DELAY};
pub use runner::{Action, Drained, Runner};
pub use state::{Retried, State};
pub use stats::{HookStats, QueueDump, QueueState, QueueStats, Stats, TriggerDump};
