//! The rights that hooks and the operator need in Kubernetes' RBAC: from documents to the least roles, and from the
//! calls of runs to the permissions that documents should request.
//!
//! Pure: the caller supplies the served kinds and the recorded calls, and sends the requests.
//!
//! ```text
//!  documents ─▶ needs (single accesses, each with its reasons) ─▶ rules (merged) ─▶ objects ─▶ YAML or JSON
//!                 │                                                    │
//!                 └─▶ reviews: one request for each access             └─ what a review refused, as text
//!  documents + recorded calls ─▶ usage: unused, refused, and the permissions to write
//!  uses of a script + recorded calls ─▶ propose: the permissions to write, with their lines
//!  one permission + recorded calls ─▶ narrow: what is left of it
//! ```

mod access;
mod evidence;
mod kinds;
mod narrow;
mod needs;
mod objects;
mod propose;
mod recorded;
mod rules;
mod suspects;
mod usage;

pub use self::access::{Asker, allowed, review};
pub use self::needs::Layout;
pub use self::needs::NeedsError;
pub use self::objects::{json, one_line, permissions_yaml, yaml};
pub use self::usage::denied;
pub use access::{Access, Part, Place, Reason, Tenant, Who};
pub use evidence::{Calls, Evidence, Ruling, Used};
pub use kinds::{Kinds, ServedKind};
pub use narrow::{Narrowed, narrow};
pub use needs::{Needs, needs};
pub use objects::{Manifest, manifest};
pub(crate) use propose::IMPORTED;
pub use propose::{Need, NeededAccess, Proposed, Why, observed, permissions_file, propose};
pub use rules::{Rule, rules};
pub use suspects::suspects;
pub use usage::{Asked, Refused, Usage, compare};
