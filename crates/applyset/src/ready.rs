//! Whether an object is ready, by the rules of kstatus, which kubectl, Flux and Helm have, too.
//!
//! An object's own conditions `Reconciling` and `Stalled` decide first, then the rules for its kind. A custom resource
//! without these conditions is read by `Ready`, if it has that. A producer's own expression has the last word about an object
//! that is neither failed nor behind.

use serde_json::Value;

use crate::{
    canonical::cut,
    expression::{Expression, READY},
    id::{self, MemberId, is_deleting},
};

/// The longest message that is kept.
const MAX_MESSAGE: usize = 512;
/// The value with which the Deployment controller says that there is no deadline.
const NO_DEADLINE: i64 = i32::MAX as i64;

/// What kstatus says about an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Health {
    /// The object is as its spec says.
    Current,
    /// Its controller is working on it.
    InProgress,
    /// Its controller gave up, or cannot continue.
    Failed,
    /// It is being deleted.
    Terminating,
    NotFound,
    /// The object cannot be read.
    Unknown,
}

/// An object's health, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Readiness {
    pub health: Health,
    /// CamelCase, for programs.
    pub reason: Box<str>,
    /// For people. Empty if the reason says all.
    pub message: Box<str>,
}

impl Readiness {
    fn new(health: Health, reason: &str, message: &str) -> Self {
        Self { health, reason: reason.into(), message: cut(message, MAX_MESSAGE).into() }
    }

    fn current() -> Self {
        Self::new(Health::Current, "Current", "")
    }

    fn progress(reason: &str, message: &str) -> Self {
        Self::new(Health::InProgress, reason, message)
    }

    fn failed(reason: &str, message: &str) -> Self {
        Self::new(Health::Failed, reason, message)
    }

    /// What holds for an object that does not exist.
    pub fn not_found() -> Self {
        Self::new(Health::NotFound, "NotFound", "")
    }

    /// The health of an object as a watch shows it. `last`: the expression that was parsed last.
    pub(crate) fn of(id: &MemberId, object: &Value, last: &mut Option<Expression>) -> Self {
        if !object.is_object() {
            return Self::new(Health::Unknown, "NoObject", "the object cannot be read");
        }
        if is_deleting(object) {
            return Self::new(Health::Terminating, "Terminating", "");
        }
        // A status of an older generation says nothing, whatever reads it.
        if let Some(behind) = Fields(object).behind() {
            return behind;
        }
        let known = Self::by_rules(id, Fields(object));
        match id::annotation(object, READY) {
            Some(text) => known.and_expression(|| Expression::holds(text, object, last)),
            None => known,
        }
    }

    fn by_rules(id: &MemberId, object: Fields<'_>) -> Self {
        for (type_, made) in [("Reconciling", Self::progress as fn(&str, &str) -> Self), ("Stalled", Self::failed)] {
            if let Some(condition) = object.condition(type_).filter(|condition| condition.status == "True") {
                return made(condition.reason_or(type_), condition.message);
            }
        }
        match (&*id.group, &*id.kind) {
            ("apps" | "extensions", "Deployment") => deployment(object),
            ("apps", "StatefulSet") => stateful_set(object),
            ("apps" | "extensions", "DaemonSet") => daemon_set(object),
            ("apps" | "extensions", "ReplicaSet") => replica_set(object),
            ("", "Pod") => pod(object),
            ("", "PersistentVolumeClaim") => claim(object),
            ("", "Service") => service(object),
            ("batch", "Job") => job(object),
            ("apiextensions.k8s.io", "CustomResourceDefinition") => definition(object),
            // A budget whose generation was observed is computed. The others are ready when they exist.
            ("policy", "PodDisruptionBudget") | ("batch", "CronJob") | ("", "Secret" | "ConfigMap") => Self::current(),
            _ => other(object),
        }
    }

