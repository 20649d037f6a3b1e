//! Answers of admins' questions about causes: why an object is as it is, and why a hook did not run for an object. What a
//! binding made of an object is asked of the binding itself, and what its selectors say of the API server.

use std::{sync::Arc, time::SystemTime};

use boathook_core::{
    causes::{Causes, Chain, Led, Made, ObjectId, Origin, Reason, Step, Version},
    filter::{Explanation, ObjectExplained, Verdict},
    model::{
        CallReason, Caller, HookName, KubernetesBinding, ListQuery, ObjectKey, ObjectRef, Permission, Resource, Role,
        RunId, error_chain,
    },
    queue::{Place, QueueState, Unfinished},
};
use jiff::Timestamp;

use super::{Services, history::stamp, hooks::Hook};
use crate::{
    admin::{
        Refused,
        views::TriggerView,
        why::{ChainView, FindingView, ForgottenView, ReasonView, StepView, WhyNotView, WhyView},
    },
    record::RecordedCauses,
};

/// The most writes that are shown, each with its chain.
const WRITES: usize = 5;
/// The most writes of a run that are shown.
const WRITES_OF_RUN: usize = 50;

/// An object that an admin names: `KIND/NAME` or `KIND/NAMESPACE/NAME`. The kind is written as for kubectl.
pub(super) struct Named {
    text: String,
    kind: String,
    /// `None` also stands for any namespace.
    namespace: Option<String>,
    name: String,
    /// `None` if the API server does not serve such a kind, or does not answer.
    resource: Option<Arc<Resource>>,
}

impl Named {
    pub async fn find(services: &Services, text: &str) -> Result<Self, Refused> {
        let parts: Vec<&str> = text.split('/').collect();
        let (kind, namespace, name) = match parts.as_slice() {
            [kind, name] => (*kind, None, *name),
            [kind, namespace, name] => (*kind, Some((*namespace).to_owned()), *name),
            _ => ("", None, ""),
        };
        if kind.is_empty() || name.is_empty() || namespace.as_deref() == Some("") {
            let rule = "name an object as KIND/NAME or KIND/NAMESPACE/NAME, for example configmap/default/settings";
            return Err(Refused::Bad(format!("{text:?} is no object: {rule}")));
        }
        let resource = services.discovery.named(kind).await.ok();
        Ok(Self { text: text.to_owned(), kind: kind.to_owned(), namespace, name: name.to_owned(), resource })
    }

    /// Without discovery, the kind has to be written in full.
    fn is(&self, object: &ObjectId) -> bool {
        let of_kind = match &self.resource {
            Some(resource) => *resource.kind == *object.kind && *resource.group == *object.group,
            None => {
                let (kind, group) = self.kind.split_once('.').unwrap_or((&self.kind, ""));
                object.kind.eq_ignore_ascii_case(kind) && (group.is_empty() || *group == *object.group)
            }
        };
        let in_namespace =
            self.namespace.as_deref().is_none_or(|namespace| object.namespace.as_deref() == Some(namespace));
        of_kind && in_namespace && *self.name == *object.name
    }
}

pub(super) fn why(services: &Services, object: &Named) -> WhyView {
    let chains = services.causes.why(|id| object.is(id), WRITES);
    let newer = newer(services, object, chains.first());
    let forgotten = forgotten(&services.causes);
    WhyView { object: object.text.clone(), chains: chains.into_iter().map(chain).collect(), newer, forgotten }
}

/// The last writes of a run.
pub(super) fn why_run(causes: &Causes, run: &str) -> WhyView {
    let chains = causes.why_run(run, WRITES_OF_RUN).into_iter().map(chain).collect();
    WhyView { object: format!("run {run}"), chains, newer: None, forgotten: forgotten(causes) }
}

pub(super) fn forgotten(causes: &Causes) -> Option<ForgottenView> {
    let forgotten = causes.forgotten();
    forgotten.until.map(|until| ForgottenView { writes: forgotten.writes, until: time(until) })
}

