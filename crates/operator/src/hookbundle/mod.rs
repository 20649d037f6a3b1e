//! HookBundles: bundles that the cluster's users name, kept at work.
//!
//! ```text
//!  HookBundle ─▶ controller ─▶ keeper ─┬▶ plan: what to do next ─▶ fetch, source: bring a version ─▶ Installer: have it at work
//!                                      └▶ report, conditions: the status ─▶ changes: the Events
//! ```
//!
//! Never runs a hook itself: an [`Installer`](boathook_core::model::Installer) does.

mod api;
mod changes;
mod controller;
mod convert;
mod fetch;
mod keeper;
mod list;
mod plan;
mod problem;
mod release;
mod report;
mod source;
mod subject;
mod version;

pub use api::{
    Approval, Available, Condition, Grant, HookBundle, HookBundleSpec, HookBundleStatus, HookStatus, Key, Limits,
    OciSource, Pending, SecretKey, SecretName, Source, Verification, definition,
};
pub use controller::{ControlError, FINALIZER, Options, keep, served};
pub use list::LIST_EVERY;
pub use release::release;
pub use source::SourceOptions;
