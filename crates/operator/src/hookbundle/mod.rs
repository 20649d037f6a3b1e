//! HookBundles: bundles that the cluster's users name, and that the operator runs.
//!
//! ```text
//!  HookBundle ─▶ controller ─▶ reconciler ─┬▶ plan: what to do next ─▶ fetch, source: pull a version ─▶ Installer: run it
//!                                          └▶ report, conditions: the status ─▶ events: the Events
//! ```
//!
//! This module never runs a hook itself. An [`Installer`](boathook_core::model::Installer) does.

mod api;
mod bundle_ref;
mod controller;
mod convert;
mod events;
mod fetch;
mod list;
mod plan;
mod problem;
mod reconciler;
mod release;
mod report;
mod source;
mod version;

pub use api::{
    Approval, Available, Condition, Grant, HookBundle, HookBundleSpec, HookBundleStatus, HookStatus, Key, Limits,
    OciSource, Pending, SecretKey, SecretName, Source, Verification, definition,
};
pub use controller::{ControlError, FINALIZER, Options, run, served};
pub use list::LIST_EVERY;
pub use release::release;
pub use source::SourceOptions;
