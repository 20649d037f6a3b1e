//! A page of a binding's snapshot, with the values of Secrets hidden unless the request includes `showSecrets`.

use std::ops::Bound;

use boathook_core::model::{Item, Items, ObjectKey};
use serde_json::Value;

use super::{
    operator::{Refused, SnapshotQuery},
    views::{BindingSnapshot, HIDDEN, SnapshotItem},
};

/// The number of items in a page if the request does not say.
pub const DEFAULT_ITEMS: usize = 100;
/// The maximum number of items in a page.
pub const MOST_ITEMS: usize = 1_000;
/// A page ends with the item that makes it larger than this.
pub const PAGE_BYTES: usize = 4 * 1024 * 1024;

/// kubectl stores the whole object in this annotation, including its data.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Makes one page of a binding's objects. `secrets` says that the binding's objects are Secrets. An object's own kind
/// says so, too.
pub fn page(items: &Items, query: &SnapshotQuery, secrets: bool) -> Result<BindingSnapshot, Refused> {
    let limit = limit(query)?;
    let start = match (&query.continue_token, &query.namespace) {
        (Some(_), _) if query.binding.is_none() => {
            return Err(Refused::Bad("`continue` needs a binding: each has pages of its own".to_owned()));
        }
        (Some(token), _) => Bound::Excluded(key(token)),
        (None, Some(namespace)) => {
            Bound::Included(ObjectKey { namespace: Some(namespace.as_str().into()), name: "".into() })
        }
        (None, None) => Bound::Unbounded,
    };
    let wanted = |key: &ObjectKey| query.namespace.is_none() || key.namespace.as_deref() == query.namespace.as_deref();
    let mut rest = items.range((start, Bound::Unbounded)).take_while(|(key, _)| wanted(key)).peekable();
    let mut page = BindingSnapshot { count: items.size(), ..BindingSnapshot::default() };
    let mut bytes = 0;
    let mut last = None;
    while page.snapshot.len() < limit && bytes < PAGE_BYTES {
        let Some((key, item)) = rest.next() else { break };
        bytes += size(item);
        page.snapshot.push(shown(item, secrets, query.show_secrets));
        last = Some(key);
    }
    page.continue_token = last.filter(|_| rest.peek().is_some()).map(ToString::to_string);
    Ok(page)
}

fn limit(query: &SnapshotQuery) -> Result<usize, Refused> {
    match query.limit.unwrap_or(DEFAULT_ITEMS) {
        limit @ 1..=MOST_ITEMS => Ok(limit),
        limit => Err(Refused::Bad(format!("`limit` is {limit}; a page has 1 to {MOST_ITEMS} items"))),
    }
}

/// Splits at the slash, because neither a namespace nor a name contains one.
fn key(token: &str) -> ObjectKey {
    match token.split_once('/') {
        Some((namespace, name)) => ObjectKey { namespace: Some(namespace.into()), name: name.into() },
        None => ObjectKey { namespace: None, name: token.into() },
    }
}

fn size(item: &Item) -> usize {
    let length = |text: &Option<std::sync::Arc<str>>| text.as_ref().map_or(0, |text| text.len());
    length(&item.object) + length(&item.filter_result)
}

fn shown(item: &Item, secrets: bool, show: bool) -> SnapshotItem {
    let json = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_else(|_| Value::from(text));
    let mut object = item.object.as_deref().map(json);
    let mut filter_result = item.filter_result.as_deref().map(json);
    let is_secret = |object: &Value| object.get("kind").is_some_and(|kind| kind == "Secret");
    if !show && (secrets || object.as_ref().is_some_and(is_secret)) {
        if let Some(object) = &mut object {
            blot(object);
        }
        // The result of a filter may be any part of a Secret.
        filter_result = filter_result.map(|_| HIDDEN.into());
    }
    SnapshotItem {
        namespace: item.key.namespace.as_deref().map(str::to_owned),
        name: item.key.name.to_string(),
        uid: item.uid.to_string(),
        resource_version: item.resource_version.to_string(),
        filter_result,
        object,
    }
}

