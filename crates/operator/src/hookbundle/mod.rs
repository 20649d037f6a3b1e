//! HookBundles: bundles that the cluster's users name, and that the operator runs.
//!
//! ```text
//!  HookBundle ─▶ controller ─▶ reconciler ─┬▶ plan: what to do next ─▶ source: pull a version ─▶ Installer: run it
//!                                          └▶ report: the status and the Events
//!                       reconciler/trial: a new version beside the running one ─▶ rollout: what becomes of it
//! ```
//!
//! This module never runs a hook itself. An [`Installer`](boathook_core::model::Installer) does.

mod api;
mod controller;
mod list;
mod plan;
mod problem;
mod reconciler;
mod report;
mod rollout;
mod source;
mod trimmed;
mod version;

pub(crate) use api::tidy;
pub use api::{
    Approval, Available, AwsSigV4Form, BasicForm, BearerForm, Condition, CredentialForm, Grant, HeaderForm, HookBundle,
    HookBundleSpec, HookBundleStatus, HookRollout, HookStatus, HttpCredential, HttpGrant, Key, Limits, OciSource,
    Pending, Rollout, RolloutStatus, SecretKey, SecretName, Settings, Source, Verification, definition,
};
pub use controller::{ControlError, FINALIZER, Options, listable, run, served};
pub use list::Lists;
pub(crate) use plan::{Due, Looked, due};
pub(crate) use problem::{Problem, cut};
pub use source::SourceOptions;
pub(crate) use source::Sources;
pub(crate) use trimmed::MAX_SETTINGS;
pub(crate) use version::{Version, permissions};
