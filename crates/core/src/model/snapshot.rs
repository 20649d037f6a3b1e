//! The objects that bindings match, as immutable maps. To keep one moment is to clone a pointer.

use std::{
    collections::HashMap,
    ops::Deref,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use rpds::RedBlackTreeMapSync;
use serde::{Deserialize, Serialize};

use super::{BindingName, ObjectKey};
use crate::fair::Charge;

/// One object as a binding sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Item {
    #[serde(flatten)]
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

/// An item of a snapshot, with the memory that it counts for. A snapshot shows an item for as long as the object has this
/// state, but a run keeps the snapshots of its beginning.
///
/// We rejected to count for events as well. Runs wait while a snapshot is incomplete for want of memory, and their events
/// would then keep the memory that they wait for. Queues count what events hold.
#[derive(Debug, Clone)]
pub struct Kept {
    pub item: Arc<Item>,
    /// The bytes that the item does not share with other bindings.
    _own: Option<Own>,
    /// The charge for the text that it shares.
    _text: Option<Charge>,
}

impl Kept {
    /// Counts `own` bytes as a part of `all`, and keeps the charge for a shared text.
    pub fn new(item: Item, own: usize, all: &Arc<AtomicUsize>, text: Option<Charge>) -> Self {
        Self { item: Arc::new(item), _own: Some(Own::new(own, all)), _text: text }
    }
}

/// An item that counts for nothing.
impl From<Item> for Kept {
    fn from(item: Item) -> Self {
        Self { item: Arc::new(item), _own: None, _text: None }
    }
}

impl Deref for Kept {
    type Target = Item;

    fn deref(&self) -> &Item {
        &self.item
    }
}

/// Bytes that are a part of what all items of a binding take.
#[derive(Debug)]
struct Own {
    bytes: usize,
    all: Arc<AtomicUsize>,
}

impl Own {
    fn new(bytes: usize, all: &Arc<AtomicUsize>) -> Self {
        all.fetch_add(bytes, Ordering::Relaxed);
        Self { bytes, all: all.clone() }
    }
}

impl Clone for Own {
    fn clone(&self) -> Self {
        Self::new(self.bytes, &self.all)
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        self.all.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// All objects of one binding, ordered by namespace and name.
pub type Items = RedBlackTreeMapSync<ObjectKey, Kept>;

/// The objects of all bindings of one hook, taken at the same time.
#[derive(Debug, Clone, Default)]
pub struct SnapshotSet(HashMap<BindingName, Items>);

impl SnapshotSet {
    /// From the maps of a hook's bindings.
    pub fn new(bindings: HashMap<BindingName, Items>) -> Self {
        Self(bindings)
    }

    /// Without the objects of the bindings that are not `wanted`.
    #[must_use]
    pub fn only(mut self, wanted: impl Fn(&BindingName) -> bool) -> Self {
        self.0.retain(|binding, _| wanted(binding));
        self
    }

    /// The objects of one binding.
    pub fn items(&self, binding: &BindingName) -> Option<&Items> {
        self.0.get(binding)
    }
}
