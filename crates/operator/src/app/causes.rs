//! What caused what: runs and their writes become causes, and an admin gets the chain back from an object. The rules are in
//! `boathook_core::causes`.

use std::{sync::Arc, time::SystemTime};

use boathook_core::{
    causes::{Causes, Made, NewWrite, ObjectId, Run, Version},
    effect::Sink,
    model::{BindingName, HookName, Job, RunId},
};
use boathook_kube::access::{self, Exchanged, MadeVersion, Observer, Stored};
use tracing::Span;

use super::loops::LoopWatch;
use crate::telemetry::{Metrics, traces};

/// Passes on what writes did: effects for people, and versions as causes. It also counts requests.
pub(super) struct Writes {
    pub effects: Option<Arc<dyn Sink>>,
    pub causes: Arc<Causes>,
    pub loops: Arc<LoopWatch>,
    pub metrics: Arc<Metrics>,
}

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
            manager: stored.manager,
            shared: matches!(&stored.made, access::Made::Version(MadeVersion { shared: true, .. })),
        });
        if let Some(turned) = turned {
            self.loops.turned(&turned);
        }
    }

    fn exchanged(&self, hook: &HookName, exchanged: Exchanged) {
        match exchanged {
            Exchanged::Sent(bytes) => self.metrics.sent(hook, bytes),
            Exchanged::Received(bytes) => self.metrics.received(hook, bytes),
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
