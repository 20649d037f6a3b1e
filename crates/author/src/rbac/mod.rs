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
//! ```

mod access;
mod calls;
mod denied;
mod error;
mod evidence;
mod groups;
mod kinds;
mod layout;
mod needs;
mod objects;
mod print;
mod review;
mod rules;
mod suspects;
mod usage;

pub use access::{Access, Part, Place, Reason, Tenant, Who};
pub use denied::denied;
pub use error::NeedsError;
pub use evidence::{Calls, Evidence, Ruling, Used};
pub use kinds::{Kinds, ServedKind};
pub use layout::Layout;
pub use needs::{Needs, needs};
pub use objects::{Manifest, manifest};
pub use print::{json, permissions_yaml, yaml};
pub use review::{Asker, allowed, review};
pub use rules::{Rule, rules};
pub use suspects::suspects;
pub use usage::{Asked, Refused, Usage, compare};