/// The newest state of the object that a binding has seen, if it is not that of the newest write.
fn newer(services: &Services, object: &Named, newest: Option<&Chain>) -> Option<String> {
    let key = ObjectKey { namespace: object.namespace.as_deref().map(Arc::from), name: object.name.as_str().into() };
    let mut seen: Option<(u64, Version)> = None;
    for hook in services.hook_registry.live() {
        let snapshots = services.snapshots.snapshot_set(&hook.spec.name);
        for binding in hook.spec.kubernetes.iter().filter(|binding| is_of(binding, object)) {
            let Some(item) = snapshots.items(&binding.name).and_then(|items| items.get(&key)) else { continue };
            let Ok(number) = item.resource_version.parse::<u64>() else { continue };
            if seen.as_ref().is_none_or(|(before, _)| *before < number) {
                seen = Some((number, Version::new(&item.uid, &item.resource_version)));
            }
        }
    }
    let (number, version) = seen?;
    if services.causes.why_seen(&version).is_some() {
        return None;
    }
    let newest = newest.and_then(|chain| chain.steps.first()).map(|step| &step.write.made);
    let own = match newest {
        Some(Made::Version { version, .. }) => version.resource_version.parse::<u64>().ok(),
        _ => None,
    };
    if own.is_some_and(|own| own > number) {
        return None;
    }
    Some(format!(
        "resourceVersion {number} is the newest that a binding saw: no hook of this process is known to have made it"
    ))
}

/// Whether a binding's kind is the object's, as far as its author has written it in full.
fn is_of(binding: &KubernetesBinding, object: &Named) -> bool {
    let Some(resource) = &object.resource else { return binding.kind.eq_ignore_ascii_case(&object.kind) };
    let names = [&resource.kind, &resource.plural];
    let version = binding.api_version.as_deref();
    let group = version.map(|version| version.split_once('/').map(|(group, _)| group).unwrap_or_default());
    names.iter().any(|name| name.eq_ignore_ascii_case(&binding.kind))
        && group.is_none_or(|group| group == resource.group)
}

pub(super) fn time(at: SystemTime) -> String {
    Timestamp::try_from(at).map(stamp).unwrap_or_default()
}

/// What led to a run, for its record. Call it before the run counts as ended.
pub(super) fn recorded(causes: &Causes, run: &RunId) -> Option<RecordedCauses> {
    let Led { reason: first, chain: before } = causes.led_to(run)?;
    let origin = match (&first, before.steps.is_empty()) {
        (Some(Reason { binding, what, seen: None }), true) => format!("{what} of binding {binding}"),
        _ => origin(&before),
    };
    Some(RecordedCauses { reason: first.as_ref().map(reason), steps: before.steps.iter().map(step).collect(), origin })
}

fn chain(chain: Chain) -> ChainView {
    ChainView { steps: chain.steps.iter().map(step).collect(), origin: origin(&chain) }
}

fn origin(chain: &Chain) -> String {
    let last = chain.steps.last();
    match (&chain.origin, last) {
        (Origin::Reason, Some(Step { reason: Some(reason), write, .. })) => {
            format!("{} of binding {} of hook {}", reason.what, reason.binding, write.run.hook)
        }
        (Origin::Operator | Origin::Reason, Some(step)) => format!("the operator itself, for {}", step.write.run.hook),
        (Origin::Operator | Origin::Reason, None) => "the operator itself".to_owned(),
        (Origin::SomebodyElse(object), _) => {
            format!("somebody else changed {object}: no hook of this process is known to have done it")
        }
        (Origin::Forgotten(object), _) => {
            format!("somebody changed {object}: writes of hooks of that time are forgotten")
        }
        (Origin::TooLong, _) => "not shown: the chain is longer".to_owned(),
    }
}

pub(super) fn step(step: &Step) -> StepView {
    let write = &step.write;
    let (version, uid, certainty, fields) = match &write.made {
        Made::Version { version, certain, fields, .. } => (
            Some(version.resource_version.to_string()),
            Some(version.uid.to_string()),
            if *certain { "certain" } else { "possible" },
            fields.iter().map(|field| field.to_string()).collect(),
        ),
        Made::Deletion { uid, marked } => {
            (marked.as_ref().map(|marked| marked.to_string()), Some(uid.to_string()), "certain", Vec::new())
        }
        Made::Unknown => (None, None, "unknown", Vec::new()),
    };
    StepView {
        at: time(write.at),
        verb: write.verb.to_owned(),
        object: write.object.to_string(),
        subresource: write.subresource.as_deref().map(str::to_owned),
        uid,
        resource_version: version,
        certainty: certainty.to_owned(),
        fields,
        hook: write.run.hook.to_string(),
        run: write.run.id.to_string(),
        began: time(write.run.began),
        reason: step.reason.as_ref().map(reason),
        others: write.run.count.saturating_sub(1),
        possibly: step.possibly,
    }
}

