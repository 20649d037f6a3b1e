//! The fields that differ after every write and carry no information. None of them is a part that somebody wrote.

use serde_json::Value;

const VERSIONS: [&str; 4] = ["managedFields", "resourceVersion", "generation", "selfLink"];
const BIRTH: [&str; 2] = ["uid", "creationTimestamp"];

/// What a comparison leaves out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ignore {
    /// `metadata.managedFields`, `resourceVersion`, `generation`, `selfLink`. Default: true.
    pub versions: bool,
    /// `metadata.uid` and `creationTimestamp` of objects that are new or gone. Default: true.
    pub birth: bool,
}

impl Default for Ignore {
    fn default() -> Self {
        Self { versions: true, birth: true }
    }
}

impl Ignore {
    pub const NOTHING: Self = Self { versions: false, birth: false };

    /// The object without what is left out. `lone`: there is no other state to compare it with.
    pub(super) fn cleaned(self, object: &Value, lone: bool) -> Value {
        let mut object = object.clone();
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            if self.versions {
                metadata.retain(|key, _| !VERSIONS.contains(&key.as_str()));
            }
            if self.birth && lone {
                metadata.retain(|key, _| !BIRTH.contains(&key.as_str()));
            }
        }
        object
    }
}
