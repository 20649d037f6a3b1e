//! Finds the accesses that a recorded call needs, as the operator checks them. Of a body, it reads only the object's
//! identity.

use boathook_core::model::{CallError, CallReason, EmitEvent, IfExists, ListQuery, ObjectRef, Operation, PatchBody};
use serde::Deserialize;

use super::{
    evidence::{Calls, Ruling, Used},
    needs::selected_name,
};

/// The result of a call as the hook received it. None if the run ended before.
pub type Ended<'a> = Option<&'a CallError>;

impl Calls {
    pub fn got(&mut self, target: &ObjectRef, subresource: Option<&str>, ended: Ended<'_>) {
        self.object(target, subresource, &["get"], ended);
    }

    pub fn listed(&mut self, query: &ListQuery, ended: Ended<'_>) {
        self.add(Used {
            api_version: query.api_version.clone(),
            kind: query.kind.clone(),
            subresource: None,
            namespace: some_text(query.namespace.as_ref()),
            name: query.field_selector.as_deref().and_then(selected_name),
            verb: "list".to_owned(),
            ruling: ruling(ended),
        });
    }

    pub fn wrote(&mut self, operation: &Operation, ended: Ended<'_>) {
        let (target, subresource) = match operation {
            Operation::Create(create) => match &create.subresource {
                Some((subresource, target)) => (Some(target.clone()), Some(subresource)),
                None => (object_of(&create.object), None),
            },
            Operation::Update(update) => (object_of(&update.object), update.subresource.as_ref()),
            Operation::Patch(patch) => (Some(patch.target.clone()), patch.subresource.as_ref()),
            Operation::Delete(delete) => (Some(delete.target.clone()), None),
        };
        // The operator refused a body that is not an object.
        let Some(target) = target else { return };
        self.object(&target, subresource.map(String::as_str), verbs(operation, ended), ended);
    }

    /// Records an Event that the hook emitted.
    pub fn emitted(&mut self, event: &EmitEvent, ended: Ended<'_>) {
        let namespace = some_text(event.regarding.namespace.as_ref()).unwrap_or_else(|| "default".to_owned());
        let target = ObjectRef {
            api_version: "events.k8s.io/v1".to_owned(),
            kind: "Event".to_owned(),
            namespace: Some(namespace),
            name: String::new(),
        };
        self.object(&target, None, &["create"], ended);
    }

    fn object(&mut self, target: &ObjectRef, subresource: Option<&str>, verbs: &[&str], ended: Ended<'_>) {
        for verb in verbs {
            self.add(Used {
                api_version: target.api_version.clone(),
                kind: target.kind.clone(),
                subresource: subresource.map(str::to_owned),
                namespace: some_text(target.namespace.as_ref()),
                name: some_text(Some(&target.name)),
                verb: (*verb).to_owned(),
                ruling: ruling(ended),
            });
        }
    }
}

fn some_text(text: Option<&String>) -> Option<String> {
    text.filter(|text| !text.is_empty()).cloned()
}

fn ruling(ended: Ended<'_>) -> Ruling {
    match ended.map(|error| error.reason) {
        Some(CallReason::ForbiddenByGrant) => Ruling::RefusedByGrant,
        Some(CallReason::ForbiddenByCluster) => Ruling::RefusedByCluster,
        _ => Ruling::Allowed,
    }
}

fn verbs(operation: &Operation, ended: Ended<'_>) -> &'static [&'static str] {
    match operation {
        Operation::Create(create) => match create.if_exists {
            IfExists::Fail | IfExists::Keep => &["create"],
            IfExists::Replace => &["create", "get", "update"],
        },
        Operation::Update(_) => &["update"],
        Operation::Patch(patch) => match patch.body {
            PatchBody::Jq(_) => &["get", "update"],
            // The API server requires `create` if the object does not exist. The operator does not check for it.
            PatchBody::Apply { .. } if ruling(ended) == Ruling::Allowed => &["create", "patch"],
            _ => &["patch"],
        },
        Operation::Delete(delete) if delete.wait.is_some() => &["delete", "get"],
        Operation::Delete(_) => &["delete"],
    }
}

/// The identity of the object in a body.
#[derive(Deserialize)]
struct Body {
    #[serde(rename = "apiVersion")]
    api_version: String,
    kind: String,
    metadata: Metadata,
}

#[derive(Deserialize)]
struct Metadata {
    namespace: Option<String>,
    name: Option<String>,
}

fn object_of(text: &str) -> Option<ObjectRef> {
    let body: Body = serde_json::from_str(text).ok()?;
    let Metadata { namespace, name } = body.metadata;
    Some(ObjectRef { api_version: body.api_version, kind: body.kind, namespace, name: name.unwrap_or_default() })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use boathook_core::model::{Create, Delete, Patch, Propagation, Update};

    use super::*;

    fn pod() -> ObjectRef {
        ObjectRef { api_version: "v1".into(), kind: "Pod".into(), namespace: Some("web".into()), name: "a".into() }
    }

    fn verbs_of(operation: &Operation, ended: Ended<'_>) -> Vec<String> {
        let mut calls = Calls::default();
        calls.wrote(operation, ended);
        let place = |used: &Used| (used.kind.clone(), used.namespace.clone(), used.name.clone());
        let same = |used: &Used| place(used) == ("Pod".into(), Some("web".into()), Some("a".into()));
        assert!(calls.used.keys().all(same), "{calls:?}");
        calls.used.into_keys().map(|used| used.verb).collect()
    }

    #[test]
    fn each_write_needs_what_the_host_checks() {
        let object = r#"{"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "web", "name": "a"}}"#.to_owned();
        let create = |if_exists| Operation::Create(Create { object: object.clone(), if_exists, subresource: None });
        assert_eq!(verbs_of(&create(IfExists::Keep), None), ["create"]);
        assert_eq!(verbs_of(&create(IfExists::Replace), None), ["create", "get", "update"]);
        let update = Operation::Update(Update { object: object.clone(), subresource: None });
        assert_eq!(verbs_of(&update, None), ["update"]);
        let patch = |body| Operation::Patch(Patch { target: pod(), body, subresource: None, ignore_missing: false });
        assert_eq!(verbs_of(&patch(PatchBody::Merge("{}".into())), None), ["patch"]);
        assert_eq!(verbs_of(&patch(PatchBody::Jq(".".into())), None), ["get", "update"]);
        let apply = patch(PatchBody::Apply { object, force: true, field_manager: None });
        assert_eq!(verbs_of(&apply, None), ["create", "patch"]);
        let refusal =
            CallError { reason: CallReason::ForbiddenByGrant, message: String::new(), code: None, status: None };
        assert_eq!(verbs_of(&apply, Some(&refusal)), ["patch"]);
        let delete = |wait| {
            let (propagation, ignore_missing) = (Propagation::Background, false);
            Operation::Delete(Delete {
                target: pod(),
                propagation,
                ignore_missing,
                uid: None,
                resource_version: None,
                wait,
            })
        };
        assert_eq!(verbs_of(&delete(None), None), ["delete"]);
        assert_eq!(verbs_of(&delete(Some(std::time::Duration::from_secs(1))), None), ["delete", "get"]);
    }
}
