//! Modules that the cluster's users name or configure: the Module resource, its status, and its versions in registries.
//!
//! ```text
//!  Module ─▶ app::modules ─┬▶ source: fetch a version, and unpack it ─▶ the life of modules
//!                          ├▶ settings, enabled, maintenance ─▶ values
//!                          └▶ status: the status and the Events
//! ```
//!
//! This module runs nothing. `app::modules` does.

mod api;
mod source;
mod status;

pub use api::{MaintenanceMode, Module, ModuleRepository, ModuleSource, ModuleSpec, ModuleStatus, definition};
pub(crate) use source::{Fetched, Fetcher};
pub(crate) use status::{Facts, status, status_events};

/// Keeps a Module with a source until its chart is deleted.
pub const FINALIZER: &str = "boathook.dev/module";
