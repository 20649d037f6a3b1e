//! The HookBundle resource: its types, and its definition. Acts on nothing.

mod definition;
mod spec;
mod status;

pub use definition::definition;
pub use spec::{
    Approval, Grant, HookBundle, HookBundleSpec, Key, Limits, OciSource, SecretKey, SecretName, Source, Verification,
};
pub use status::{Available, Condition, HookBundleStatus, HookStatus, Pending};