    /// Adds the producer's own expression. A failed object stays failed, because an expression is for what the rules do not
    /// know, and not against them.
    fn and_expression(self, holds: impl FnOnce() -> Result<bool, String>) -> Self {
        if !matches!(self.health, Health::Current | Health::InProgress) {
            return self;
        }
        match (self.health, holds()) {
            (_, Ok(true)) => Self::current(),
            (_, Err(why)) => Self::progress("Expression", &why),
            (Health::Current, Ok(false)) => Self::progress("Expression", "its expression does not hold yet"),
            (_, Ok(false)) => self,
        }
    }
}

/// Reads fields of an object. What has another type than expected counts as absent.
#[derive(Clone, Copy)]
struct Fields<'o>(&'o Value);

struct Condition<'o> {
    status: &'o str,
    reason: &'o str,
    message: &'o str,
}

impl<'o> Condition<'o> {
    fn reason_or(&self, default: &'o str) -> &'o str {
        if self.reason.is_empty() { default } else { self.reason }
    }
}

impl<'o> Fields<'o> {
    fn at(self, path: &str) -> Option<&'o Value> {
        path.split('.').try_fold(self.0, |value, name| value.get(name))
    }

    fn number(self, path: &str) -> Option<i64> {
        self.at(path).and_then(Value::as_i64)
    }

    /// A number of the status, which controllers leave out if it is 0.
    fn count(self, name: &str) -> i64 {
        self.0.get("status").and_then(|status| status.get(name)).and_then(Value::as_i64).unwrap_or(0)
    }

    fn text(self, path: &str) -> &'o str {
        self.at(path).and_then(Value::as_str).unwrap_or_default()
    }

    fn condition(self, type_: &str) -> Option<Condition<'o>> {
        let all = self.at("status.conditions").and_then(Value::as_array)?;
        let condition = all.iter().find(|condition| condition.get("type").and_then(Value::as_str) == Some(type_))?;
        let text = |name| condition.get(name).and_then(Value::as_str).unwrap_or_default();
        Some(Condition { status: text("status"), reason: text("reason"), message: text("message") })
    }

    fn is_true(self, type_: &str) -> bool {
        self.condition(type_).is_some_and(|condition| condition.status == "True")
    }

    /// Its controller has not seen the newest generation.
    fn behind(self) -> Option<Readiness> {
        let (generation, seen) = (self.number("metadata.generation")?, self.number("status.observedGeneration")?);
        let message = || format!("generation {generation} is not observed yet, the last one is {seen}");
        (generation != seen).then(|| Readiness::progress("LatestGenerationNotObserved", &message()))
    }
}

/// The first of these counts that is too low.
fn too_few(rows: &[(&str, &str, i64, i64)]) -> Option<Readiness> {
    let (reason, name, has, wants) = rows.iter().find(|(_, _, has, wants)| has < wants)?;
    Some(Readiness::progress(reason, &format!("{name}: {has}/{wants}")))
}

fn extra(has: i64, wants: i64) -> Option<Readiness> {
    (has > wants)
        .then(|| Readiness::progress("ExtraPods", &format!("pending termination: {}", has.saturating_sub(wants))))
}

fn deployment(object: Fields<'_>) -> Readiness {
    let progressing = object.condition("Progressing");
    if let Some(condition) = progressing.as_ref().filter(|it| it.reason == "ProgressDeadlineExceeded") {
        return Readiness::failed(condition.reason, condition.message);
    }
    let wants = object.number("spec.replicas").unwrap_or(1);
    let (all, updated) = (object.count("replicas"), object.count("updatedReplicas"));
    let few = too_few(&[("LessReplicas", "replicas", all, wants), ("LessUpdated", "updated", updated, wants)]);
    let later = || {
        too_few(&[
            ("LessAvailable", "available", object.count("availableReplicas"), updated),
            ("LessReady", "ready", object.count("readyReplicas"), wants),
        ])
    };
    if let Some(few) = few.or_else(|| extra(all, wants)).or_else(later) {
        return few;
    }
    // Without a deadline, the controller sets no condition.
    let deadline = object.number("spec.progressDeadlineSeconds").unwrap_or(NO_DEADLINE);
    let done = progressing.is_some_and(|it| it.status == "True" && it.reason == "NewReplicaSetAvailable");
    if deadline != NO_DEADLINE && !done {
        return Readiness::progress("ReplicaSetNotAvailable", "the new ReplicaSet is not available");
    }
    if object.is_true("Available") {
        return Readiness::current();
    }
    Readiness::progress("DeploymentNotAvailable", "the Deployment is not available")
}

