//! What the API server knows about hooks that answer it: webhook configurations, and the conversion of
//! CustomResourceDefinitions.
//!
//! ```text
//!  specs, certificates ─▶ webhooks, conversion: what should be ─┐
//!                                                               ├─▶ plan: what to do ─▶ reconciler: does it, watches
//!                             the cluster: what there is ───────┘
//! ```
//!
//! This module never changes what another operator registered, and never answers a request.

mod conversion;
mod drift;
mod objects;
mod owners;
mod pending;
mod plan;
mod reconciler;
mod remove;
mod settings;
mod signals;
mod webhooks;

pub use objects::RegistrationError;
pub use pending::Pending;
pub use reconciler::run;
pub use remove::{Removed, remove, tidy};
pub use settings::{Endpoint, Settings};

use std::sync::Arc;

use boathook_core::model::{HookSpec, PathKey, Source};

/// What has to be registered.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Wanted {
    /// The authorities that sign the server's certificate, as PEM. If `None`, the API server trusts it already.
    pub ca: Option<Arc<str>>,
    /// All hooks that run.
    pub hooks: Vec<Registrant>,
    /// What may also have to be registered.
    pub pending: Pending,
    /// The key for the secret parts of paths. If `None`, paths have none.
    pub paths: Option<PathKey>,
}

/// A hook that runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Registrant {
    pub spec: Arc<HookSpec>,
    /// The source of the hook.
    pub source: Source,
    /// Whether the source is settled. If not, another version may have registered what is in the cluster, so nothing of
    /// that is narrowed.
    pub settled: bool,
    /// Whether the hook can answer. If not, what an earlier version registered stays as it is.
    pub ready: bool,
}
