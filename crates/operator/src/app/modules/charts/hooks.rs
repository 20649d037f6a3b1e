//! Helm's hooks: Jobs, Pods and other objects that exist for a moment of a release's life. They are no members of the
//! module's set, so they are neither repaired nor pruned.

use std::{collections::BTreeMap, time::Duration};

use boathook_core::model::{
    CallError, CallReason, Caller, Change, Create, Delete, IfExists, Object, ObjectRef, Operation, Propagation,
    Resource, error_chain,
};
use boathook_kube::watch::Selection;
use boathook_modules::manifest::{self, Identity};
use futures::StreamExt as _;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::timeout;
use tracing::{info, warn};

use super::super::super::Services;

/// The annotation of a hook's object with the module, the revision, its time and the event that it is of. A run that was
/// interrupted goes on with it, and a later one may replace it.
const RUN: &str = "boathook.dev/hook-run";

/// When hooks run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Event {
    PreInstall,
    PostInstall,
    PreUpgrade,
    PostUpgrade,
    PreRollback,
    PostRollback,
    PreDelete,
    PostDelete,
}

impl Event {
    pub fn name(self) -> &'static str {
        match self {
            Self::PreInstall => "pre-install",
            Self::PostInstall => "post-install",
            Self::PreUpgrade => "pre-upgrade",
            Self::PostUpgrade => "post-upgrade",
            Self::PreRollback => "pre-rollback",
            Self::PostRollback => "post-rollback",
            Self::PreDelete => "pre-delete",
            Self::PostDelete => "post-delete",
        }
    }
}

/// One hook of a chart.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct Hook {
    /// The template.
    pub source: String,
    pub name: String,
    pub kind: String,
    pub events: Vec<String>,
    pub weight: i64,
    pub delete_policies: Vec<String>,
    pub text: String,
}

impl Hook {
    pub fn is_for(&self, event: Event) -> bool {
        self.events.iter().any(|name| name == event.name())
    }

    /// Without a policy, Helm deletes the object of the last time before it creates the next one. Definitions stay, because
    /// their objects would go with them.
    fn is_deleted(&self, policy: &str) -> bool {
        let default = self.delete_policies.is_empty() && policy == BEFORE_CREATION;
        self.kind != "CustomResourceDefinition" && (default || self.delete_policies.iter().any(|own| own == policy))
    }
}

const BEFORE_CREATION: &str = "before-hook-creation";
const SUCCEEDED: &str = "hook-succeeded";
const FAILED: &str = "hook-failed";

/// The hooks of an event, in the order in which they run: by weight, then by name.
pub(in super::super) fn of_event(hooks: &[Hook], event: Event) -> Vec<&Hook> {
    let mut chosen: Vec<_> = hooks.iter().filter(|hook| hook.is_for(event)).collect();
    chosen.sort_by(|one, other| (one.weight, &one.name).cmp(&(other.weight, &other.name)));
    chosen
}

/// How far a hook's object is.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Progress {
    Running,
    Succeeded,
    Failed(String),
}

/// Helm waits for Jobs and Pods to end. Everything else has done its work when it exists.
fn progress(object: &Value) -> Progress {
    let text = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let status = object.get("status").unwrap_or(&Value::Null);
    match object.get("kind").and_then(Value::as_str) {
        Some("Job") => {
            let conditions = status.get("conditions").and_then(Value::as_array).into_iter().flatten();
            let mut holds = conditions.filter(|condition| text(condition, "status") == "True");
            let ended = holds.find_map(|condition| match text(condition, "type").as_str() {
                "Complete" => Some(Progress::Succeeded),
                "Failed" => Some(Progress::Failed(said(&text(condition, "reason"), &text(condition, "message")))),
                _ => None,
            });
            ended.unwrap_or(Progress::Running)
        }
        Some("Pod") => match text(status, "phase").as_str() {
            "Succeeded" => Progress::Succeeded,
            "Failed" => Progress::Failed(said(&text(status, "reason"), &text(status, "message"))),
            _ => Progress::Running,
        },
        _ => Progress::Succeeded,
    }
}

fn said(reason: &str, message: &str) -> String {
    match (reason.is_empty(), message.is_empty()) {
        (true, true) => "without a reason".to_owned(),
        (false, false) => format!("{reason}: {message}"),
        _ => format!("{reason}{message}"),
    }
}

