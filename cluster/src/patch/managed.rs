//! `metadata.managedFields`: which manager wrote which field.
//!
//! Never decides conflicts.

use serde_json::Value;

use crate::kinds::Resource;
use crate::lifecycle::Context;

pub(crate) fn on_update(
    _resource: &Resource,
    _old: Option<&Value>,
    _new: &mut Value,
    _sub: &str,
    _context: &Context,
) {
}
