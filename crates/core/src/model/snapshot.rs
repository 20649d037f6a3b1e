//! The objects that bindings match, as immutable maps: keeping one moment is cloning a pointer.

use std::{collections::HashMap, sync::Arc};

use rpds::RedBlackTreeMapSync;

use super::{BindingName, ObjectKey};

/// One object as a binding sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// Where it is.
    pub key: ObjectKey,
    /// `metadata.uid`.
    pub uid: Box<str>,
    /// `metadata.resourceVersion`.
    pub resource_version: Box<str>,
    /// Absent with `content: none`.
    pub object: Option<Arc<str>>,
    /// What the `jqFilter` gave; present exactly when the binding has one.
    pub filter_result: Option<Arc<str>>,
}

/// All objects of one binding, by namespace and name.
pub type Items = RedBlackTreeMapSync<ObjectKey, Arc<Item>>;

/// All bindings' objects of one hook, taken at the same time.
#[derive(Debug, Clone, Default)]
pub struct Moment(HashMap<BindingName, Items>);

impl Moment {
    /// From the maps of a hook's bindings.
    pub fn new(bindings: HashMap<BindingName, Items>) -> Self {
        Self(bindings)
    }

    /// The objects of one binding.
    pub fn items(&self, binding: &BindingName) -> Option<&Items> {
        self.0.get(binding)
    }
}
