//! What may still be wanted of what is registered, although no hook at work wants it. Pure.
//!
//! A webhook that is removed lets through what its hook forbids. So nothing is removed as long as somebody who is not
//! loaded yet may want it, and what was registered without a word about its owner waits for all.

use std::collections::BTreeSet;

use boathook_core::model::{BundleId, Source};
use serde_json::Value;

use super::owners;

/// Hooks and sources that are not known, or can't be loaded now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pending {
    /// Hooks that are there and can't be loaded.
    pub hooks: BTreeSet<String>,
    /// Bundles that are not settled.
    pub bundles: BTreeSet<BundleId>,
    /// Nobody knows yet which HookBundles there are: each may be there.
    pub unlisted: bool,
}

impl Pending {
    /// Nothing more can come.
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

    /// Whether somebody may want what is registered in this object.
    pub(super) fn may_want(&self, object: &Value) -> bool {
        match owners::of(object) {
            Some(owners) => owners.iter().any(|(hook, source)| self.hooks.contains(hook) || self.has(source)),
            None => !self.is_none(),
        }
    }
}
