//! `snapshots`: the objects that the hook's bindings match, of one moment, read by cursor.
//!
//! Never copies a map and never copies an object that the guest does not pull.

use std::{collections::BTreeSet, ops::Bound, sync::Arc};

use wasmtime::component::Resource;

use crate::{
    model::{BindingName, Item, Items, Moment, ObjectKey, Trigger},
    sandbox::{
        bindings::boathook::hook::snapshots::{Host, HostSnapshot, Item as WitItem},
        limits,
        store::State,
    },
};

/// Bytes after which one `next` ends.
const PAGE_BYTES: usize = 1024 * 1024;

/// What an item costs at least, so that a page of tiny items is bounded too.
const ITEM_BYTES: usize = 64;

/// What a run may open, and the moment that it shows: the run's beginning.
#[derive(Default)]
pub struct Readable {
    names: Vec<Arc<[BindingName]>>,
    moment: Option<Moment>,
}

impl Readable {
    /// Everything that the contexts of a run list.
    pub(in crate::sandbox) fn by(triggers: &[Trigger]) -> Self {
        Self { names: triggers.iter().map(|trigger| trigger.snapshots.clone()).collect(), moment: None }
    }

    /// Just these.
    pub(in crate::sandbox) fn of(names: Arc<[BindingName]>) -> Self {
        Self { names: vec![names], moment: None }
    }

    /// The same, of this moment. Cheap: the maps are shared. A run that may open nothing holds none.
    pub(in crate::sandbox) fn at(self, moment: impl FnOnce() -> Moment) -> Self {
        let moment = self.names.iter().any(|names| !names.is_empty()).then(moment);
        Self { moment, ..self }
    }

    fn find(&self, name: &str) -> Option<&BindingName> {
        self.names.iter().flat_map(|names| names.iter()).find(|binding| binding.unique() == name)
    }

    fn refusal(&self, name: &str) -> String {
        let names: BTreeSet<_> = self.names.iter().flat_map(|names| names.iter()).map(BindingName::unique).collect();
        let names: Vec<_> = names.into_iter().collect();
        let choice =
            if names.is_empty() { "it can open none".to_owned() } else { format!("it can open: {}", names.join(", ")) };
        format!("no context of this run lists the snapshot of {name:?}; {choice} (see includeSnapshotsFrom)")
    }
}

/// An opened snapshot and how far it was read.
pub struct Cursor {
    items: Items,
    last: Option<ObjectKey>,
}

impl Cursor {
    fn new(items: Items) -> Self {
        Self { items, last: None }
    }

    fn next(&mut self, max: u32) -> (Vec<WitItem>, usize) {
        let start = self.last.as_ref().map_or(Bound::Unbounded, Bound::Excluded);
        let (mut page, mut bytes, mut last) = (Vec::new(), 0, None);
        for (key, item) in self.items.range((start, Bound::Unbounded)).take(max as usize) {
            bytes += cost(item);
            if bytes > PAGE_BYTES && !page.is_empty() {
                bytes -= cost(item);
                break;
            }
            page.push(convert(item));
            last = Some(key);
        }
        if let Some(last) = last.cloned() {
            self.last = Some(last);
        }
        (page, bytes)
    }
}

fn cost(item: &Item) -> usize {
    let json = |text: Option<&Arc<str>>| text.map_or(0, |text| text.len());
    let key = item.key.name.len() + json(item.key.namespace.as_ref());
    let text = key + item.uid.len() + item.resource_version.len();
    (text + json(item.object.as_ref()) + json(item.filter_result.as_ref())).max(ITEM_BYTES)
}

fn convert(item: &Item) -> WitItem {
    let json = |text: Option<&Arc<str>>| text.map(|text| text.as_ref().to_owned());
    WitItem {
        namespace: json(item.key.namespace.as_ref()),
        name: item.key.name.as_ref().to_owned(),
        uid: item.uid.as_ref().to_owned(),
        resource_version: item.resource_version.as_ref().to_owned(),
        object: json(item.object.as_ref()),
        filter_result: json(item.filter_result.as_ref()),
    }
}

impl Host for State {
    fn open(&mut self, binding: String) -> wasmtime::Result<Result<Resource<Cursor>, String>> {
        self.spend(binding.len())?;
        let Some(name) = self.snapshots.find(&binding).cloned() else {
            return Ok(Err(self.snapshots.refusal(&binding)));
        };
        let items = self.snapshots.moment.as_ref().and_then(|moment| moment.items(&name));
        self.host.opened(&name, items);
        let Some(items) = items else {
            return Ok(Err(format!("the objects of binding {binding:?} are not known yet; try again later")));
        };
        let cursor = Cursor::new(items.clone());
        Ok(self
            .table
            .push(cursor)
            .map_err(|_| format!("this run holds {} handles already; drop snapshots that were read", limits::HANDLES)))
    }
}

impl HostSnapshot for State {
    fn len(&mut self, snapshot: Resource<Cursor>) -> wasmtime::Result<u64> {
        self.spend(0)?;
        Ok(self.table.get(&snapshot)?.items.size() as u64)
    }

    fn next(&mut self, snapshot: Resource<Cursor>, max: u32) -> wasmtime::Result<Vec<WitItem>> {
        self.spend(0)?;
        let (page, bytes) = self.table.get_mut(&snapshot)?.next(max);
        self.spend_answer(bytes)?;
        Ok(page)
    }

    fn get(
        &mut self,
        snapshot: Resource<Cursor>,
        namespace: Option<String>,
        name: String,
    ) -> wasmtime::Result<Option<WitItem>> {
        self.spend(name.len() + super::len(namespace.as_ref()))?;
        let key = ObjectKey { namespace: namespace.map(Arc::from), name: name.into() };
        let Some(item) = self.table.get(&snapshot)?.items.get(&key) else { return Ok(None) };
        let item = item.clone();
        self.spend_answer(cost(&item))?;
        Ok(Some(convert(&item)))
    }

    fn drop(&mut self, snapshot: Resource<Cursor>) -> wasmtime::Result<()> {
        self.table.delete(snapshot)?;
        Ok(())
    }
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
            (key, Arc::new(item))
        };
        objects.into_iter().map(item).collect()
    }

    fn names(page: &[WitItem]) -> Vec<String> {
        page.iter().map(|item| format!("{}/{}", item.namespace.as_deref().unwrap_or(""), item.name)).collect()
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
