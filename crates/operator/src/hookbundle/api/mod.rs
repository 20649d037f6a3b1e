//! The HookBundle resource: its types, and its CustomResourceDefinition.

mod definition;
mod grant;
mod spec;
mod status;

pub use definition::definition;
pub use grant::Grant;
pub use spec::{
    Approval, HookBundle, HookBundleSpec, Key, Limits, OciSource, SecretKey, SecretName, Source, Verification,
};
pub use status::{Available, Condition, HookBundleStatus, HookStatus, Pending};