fn stateful_set(object: Fields<'_>) -> Readiness {
    // The user deletes the Pods of this strategy, so nothing can be expected.
    if object.text("spec.updateStrategy.type") == "OnDelete" {
        return Readiness::current();
    }
    let wants = object.number("spec.replicas").unwrap_or(1);
    let (all, ready) = (object.count("replicas"), object.count("readyReplicas"));
    let few = too_few(&[("LessReplicas", "replicas", all, wants), ("LessReady", "ready", ready, wants)]);
    if let Some(few) = few.or_else(|| extra(all, wants)) {
        return few;
    }
    if let Some(partition) = object.number("spec.updateStrategy.rollingUpdate.partition").filter(|it| *it > 0) {
        let updated = object.count("updatedReplicas");
        let few = too_few(&[("PartitionRollout", "updated", updated, wants.saturating_sub(partition))]);
        return few.unwrap_or_else(Readiness::current);
    }
    let current = object.count("currentReplicas");
    if let Some(few) = too_few(&[("LessCurrent", "current", current, wants)]) {
        return few;
    }
    if object.text("status.currentRevision") != object.text("status.updateRevision") {
        return Readiness::progress("RevisionMismatch", "the update is not the current revision yet");
    }
    Readiness::current()
}

fn daemon_set(object: Fields<'_>) -> Readiness {
    // A DaemonSet that its controller has seen always has these.
    if object.number("metadata.generation").is_none() || object.number("status.observedGeneration").is_none() {
        return Readiness::progress("NoObservedGeneration", "its controller has not seen it yet");
    }
    let Some(wants) = object.number("status.desiredNumberScheduled") else {
        return Readiness::progress("NoDesiredNumber", "its controller has not counted the nodes yet");
    };
    let few = too_few(&[
        ("LessCurrent", "scheduled", object.count("currentNumberScheduled"), wants),
        ("LessUpdated", "updated", object.count("updatedNumberScheduled"), wants),
        ("LessAvailable", "available", object.count("numberAvailable"), wants),
        ("LessReady", "ready", object.count("numberReady"), wants),
    ]);
    few.unwrap_or_else(Readiness::current)
}

fn replica_set(object: Fields<'_>) -> Readiness {
    if let Some(condition) = object.condition("ReplicaFailure").filter(|condition| condition.status == "True") {
        return Readiness::progress("ReplicaFailure", condition.message);
    }
    let wants = object.number("spec.replicas").unwrap_or(1);
    let few = too_few(&[
        ("LessLabelled", "labelled", object.count("fullyLabeledReplicas"), wants),
        ("LessAvailable", "available", object.count("availableReplicas"), wants),
        ("LessReady", "ready", object.count("readyReplicas"), wants),
    ]);
    few.or_else(|| extra(object.count("replicas"), wants)).unwrap_or_else(Readiness::current)
}

fn pod(object: Fields<'_>) -> Readiness {
    match object.text("status.phase") {
        "Succeeded" => Readiness::current(),
        // kstatus counts a Pod that ended in failure as current, because nothing will change it. A wave that waits for
        // such a Pod must not continue, so it is failed here.
        "Failed" => Readiness::failed("PodFailed", object.text("status.message")),
        "Running" if object.is_true("Ready") => Readiness::current(),
        "Running" => {
            let looping = crash_looping(object);
            if looping.is_empty() {
                return Readiness::progress("PodRunningNotReady", "the Pod is running, but not ready");
            }
            Readiness::failed(
                "ContainerCrashLooping",
                &format!("containers crash again and again: {}", looping.join(", ")),
            )
        }
        // kstatus calls this failed after 15 seconds. Nothing changes the object when they have passed, so that would
        // depend on when somebody looks, and nodes are added within minutes.
        "Pending" => match object.condition("PodScheduled").filter(|condition| condition.status == "False") {
            Some(condition) => Readiness::progress(condition.reason_or("PodNotScheduled"), condition.message),
            None => Readiness::progress("PodPending", "the Pod is pending"),
        },
        "" => Readiness::progress("PodNotObserved", "the Pod has no phase yet"),
        phase => Readiness::new(Health::Unknown, "UnknownPhase", &format!("the Pod's phase is {phase:?}")),
    }
}

