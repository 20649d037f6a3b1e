//! Where a watch continues, and whether the API server went back in time, for example after etcd was restored from a
//! snapshot. The server does not report that. Once its writes have passed the version that a watch knows, the watch
//! would continue over the gap as if nothing had happened.
//!
//! Before a watch continues where another one ended, the stream therefore checks one object: the last one that it
//! received. If the history continues from there, the server has no older version of that object. If the object is
//! gone, the watch must send its deletion.

use std::sync::Arc;

use boathook_core::model::{Object, ObjectKey};

use super::{
    connection,
    context::Context,
    error::RequestError,
    request,
    wire::{self, Line},
};

/// How a stream continues when a list for some subscribers is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Resume {
    /// The watch is not past the list, so it serves both.
    Keep,
    /// The watch starts at the list. The other subscribers have already seen some of what it sends.
    FromList,
    /// It is unknown what the other subscribers missed. The watch starts at the list, and they need a list too.
    FromListAndRelist,
}

/// `watch` is where the watch of the other subscribers stands, if there are any. `asked_at` is where it stood when the
/// list was requested. A list shows the newest state, so it cannot be older than that, unless the server was restored
/// from an older state. In that case, what the other subscribers know never happened.
pub(super) fn resume(watch: Option<&str>, asked_at: &str, list: &str) -> Resume {
    let Some(watch) = watch else { return Resume::FromList };
    match (number(watch), number(list)) {
        (_, Some(list)) if number(asked_at).is_some_and(|asked_at| list < asked_at) => Resume::FromListAndRelist,
        (Some(watch), Some(list)) if watch <= list => Resume::Keep,
        (Some(_), Some(_)) => Resume::FromList,
        _ => Resume::FromListAndRelist,
    }
}

/// Versions of one kind grow with every change, and the Kubernetes API now allows clients to compare them as numbers. A
/// server whose versions are not numbers also works, but costs more lists.
pub(super) fn number(version: &str) -> Option<u64> {
    version.parse().ok()
}

/// The last change that was received.
#[derive(Debug, Clone)]
pub(super) struct LastChange {
    object: Arc<Object>,
    version: u64,
    deleted: bool,
}

impl LastChange {
    /// Returns `None` if the server's versions are not numbers.
    pub fn new(object: &Arc<Object>, deleted: bool) -> Option<Self> {
        let version = number(&object.resource_version)?;
        Some(Self { object: object.clone(), version, deleted })
    }

    pub fn later(one: Option<Self>, other: Option<Self>) -> Option<Self> {
        match (one, other) {
            (Some(one), Some(other)) if one.version > other.version => Some(one),
            (one, other) => other.or(one),
        }
    }
}

/// The object is not there, so the watch must send its deletion before it passes the version `by`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Missing {
    key: ObjectKey,
    by: u64,
}

impl Missing {
    /// Whether a line of the watch is the deletion. Returns `Err` if the deletion should have come before this line.
    pub fn settled_by(&self, line: &Line) -> Result<bool, u64> {
        let version = match line {
            Line::Delete(object) | Line::Upsert(object) if object.key == self.key => return Ok(true),
            Line::Delete(object) | Line::Upsert(object) => &*object.resource_version,
            Line::Bookmark { version, .. } => version.as_str(),
            Line::Failed(_) => return Ok(false),
        };
        match number(version) {
            Some(version) if version >= self.by => Err(version),
            _ => Ok(false),
        }
    }
}

/// Checks the server before a watch continues at `position`, where another one ended. Returns the deletion that the
/// watch must send, if there is one.
pub(super) async fn look(
    context: &Context,
    position: &str,
    witness: Option<&LastChange>,
) -> Result<Option<Missing>, RequestError> {
    let Some(known) = number(position) else { return Ok(None) };
    let key = witness.map(|witness| &witness.object.key);
    let request = request::look(&context.selection, key)?;
    let config = &context.config;
    let bytes = match connection::whole(&context.client, request, config.list_silence, config.max_page_bytes).await {
        Ok(bytes) => bytes,
        // A client that may watch but not list does without the check.
        Err(RequestError::Status { code: 400..=428, .. }) => return Ok(None),
        Err(error) => return Err(error),
    };
    let page = wire::page(&bytes)?;
    let Some(head) = number(&page.version) else { return Ok(None) };
    let found = page.items.iter().filter_map(|item| context.kind.object(item.get()).ok());
    let found = found
        .filter(|object| key.is_none_or(|key| object.key == *key))
        .find_map(|object| LastChange::new(&object, false));
    judge(known, head, witness, found.map(|found| found.version))
}

