//! Tables: the columns that `kubectl get` prints.
//!
//! Never speaks HTTP.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::json;
use crate::kinds::Resource;

/// The column definitions of a resource.
pub(crate) fn columns(_resource: &Resource) -> Value {
    json!([
        { "name": "Name", "type": "string", "format": "name", "description": "", "priority": 0 },
        { "name": "Age", "type": "string", "format": "", "description": "", "priority": 0 },
    ])
}

/// The cells of one stored object.
pub(crate) fn cells(_resource: &Resource, object: &Value, now: Timestamp) -> Vec<Value> {
    vec![
        json::text(object, &["metadata", "name"]).into(),
        crate::time::age(json::text(object, &["metadata", "creationTimestamp"]), now).into(),
    ]
}
