//! Decides how the objects that a parent wants become real. It sends nothing: a driver performs the requests that it
//! plans, and feeds it what watches and responses show.
//!
//! | module | content |
//! | --- | --- |
//! | [`id`] | identity: of a member, of a set (KEP-3659), of a parent; labels, annotations, owner references |
//! | [`fields`] | the fields that a manager owns, and how an object drifts from them |
//! | [`desired`] | a producer's answer, validated and ordered |
//! | [`order`] | waves, the order of kinds, gates |
//! | [`ready`] | whether an object is ready, by the rules of kstatus and by an expression of its producer |
//! | `expression` | an expression for readiness, bounded |
//! | [`fight`] | another manager that changes the same fields back again and again |
//! | [`prune`] | limits of what is deleted, and approvals above them |
//! | [`set`] | the state machine of one parent: observations in, requests out |
//! | [`status`] | conditions of the parent |
//! | [`revision`] | stored desired sets, for rollback and difference |
//!
//! A producer (a reconcile hook, a module) hands over an [`Answer`]. [`Desired::new`] validates it. A [`Set`] has
//! everything that is known about one parent:
//!
//! ```text
//!  producer ─Answer─▶ Desired ─▶ Set::desire ┐
//!  watch ───Object─────────────▶ Set::observe ┼─▶ Set::take ─▶ [Request] ─▶ driver ─▶ API server
//!  response ───────────────────▶ Set::finished┘   Set::plan ─▶ Plan ─▶ conditions ─▶ status of the parent
//! ```
//!
//! Nothing here uses the network, a runtime or a clock. What must survive a crash is in the cluster: the label and the
//! owner reference of each member, the digest of what was applied in an annotation of the member, and the prune that
//! waits for an approval in an annotation of the parent. A `Set` without memory therefore reaches the same end state.

mod canonical;
pub mod desired;
mod expression;
pub mod fields;
pub mod fight;
pub mod id;
pub mod order;
#[cfg(test)]
mod property;
pub mod prune;
pub mod ready;
pub mod revision;
pub mod set;
pub mod status;

pub use canonical::Digest;
pub use desired::{Answer, Bounds, Desired, InvalidAnswer, Rules};
pub use expression::READY;
pub use id::{MemberId, Owner, Parent, SetId};
pub use prune::{Hold, Limits};
pub use ready::{Health, Readiness};
pub use set::{Action, Adopt, Deletion, Plan, Policy, Request, Set, Stage, Step, Verb};
pub use status::{Condition, conditions};
