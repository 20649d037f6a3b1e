//! Makes a record from a run's notes, and writes it. It has a thread of its own, because it may take any time.

use std::{
    path::PathBuf,
    sync::Arc,
    time::{Duration, SystemTime},
};

use boathook_core::model::{BindingName, Items, Trigger};
use boathook_sandbox::{ENGINE, RunReport};

use super::{
    Record, RecordObserver,
    asked::{Asked, Given},
    content::{End, Header, RecordedFailure, RecordedSnapshot},
    directory::Directory,
    file::FileName,
    format::encode,
    question::{RecordedAnswer, RecordedQuestion},
    secrets::{Key, redact},
    tape::{Notes, metric_line},
    trigger::{RecordedItem, RecordedTrigger},
};

/// A run that has ended.
pub(super) struct Taken {
    pub asked: Asked,
    pub component: String,
    pub secrets: Vec<BindingName>,
    pub started: SystemTime,
    pub notes: Notes,
    pub report: RunReport<Given>,
}

pub(super) struct Writer {
    pub directory: Directory,
    /// `None` if the values of Secrets are kept.
    pub key: Option<Key>,
    pub hooks: PathBuf,
    pub max_bytes: usize,
    pub observer: Arc<dyn RecordObserver>,
}

impl Writer {
    /// Writes one record, and reports the result.
    pub fn take(&mut self, taken: Taken) {
        let hook = taken.asked.caller().hook.clone();
        let component = taken.component.clone();
        match self.write(taken) {
            Ok(bytes) => self.observer.written(&hook, bytes),
            Err(error) => self.observer.failed(&hook, &format!("a run was not recorded: {error}")),
        }
        let source = self.hooks.join(format!("{hook}.wasm"));
        if let Err(error) = self.directory.keep_component(hook.as_str(), &component, &source) {
            let error = format!("the component of its runs is not kept with their records: {error}");
            self.observer.failed(&hook, &error);
        }
    }

    fn write(&mut self, taken: Taken) -> std::io::Result<u64> {
        let secrets = taken.secrets.clone();
        let mut record = record(taken, self.max_bytes);
        if let Some(key) = &self.key {
            record = redact(record, key, &secrets)?;
        }
        let Header { started, hook, run, .. } = &record.header;
        let name = FileName::new(*started, hook, run, record.end.failure.is_some());
        let bytes = encode(&record)?;
        self.directory.put(name, &bytes)?;
        Ok(bytes.len() as u64)
    }
}

fn record(taken: Taken, max_bytes: usize) -> Record {
    let Taken { asked, component, started, mut notes, report, .. } = taken;
    let waited: &[Trigger] = if let Asked::Run(request) = &asked { &request.triggers } else { &[] };
    let triggers: Vec<RecordedTrigger> = waited.iter().map(RecordedTrigger::from).collect();
    let (question, caller) = (RecordedQuestion::of(&asked), asked.caller());
    let end = end(&report);
    let mut header = Header {
        boathook: env!("CARGO_PKG_VERSION").to_owned(),
        engine: ENGINE.to_owned(),
        component,
        hook: caller.hook.to_string(),
        binding: asked.binding().map(ToString::to_string).unwrap_or_default(),
        queue: waited.first().map(|trigger| trigger.queue.to_string()).unwrap_or_default(),
        run: caller.run.to_string(),
        attempt: asked.attempt(),
        started: millis(started),
        limits: asked.limits(),
        permissions: caller.permissions.to_vec(),
        settings: Some(caller.settings.to_string()).filter(|settings| settings != "{}"),
        dry_run: caller.dry_run,
        redacted: false,
        incomplete: None,
    };
    let shared: usize = notes.snapshots.iter().filter_map(|(_, items)| items.as_ref()).map(size).sum();
    let told: usize = triggers.iter().map(RecordedTrigger::bytes).sum();
    let asked = question.as_ref().map_or(0, RecordedQuestion::bytes);
    let given = told + asked + end.answer.as_ref().map_or(0, RecordedAnswer::bytes);
    if notes.full || notes.bytes.saturating_add(shared).saturating_add(given) > max_bytes {
        header.incomplete = Some(format!("it would have more than {max_bytes} bytes"));
        notes.snapshots.clear();
    }
    let ambient = notes.ambient();
    Record {
        header,
        triggers,
        question,
        snapshots: snapshots(&notes),
        calls: notes.calls,
        ambient,
        log: notes.log,
        end,
    }
}

fn end(report: &RunReport<Given>) -> End {
    End {
        failure: RecordedFailure::of(&report.outcome),
        answer: report.outcome.as_ref().ok().and_then(RecordedAnswer::of),
        metrics: report.metrics.iter().map(metric_line).collect(),
        duration_us: micros(report.duration),
        cpu_us: micros(report.cpu),
        memory_peak: report.memory_peak,
        host_calls: report.host_calls,
        host_bytes: report.host_bytes,
    }
}

fn snapshots(notes: &Notes) -> Vec<RecordedSnapshot> {
    let items = |items: &Items| items.values().map(|item| RecordedItem::from(&*item.item)).collect();
    let snapshot = |(binding, found): &(BindingName, Option<Items>)| RecordedSnapshot {
        binding: binding.into(),
        items: found.as_ref().map(items),
    };
    notes.snapshots.iter().map(snapshot).collect()
}

fn size(items: &Items) -> usize {
    let json = |text: &Option<Arc<str>>| text.as_ref().map_or(0, |text| text.len());
    items.values().map(|item| 128 + json(&item.object) + json(&item.filter_result)).sum()
}

fn millis(time: SystemTime) -> u64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}
