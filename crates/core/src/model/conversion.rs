//! Conversion of custom resources: what a hook binds of it, and what it is asked.

use std::{fmt, sync::Arc};

use super::BindingName;

/// One entry of `kubernetesCustomResourceConversion[]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConversionBinding {
    /// `name`
    pub name: BindingName,
    /// `crdName`: `crontabs.stable.example.com`
    pub crd: Arc<str>,
    /// `conversions[]`: at least one, none twice.
    pub conversions: Vec<ConversionRule>,
    /// `group`.
    pub group: Option<Arc<str>>,
    /// Names of `kubernetes` bindings; those of its group are among them.
    pub include_snapshots_from: Arc<[BindingName]>,
}

/// One step that a hook can do. Versions are short (`v1beta1`): the group is the definition's.
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

/// One question to a hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conversion {
    /// The binding.
    pub binding: BindingName,
    /// The step.
    pub rule: ConversionRule,
    /// Objects of version `rule.from`, as JSON.
    pub objects: Vec<String>,
}
