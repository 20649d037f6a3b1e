//! Defaults of built-in kinds.
//!
//! Never overwrites what is set.

use serde_json::Value;

use crate::kinds::Resource;

pub(crate) fn apply(_resource: &Resource, _object: &mut Value) {}