pub(super) fn reason(reason: &Reason) -> ReasonView {
    let seen = reason.seen.as_ref();
    let version = seen.map(|seen| &seen.version);
    ReasonView {
        binding: reason.binding.to_string(),
        cause: reason.what.to_owned(),
        object: seen.map(|seen| seen.object.to_string()),
        uid: version.map(|version| version.uid.to_string()),
        resource_version: version.map(|version| version.resource_version.to_string()).filter(|text| !text.is_empty()),
    }
}

/// Collects what keeps a hook from running for an object.
struct Findings(Vec<FindingView>);

impl Findings {
    fn add(&mut self, stage: &str, binding: Option<&KubernetesBinding>, blocks: bool, text: impl Into<String>) {
        let binding = binding.map(|binding| binding.name.to_string());
        self.0.push(FindingView { stage: stage.to_owned(), binding, blocks, text: text.into() });
    }
}

/// Why a hook that runs did not run for the object.
pub(super) async fn why_not(services: &Arc<Services>, hook: &Arc<Hook>, object: &Named) -> Result<WhyNotView, Refused> {
    let name = &hook.spec.name;
    let Some(resource) = &object.resource else {
        return Err(Refused::Bad(format!("the API server serves no kind {:?}", object.kind)));
    };
    if resource.namespaced && object.namespace.is_none() {
        let rule = format!("name it as {}/NAMESPACE/{}", object.kind, object.name);
        return Err(Refused::Bad(format!("objects of kind {} are in namespaces: {rule}", resource.kind)));
    }
    let key = ObjectKey { namespace: object.namespace.as_deref().map(Arc::from), name: object.name.as_str().into() };
    let mut findings = Findings(Vec::new());
    of_hook(services, name, &mut findings);
    let statuses = services.health.bindings(name);
    let mut watches = false;
    for (index, binding) in hook.spec.kubernetes.iter().enumerate() {
        let role_matters = !matches!(binding.role, Some(Role::Members(_) | Role::Related(_)));
        let found = services.discovery.find(binding.api_version.as_deref(), &binding.kind).await;
        match found {
            Ok(found) if found.group == resource.group && found.kind == resource.kind && role_matters => {}
            Ok(_) => continue,
            Err(error) => {
                findings.add("kind", Some(binding), false, error_chain(&error));
                continue;
            }
        }
        watches = true;
        let (status, pending) = statuses.get(index).cloned().unwrap_or_default();
        if let Some(pending) = &pending {
            findings.add("start", Some(binding), true, format!("it is pending: {pending}"));
        }
        match status.explain(&key).await {
            Some(explanation) => {
                of_binding(binding, &explanation, &mut findings);
                if explanation.object.is_none() {
                    selected(services, hook, binding, (resource, &key), &mut findings).await;
                }
            }
            None if pending.is_none() => {
                findings.add("start", Some(binding), true, "it does not answer: it has not started, or is too busy");
            }
            None => {}
        }
    }
    if !watches {
        let text = format!("no kubernetes or reconcile binding of the hook watches {}", resource.kind);
        findings.add("kind", None, true, text);
    }
    for unfinished in services.queue.about(name, (&resource.group, &resource.kind), &key) {
        of_queue(&unfinished, &mut findings);
    }
    of_runs(services, name, (&resource.kind, &key), &mut findings);
    Ok(WhyNotView { hook: name.to_string(), object: object.text.clone(), findings: findings.0 })
}

fn of_hook(services: &Services, name: &HookName, findings: &mut Findings) {
    if !services.leadership.leads() {
        findings.add("hook", None, true, "this replica does not lead: another one runs the hooks");
    }
    let stats = services.queue.stats();
    if let Some(stats) = stats.hooks.iter().find(|stats| stats.hook == *name) {
        if stats.paused {
            findings.add("hook", None, true, format!("it is paused: `boathook resume {name}` ends that"));
        }
        if stats.held {
            findings.add("hook", None, true, "its next version is taking over");
        }
    }
    let readiness = services.health.readiness();
    let missing = readiness.hooks.iter().find(|known| known.hook == name.as_str());
    for missing in missing.map(|known| known.missing.as_slice()).unwrap_or_default() {
        findings.add("start", None, true, missing.clone());
    }
    if let Some(trouble) = readiness.api_server {
        findings.add("hook", None, true, format!("{trouble}: hooks get nothing new"));
    }
}