fn crash_looping(object: Fields<'_>) -> Vec<&str> {
    let all = object.at("status.containerStatuses").and_then(Value::as_array).into_iter().flatten();
    let loops = |status: &&Value| Fields(status).text("state.waiting.reason") == "CrashLoopBackOff";
    all.filter(loops).map(|status| Fields(status).text("name")).collect()
}

fn claim(object: Fields<'_>) -> Readiness {
    match object.text("status.phase") {
        "Bound" => Readiness::current(),
        phase => Readiness::progress("NotBound", &format!("the claim's phase is {phase:?}")),
    }
}

/// As kstatus, this does not wait for the load balancer's address, because many clusters never assign one. A producer
/// that needs the address has its own expression.
fn service(object: Fields<'_>) -> Readiness {
    if object.text("spec.type") == "LoadBalancer" && object.text("spec.clusterIP").is_empty() {
        return Readiness::progress("NoIPAssigned", "the Service has no cluster IP yet");
    }
    Readiness::current()
}

/// A Job that runs is current, as in kstatus. A producer that waits for its end has its own expression.
fn job(object: Fields<'_>) -> Readiness {
    if object.is_true("Complete") || object.is_true("Suspended") {
        return Readiness::current();
    }
    if let Some(condition) = object.condition("Failed").filter(|condition| condition.status == "True") {
        return Readiness::failed(condition.reason_or("JobFailed"), condition.message);
    }
    if object.text("status.startTime").is_empty() {
        return Readiness::progress("JobNotStarted", "the Job has not started");
    }
    Readiness::current()
}

fn definition(object: Fields<'_>) -> Readiness {
    if let Some(condition) = object.condition("NamesAccepted").filter(|condition| condition.status == "False") {
        return Readiness::failed(condition.reason_or("NamesNotAccepted"), condition.message);
    }
    match object.condition("Established") {
        Some(condition) if condition.status == "True" => Readiness::current(),
        Some(condition) if condition.status == "False" && condition.reason != "Installing" => {
            Readiness::failed(condition.reason_or("NotEstablished"), condition.message)
        }
        _ => Readiness::progress("Installing", "the definition is not established yet"),
    }
}

