//! The call `emit-event`: creates an events.k8s.io/v1 Event about an object.
//!
//! The Event's name is made from the run and the Event's content. The same Event emitted twice in a run is therefore
//! one object, and sending it again after a lost response is safe.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    time::SystemTime,
};

use boathook_core::model::{CallError, CallReason, Caller, EmitEvent, EventType, ObjectRef, Resource};
use http::Method;
use serde_json::json;

use super::{
    Access,
    audit::Audit,
    errors, grants,
    grants::{Reach, ResourceAttributes},
    intent::field_manager,
    request::{self, Named},
    text::clipped,
    write::{wire, write_query},
};

const GROUP: &str = "events.k8s.io";
/// The namespace in which the API server expects the Events of cluster-scoped objects.
const DEFAULT_NAMESPACE: &str = "default";
const MAX_NOTE: usize = 1024;
const MAX_REASON: usize = 128;
const MAX_NAME: usize = 253;

impl Access {
    /// Creates a Kubernetes Event. This needs the verb `create` on `events` of `events.k8s.io` in the namespace of the
    /// object. The core group's `events` are the same objects, so a permission for them is enough.
    pub async fn emit_event(&self, caller: &Caller, event: &EmitEvent) -> Result<(), CallError> {
        let name = name(caller, event);
        let object = format!("{GROUP}/v1 Event {}/{name}", clipped(namespace(event)));
        let mut audit = Audit::start(&*self.observer, caller, "create", object, None);
        let about = || ObjectRef {
            api_version: format!("{GROUP}/v1"),
            kind: "Event".to_owned(),
            namespace: Some(namespace(event).to_owned()),
            name: name.clone(),
        };
        audit.effect = self.watched(about);
        audit.about = (!caller.dry_run).then(about);
        let result = self.emit(caller, event, &name, &mut audit).await;
        audit.finish(&result);
        result
    }

    async fn emit(
        &self,
        caller: &Caller,
        event: &EmitEvent,
        name: &str,
        audit: &mut Audit<'_>,
    ) -> Result<(), CallError> {
        check(event)?;
        let namespace = namespace(event);
        require(caller, namespace)?;
        let what = format!("create Event {} about {}", event.reason, Named::object(&event.regarding, None));
        let events = Resource::of("events.k8s.io/v1", "Event", "events", true);
        let uri = events.path(Some(namespace), None, None) + "?" + &write_query(caller, None, None);
        let body = body(caller, event, name, &self.config.reporting_instance, now());
        let wire = wire(Method::POST, uri, &body, true);
        let result = match self.sender.send(Some(caller), &what, &wire, &mut audit.meter).await {
            Err(error) if error.reason != CallReason::AlreadyExists => {
                Err(self.dry_run_objects.explain(caller, &event.regarding, error))
            }
            Err(_) => Ok(()),
            Ok(response) => {
                if let Ok(response) = std::str::from_utf8(&response) {
                    audit.answered(&wire, response);
                }
                Ok(())
            }
        };
        if let Some(watched) = &mut audit.effect {
            watched.emitted(&body, &result);
        }
        result
    }
}

fn now() -> jiff::Timestamp {
    jiff::Timestamp::try_from(SystemTime::now()).unwrap_or_default()
}

fn namespace(event: &EmitEvent) -> &str {
    event.regarding.namespace.as_deref().filter(|namespace| !namespace.is_empty()).unwrap_or(DEFAULT_NAMESPACE)
}

fn require(caller: &Caller, namespace: &str) -> Result<(), CallError> {
    let subject = |group| ResourceAttributes {
        group,
        resource: "events",
        subresource: None,
        reach: Reach::Namespace(namespace),
        name: None,
    };
    if grants::allows(&caller.permissions, "create", &subject("")) {
        return Ok(());
    }
    request::require(caller, &["create"], &subject(GROUP))
}

fn check(event: &EmitEvent) -> Result<(), CallError> {
    Named::object(&event.regarding, None).check()?;
    if event.reason.is_empty() || event.reason.len() > MAX_REASON || event.reason.chars().any(char::is_control) {
        return Err(errors::invalid(format!(
            "create Event: the reason is one word in CamelCase of 1 to {MAX_REASON} bytes"
        )));
    }
    Ok(())
}

fn body(caller: &Caller, event: &EmitEvent, name: &str, instance: &str, now: jiff::Timestamp) -> String {
    let regarding = &event.regarding;
    let mut about = json!({
        "apiVersion": regarding.api_version,
        "kind": regarding.kind,
        "name": regarding.name,
    });
    if let (Some(about), Some(namespace)) = (about.as_object_mut(), &regarding.namespace) {
        about.insert("namespace".to_owned(), namespace.as_str().into());
    }
    json!({
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": namespace(event)},
        "eventTime": format!("{now:.6}"),
        "type": match event.event_type {
            EventType::Normal => "Normal",
            EventType::Warning => "Warning",
        },
        "reason": event.reason,
        "action": event.reason,
        "note": cut(&event.note, MAX_NOTE),
        "regarding": about,
        // A qualified name ends in a letter or digit.
        "reportingController": field_manager(&caller.hook).trim_end_matches(['-', '_', '.']),
        "reportingInstance": instance,
    })
    .to_string()
}

/// The Event's name: the object's name and a hash. An object's name may contain characters that an Event's name may
/// not.
fn name(caller: &Caller, event: &EmitEvent) -> String {
    let mut hasher = DefaultHasher::new();
    (&caller.hook, &caller.run, &event.regarding, &event.reason, &event.note).hash(&mut hasher);
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '.');
    let readable: String = event.regarding.name.chars().take(MAX_NAME - 17).filter(|c| allowed(*c)).collect();
    let readable = readable.trim_matches(['-', '.']);
    if readable.is_empty() || readable.contains("..") || readable.contains(".-") || readable.contains("-.") {
        return format!("event.{:016x}", hasher.finish());
    }
    format!("{readable}.{:016x}", hasher.finish())
}

fn cut(text: &str, max: usize) -> &str {
    text.get(..text.floor_char_boundary(max)).unwrap_or(text)
}
