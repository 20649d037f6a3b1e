//! One record for each write that a hook requested, including refused and interrupted ones.
//!
//! Of an object, a record contains only the name.

use std::borrow::Cow;

use boathook_core::{
    effect::{Sink, State},
    model::{CallError, Caller, HookName, ObjectRef, RunId},
};

use super::{
    effects::EffectRecorder,
    made::{Made, MadeVersion, Stored, made},
    own_writes::UnderWay,
    send::{ApiRequest, Exchanged, RequestStats},
};

/// A write, for logs and metrics.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteRecord<'a> {
    pub hook: &'a HookName,
    pub run: &'a RunId,
    /// `create`, `update`, `patch` or `delete`.
    pub verb: &'static str,
    /// `v1 Secret ns/name`.
    pub object: &'a str,
    /// `status`, `eviction`, …
    pub subresource: Option<&'a str>,
    /// `ok`, a reason (`forbidden-by-grant`), or `interrupted` if the run ended before the call.
    pub outcome: &'static str,
    /// The last HTTP status. Absent if there was no response.
    pub code: Option<u16>,
    /// Whether the write was sent as a server-side dry run.
    pub dry_run: bool,
    /// The number of requests sent.
    pub tries: u32,
}

/// Receives what happens to writes, and what is sent and received.
pub trait Observer: Send + Sync + 'static {
    /// A write has ended.
    fn wrote(&self, _record: &WriteRecord<'_>) {}

    /// A write that is no dry run made a version of an object, or it is not known whether it did.
    fn stored(&self, _stored: &Stored<'_>) {}

    /// A request of a hook was sent to the API server, with this many bytes in its body, or a response came with this many.
    fn exchanged(&self, _hook: &HookName, _exchanged: Exchanged) {}

    /// Receives what each write did to its object. The default is `None`, which costs nothing. Otherwise, each object
    /// is read once more before it is written.
    fn effects(&self) -> Option<&dyn Sink> {
        None
    }
}

/// An observer that ignores everything.
impl Observer for () {}

/// A write under way. Dropping it makes the record.
pub(super) struct Audit<'a> {
    observer: &'a dyn Observer,
    pub caller: &'a Caller,
    pub verb: &'static str,
    pub object: String,
    subresource: Option<&'a str>,
    pub meter: RequestStats,
    /// What the write is about, unless it is a dry run.
    pub about: Option<ObjectRef>,
    /// The field manager.
    pub manager: Cow<'a, str>,
    /// Records the write as the hook's own, if something follows the hook's writes.
    pub own: Option<UnderWay>,
    /// Collects what the write did, if something receives effects.
    pub effect: Option<EffectRecorder>,
    /// Keeps the server's response as it arrived, if it is `Some`.
    pub response: Option<String>,
    outcome: &'static str,
}

impl<'a> Audit<'a> {
    pub fn start(
        observer: &'a dyn Observer,
        caller: &'a Caller,
        verb: &'static str,
        object: String,
        subresource: Option<&'a str>,
    ) -> Self {
        let (meter, own, effect, outcome) = (RequestStats::default(), None, None, "interrupted");
        let (about, manager, response) = (None, Cow::default(), None);
        Self { observer, caller, verb, object, subresource, meter, about, manager, own, effect, response, outcome }
    }

    /// Notes the response to a request.
    pub fn answered(&self, wire: &ApiRequest, response: &str) {
        if self.about.is_some()
            && let Some(version) = made(wire, &self.manager, response, &self.meter)
        {
            self.stored(Made::Version(version));
        }
    }

    /// Notes what the write made.
    pub fn stored(&self, made: Made) {
        let Some(about) = &self.about else { return };
        // The server has chosen the name.
        let named = match &made {
            Made::Version(MadeVersion { name: Some(name), .. }) if about.name.ends_with('*') => {
                Some(ObjectRef { name: name.clone(), ..about.clone() })
            }
            _ => None,
        };
        self.observer.stored(&Stored {
            hook: &self.caller.hook,
            run: &self.caller.run,
            verb: self.verb,
            object: named.as_ref().unwrap_or(about),
            subresource: self.subresource,
            manager: &self.manager,
            made,
        });
    }

    /// Notes that the object was read as a part of the write.
    pub fn found(&mut self, object: &str) {
        if let Some(watched) = &mut self.effect {
            watched.before = State::read(object);
        }
    }

    /// Makes the record.
    pub fn finish<T>(mut self, result: &Result<T, CallError>) {
        self.outcome = result.as_ref().map_or_else(|error| error.reason.label(), |_| "ok");
    }
}

impl Drop for Audit<'_> {
    fn drop(&mut self) {
        if self.meter.unknown {
            self.stored(Made::Unknown);
        }
        let record = WriteRecord {
            hook: &self.caller.hook,
            run: &self.caller.run,
            verb: self.verb,
            object: &self.object,
            subresource: self.subresource,
            outcome: self.outcome,
            code: self.meter.code,
            dry_run: self.caller.dry_run,
            tries: self.meter.tries,
        };
        tracing::info!(
            target: "audit",
            audit = true,
            hook = record.hook.as_str(),
            run = record.run.as_str(),
            verb = record.verb,
            object = record.object,
            subresource = record.subresource,
            outcome = record.outcome,
            code = record.code,
            dry_run = record.dry_run,
            tries = record.tries,
            "audit"
        );
        self.observer.wrote(&record);
        if let (Some(sink), Some(watched)) = (self.observer.effects(), self.effect.take()) {
            sink.effect(watched.into_effect(self.caller, self.verb, self.subresource));
        }
    }
}