fn of_binding(binding: &KubernetesBinding, explanation: &Explanation, findings: &mut Findings) {
    let Explanation { listed, admitted, live, object } = explanation;
    match (listed, admitted, live) {
        (_, _, true) => {}
        (false, _, _) => findings.add("start", Some(binding), true, "it has not listed its objects"),
        (true, false, _) => findings.add("start", Some(binding), true, "it waits for other bindings of its hook"),
        (true, true, false) => findings.add("start", Some(binding), true, "it is not live yet"),
    }
    let Some(ObjectExplained { verdict, resource_version, error, late }) = object else { return };
    let version =
        resource_version.as_deref().map_or_else(String::new, |version| format!(", resourceVersion {version}"));
    let (stage, blocks, text) = match verdict {
        Verdict::BeforeLive if binding.on_synchronization => (
            "events",
            false,
            format!("it knows the object{version}: the synchronization shows it, and nothing changed since"),
        ),
        Verdict::BeforeLive => (
            "events",
            true,
            format!(
                "the object{version} was there before the hook: executeHookOnSynchronization is false, and nothing changed since"
            ),
        ),
        Verdict::Event(kind) => {
            ("events", false, format!("the last change{version} became the event {}", kind.as_str()))
        }
        Verdict::Unchanged if binding.jq_filter.is_some() => (
            "filter",
            true,
            format!(
                "the last change{version} did not change the result of its jqFilter: {}",
                one_line(binding.jq_filter.as_deref())
            ),
        ),
        Verdict::Unchanged => {
            ("filter", true, format!("the last change{version} changed nothing that it sees of the object"))
        }
        Verdict::Unwanted(kind) => (
            "events",
            true,
            format!("the last change{version} is {}, which its executeHookOnEvent does not name", kind.as_str()),
        ),
        Verdict::Own => {
            ("events", true, format!("the hook made the last change{version} itself: ignoreOwnWrites is true"))
        }
        Verdict::FilterFailed => {
            ("filter", true, format!("its jqFilter fails on the object: {}", one_line(error.as_deref())))
        }
        Verdict::Late => (
            "filter",
            true,
            "its filter could not run on the newest state yet, or there is no memory for it".to_owned(),
        ),
    };
    findings.add(stage, Some(binding), blocks, text);
    if *late && *verdict != Verdict::Late {
        findings.add("filter", Some(binding), true, "a newer state waits for the filter");
    }
}

fn one_line(text: Option<&str>) -> String {
    text.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Finds the selector that the object does not match. The API server is asked, with the hook's identity.
async fn selected(
    services: &Services,
    hook: &Hook,
    binding: &KubernetesBinding,
    (resource, key): (&Resource, &ObjectKey),
    findings: &mut Findings,
) {
    let namespace = key.namespace.as_deref();
    let mut add = |text: String| findings.add("selector", Some(binding), true, text);
    if !binding.names.is_empty() && !binding.names.iter().any(|name| **name == *key.name) {
        return add(format!("its nameSelector does not name the object: {}", binding.names.join(", ")));
    }
    let listed = namespace.is_some_and(|namespace| binding.namespaces.iter().any(|known| *known == *namespace));
    if !binding.namespaces.is_empty() && !listed && binding.namespace_labels.is_none() {
        return add(format!("it watches other namespaces: {}", binding.namespaces.join(", ")));
    }
    let of = |kind: &str, version: String, namespace: Option<&str>, name: &str| ObjectRef {
        api_version: version,
        kind: kind.to_owned(),
        namespace: namespace.map(str::to_owned),
        name: name.to_owned(),
    };
    let asker = Asker { services, caller: asker(hook) };
    if let (Some(labels), Some(namespace), false) = (&binding.namespace_labels, namespace, listed) {
        let place = of("Namespace", "v1".to_owned(), None, namespace);
        match asker.matches(&place, Some(labels), None).await {
            Ok(true) => {}
            Ok(false) => return add(format!("namespace {namespace} does not match its selector {labels}")),
            Err(error) => return add(format!("whether namespace {namespace} matches {labels} is not known: {error}")),
        }
    }
    let object = of(&resource.kind, resource.api_version(), namespace, &key.name);
    for (what, labels, fields) in [
        ("exist", None, None),
        ("match its labelSelector", binding.label_selector.as_deref(), None),
        ("match its fieldSelector", None, binding.field_selector.as_deref()),
    ] {
        let selector = labels.or(fields);
        if what != "exist" && selector.is_none() {
            continue;
        }
        let shown = selector.map(|selector| format!(" {selector}")).unwrap_or_default();
        match asker.matches(&object, labels, fields).await {
            Ok(true) => {}
            Ok(false) => return add(format!("the object does not {what}{shown}")),
            Err(error) => return add(format!("whether the object does {what}{shown} is not known: {error}")),
        }
    }
    add("the object matches its selectors, and its watch has not shown the object yet".to_owned());
}

/// Asks the API server with the hook's identity, for the operator.
struct Asker<'a> {
    services: &'a Services,
    caller: Caller,
}

