//! What may still be needed of the registrations although no hook that runs needs it. Pure.
//!
//! If a webhook is removed, everything passes that its hook forbids. A registration is therefore not removed while a
//! hook that is not loaded yet may need it. A registration without an owner waits for all sources.

use std::collections::BTreeSet;

use boathook_core::model::{BundleId, Source};
use serde_json::Value;

use super::owners;

/// Hooks and sources that are not known yet, or cannot be loaded now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pending {
    /// Hooks that exist and cannot be loaded.
    pub hooks: BTreeSet<String>,
    /// Bundles that are not settled.
    pub bundles: BTreeSet<BundleId>,
    /// Whether it is not known yet which HookBundles exist. Any of them may exist.
    pub unlisted: bool,
}

impl Pending {
    /// Whether nothing more can be added.
    pub fn is_none(&self) -> bool {
        self.hooks.is_empty() && self.bundles.is_empty() && !self.unlisted
    }

    /// Whether the source may have hooks that are not known.
    pub fn has(&self, source: &Source) -> bool {
        match source {
            Source::Directory => false,
            Source::Bundle(id) => self.bundles.contains(id) || (self.unlisted && id.namespace.is_some()),
        }
    }

    /// Whether a pending hook may need this object's registration.
    pub(super) fn may_want(&self, object: &Value) -> bool {
        match owners::of(object) {
            Some(owners) => owners.iter().any(|(hook, source)| self.hooks.contains(hook) || self.has(source)),
            None => !self.is_none(),
        }
    }
}