/// A custom resource, or a kind without rules.
fn other(object: Fields<'_>) -> Readiness {
    match object.condition("Ready") {
        Some(condition) if condition.status != "True" => {
            Readiness::progress(condition.reason_or("NotReady"), condition.message)
        }
        _ => Readiness::current(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(group: &str, kind: &str, mut object: Value) -> String {
        let id = MemberId { group: group.into(), kind: kind.into(), namespace: None, name: "a".into() };
        object["kind"] = kind.into();
        let readiness = Readiness::of(&id, &object, &mut None);
        format!("{:?} {}", readiness.health, readiness.reason)
    }

    fn conditions(all: &[(&str, &str, &str)]) -> Value {
        all.iter()
            .map(|(type_, status, reason)| json!({"type": type_, "status": status, "reason": reason, "message": "m"}))
            .collect()
    }

    #[test]
    fn the_generic_rules_come_first() {
        let deleting = json!({"metadata": {"deletionTimestamp": "2024-05-01T10:00:00Z"}});
        assert_eq!(of("", "Secret", deleting), "Terminating Terminating");
        let behind = json!({"metadata": {"generation": 3}, "status": {"observedGeneration": 2}});
        assert_eq!(of("apps", "Deployment", behind.clone()), "InProgress LatestGenerationNotObserved");
        assert_eq!(of("example.com", "App", behind), "InProgress LatestGenerationNotObserved");
        let app =
            |all: &[(&str, &str, &str)]| of("example.com", "App", json!({"status": {"conditions": conditions(all)}}));
        assert_eq!(app(&[("Stalled", "True", "Broken")]), "Failed Broken");
        assert_eq!(app(&[("Stalled", "False", "Fine"), ("Reconciling", "True", "Busy")]), "InProgress Busy");
        assert_eq!(app(&[("Ready", "False", "Waiting")]), "InProgress Waiting");
        assert_eq!(app(&[("Ready", "Unknown", "")]), "InProgress NotReady");
        assert_eq!(app(&[("Ready", "True", "Up")]), "Current Current");
        assert_eq!(app(&[]), "Current Current");
        assert_eq!(of("", "Secret", json!({})), "Current Current");
        assert_eq!(
            of(
                "policy",
                "PodDisruptionBudget",
                json!({"status": {"conditions": conditions(&[("Ready", "False", "")])}})
            ),
            "Current Current"
        );
        let id = MemberId { group: "".into(), kind: "Pod".into(), namespace: None, name: "a".into() };
        assert_eq!(Readiness::of(&id, &json!([]), &mut None).health, Health::Unknown);
    }

    #[test]
    fn hostile_objects_are_read_too() {
        for wrong in [
            json!({"status": 1}),
            json!({"status": {"conditions": [1, {}, {"type": 3}]}}),
            json!({"metadata": [], "spec": null}),
        ] {
            for (group, kind) in
                [("apps", "Deployment"), ("apps", "StatefulSet"), ("", "Pod"), ("batch", "Job"), ("x", "Y")]
            {
                assert!(!of(group, kind, wrong.clone()).is_empty());
            }
        }
        let extreme = json!({"spec": {"replicas": i64::MIN, "updateStrategy": {"rollingUpdate": {"partition": i64::MAX}}}, "status": {"replicas": 0}});
        assert!(of("apps", "StatefulSet", extreme).starts_with("InProgress"));
    }

    #[test]
    fn deployments() {
        let with = |status: Value, all: &[(&str, &str, &str)]| {
            let mut object = json!({"spec": {"replicas": 2, "progressDeadlineSeconds": 600}, "status": status});
            object["status"]["conditions"] = conditions(all);
            of("apps", "Deployment", object)
        };
        let done = [("Progressing", "True", "NewReplicaSetAvailable"), ("Available", "True", "")];
        let full = || json!({"replicas": 2, "updatedReplicas": 2, "availableReplicas": 2, "readyReplicas": 2});
        let less = |name: &str, count: i64| {
            let mut status = full();
            status[name] = count.into();
            with(status, &done)
        };
        assert_eq!(with(full(), &done), "Current Current");
        assert_eq!(with(json!({}), &[]), "InProgress LessReplicas");
        assert_eq!(less("replicas", 1), "InProgress LessReplicas");
        assert_eq!(less("updatedReplicas", 1), "InProgress LessUpdated");
        assert_eq!(less("replicas", 3), "InProgress ExtraPods");
        assert_eq!(less("availableReplicas", 1), "InProgress LessAvailable");
        assert_eq!(less("readyReplicas", 1), "InProgress LessReady");
        assert_eq!(
            with(full(), &[("Progressing", "False", "ProgressDeadlineExceeded")]),
            "Failed ProgressDeadlineExceeded"
        );
        assert_eq!(
            with(full(), &[("Progressing", "True", "ReplicaSetUpdated"), ("Available", "True", "")]),
            "InProgress ReplicaSetNotAvailable"
        );
        assert_eq!(with(full(), &done[..1]), "InProgress DeploymentNotAvailable");
        let mut endless = json!({"spec": {"replicas": 2}, "status": full()});
        endless["status"]["conditions"] = conditions(&done[1..]);
        assert_eq!(of("apps", "Deployment", endless), "Current Current", "without a deadline there is no condition");
    }

    #[test]
    fn stateful_sets() {
        let with = |strategy: Value, change: &[(&str, Value)]| {
            let mut object = json!({
                "spec": {"replicas": 3, "updateStrategy": strategy},
                "status": {"replicas": 3, "readyReplicas": 3, "currentReplicas": 3, "updatedReplicas": 3, "currentRevision": "a", "updateRevision": "a"}
            });
            change.iter().for_each(|(name, value)| object["status"][name] = value.clone());
            of("apps", "StatefulSet", object)
        };
        let rolling = || json!({"type": "RollingUpdate", "rollingUpdate": {"partition": 0}});
        assert_eq!(with(rolling(), &[]), "Current Current");
        assert_eq!(with(json!({"type": "OnDelete"}), &[("replicas", json!(0))]), "Current Current");
        assert_eq!(with(rolling(), &[("replicas", json!(2))]), "InProgress LessReplicas");
        assert_eq!(with(rolling(), &[("readyReplicas", json!(2))]), "InProgress LessReady");
        assert_eq!(with(rolling(), &[("replicas", json!(4))]), "InProgress ExtraPods");
        assert_eq!(with(rolling(), &[("currentReplicas", json!(2))]), "InProgress LessCurrent");
        assert_eq!(
            with(rolling(), &[("updateRevision", json!("b"))]),
            "InProgress RevisionMismatch",
            "partition 0 is none"
        );
        let partition = || json!({"rollingUpdate": {"partition": 2}});
        assert_eq!(
            with(partition(), &[("updatedReplicas", json!(0)), ("updateRevision", json!("b"))]),
            "InProgress PartitionRollout"
        );
        assert_eq!(
            with(partition(), &[("updatedReplicas", json!(1)), ("updateRevision", json!("b"))]),
            "Current Current"
        );
    }

    #[test]
    fn sets_of_pods() {
        let daemon = |change: &[(&str, Value)]| {
            let mut object = json!({"metadata": {"generation": 1}, "status": {
                "observedGeneration": 1, "desiredNumberScheduled": 2, "currentNumberScheduled": 2,
                "updatedNumberScheduled": 2, "numberAvailable": 2, "numberReady": 2
            }});
            change.iter().for_each(|(name, value)| object["status"][name] = value.clone());
            of("apps", "DaemonSet", object)
        };
        assert_eq!(daemon(&[]), "Current Current");
        assert_eq!(daemon(&[("observedGeneration", Value::Null)]), "InProgress NoObservedGeneration");
        assert_eq!(daemon(&[("desiredNumberScheduled", Value::Null)]), "InProgress NoDesiredNumber");
        for (name, reason) in [
            ("currentNumberScheduled", "LessCurrent"),
            ("updatedNumberScheduled", "LessUpdated"),
            ("numberAvailable", "LessAvailable"),
            ("numberReady", "LessReady"),
        ] {
            assert_eq!(daemon(&[(name, json!(1))]), format!("InProgress {reason}"));
        }
        let replicas = |change: &[(&str, Value)]| {
            let mut object = json!({"spec": {"replicas": 1}, "status": {"replicas": 1, "fullyLabeledReplicas": 1, "availableReplicas": 1, "readyReplicas": 1}});
            change.iter().for_each(|(name, value)| object["status"][name] = value.clone());
            of("apps", "ReplicaSet", object)
        };
        assert_eq!(replicas(&[]), "Current Current");
        assert_eq!(
            replicas(&[("conditions", conditions(&[("ReplicaFailure", "True", "")]))]),
            "InProgress ReplicaFailure"
        );
        assert_eq!(replicas(&[("fullyLabeledReplicas", json!(0))]), "InProgress LessLabelled");
        assert_eq!(replicas(&[("availableReplicas", json!(0))]), "InProgress LessAvailable");
        assert_eq!(replicas(&[("readyReplicas", json!(0))]), "InProgress LessReady");
        assert_eq!(replicas(&[("replicas", json!(2))]), "InProgress ExtraPods");
    }

    #[test]
    fn pods() {
        let with = |phase: &str, all: &[(&str, &str, &str)]| {
            of("", "Pod", json!({"status": {"phase": phase, "conditions": conditions(all)}}))
        };
        assert_eq!(with("Succeeded", &[]), "Current Current");
        assert_eq!(with("Failed", &[]), "Failed PodFailed");
        assert_eq!(with("Running", &[("Ready", "True", "")]), "Current Current");
        assert_eq!(with("Running", &[("Ready", "False", "")]), "InProgress PodRunningNotReady");
        assert_eq!(with("Pending", &[]), "InProgress PodPending");
        assert_eq!(with("Pending", &[("PodScheduled", "False", "Unschedulable")]), "InProgress Unschedulable");
        assert_eq!(with("", &[]), "InProgress PodNotObserved");
        assert_eq!(with("Odd", &[]), "Unknown UnknownPhase");
        let waiting = json!([{"name": "web", "state": {"waiting": {"reason": "CrashLoopBackOff"}}}]);
        assert_eq!(
            of("", "Pod", json!({"status": {"phase": "Running", "containerStatuses": waiting}})),
            "Failed ContainerCrashLooping"
        );
    }

    #[test]
    fn the_rest() {
        assert_eq!(of("", "PersistentVolumeClaim", json!({"status": {"phase": "Pending"}})), "InProgress NotBound");
        assert_eq!(of("", "PersistentVolumeClaim", json!({"status": {"phase": "Bound"}})), "Current Current");
        assert_eq!(of("", "Service", json!({"spec": {"type": "LoadBalancer"}})), "InProgress NoIPAssigned");
        assert_eq!(
            of("", "Service", json!({"spec": {"type": "LoadBalancer", "clusterIP": "10.0.0.1"}})),
            "Current Current"
        );
        assert_eq!(of("", "Service", json!({"spec": {}})), "Current Current");
        let job = |all: &[(&str, &str, &str)], start: &str| {
            of("batch", "Job", json!({"status": {"startTime": start, "conditions": conditions(all)}}))
        };
        assert_eq!(job(&[], ""), "InProgress JobNotStarted");
        assert_eq!(job(&[], "2024-05-01T10:00:00Z"), "Current Current");
        assert_eq!(job(&[("Complete", "True", "")], ""), "Current Current");
        assert_eq!(job(&[("Suspended", "True", "")], ""), "Current Current");
        assert_eq!(job(&[("Failed", "True", "BackoffLimitExceeded")], "x"), "Failed BackoffLimitExceeded");
        let crd = |all: &[(&str, &str, &str)]| {
            of("apiextensions.k8s.io", "CustomResourceDefinition", json!({"status": {"conditions": conditions(all)}}))
        };
        assert_eq!(crd(&[]), "InProgress Installing");
        assert_eq!(crd(&[("NamesAccepted", "False", "MultipleNames")]), "Failed MultipleNames");
        assert_eq!(crd(&[("NamesAccepted", "True", ""), ("Established", "True", "")]), "Current Current");
        assert_eq!(crd(&[("Established", "False", "Installing")]), "InProgress Installing");
        assert_eq!(crd(&[("Established", "False", "Broken")]), "Failed Broken");
    }

    #[test]
    fn an_expression_adds_to_the_rules() {
        let of = |kind: &str, text: &str, mut object: Value| {
            object["metadata"]["annotations"] = json!({READY: text});
            super::tests::of("apps", kind, object)
        };
        let failed = json!({"status": {"conditions": conditions(&[("Stalled", "True", "Broken")])}});
        assert_eq!(of("Thing", "self.go", json!({"go": true})), "Current Current");
        assert_eq!(of("Thing", "self.go", json!({"go": false})), "InProgress Expression");
        assert_eq!(of("Thing", "self.go", json!({})), "InProgress Expression");
        assert_eq!(of("Thing", "self.go ==", json!({"go": true})), "InProgress Expression");
        assert_eq!(of("DaemonSet", "true", json!({})), "Current Current");
        assert_eq!(of("DaemonSet", "false", json!({})), "InProgress NoObservedGeneration");
        assert_eq!(of("Thing", "true", failed), "Failed Broken");
        let behind = json!({"metadata": {"generation": 3}, "status": {"observedGeneration": 2}});
        assert_eq!(of("Thing", "true", behind), "InProgress LatestGenerationNotObserved");
    }
}
