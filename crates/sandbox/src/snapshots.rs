//! The objects that a hook's bindings match, at one moment, read with a cursor. A map is never copied, and neither is
//! an object that the guest does not request.

use std::{collections::BTreeSet, ops::Bound, sync::Arc};

use boathook_core::model::{BindingName, Item, Items, ObjectKey, SnapshotSet, Trigger};

/// One `next` ends after this many bytes.
const PAGE_BYTES: usize = 1024 * 1024;

/// What an item costs at least, so that a page of tiny items is also limited.
const ITEM_BYTES: usize = 64;

/// The snapshots that a run may open, and the moment that they show, which is the run's beginning.
#[derive(Default)]
pub(super) struct Readable {
    names: Vec<Arc<[BindingName]>>,
    moment: Option<SnapshotSet>,
}

impl Readable {
    /// Everything that the contexts of a run list.
    pub fn by(triggers: &[Trigger]) -> Self {
        Self { names: triggers.iter().map(|trigger| trigger.snapshots.clone()).collect(), moment: None }
    }

    /// Only these snapshots.
    pub fn of(names: Arc<[BindingName]>) -> Self {
        Self { names: vec![names], moment: None }
    }

    /// None, if the component has no means to open them.
    pub fn if_opened(self, opens_snapshots: bool) -> Self {
        if opens_snapshots { self } else { Self::default() }
    }

    /// The same snapshots at this moment. This is cheap, because the maps are shared. A run keeps only what it may open,
    /// because the objects of a moment stay in memory until its run ends.
    pub fn at(self, moment: impl FnOnce() -> SnapshotSet) -> Self {
        let listed = |name: &BindingName| self.names.iter().any(|names| names.contains(name));
        let moment = self.names.iter().any(|names| !names.is_empty()).then(|| moment().only(listed));
        Self { moment, ..self }
    }

    /// The objects of a binding at that moment. `None` if they are not known yet.
    pub fn items(&self, name: &BindingName) -> Option<&Items> {
        self.moment.as_ref().and_then(|moment| moment.items(name))
    }

    pub fn find(&self, name: &str) -> Option<&BindingName> {
        self.names.iter().flat_map(|names| names.iter()).find(|binding| binding.unique() == name)
    }

    pub fn refusal(&self, name: &str) -> String {
        let names: BTreeSet<_> = self.names.iter().flat_map(|names| names.iter()).map(BindingName::unique).collect();
        let names: Vec<_> = names.into_iter().collect();
        let choice =
            if names.is_empty() { "it can open none".to_owned() } else { format!("it can open: {}", names.join(", ")) };
        format!("no context of this run lists the snapshot of {name:?}; {choice} (see includeSnapshotsFrom)")
    }
}

/// An opened snapshot, and how far it was read.
pub struct Cursor {
    items: Items,
    last: Option<ObjectKey>,
}

impl Cursor {
    pub fn new(items: Items) -> Self {
        Self { items, last: None }
    }

    pub fn items(&self) -> &Items {
        &self.items
    }

    pub fn next(&mut self, max: u32) -> (Vec<Arc<Item>>, usize) {
        let start = self.last.as_ref().map_or(Bound::Unbounded, Bound::Excluded);
        let (mut page, mut bytes, mut last) = (Vec::new(), 0, None);
        for (key, item) in self.items.range((start, Bound::Unbounded)).take(max as usize) {
            bytes += cost(item);
            if bytes > PAGE_BYTES && !page.is_empty() {
                bytes -= cost(item);
                break;
            }
            page.push(item.item.clone());
            last = Some(key);
        }
        if let Some(last) = last.cloned() {
            self.last = Some(last);
        }
        (page, bytes)
    }
}

pub(super) fn cost(item: &Item) -> usize {
    let json = |text: Option<&Arc<str>>| text.map_or(0, |text| text.len());
    let key = item.key.name.len() + json(item.key.namespace.as_ref());
    let text = key + item.uid.len() + item.resource_version.len();
    (text + json(item.object.as_ref()) + json(item.filter_result.as_ref())).max(ITEM_BYTES)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn items(objects: impl IntoIterator<Item = (Option<&'static str>, String, usize)>) -> Items {
        let item = |(namespace, name, bytes): (Option<&str>, String, usize)| {
            let key = ObjectKey { namespace: namespace.map(Arc::from), name: name.into() };
            let object = Some("x".repeat(bytes).into());
            let item =
                Item { key: key.clone(), uid: "u".into(), resource_version: "1".into(), object, filter_result: None };
            (key, item.into())
        };
        objects.into_iter().map(item).collect()
    }

    fn names(page: &[Arc<Item>]) -> Vec<String> {
        page.iter().map(|item| format!("{}/{}", item.key.namespace.as_deref().unwrap_or(""), item.key.name)).collect()
    }

    #[test]
    fn a_cursor_goes_through_all_in_order() {
        let objects = [(Some("b"), "a"), (None, "z"), (Some("a"), "y"), (Some("a"), "x")];
        let mut cursor = Cursor::new(items(objects.map(|(namespace, name)| (namespace, name.to_owned(), 1))));
        assert_eq!(names(&cursor.next(3).0), ["/z", "a/x", "a/y"]);
        assert_eq!(names(&cursor.next(0).0), [""; 0]);
        assert_eq!(names(&cursor.next(3).0), ["b/a"]);
        assert_eq!(names(&cursor.next(u32::MAX).0), [""; 0]);
    }

    #[test]
    fn a_page_ends_early_but_is_never_empty() {
        let size = PAGE_BYTES / 2 - 100;
        let mut cursor = Cursor::new(items((0..5).map(|n| (None, format!("{n}"), size))));
        assert_eq!(names(&cursor.next(100).0), ["/0", "/1"]);
        assert_eq!(names(&cursor.next(100).0), ["/2", "/3"]);
        assert_eq!(names(&cursor.next(100).0), ["/4"]);
        let mut cursor = Cursor::new(items((0..2).map(|n| (None, format!("{n}"), PAGE_BYTES * 2))));
        assert_eq!(names(&cursor.next(100).0), ["/0"]);
        assert_eq!(names(&cursor.next(100).0), ["/1"]);
    }

    #[test]
    fn tiny_items_are_bounded_too() {
        let mut cursor = Cursor::new(items((0..20_000).map(|n| (None, format!("{n}"), 0))));
        let (page, bytes) = cursor.next(u32::MAX);
        assert_eq!((page.len(), bytes), (PAGE_BYTES / ITEM_BYTES, PAGE_BYTES));
    }

    #[test]
    fn a_refusal_names_what_can_be_opened() {
        let lists = |names: &[&str]| names.iter().map(|name| BindingName::new(*name)).collect();
        let readable = Readable { names: vec![lists(&["pods", "nodes"]), lists(&["pods"])], moment: None };
        assert_eq!(readable.find("nodes").map(BindingName::unique), Some("nodes"));
        assert!(readable.find("secrets").is_none());
        assert!(readable.refusal("secrets").contains("it can open: nodes, pods"));
        assert!(Readable::default().refusal("secrets").contains("it can open none"));
    }
}
