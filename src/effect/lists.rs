//! How two lists differ: by the items' key where they have one, or else by which items are equal.
//!
//! Never takes more than time linear in the size of the lists.

use std::collections::{HashMap, VecDeque};

use serde_json::Value;

use super::{
    diff::{self, Change},
    path::{Path, Segment},
};

/// Keys by which Kubernetes merges lists, the commonest first.
const KEYS: [&str; 12] = [
    "name",
    "key",
    "uid",
    "mountPath",
    "devicePath",
    "ip",
    "containerPort",
    "port",
    "topologyKey",
    "type",
    "resource",
    "id",
];

pub(super) fn compare(before: &[Value], after: &[Value], path: &mut Path, changes: &mut Vec<Change>) {
    match KEYS.into_iter().find_map(|key| Some((key, keyed(before, key)?, keyed(after, key)?))) {
        Some((key, before, after)) => by_key(key, &before, &after, path, changes),
        None => by_value(before, after, path, changes),
    }
}

/// The items with their values of a key, as JSON. `None` if that does not tell them apart.
struct Keyed<'v> {
    items: Vec<(String, &'v Value)>,
    by_value: HashMap<String, &'v Value>,
}

fn keyed<'v>(list: &'v [Value], key: &str) -> Option<Keyed<'v>> {
    let value = |item: &'v Value| {
        let value = item.get(key).filter(|value| value.is_string() || value.is_number())?;
        Some((value.to_string(), item))
    };
    let items: Vec<_> = list.iter().map(value).collect::<Option<_>>()?;
    let by_value: HashMap<_, _> = items.iter().cloned().collect();
    (by_value.len() == items.len()).then_some(Keyed { items, by_value })
}

fn by_key(key: &'static str, before: &Keyed<'_>, after: &Keyed<'_>, path: &mut Path, changes: &mut Vec<Change>) {
    let known = changes.len();
    let new = after.items.iter().filter(|(value, _)| !before.by_value.contains_key(value));
    let old = before.items.iter().map(|(value, item)| (Some(*item), after.by_value.get(value).copied()));
    for (before, after) in old.chain(new.map(|(_, item)| (None, Some(*item)))) {
        let value = before.or(after).and_then(|item| item.get(key)).cloned().unwrap_or_default();
        path.within(Segment::Item { key, value }, |path| match (before, after) {
            (Some(before), Some(after)) => diff::compare(before, after, path, changes),
            (before, after) => changes.push(Change::new(path, before, after)),
        });
    }
    if changes.len() == known {
        let keys = |list: &Keyed<'_>| list.items.iter().filter_map(|(_, item)| item.get(key).cloned()).collect();
        reordered(keys(before), keys(after), path, changes);
    }
}

/// Equal items are paired, wherever they are; of the others, as many are compared as there are.
fn by_value(before: &[Value], after: &[Value], path: &mut Path, changes: &mut Vec<Change>) {
    let mut left: HashMap<String, VecDeque<usize>> = HashMap::new();
    for (index, item) in before.iter().enumerate() {
        left.entry(item.to_string()).or_default().push_back(index);
    }
    let mut new: Vec<(usize, &Value)> = after.iter().enumerate().collect();
    // The last of equal items is the one that is new or gone.
    new.retain(|(_, item)| left.get_mut(&item.to_string()).and_then(VecDeque::pop_front).is_none());
    let mut gone: Vec<usize> = left.into_values().flatten().collect();
    gone.sort_unstable();
    let gone: Vec<(usize, &Value)> = gone.into_iter().filter_map(|index| Some((index, before.get(index)?))).collect();
    if gone.is_empty() && new.is_empty() {
        return reordered(before.to_vec(), after.to_vec(), path, changes);
    }
    let same_shape = gone.len() == new.len() && gone.iter().chain(&new).all(|(_, item)| item.is_object());
    if same_shape {
        for ((_, before), (index, after)) in gone.into_iter().zip(new) {
            path.within(Segment::Index(index), |path| diff::compare(before, after, path, changes));
        }
        return;
    }
    for (index, item) in gone {
        path.within(Segment::Index(index), |path| changes.push(Change::new(path, Some(item), None)));
    }
    for (index, item) in new {
        path.within(Segment::Index(index), |path| changes.push(Change::new(path, None, Some(item))));
    }
}

fn reordered(before: Vec<Value>, after: Vec<Value>, path: &Path, changes: &mut Vec<Change>) {
    if before != after {
        let (before, after) = (Some(before.into()), Some(after.into()));
        changes.push(Change { path: path.clone(), before, after, reordered: true });
    }
}