/// What happens to the object of the last time.
#[derive(Debug, PartialEq, Eq)]
enum Before {
    /// There is none, or it stays as it is.
    Create,
    Keep,
    /// This run created it before it was interrupted.
    GoOn,
    Replace,
    Refuse,
}

fn before(hook: &Hook, live: Option<&Value>, run: &str) -> Before {
    let Some(live) = live else { return Before::Create };
    if hook.kind == "CustomResourceDefinition" {
        return Before::Keep;
    }
    let created_by = live.pointer("/metadata/annotations").and_then(|all| all.get(RUN)?.as_str());
    let ends = live.pointer("/metadata/deletionTimestamp").is_some();
    match created_by {
        Some(by) if by == run && !ends && !matches!(progress(live), Progress::Failed(_)) => Before::GoOn,
        // Helm would refuse it if the hook has other policies, and nobody would get on after a failure.
        Some(_) => Before::Replace,
        None if hook.is_deleted(BEFORE_CREATION) => Before::Replace,
        None => Before::Refuse,
    }
}

/// A revision of a module. The numbers begin again after the module was deleted, so they are not enough.
#[derive(Debug, Clone, Copy)]
pub(super) struct Revision {
    pub number: u64,
    /// When it began.
    pub time: u64,
}

impl Revision {
    fn run_of(self, module: &str, event: Event) -> String {
        format!("{module}/{}/{}/{}", self.number, self.time, event.name())
    }
}

/// Runs hooks of one revision of a module.
pub(super) struct HookRunner<'a> {
    pub services: &'a Services,
    pub caller: &'a Caller,
    pub identity: &'a Identity,
    pub revision: Revision,
    /// How long one hook may take.
    pub patience: Duration,
}

