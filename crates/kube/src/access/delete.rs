//! Deletes objects, and waits until they are gone.
//!
//! A deletion with a uid is repeated after a lost response, and "not found" then means success. A deletion without a
//! uid is not repeated, because the next object of that name could be another one.

use std::time::Duration;

use boathook_core::model::{CallError, CallReason, Caller, Delete, Propagation};
use http::Method;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{
    Access,
    audit::Audit,
    errors,
    made::Made,
    read::object,
    request::{Head, Named, ResourcePath},
    write::{Written, wire},
};

const MAX_WAIT: Duration = Duration::from_secs(600);
const FIRST_POLL: Duration = Duration::from_millis(20);
const MAX_POLL: Duration = Duration::from_secs(1);

impl Access {
    pub(super) async fn delete(&self, delete: &Delete, audit: &mut Audit<'_>) -> Written {
        let caller = audit.caller;
        let place = self.place(Named::object(&delete.target, None)).await?;
        let verbs: &[&str] = if delete.wait.is_some() { &["delete", "get"] } else { &["delete"] };
        place.require(caller, verbs)?;
        self.look(&place, audit).await;
        let what = format!("delete {}", place.named);
        let uri = place.uri(if caller.dry_run { "dryRun=All" } else { "" });
        let request = wire(Method::DELETE, uri, &options(delete, caller), delete.uid.is_some());
        let answer = match self.sender.send(Some(caller), &what, &request, &mut audit.meter).await {
            Ok(body) => object(&what, &body)?,
            Err(error) if error.reason == CallReason::NotFound && (delete.ignore_missing || audit.meter.uncertain) => {
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        let read: Option<Value> = serde_json::from_str(&answer).ok();
        let uid = read.as_ref().and_then(uid_of);
        let is_object = read.as_ref().is_some_and(is_object);
        if let Some(uid) = &uid {
            let marked = read.as_ref().filter(|_| is_object).and_then(marked);
            audit.stored(Made::Deletion { uid: uid.clone(), marked });
        }
        // Later changes of the object are not the hook's.
        if let (Some(own), Some(uid)) = (audit.own.take(), &uid) {
            own.deleted(uid, &answer);
        }
        if let Some(wait) = delete.wait.filter(|_| !caller.dry_run) {
            let uid = delete.uid.as_ref().or(uid.as_ref());
            self.wait_until_gone(&place, uid.map(String::as_str), wait.min(MAX_WAIT), &answer, audit).await?;
        }
        Ok(is_object.then_some(answer))
    }

    async fn wait_until_gone(
        &self,
        place: &ResourcePath<'_>,
        uid: Option<&str>,
        wait: Duration,
        deleted: &str,
        audit: &mut Audit<'_>,
    ) -> Result<(), CallError> {
        let what = format!("wait for the end of {}", place.named);
        let deadline = Instant::now() + wait;
        let mut pause = FIRST_POLL;
        let mut last = deleted.to_owned();
        loop {
            let get = self.fetch(audit.caller, &what, place.uri(""), &mut audit.meter);
            let read = tokio::time::timeout_at(deadline, get).await;
            match read {
                Ok(Err(error)) if error.reason == CallReason::NotFound => return Ok(()),
                Ok(Err(error)) => return Err(error),
                Ok(Ok(seen)) if uid.is_some() && Head::read(&seen)?.uid() != uid => return Ok(()),
                Ok(Ok(seen)) => last = seen,
                Err(_) => {}
            }
            if Instant::now() + pause > deadline {
                return Err(still_there(&what, wait, &last));
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 3 / 2).min(MAX_POLL);
        }
    }
}

/// The body of the request. If there is a body, the server reads the dry-run option from it.
fn options(delete: &Delete, caller: &Caller) -> String {
    let propagation = match delete.propagation {
        Propagation::Background => "Background",
        Propagation::Foreground => "Foreground",
        Propagation::Orphan => "Orphan",
    };
    let mut options = json!({"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": propagation});
    let mut set = |key: &str, value: Value| {
        if let Some(options) = options.as_object_mut() {
            options.insert(key.to_owned(), value);
        }
    };
    match (&delete.uid, &delete.resource_version) {
        (None, None) => {}
        (Some(uid), None) => set("preconditions", json!({"uid": uid})),
        (None, Some(version)) => set("preconditions", json!({"resourceVersion": version})),
        (Some(uid), Some(version)) => set("preconditions", json!({"uid": uid, "resourceVersion": version})),
    }
    if let Some(seconds) = caller.writes.grace_period {
        set("gracePeriodSeconds", json!(seconds));
    }
    if caller.dry_run {
        set("dryRun", json!(["All"]));
    }
    options.to_string()
}

/// The server responds with the object while finalizers hold it, and with a `Status` when it is gone.
fn is_object(answer: &Value) -> bool {
    answer.get("kind").and_then(Value::as_str) != Some("Status")
}

/// The version of an object that is being deleted. Some kinds are answered with the last state of an object that is gone.
fn marked(object: &Value) -> Option<String> {
    object.pointer("/metadata/deletionTimestamp")?;
    object.pointer("/metadata/resourceVersion")?.as_str().map(str::to_owned)
}

fn uid_of(answer: &Value) -> Option<String> {
    let uid = answer.pointer("/metadata/uid").or_else(|| answer.pointer("/details/uid"))?;
    uid.as_str().map(str::to_owned)
}

fn still_there(what: &str, wait: Duration, seen: &str) -> CallError {
    let finalizers = serde_json::from_str::<Value>(seen)
        .ok()
        .and_then(|seen| seen.pointer("/metadata/finalizers").cloned())
        .map(|finalizers| format!("; its finalizers: {}", super::text::clipped(&finalizers.to_string())))
        .unwrap_or_default();
    errors::refused(CallReason::Timeout, format!("{what}: still there after {wait:?}{finalizers}"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use boathook_core::model::{HookName, ObjectRef, RunId, WriteOptions};

    use super::*;

    fn delete() -> Delete {
        let target = ObjectRef { api_version: "v1".into(), kind: "Secret".into(), namespace: None, name: "a".into() };
        Delete {
            target,
            propagation: Propagation::Background,
            ignore_missing: false,
            uid: None,
            resource_version: None,
            wait: None,
        }
    }

    fn sent(delete: &Delete, dry_run: bool) -> Value {
        sent_with(delete, dry_run, WriteOptions::default())
    }

    fn sent_with(delete: &Delete, dry_run: bool, writes: WriteOptions) -> Value {
        let caller = Caller::new(HookName::new("h").unwrap(), RunId::new("p", 1), [].into(), dry_run);
        serde_json::from_str(&options(delete, &Caller { writes, ..caller })).unwrap()
    }

    #[test]
    fn the_options_hold_what_was_asked() {
        let plain = json!({"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"});
        assert_eq!(sent(&delete(), false), plain);
        let all = Delete {
            propagation: Propagation::Orphan,
            uid: Some("u".into()),
            resource_version: Some("7".into()),
            ..delete()
        };
        let graceful = WriteOptions { grace_period: Some(0), ..WriteOptions::default() };
        assert_eq!(sent_with(&delete(), false, graceful).pointer("/gracePeriodSeconds"), Some(&json!(0)));
        let all = sent(&all, true);
        assert_eq!(all.pointer("/preconditions"), Some(&json!({"uid": "u", "resourceVersion": "7"})));
        assert_eq!((all.get("dryRun"), all.get("propagationPolicy")), (Some(&json!(["All"])), Some(&json!("Orphan"))));
    }

    #[test]
    fn the_uid_is_found_in_both_kinds_of_answer() {
        assert_eq!(uid_of(&json!({"kind": "Status", "details": {"uid": "u"}})).as_deref(), Some("u"));
        assert_eq!(uid_of(&json!({"kind": "Pod", "metadata": {"uid": "u"}})).as_deref(), Some("u"));
        assert_eq!(uid_of(&json!({"kind": "Status"})), None);
    }
}
