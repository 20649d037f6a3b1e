//! The settings of the hook's bundle: from `--bundle-settings`, or from `spec.settings` of its HookBundle.
//!
//! Read-only, the same for every hook of a bundle.

use crate::data::{DataError, decode};
use crate::host;
use serde::de::DeserializeOwned;

/// The settings as a `T`; with `#[serde(default)]` fields an empty object will do.
pub fn get<T: DeserializeOwned>() -> Result<T, DataError> {
    decode(&host::settings(), || "the bundle's settings".to_owned())
}

/// The settings as JSON text; `{}` without any.
pub fn json() -> String {
    host::settings()
}