impl HookRunner<'_> {
    /// Runs the hooks of an event one after another. The error names the first one that failed; the later ones do not run.
    pub async fn run(&self, hooks: &[Hook], event: Event) -> Result<(), String> {
        let mut succeeded: Vec<(&Hook, ObjectRef)> = Vec::new();
        for hook in of_event(hooks, event) {
            let (module, source) = (&self.identity.name, &hook.source);
            info!(module, event = event.name(), source, "a hook of the chart runs");
            let (target, ran) = self.one(hook, event).await;
            match (ran, target) {
                (Ok(()), Some(target)) => succeeded.push((hook, target)),
                (Ok(()), None) => {}
                (Err(error), target) => {
                    if let Some(target) = target.filter(|_| hook.is_deleted(FAILED)) {
                        self.clean(&target).await;
                    }
                    self.clean_all(&succeeded).await;
                    return Err(format!("the {} hook {source} failed: {error}", event.name()));
                }
            }
        }
        self.clean_all(&succeeded).await;
        Ok(())
    }

    async fn clean_all(&self, succeeded: &[(&Hook, ObjectRef)]) {
        for (hook, target) in succeeded.iter().rev() {
            if hook.is_deleted(SUCCEEDED) {
                self.clean(target).await;
            }
        }
    }

    /// What a policy deletes is of no use any more, so a failure to delete it fails nothing.
    async fn clean(&self, target: &ObjectRef) {
        if let Err(error) = self.delete(target, None, None).await {
            warn!(module = self.identity.name, object = %target, "the object of a hook cannot be deleted: {}", error.message);
        }
    }

    async fn delete(&self, target: &ObjectRef, uid: Option<String>, wait: Option<Duration>) -> Result<(), CallError> {
        let propagation = Propagation::Background;
        let delete =
            Delete { target: target.clone(), propagation, ignore_missing: true, uid, resource_version: None, wait };
        self.services.operator.access.write(self.caller, &Operation::Delete(delete)).await.map(drop)
    }

    /// Runs one hook. Returns its object, if it is one.
    async fn one(&self, hook: &Hook, event: Event) -> (Option<ObjectRef>, Result<(), String>) {
        let (object, resource) = match self.object(hook, event).await {
            Ok(Some(found)) => found,
            Ok(None) => return (None, Ok(())),
            Err(error) => return (None, Err(error)),
        };
        let target = ObjectRef::of(&object);
        let ran = match timeout(self.patience, self.through(hook, event, &object, &target, &resource)).await {
            Ok(ran) => ran,
            Err(_) => Err(format!("{target} did not end within {} s", self.patience.as_secs())),
        };
        (Some(target), ran)
    }

    /// The object that the hook creates. A template may render to nothing.
    async fn object(&self, hook: &Hook, event: Event) -> Result<Option<(Value, Resource)>, String> {
        let documents = manifest::read(&hook.source, &hook.text).map_err(|error| error.problem)?;
        let Some(mut document) = documents.into_iter().next() else { return Ok(None) };
        let reference = ObjectRef::of(&document.object);
        let found = self.services.discovery.resolve(&reference.api_version, &reference.kind).await;
        let resource = found.map_err(|error| error_chain(&error))?;
        document.place(self.identity, resource.namespaced);
        let run = self.run_of(event);
        if let Some(metadata) = document.object.get_mut("metadata").and_then(Value::as_object_mut) {
            let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
            if let Some(annotations) = annotations.as_object_mut() {
                annotations.insert(RUN.to_owned(), run.into());
            }
        }
        Ok(Some((document.object, Resource::clone(&resource))))
    }

    fn run_of(&self, event: Event) -> String {
        self.revision.run_of(&self.identity.name, event)
    }

    async fn through(
        &self,
        hook: &Hook,
        event: Event,
        object: &Value,
        target: &ObjectRef,
        resource: &Resource,
    ) -> Result<(), String> {
        let access = &self.services.operator.access;
        let live = match access.get(self.caller, target, None).await {
            Ok(text) => serde_json::from_str::<Value>(&text).ok(),
            Err(error) if error.reason == CallReason::NotFound => None,
            Err(error) => return Err(error.message),
        };
        let uid = || live.as_ref()?.pointer("/metadata/uid")?.as_str().map(str::to_owned);
        match before(hook, live.as_ref(), &self.run_of(event)) {
            Before::Keep => return Ok(()),
            Before::GoOn => return self.wait(target, resource).await,
            Before::Refuse => {
                return Err(format!(
                    "{target} exists, and this operator did not create it: delete it, or give the hook the delete policy {BEFORE_CREATION}"
                ));
            }
            Before::Replace => self.delete(target, uid(), Some(self.patience)).await.map_err(|error| error.message)?,
            Before::Create => {}
        }
        let create = Create { object: object.to_string(), if_exists: IfExists::Fail, subresource: None };
        access.write(self.caller, &Operation::Create(create)).await.map_err(|error| error.message)?;
        self.wait(target, resource).await
    }

    /// Waits until a Job or Pod has ended.
    async fn wait(&self, target: &ObjectRef, resource: &Resource) -> Result<(), String> {
        let ends = matches!((resource.group.as_str(), resource.kind.as_str()), ("batch", "Job") | ("", "Pod"));
        if !ends || self.services.plan {
            return Ok(());
        }
        let selection = Selection {
            namespace: target.namespace.clone(),
            field_selector: Some(format!("metadata.name={}", target.name)),
            ..Selection::of(resource.clone().into())
        };
        let mut changes = self.services.streams.subscribe(selection);
        let mut seen = false;
        while let Some(change) = changes.next().await {
            match change {
                Change::Upsert(object) => {
                    seen = true;
                    match ended(&object) {
                        Progress::Running => {}
                        Progress::Succeeded => return Ok(()),
                        Progress::Failed(why) => return Err(format!("{target} failed: {why}")),
                    }
                }
                Change::ListDone if !seen => return Err(format!("{target} was deleted before it ended")),
                Change::Delete(_) | Change::Unserved => return Err(format!("{target} was deleted before it ended")),
                Change::ListStarted => seen = false,
                Change::ListDone => {}
            }
        }
        Err(format!("{target} cannot be watched"))
    }
}

fn ended(object: &Object) -> Progress {
    serde_json::from_str(&object.json).map_or(Progress::Running, |value: Value| progress(&value))
}

