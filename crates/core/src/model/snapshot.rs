//! The objects that bindings match, as immutable maps. To keep one moment is to clone a pointer.

use std::{collections::HashMap, sync::Arc};

use rpds::RedBlackTreeMapSync;

use super::{BindingName, ObjectKey};

/// One object as a binding sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    pub key: ObjectKey,
    /// `metadata.uid`.
    pub uid: Box<str>,
    /// `metadata.resourceVersion`.
    pub resource_version: Box<str>,
    /// `None` with `content: none`.
    pub object: Option<Arc<str>>,
    /// What the `jqFilter` returned. Present exactly if the binding has one.
    pub filter_result: Option<Arc<str>>,
}

/// All objects of one binding, ordered by namespace and name.
pub type Items = RedBlackTreeMapSync<ObjectKey, Arc<Item>>;

/// The objects of all bindings of one hook, taken at the same time.
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