fn asker(hook: &Hook) -> Caller {
    let all = || vec!["*".to_owned()];
    let permission = Permission {
        api_groups: all(),
        resources: all(),
        verbs: vec!["list".to_owned()],
        resource_names: Vec::new(),
        namespaces: Vec::new(),
        http: None,
        directory: None,
    };
    Caller { permissions: Arc::new([permission]), ..hook.caller(RunId::new("why-not", 0), true) }
}

impl Asker<'_> {
    async fn matches(&self, object: &ObjectRef, labels: Option<&str>, fields: Option<&str>) -> Result<bool, String> {
        let name = format!("metadata.name={}", object.name);
        let query = ListQuery {
            api_version: object.api_version.clone(),
            kind: object.kind.clone(),
            namespace: object.namespace.clone(),
            label_selector: labels.map(str::to_owned),
            field_selector: Some(fields.map_or_else(|| name.clone(), |fields| format!("{name},{fields}"))),
            limit: Some(1),
            continue_token: None,
        };
        match self.services.answering.access.list(&self.caller, &query).await {
            Ok(page) => Ok(!page.items.is_empty()),
            Err(error) if error.reason == CallReason::NotFound => Ok(false),
            Err(error) => Err(error.message),
        }
    }
}

fn of_queue(unfinished: &Unfinished, findings: &mut Findings) {
    let Unfinished { queue, binding, cause, place, attempts } = unfinished;
    let failed = if *attempts > 0 { format!(" ({attempts} failed runs)") } else { String::new() };
    let left = |left: &std::time::Duration| format!("{:.1} s", left.as_secs_f64());
    let (blocks, text) = match place {
        Place::Debounce(most) => {
            (true, format!("it waits for the object to be quiet (debounce), for {} at most", left(most)))
        }
        Place::Running => (false, "its run has begun".to_owned()),
        Place::Held => (true, "it waits until the hook's next version has taken over".to_owned()),
        Place::DeadLetter(id) => {
            (true, format!("it was given up: `boathook dead-letters retry {id}` puts it back into its queue"))
        }
        Place::Queue { state, behind } => {
            let why = match state {
                QueueState::Empty | QueueState::Ready => "a free place to run".to_owned(),
                QueueState::Running => "the run that is under way in its queue".to_owned(),
                QueueState::WaitingForStartup => "the start-up of the hook".to_owned(),
                QueueState::WaitingForSynchronization(binding) => format!("the synchronization of binding {binding}"),
                QueueState::WaitingForList(binding) => format!("the objects of binding {binding}"),
                QueueState::WaitingForSnapshot(_, binding) => format!("the complete snapshot of binding {binding}"),
                QueueState::WaitingForToken(delay) => format!("the rate limit of the hook, {}", left(delay)),
                QueueState::Retry(delay) => format!("the next try of a job that failed, {}", left(delay)),
                QueueState::Debounced(delay) => format!("an object to be quiet, {}", left(delay)),
                QueueState::Held => "the next version of the hook to take over".to_owned(),
                QueueState::Standby => "this replica to lead".to_owned(),
                QueueState::Paused => "the end of the hook's pause".to_owned(),
            };
            let behind = if *behind > 0 { format!(", behind {behind} other triggers") } else { String::new() };
            (true, format!("it waits in queue {queue} for {why}{behind}"))
        }
    };
    findings.0.push(FindingView {
        stage: "queue".to_owned(),
        binding: Some(binding.to_string()),
        blocks,
        text: format!("event {cause}{failed}: {text}"),
    });
}

/// What is remembered of runs for the object.
fn of_runs(services: &Services, name: &HookName, (kind, key): (&str, &ObjectKey), findings: &mut Findings) {
    let object = key.to_string();
    let runs = services.history.runs(Some(name.as_str()), false, usize::MAX);
    let failed = services.history.runs(Some(name.as_str()), true, usize::MAX);
    let about = runs.into_iter().chain(failed).find(|run| {
        let is_about =
            |trigger: &TriggerView| trigger.kind.as_deref() == Some(kind) && trigger.object.as_deref() == Some(&object);
        run.triggers.iter().any(is_about)
    });
    if let Some(run) = about {
        let result = run.outcome.result.as_str();
        let message = run.outcome.message.map(|message| format!(": {message}")).unwrap_or_default();
        findings.add(
            "run",
            None,
            false,
            format!("run {} began for it at {}, and {result}{message}", run.id, run.started),
        );
    }
}
