//! What the API server is told of the hooks that answer it: webhook configurations, and the conversion of
//! CustomResourceDefinitions.
//!
//! ```text
//!  specs, certificates ─▶ webhooks, conversion: what should be ─┐
//!                                                               ├─▶ plan: what to do ─▶ upkeep: does it, watches
//!                             the cluster: what there is ───────┘
//! ```
//!
//! Never touches what another operator registered, and never answers a request.

mod conversion;
mod drift;
mod objects;
mod owners;
mod pending;
mod plan;
mod remove;
mod settings;
mod signals;
mod upkeep;
mod webhooks;

pub use objects::RegistrationError;
pub use pending::Pending;
pub use remove::{Removed, remove, tidy};
pub use settings::{Endpoint, Settings};
pub use upkeep::keep;

use std::sync::Arc;

use boathook_core::model::{HookSpec, PathKey, Source};

/// What is to be registered.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Wanted {
    /// Certificates, as PEM, of those that sign the server's. None: ones that the API server trusts anyway.
    pub ca: Option<Arc<str>>,
    /// All hooks that are at work.
    pub hooks: Vec<Registrant>,
    /// What may be wanted besides.
    pub pending: Pending,
    /// Of which the secret parts of paths are made. None: paths have none.
    pub paths: Option<PathKey>,
}

/// A hook that is at work.
#[derive(Debug, Clone, PartialEq)]
pub struct Registrant {
    /// Its document.
    pub spec: Arc<HookSpec>,
    /// Where it is from.
    pub source: Source,
    /// Its source is settled. Until then this may be another version than the one that registered what is there:
    /// nothing of that is narrowed.
    pub settled: bool,
    /// It can answer. Until then, what an earlier version of it registered stays as it is.
    pub ready: bool,
}
