//! The values of modules, as a run sees and changes them.

use std::{fmt, sync::Arc};

/// What a run of a module's hook sees. Both are JSON objects.
#[derive(Clone, PartialEq, Eq)]
pub struct HookValues {
    /// The values, with everything that wrote them.
    pub values: Arc<str>,
    /// The configuration, as users wrote it.
    pub config: Arc<str>,
    /// Whether the call may change them. Only runs may: an answer is no transaction.
    pub changeable: bool,
}

/// Values may be secret.
impl fmt::Debug for HookValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HookValues")
    }
}

/// What a run changes: texts of JSON patches, in the order of its calls.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ValuesPatch {
    pub values: Vec<String>,
    pub config: Vec<String>,
}

impl ValuesPatch {
    pub fn is_empty(&self) -> bool {
        self.values.is_empty() && self.config.is_empty()
    }
}

impl fmt::Debug for ValuesPatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ValuesPatch({} of values, {} of the configuration)", self.values.len(), self.config.len())
    }
}