/// Hooks that Boathook does not run, by event, for one line of the log.
pub(super) fn ignored(hooks: &[Hook]) -> BTreeMap<&str, usize> {
    const RUN_BY_US: [&str; 8] = [
        "pre-install",
        "post-install",
        "pre-upgrade",
        "post-upgrade",
        "pre-rollback",
        "post-rollback",
        "pre-delete",
        "post-delete",
    ];
    let mut ignored = BTreeMap::new();
    for event in hooks.iter().flat_map(|hook| &hook.events).filter(|event| !RUN_BY_US.contains(&event.as_str())) {
        *ignored.entry(event.as_str()).or_default() += 1;
    }
    ignored
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hook(name: &str, weight: i64, events: &[&str], policies: &[&str]) -> Hook {
        let all = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        Hook {
            source: format!("c/templates/{name}.yaml"),
            name: name.to_owned(),
            kind: "Job".to_owned(),
            events: all(events),
            weight,
            delete_policies: all(policies),
            text: String::new(),
        }
    }

    #[test]
    fn hooks_run_by_weight_and_then_by_name() {
        let hooks = [
            hook("c", 0, &["pre-install"], &[]),
            hook("b", 0, &["pre-install", "pre-upgrade"], &[]),
            hook("z", -5, &["pre-install"], &[]),
            hook("a", -9, &["post-install"], &[]),
        ];
        let names = |event| of_event(&hooks, event).into_iter().map(|hook| hook.name.as_str()).collect::<Vec<_>>();
        assert_eq!(names(Event::PreInstall), ["z", "b", "c"]);
        assert_eq!((names(Event::PreUpgrade), names(Event::PostDelete)), (vec!["b"], vec![]));
    }

    #[test]
    fn hooks_that_nobody_runs_are_counted() {
        let hooks = [hook("a", 0, &["test", "pre-install"], &[]), hook("b", 0, &["crd-install", "test"], &[])];
        assert_eq!(ignored(&hooks), BTreeMap::from([("crd-install", 1), ("test", 2)]));
    }

    // mutant: crates/operator/src/app/modules/charts/hooks.rs: `self.kind != "CustomResourceDefinition" && (default` => `(default`
    #[test]
    fn policies_decide_what_is_deleted_and_definitions_stay() {
        let default = hook("a", 0, &[], &[]);
        assert!(default.is_deleted(BEFORE_CREATION) && !default.is_deleted(SUCCEEDED) && !default.is_deleted(FAILED));
        let own = hook("a", 0, &[], &["hook-succeeded", "hook-failed"]);
        assert!(!own.is_deleted(BEFORE_CREATION) && own.is_deleted(SUCCEEDED) && own.is_deleted(FAILED));
        let definition = Hook { kind: "CustomResourceDefinition".to_owned(), ..own };
        assert!(!definition.is_deleted(SUCCEEDED) && !definition.is_deleted(BEFORE_CREATION));
    }

    #[test]
    fn what_ended_is_known() {
        let job = |type_: &str, status: &str| {
            let condition = json!({"type": type_, "status": status, "reason": "R", "message": "m"});
            progress(&json!({"kind": "Job", "status": {"conditions": [condition]}}))
        };
        assert_eq!(job("Complete", "True"), Progress::Succeeded);
        assert_eq!(job("Failed", "True"), Progress::Failed("R: m".to_owned()));
        assert_eq!((job("Complete", "False"), job("Suspended", "True")), (Progress::Running, Progress::Running));
        let pod = |phase: &str| progress(&json!({"kind": "Pod", "status": {"phase": phase}}));
        assert_eq!((pod("Succeeded"), pod("Running")), (Progress::Succeeded, Progress::Running));
        assert_eq!(pod("Failed"), Progress::Failed("without a reason".to_owned()));
        assert_eq!(progress(&json!({"kind": "ConfigMap"})), Progress::Succeeded);
    }

    #[test]
    fn an_interrupted_run_goes_on_and_what_is_of_others_stays() {
        let run = |number, time| Revision { number, time }.run_of("web", Event::PreInstall);
        let (own, other) = (&*run(1, 20), &*run(1, 10));
        let live = |run: Option<&str>, status: &str| {
            let condition = json!([{"type": status, "status": "True"}]);
            json!({"kind": "Job", "metadata": {"annotations": run.map(|run| json!({RUN: run}))}, "status": {"conditions": condition}})
        };
        let strict = hook("a", 0, &[], &["hook-succeeded"]);
        let default = hook("a", 0, &[], &[]);
        let judge = |hook: &Hook, live: &Value| before(hook, Some(live), own);
        assert_eq!(before(&default, None, own), Before::Create);
        assert_eq!(judge(&default, &live(Some(own), "Running")), Before::GoOn);
        assert_eq!(judge(&default, &live(Some(own), "Complete")), Before::GoOn);
        assert_eq!(judge(&strict, &live(Some(own), "Failed")), Before::Replace);
        assert_eq!(judge(&strict, &live(Some(other), "Complete")), Before::Replace);
        assert_eq!(judge(&default, &live(None, "Complete")), Before::Replace);
        assert_eq!(judge(&strict, &live(None, "Complete")), Before::Refuse);
    }
}
