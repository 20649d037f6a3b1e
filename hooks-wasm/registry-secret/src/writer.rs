//! Writes the copies, many at once, and judges how it went.
//!
//! It never decides what a namespace needs.

use crate::cluster::Step;
use crate::plan::{Action, Copied, Source};
use crate::secret::{DataPatch, Existing, NewCopy, reference};
use crate::{NAME, SOURCE};
use boathook_sdk::kube::Operation;
use boathook_sdk::prelude::*;
use boathook_sdk::snapshots::Item;

/// Writes in one call to the host.
const BATCH: usize = 250;
/// Bytes of copies in one call to the host, roughly; each passes through the hook's memory.
const BATCH_BYTES: usize = 4 * 1024 * 1024;

/// Collects writes and sends them in batches.
pub struct Writer<'a> {
    source: Option<&'a Source>,
    batch: usize,
    pending: Vec<(String, Operation)>,
    failures: Vec<Error>,
}

impl<'a> Writer<'a> {
    /// A writer of copies of this source; without one, it can only remove.
    pub fn new(source: Option<&'a Source>) -> Self {
        let data = source.and_then(|source| source.data.as_ref());
        let size: usize = data.into_iter().flatten().map(|(key, value)| key.len() + value.len()).sum();
        let batch = (BATCH_BYTES / (size + 1)).clamp(1, BATCH);
        Self { source, batch, pending: Vec::new(), failures: Vec::new() }
    }

    /// Does what a namespace needs.
    pub fn add(&mut self, namespace: &str, step: Step) {
        match (step.action, step.copy) {
            (Action::Create, _) => self.create(namespace),
            (Action::Update, Some((copy, copied))) => self.update(namespace, &copy, &copied),
            (Action::Remove, Some((copy, _))) => self.remove(&copy),
            (Action::Recreate, Some((copy, _))) => {
                self.remove(&copy);
                self.create(namespace);
            }
            (Action::Nothing | Action::Update | Action::Remove | Action::Recreate, _) => {}
        }
    }

    /// Removes a copy, if it is still the one that was seen.
    pub fn remove(&mut self, copy: &Item) {
        let namespace = copy.namespace.as_deref().unwrap_or_default();
        if namespace != SOURCE {
            self.push(namespace, Operation::delete(reference(namespace)).ignore_missing().if_uid(&copy.uid));
        }
    }

    /// `create`, not `apply`: it cannot take over a Secret that somebody else put there.
    fn create(&mut self, namespace: &str) {
        if let Some(source) = self.source {
            self.push(namespace, Operation::create_object(&NewCopy::new(namespace, source)));
        }
    }

    /// Replaces the data, if the copy is still the one that was seen. Labels and annotations that
    /// others put on it stay.
    fn update(&mut self, namespace: &str, copy: &Item, copied: &Copied) {
        if let Some(source) = self.source {
            let patch = DataPatch::new(&copy.resource_version, source, copied);
            self.push(namespace, Operation::merge_patch(reference(namespace), &patch));
        }
    }

    fn push(&mut self, namespace: &str, operation: Operation) {
        self.pending.push((namespace.to_owned(), operation));
        if self.pending.len() >= self.batch {
            self.flush();
        }
    }

    fn flush(&mut self) {
        let (namespaces, operations): (Vec<_>, Vec<_>) = self.pending.drain(..).unzip();
        for (namespace, result) in namespaces.iter().zip(kube::batch(operations)) {
            self.failures.extend(result.err().and_then(|error| excuse(namespace, error)));
        }
    }

    /// Sends what is left. Fails if a write failed, to be retried unless none of them could be.
    pub fn finish(mut self) -> Result<()> {
        self.flush();
        let count = self.failures.len();
        let worst = self.failures.iter().position(|error| !error.is_permanent()).unwrap_or(0);
        match self.failures.into_iter().nth(worst) {
            None => Ok(()),
            Some(error) => Err(error).with_context(|| format!("{count} writes failed, such as")),
        }
    }
}

/// What of a failed write is a failure of the run.
fn excuse(namespace: &str, error: kube::Error) -> Option<Error> {
    // The namespace goes or is gone: nothing is missing there.
    if error.is_not_found() || error.is_namespace_terminating() {
        return None;
    }
    if error.is_already_exists() {
        return somebody_elses(namespace).err();
    }
    Some(Error::from(error))
}

/// Warns about a Secret with our name that is not ours. If it is ours, the snapshot was a moment
/// behind, and its event will bring us here again.
fn somebody_elses(namespace: &str) -> Result<()> {
    let found = kube::find_object::<Existing>(&reference(namespace))?;
    if found.is_some_and(|secret| !secret.is_copy()) {
        log::warn!("Secret {namespace}/{NAME} is not a copy of {SOURCE}/{NAME}: left alone");
    }
    Ok(())
}