fn blot(secret: &mut Value) {
    for field in ["data", "stringData"] {
        match secret.get_mut(field) {
            Some(Value::Object(values)) => values.values_mut().for_each(|value| *value = HIDDEN.into()),
            Some(other) => *other = HIDDEN.into(),
            None => {}
        }
    }
    let annotation = secret.pointer_mut("/metadata/annotations").and_then(|all| all.get_mut(LAST_APPLIED));
    if let Some(annotation) = annotation {
        *annotation = HIDDEN.into();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use boathook_core::model::Kept;
    use serde_json::json;

    use super::*;

    fn item(key: &str, object: Option<Value>, filter_result: Option<Value>) -> (ObjectKey, Kept) {
        let text = |value: Value| Arc::from(value.to_string());
        let key = super::key(key);
        let (object, filter_result) = (object.map(text), filter_result.map(text));
        let item = Item { key: key.clone(), uid: "u".into(), resource_version: "1".into(), object, filter_result };
        (key, item.into())
    }

    fn named(keys: &[&str]) -> Items {
        keys.iter().map(|key| item(key, None, None)).collect()
    }

    fn names(page: &BindingSnapshot) -> Vec<String> {
        let full = |item: &SnapshotItem| match &item.namespace {
            Some(namespace) => format!("{namespace}/{}", item.name),
            None => item.name.clone(),
        };
        page.snapshot.iter().map(full).collect()
    }

    fn of(binding: &str) -> SnapshotQuery {
        SnapshotQuery { binding: Some(binding.to_owned()), ..SnapshotQuery::default() }
    }

    #[test]
    fn pages_go_through_all_items_once_and_in_order() {
        let keys = ["a/1", "a/2", "b/1", "b/2", "c/0"];
        let items = named(&keys);
        let (mut seen, mut token) = (Vec::new(), None);
        loop {
            let query = SnapshotQuery { limit: Some(2), continue_token: token, ..of("x") };
            let page = page(&items, &query, false).unwrap();
            assert_eq!(page.count, 5);
            assert!(page.snapshot.len() <= 2);
            seen.extend(names(&page));
            token = page.continue_token;
            if token.is_none() {
                break;
            }
        }
        assert_eq!(seen, keys);
    }

    #[test]
    fn a_page_goes_on_after_an_item_that_is_gone() {
        let query = SnapshotQuery { continue_token: Some("a/2".to_owned()), ..of("x") };
        assert_eq!(names(&page(&named(&["a/1", "a/3"]), &query, false).unwrap()), ["a/3"]);
        let query = SnapshotQuery { continue_token: Some("n2".to_owned()), ..of("x") };
        assert_eq!(names(&page(&named(&["n1", "n2", "n3"]), &query, false).unwrap()), ["n3"]);
    }

    #[test]
    fn one_namespace_only() {
        let items = named(&["a/1", "b/1", "b/2", "b-c/1", "c/0"]);
        let query = SnapshotQuery { namespace: Some("b".to_owned()), limit: Some(1), ..of("x") };
        let first = page(&items, &query, false).unwrap();
        assert_eq!((names(&first), first.continue_token.as_deref()), (vec!["b/1".to_owned()], Some("b/1")));
        let query = SnapshotQuery { continue_token: first.continue_token, ..query };
        let second = page(&items, &query, false).unwrap();
        assert_eq!((names(&second), second.continue_token), (vec!["b/2".to_owned()], None));
    }

    #[test]
    fn a_page_is_bounded_in_bytes() {
        let big = "x".repeat(PAGE_BYTES / 2);
        let items: Items = (0..5).map(|n| item(&format!("a/{n}"), Some(json!({ "x": big })), None)).collect();
        let page = page(&items, &of("x"), false).unwrap();
        assert_eq!((page.snapshot.len(), page.continue_token.as_deref()), (2, Some("a/1")));
    }

    #[test]
    fn bad_questions_are_refused() {
        let ask = |query| page(&Items::new_sync(), &query, false).unwrap_err().to_string();
        assert!(ask(SnapshotQuery { limit: Some(0), ..of("x") }).contains("1 to 1000"));
        assert!(ask(SnapshotQuery { limit: Some(1_001), ..of("x") }).contains("1001"));
        let no_binding = SnapshotQuery { continue_token: Some("a".to_owned()), ..SnapshotQuery::default() };
        assert!(ask(no_binding).contains("needs a binding"));
    }

    #[test]
    fn values_of_secrets_are_shown_only_when_asked_for() {
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": { "name": "s", "labels": { "a": "b" }, "annotations": { LAST_APPLIED: "hunter2", "other": "kept" } },
            "data": { "password": "hunter2" }, "stringData": { "token": "hunter2" }, "type": "Opaque",
        });
        let items: Items = [item("n/s", Some(secret.clone()), Some(json!({ "p": "hunter2" })))].into_iter().collect();
        let text = |query: &SnapshotQuery| serde_json::to_string(&page(&items, query, false).unwrap()).unwrap();
        let hidden = text(&of("x"));
        assert!(!hidden.contains("hunter2"), "{hidden}");
        for kept in ["password", "token", "kept", "Opaque", r#""a":"b""#] {
            assert!(hidden.contains(kept), "no {kept} in {hidden}");
        }
        let shown = text(&SnapshotQuery { show_secrets: true, ..of("x") });
        assert_eq!(shown.matches("hunter2").count(), 4, "{shown}");
        // The binding keeps no object, so there is no kind to read.
        let items: Items = [item("n/s", None, Some(json!("hunter2")))].into_iter().collect();
        assert_eq!(page(&items, &of("x"), true).unwrap().snapshot[0].filter_result, Some(HIDDEN.into()));
        assert_eq!(page(&items, &of("x"), false).unwrap().snapshot[0].filter_result, Some("hunter2".into()));
    }
}
