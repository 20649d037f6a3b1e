//! Conversion of custom resources: what a hook binds, and what it is asked.

use std::{fmt, sync::Arc};

use super::BindingName;

/// One entry of `kubernetesCustomResourceConversion[]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConversionBinding {
    pub name: BindingName,
    /// `crdName`, for example `crontabs.stable.example.com`.
    pub crd: Arc<str>,
    /// `conversions[]`: at least one, without duplicates.
    pub conversions: Vec<ConversionRule>,
    pub group: Option<Arc<str>>,
    /// Names of `kubernetes` bindings, including those of its group.
    pub include_snapshots_from: Arc<[BindingName]>,
}

/// One step that a hook can do. Versions are short (`v1beta1`), because the group is the definition's.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConversionRule {
    /// `fromVersion`
    pub from: Arc<str>,
    /// `toVersion`
    pub to: Arc<str>,
}

impl fmt::Display for ConversionRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {}", self.from, self.to)
    }
}

/// One conversion request for a hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conversion {
    pub binding: BindingName,
    pub rule: ConversionRule,
    /// Objects of version `rule.from`, as JSON.
    pub objects: Vec<String>,
}
