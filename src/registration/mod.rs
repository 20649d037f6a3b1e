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
mod plan;
mod remove;
mod settings;
mod signals;
mod upkeep;
mod webhooks;

pub use objects::RegistrationError;
pub use remove::{Removed, remove};
pub use settings::{Endpoint, Settings};
pub use upkeep::keep;

use std::sync::Arc;

use crate::model::HookSpec;

/// What is to be registered.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Wanted {
    /// Certificates, as PEM, of those that sign the server's. None: ones that the API server trusts anyway.
    pub ca: Option<Arc<str>>,
    /// All hooks that are at work.
    pub hooks: Vec<Registrant>,
}

/// A hook that is at work.
#[derive(Debug, Clone, PartialEq)]
pub struct Registrant {
    /// Its document.
    pub spec: Arc<HookSpec>,
    /// It can answer. Until then, what an earlier version of it registered stays as it is.
    pub ready: bool,
}
