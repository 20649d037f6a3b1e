//! What caused what: runs and their writes become causes, and an admin gets the chain back from an object. The rules are in
//! `boathook_core::causes`.

use std::{sync::Arc, time::SystemTime};

use boathook_core::{
    causes::{Causes, Loop, Made, NewWrite, ObjectId, Run, Turned, Version},
    effect::Sink,
    model::{BindingName, HookName, Job, RunId},
    queue,
};
use boathook_kube::access::{self, MadeVersion, Observer, Stored};
use tracing::{Span, warn};

use super::{LoopPolicy, events, hooks::HookRegistry};
use crate::telemetry::{Metrics, traces};

/// Passes on what writes did: effects for people, and versions as causes.
pub(super) struct Writes {
    pub effects: Option<Arc<dyn Sink>>,
    pub causes: Arc<Causes>,
    pub watch: LoopWatch,
}

/// Tells of loops, and does what the policy says.
pub(super) struct LoopWatch {
    pub policy: LoopPolicy,
    pub metrics: Arc<Metrics>,
    pub hook_registry: Arc<HookRegistry>,
    pub queue: queue::Handle,
    pub events: events::Outlet,
}

impl LoopWatch {
    fn turned(&self, turned: &Turned) {
        let Turned { named, new } = turned;
        for link in &named.links {
            self.metrics.loop_turned(&link.hook);
        }
        if !new {
            return;
        }
        let (text, policy) = (described(named), self.policy);
        let then = match policy {
            LoopPolicy::Warn => "nothing slows it: see --loops",
            LoopPolicy::Slow => "events of its objects wait longer with each turn",
            LoopPolicy::Stop => "its hooks are paused: `boathook resume HOOK` ends that",
        };
        let hooks: Vec<_> = named.links.iter().map(|link| link.hook.as_str()).collect();
        warn!(hooks = hooks.join(","), "a loop: {text}; {then}");
        for hook in named.links.iter().filter_map(|link| self.hook_registry.hook(&link.hook)) {
            self.events.looped(&hook.tenant(), &hook.spec.name, format!("a loop: {text}; {then}"));
            if policy == LoopPolicy::Stop {
                self.queue.pause(&hook.spec.name);
            }
        }
    }
}

/// Names the hooks of a loop, and what each of them writes.
pub(super) fn described(named: &Loop) -> String {
    let links = named.links.iter().map(|link| {
        let fields = match link.fields.as_slice() {
            [] => String::new(),
            fields => format!(" ({})", fields.iter().take(FIELDS).map(|field| &**field).collect::<Vec<_>>().join(", ")),
        };
        let subresource = link.subresource.as_ref().map(|name| format!(" ({name})")).unwrap_or_default();
        format!("hook {} writes {}{subresource}{fields}", link.hook, link.object)
    });
    let links = links.collect::<Vec<_>>().join(", because of which ");
    if named.same {
        format!("{links}, and so on, with the same content again")
    } else {
        format!("{links}, and so on, very often")
    }
}

/// The most fields of a link that are named.
const FIELDS: usize = 4;

impl Observer for Writes {
    fn stored(&self, stored: &Stored<'_>) {
        let turned = self.causes.wrote(NewWrite {
            hook: stored.hook,
            run: stored.run,
            at: SystemTime::now(),
            object: ObjectId::of(stored.object),
            verb: stored.verb,
            subresource: stored.subresource,
            made: made(&stored.made),
        });
        if let Some(turned) = turned {
            self.watch.turned(&turned);
        }
    }

    fn effects(&self) -> Option<&dyn Sink> {
        self.effects.as_deref()
    }
}

fn made(made: &access::Made) -> Made {
    match made {
        access::Made::Version(MadeVersion { uid, resource_version, certain, content, fields, .. }) => Made::Version {
            version: Version::new(uid, resource_version),
            certain: *certain,
            content: *content,
            fields: fields.iter().map(|field| field.as_str().into()).collect(),
        },
        access::Made::Deletion { uid, marked } => {
            Made::Deletion { uid: uid.as_str().into(), marked: marked.as_deref().map(Box::from) }
        }
        access::Made::Unknown => Made::Unknown,
    }
}

/// A run that begins.
pub(super) fn of_job(id: &RunId, job: &Job, span: &Span) -> Run {
    Run { span: traces::place(span), ..Run::of(id, &job.hook, &job.triggers, SystemTime::now()) }
}

/// An answer to the API server that begins.
pub(super) fn of_answer(id: &RunId, hook: &HookName, binding: &BindingName, kind: &'static str) -> Run {
    Run::answer(id, hook, binding, kind, SystemTime::now())
}

/// Links a run's span to those of the runs that caused it. Call it at the end of the run: an event can arrive before the
/// response to the write.
pub(super) fn link(causes: &Causes, run: &RunId, span: &Span) {
    if span.is_disabled() {
        return;
    }
    for write in causes.makers(&causes.reasons(run)).into_iter().flatten() {
        if let Some(place) = write.run.span {
            traces::link(span, place);
        }
    }
}
