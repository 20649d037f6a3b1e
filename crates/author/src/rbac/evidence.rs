//! What runs of hooks used of the API, from lines of the operator's log or from records. It opens no file.

use std::collections::{BTreeMap, BTreeSet};

use boathook_core::model::{
    CallError, CallReason, EmitEvent, HookName, IfExists, ListQuery, ObjectRef, Operation, PatchBody,
};
use serde::Deserialize;

use super::needs::selected_name;

/// The result of a call, in terms of rights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ruling {
    /// The permissions and the cluster allowed it.
    Allowed,
    /// The hook's permissions do not allow it.
    RefusedByGrant,
    /// The cluster's RBAC does not allow it.
    RefusedByCluster,
}

/// One call.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Used {
    /// `v1`, `apps/v1`.
    pub api_version: String,
    /// `Pod`.
    pub kind: String,
    /// `status`, `eviction`, …
    pub subresource: Option<String>,
    /// None for cluster-scoped objects and for lists over all namespaces.
    pub namespace: Option<String>,
    /// None for lists, and for names that the API server generates.
    pub name: Option<String>,
    /// `get`, `create`, …
    pub verb: String,
    pub ruling: Ruling,
}

/// What is known about one hook's calls.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Calls {
    /// Each call, and how often it was made.
    pub used: BTreeMap<Used, u64>,
    /// Calls, or verbs that they needed, are missing, because the log contains only writes, and one verb for each.
    pub partial: bool,
}

impl Calls {
    /// Records a call.
    pub fn add(&mut self, used: Used) {
        let times = self.used.entry(used).or_default();
        *times = times.saturating_add(1);
    }
}

/// What is known about all hooks' calls. It includes hooks that ran and made no call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Evidence {
    pub hooks: BTreeMap<HookName, Calls>,
    /// Lines about a write that cannot be parsed.
    pub unreadable: BTreeSet<String>,
}

/// The fields that are read from a line of the log. Values of other types are ignored.
#[derive(Deserialize)]
struct Line {
    #[serde(default)]
    audit: serde_json::Value,
    #[serde(default)]
    hook: serde_json::Value,
    #[serde(default)]
    run: serde_json::Value,
    #[serde(default)]
    verb: serde_json::Value,
    #[serde(default)]
    object: serde_json::Value,
    #[serde(default)]
    subresource: serde_json::Value,
    #[serde(default)]
    outcome: serde_json::Value,
}

/// The run id in the lines that the operator itself writes about a hook.
const OPERATORS_OWN: &str = "event-0";

impl Evidence {
    /// Adds a hook that ran.
    pub fn of(&mut self, hook: HookName) -> &mut Calls {
        self.hooks.entry(hook).or_default()
    }

    /// Reads a JSON line of the operator's log. False if it is not a JSON object. Lines of other kinds are ignored.
    pub fn read_line(&mut self, text: &str) -> bool {
        let Ok(line) = serde_json::from_str::<Line>(text) else { return false };
        let Some(hook) = line.hook.as_str().and_then(|name| HookName::new(name).ok()) else { return true };
        if line.audit != true {
            if line.run.is_string() {
                self.of(hook).partial = true;
            }
            return true;
        }
        // Roles say nothing about HTTP.
        if line.run == OPERATORS_OWN || line.verb == "http" {
            return true;
        }
        match used(&line) {
            Some(used) => {
                let calls = self.of(hook);
                calls.partial = true;
                calls.add(used);
            }
            None => drop(self.unreadable.insert(text.to_owned())),
        }
        true
    }
}

fn used(line: &Line) -> Option<Used> {
    let mut words = line.object.as_str()?.splitn(3, ' ');
    let (api_version, kind, place) = (words.next()?, words.next()?, words.next());
    let (namespace, name) = match place {
        None => (None, None),
        Some(place) => match (place.strip_prefix("in namespace "), place.split_once('/')) {
            (Some(namespace), _) => (Some(namespace), None),
            (None, Some((namespace, name))) => (Some(namespace), Some(name)),
            (None, None) => (None, Some(place)),
        },
    };
    let ruling = match line.outcome.as_str()? {
        "forbidden-by-grant" => Ruling::RefusedByGrant,
        "forbidden-by-cluster" => Ruling::RefusedByCluster,
        _ => Ruling::Allowed,
    };
    Some(Used {
        api_version: api_version.to_owned(),
        kind: kind.to_owned(),
        subresource: line.subresource.as_str().map(str::to_owned),
        namespace: namespace.map(str::to_owned),
        name: name.map(str::to_owned),
        verb: line.verb.as_str()?.to_owned(),
        ruling,
    })
}

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

    fn read(lines: &[&str]) -> Evidence {
        let mut evidence = Evidence::default();
        lines.iter().for_each(|line| assert!(evidence.read_line(line), "{line}"));
        evidence
    }

    #[test]
    fn audit_lines_are_calls() {
        let evidence = read(&[
            r#"{"audit":true,"hook":"h","run":"p-1","verb":"patch","object":"v1 Secret web/a","outcome":"ok"}"#,
            r#"{"audit":true,"hook":"h","run":"p-2","verb":"patch","object":"v1 Secret web/a","outcome":"ok"}"#,
            r#"{"audit":true,"hook":"h","run":"p-2","verb":"create","object":"v1 Pod in namespace web","outcome":"conflict"}"#,
            r#"{"audit":true,"hook":"h","run":"p-2","verb":"update","object":"v1 Node n","subresource":"status","outcome":"forbidden-by-cluster"}"#,
        ]);
        let calls = &evidence.hooks[&HookName::new("h").unwrap()];
        let text = |used: &Used| {
            let or_dash = |text: &Option<String>| text.clone().unwrap_or("-".into());
            let place = format!("{} {} {}", or_dash(&used.namespace), or_dash(&used.name), or_dash(&used.subresource));
            format!("{} {} {place} {:?}", used.verb, used.kind, used.ruling)
        };
        let calls: Vec<_> = calls.used.iter().map(|(used, times)| format!("{} {times}", text(used))).collect();
        assert_eq!(
            calls,
            [
                "update Node - n status RefusedByCluster 1",
                "create Pod web - - Allowed 1",
                "patch Secret web a - Allowed 2",
            ]
        );
    }

    #[test]
    fn other_lines_tell_at_most_that_a_hook_ran() {
        let evidence = read(&[
            r#"{"message":"listening","listen":"127.0.0.1:1"}"#,
            r#"{"message":"binding enabled","hook":"loaded"}"#,
            r#"{"message":"run finished","hook":"ran","run":"p-1"}"#,
            r#"{"audit":true,"hook":"told-of","run":"event-0","verb":"patch","object":"events.k8s.io/v1 Event a/b","outcome":"ok"}"#,
            r#"{"audit":true,"hook":"sent","run":"p-1","verb":"http","method":"GET","url":"https://a.io/","outcome":"ok"}"#,
            r#"{"audit":true,"hook":"h","run":"p-1","verb":"patch","object":"nonsense","outcome":"ok"}"#,
        ]);
        assert_eq!(evidence.hooks.keys().map(HookName::as_str).collect::<Vec<_>>(), ["ran"]);
        assert_eq!(evidence.unreadable.len(), 1);
        assert!(!Evidence::default().read_line("2026-01-01 INFO audit hook=h"));
    }

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