/// Pure. `now` is the version of the witness's object, if the object exists.
fn judge(
    known: u64,
    head: u64,
    witness: Option<&LastChange>,
    now: Option<u64>,
) -> Result<Option<Missing>, RequestError> {
    if head < known {
        return Err(RequestError::WentBack { known, found: head });
    }
    match (witness, now) {
        (None, _) => Ok(None),
        (Some(witness), Some(now)) if now < witness.version => {
            Err(RequestError::WentBack { known: witness.version, found: now })
        }
        (Some(witness), None) if !witness.deleted => {
            Ok(Some(Missing { key: witness.object.key.clone(), by: head.max(known.saturating_add(1)) }))
        }
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn object(name: &str, version: &str) -> Arc<Object> {
        let json = format!(r#"{{"metadata":{{"name":"{name}","resourceVersion":"{version}"}}}}"#);
        Arc::new(Object::from_json(&json, &"v1".into(), &"ConfigMap".into()).unwrap())
    }

    #[test]
    fn an_older_head_or_an_older_object_is_the_past() {
        let a = LastChange::new(&object("a", "90"), false).unwrap();
        let gone = LastChange { deleted: true, ..a.clone() };
        let back = |witness: Option<&LastChange>, head, now| match judge(100, head, witness, now) {
            Err(RequestError::WentBack { known, found }) => Some((known, found)),
            Err(error) => unreachable!("{error}"),
            Ok(_) => None,
        };
        for witness in [None, Some(&a), Some(&gone)] {
            assert_eq!(back(witness, 99, Some(90)), Some((100, 99)));
            assert_eq!(back(witness, 100, Some(90)), None);
            assert_eq!(back(witness, 200, Some(150)), None);
        }
        // The head has passed the known version. The object was written before the gap.
        assert_eq!(back(Some(&a), 200, Some(80)), Some((90, 80)));
        assert_eq!(back(Some(&gone), 200, Some(80)), Some((90, 80)), "its deletion never happened");
        assert_eq!(judge(100, 200, Some(&gone), None).unwrap(), None);
        let missing = judge(100, 200, Some(&a), None).unwrap().unwrap();
        assert_eq!(missing, Missing { key: a.object.key.clone(), by: 200 });
    }

    #[test]
    fn an_object_that_is_gone_is_reported_before_the_head_has_passed() {
        let missing = Missing { key: object("a", "1").key.clone(), by: 200 };
        let bookmark = |version: &str| Line::Bookmark { version: version.to_owned(), list_done: false };
        assert_eq!(missing.settled_by(&Line::Upsert(object("b", "150"))), Ok(false));
        assert_eq!(missing.settled_by(&bookmark("199")), Ok(false));
        assert_eq!(missing.settled_by(&Line::Delete(object("a", "200"))), Ok(true));
        assert_eq!(missing.settled_by(&bookmark("200")), Err(200));
        assert_eq!(missing.settled_by(&Line::Upsert(object("b", "201"))), Err(201));
    }

    #[test]
    fn a_watch_serves_whoever_knows_at_least_as_much() {
        for (watch, asked_at, list, expected) in [
            (None, "", "5", Resume::FromList),
            (None, "", "five", Resume::FromList),
            (Some("5"), "", "5", Resume::Keep),
            (Some("9"), "9", "10", Resume::Keep),
            (Some("10"), "8", "9", Resume::FromList),
            (Some("10"), "9", "9", Resume::FromList),
            (Some("nine"), "nine", "10", Resume::FromListAndRelist),
            (Some("9"), "9", "ten", Resume::FromListAndRelist),
            // The server went back in time.
            (Some("100"), "90", "80", Resume::FromListAndRelist),
        ] {
            assert_eq!(resume(watch, asked_at, list), expected, "{watch:?} {asked_at} {list}");
        }
    }
}
