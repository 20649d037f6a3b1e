//! What wakes a hook in a test: a list of triggers, and the circumstances of the run.
//!
//! Only a description; [`Kit::run`](super::Kit::run) makes it happen.

use super::ran::failed;
use crate::context::Change;
use crate::kube::Object;
use serde::Serialize;
use std::time::SystemTime;

/// Why a run happens: its triggers, oldest first.
///
/// What an event says has happened in the cluster, too: an object that was added or modified is there in this form,
/// one that was deleted is gone. A trigger of a binding that has a `group` comes to the hook as that group's.
///
/// ```
/// use boathook_sdk::serde_json::json;
/// use boathook_sdk::testing::Run;
///
/// let web = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "web"}});
/// Run::new().synchronization("secrets").added("namespaces", &web).attempt(2);
/// ```
#[derive(Clone, Debug)]
#[must_use = "a run is only a description until a kit runs it"]
pub struct Run {
    pub(super) steps: Vec<Step>,
    pub(super) stale: Vec<(String, Vec<Object>)>,
    pub(super) attempt: u32,
    pub(super) dry_run: bool,
}

#[derive(Clone, Debug)]
pub(super) enum Step {
    Startup,
    Stage(String),
    Schedule { binding: String, at: Option<SystemTime>, missed: u32 },
    Synchronization { binding: String },
    Event { binding: String, change: Change, object: Object },
}

impl Default for Run {
    fn default() -> Self {
        Self::new()
    }
}

impl Run {
    /// No trigger yet; a run has at least one.
    pub fn new() -> Self {
        Self { steps: Vec::new(), stale: Vec::new(), attempt: 1, dry_run: false }
    }

    /// The operator started.
    pub fn startup(self) -> Self {
        self.step(Step::Startup)
    }

    /// The life of the module has come to this stage, named by its key in the document: `beforeHelm`. All snapshots of the
    /// hook can be opened.
    pub fn stage(self, key: &str) -> Self {
        self.step(Step::Stage(key.to_owned()))
    }

    /// The schedule of this name struck, now.
    pub fn schedule(self, binding: &str) -> Self {
        self.step(Step::Schedule { binding: binding.to_owned(), at: None, missed: 0 })
    }

    /// The schedule of this name struck, planned for this time, after so many ticks that were skipped.
    pub fn schedule_at(self, binding: &str, at: SystemTime, missed: u32) -> Self {
        self.step(Step::Schedule { binding: binding.to_owned(), at: Some(at), missed })
    }

    /// The binding knows its objects for the first time: those that the test has given and that it selects.
    pub fn synchronization(self, binding: &str) -> Self {
        self.step(Step::Synchronization { binding: binding.to_owned() })
    }

    /// An object appeared, or began to match.
    #[track_caller]
    pub fn added<T: Serialize>(self, binding: &str, object: &T) -> Self {
        self.event(binding, Change::Added, object)
    }

    /// What the binding sees of an object changed: it is like this now.
    #[track_caller]
    pub fn modified<T: Serialize>(self, binding: &str, object: &T) -> Self {
        self.event(binding, Change::Modified, object)
    }

    /// An object was deleted, or no longer matches; this was its last state that matched.
    #[track_caller]
    pub fn deleted<T: Serialize>(self, binding: &str, object: &T) -> Self {
        self.event(binding, Change::Deleted, object)
    }

    /// The snapshot of a binding is behind the cluster: it holds these objects.
    #[track_caller]
    pub fn snapshot<T: Serialize>(mut self, binding: &str, objects: impl IntoIterator<Item = T>) -> Self {
        self.stale.push((binding.to_owned(), objects.into_iter().map(|object| object_of(&object)).collect()));
        self
    }

    /// The number of the try; 1 without it.
    pub fn attempt(mut self, attempt: u32) -> Self {
        self.attempt = attempt;
        self
    }

    /// Writes are checked and answered, and not kept.
    pub fn dry_run(mut self) -> Self {
        self.dry_run = true;
        self
    }

    #[track_caller]
    fn event<T: Serialize>(self, binding: &str, change: Change, object: &T) -> Self {
        self.step(Step::Event { binding: binding.to_owned(), change, object: object_of(object) })
    }

    fn step(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }
}

#[track_caller]
pub(super) fn object_of<T: Serialize>(object: &T) -> Object {
    match serde_json::to_value(object) {
        Ok(value) if value.is_object() => value.into(),
        Ok(value) => failed(&format!("this is no object: {value}")),
        Err(error) => failed(&format!("the object cannot be written as JSON: {error}")),
    }
}
