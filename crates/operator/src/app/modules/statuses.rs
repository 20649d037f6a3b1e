//! Writes the status of Modules, their finalizers, and Events about them. One task does this, so that no step of a module
//! waits for it.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use boathook_core::model::error_chain;
use boathook_kube::election::Leadership;
use boathook_modules::ModuleName;
use kube::{
    Api, Client, Resource as _, ResourceExt as _,
    api::{Patch, PatchParams},
    runtime::events::{Recorder, Reporter},
};
use serde_json::json;
use tokio::sync::Notify;
use tracing::{debug, info, warn};

use crate::{
    module::{FINALIZER, Module, ModuleStatus, status_events},
    status_event::StatusEvent,
};

const MANAGER: &str = "boathook";
/// After a write that failed.
const RETRY: Duration = Duration::from_secs(5);

/// What is to be written.
struct Wanted {
    object: Module,
    /// Absent: it is as it should be.
    status: Option<ModuleStatus>,
    /// Whether the object should have the finalizer. Absent: it is as it should be.
    finalizer: Option<bool>,
}

pub(super) struct Statuses {
    client: Client,
    recorder: Recorder,
    leadership: Leadership,
    wanted: Mutex<BTreeMap<ModuleName, Wanted>>,
    /// What was written last.
    written: Mutex<BTreeMap<ModuleName, ModuleStatus>>,
    news: Notify,
}

impl Statuses {
    pub fn new(client: Client, leadership: Leadership) -> Self {
        let instance = std::env::var("HOSTNAME").unwrap_or_else(|_| MANAGER.to_owned());
        let reporter = Reporter { controller: "boathook.dev/boathook".to_owned(), instance: Some(instance) };
        Self {
            recorder: Recorder::new(client.clone(), reporter),
            client,
            leadership,
            wanted: Mutex::default(),
            written: Mutex::default(),
            news: Notify::new(),
        }
    }

    fn wanted(&self) -> MutexGuard<'_, BTreeMap<ModuleName, Wanted>> {
        self.wanted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn written(&self) -> MutexGuard<'_, BTreeMap<ModuleName, ModuleStatus>> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has a status written, if it is another one than before.
    pub fn show(&self, name: &ModuleName, object: &Module, status: &ModuleStatus) {
        let known = self.written().get(name).or(object.status.as_ref()).is_some_and(|written| written == status);
        let mut all = self.wanted();
        if known {
            if let Some(wanted) = all.get_mut(name) {
                wanted.status = None;
            }
            return;
        }
        let wanted = entry(&mut all, name, object);
        wanted.status = Some(status.clone());
        drop(all);
        self.news.notify_one();
    }

    /// Has the finalizer set or removed.
    pub fn keep(&self, name: &ModuleName, object: &Module, kept: bool) {
        entry(&mut self.wanted(), name, object).finalizer = Some(kept);
        self.news.notify_one();
    }

    /// The object is gone.
    pub fn forget(&self, name: &ModuleName) {
        self.wanted().remove(name);
        self.written().remove(name);
    }

    /// Runs until it is dropped.
    pub async fn write(self: std::sync::Arc<Self>) {
        loop {
            let next = self.wanted().pop_first();
            let Some((name, wanted)) = next else {
                self.news.notified().await;
                continue;
            };
            if let Err(left) = self.write_one(&name, wanted).await {
                self.put_back(name, left);
                tokio::time::sleep(RETRY).await;
            }
        }
    }

    /// What became known in the meantime is newer.
    fn put_back(&self, name: ModuleName, left: Wanted) {
        let mut all = self.wanted();
        let newer = all.entry(name).or_insert_with(|| Wanted { object: left.object, status: None, finalizer: None });
        newer.status = newer.status.take().or(left.status);
        newer.finalizer = newer.finalizer.or(left.finalizer);
    }

    /// Returns what has to be tried again.
    async fn write_one(&self, name: &ModuleName, wanted: Wanted) -> Result<(), Wanted> {
        let Wanted { object, status, finalizer } = wanted;
        let mut left = Wanted { object, status: None, finalizer: None };
        if let Some(kept) = finalizer
            && let Err(error) = self.set_finalizer(&left.object, kept).await
        {
            match &error {
                // The watch shows what somebody else wrote, and then it is decided again.
                kube::Error::Api(answer) if answer.code == 409 || answer.code == 404 || answer.code == 422 => {}
                _ => left.finalizer = Some(kept),
            }
            debug!(module = %name, error = error_chain(&error), "the finalizer of a Module cannot be written");
        }
        if let Some(status) = status {
            match self.set_status(&left.object, &status).await {
                Ok(()) => {
                    let before = self.written().insert(name.clone(), status.clone());
                    let before = before.or_else(|| left.object.status.clone()).unwrap_or_default();
                    for event in status_events(&before, &status) {
                        self.notify(&left.object, event).await;
                    }
                }
                Err(kube::Error::Api(answer)) if answer.code == 404 => {}
                Err(error) => {
                    warn!(module = %name, error = error_chain(&error), "the status of a Module cannot be written");
                    left.status = Some(status);
                }
            }
        }
        if left.status.is_none() && left.finalizer.is_none() { Ok(()) } else { Err(left) }
    }

    /// Sends the resourceVersion that was read, so that no other finalizer is lost.
    async fn set_finalizer(&self, object: &Module, kept: bool) -> Result<(), kube::Error> {
        let others = object.finalizers().iter().filter(|finalizer| *finalizer != FINALIZER).cloned();
        let finalizers: Vec<String> = others.chain(kept.then(|| FINALIZER.to_owned())).collect();
        let metadata =
            json!({"finalizers": finalizers, "resourceVersion": object.resource_version(), "uid": object.uid()});
        if self.leadership.check().is_err() {
            return Ok(());
        }
        let patch = Patch::Merge(json!({ "metadata": metadata }));
        let api: Api<Module> = Api::all(self.client.clone());
        api.patch_metadata(&object.name_any(), &PatchParams::default(), &patch).await.map(drop)
    }

    async fn set_status(&self, object: &Module, status: &ModuleStatus) -> Result<(), kube::Error> {
        if self.leadership.check().is_err() {
            return Ok(());
        }
        let body = json!({
            "apiVersion": Module::api_version(&()),
            "kind": Module::kind(&()),
            "metadata": {"name": object.name_any(), "uid": object.uid()},
            "status": status,
        });
        let api: Api<Module> = Api::all(self.client.clone());
        let (params, patch) = (PatchParams::apply(MANAGER).force(), Patch::Apply(&body));
        api.patch_status(&object.name_any(), &params, &patch).await.map(drop)
    }

    /// Writes an Event and a log line. An Event that cannot be sent holds up nothing.
    async fn notify(&self, object: &Module, event: StatusEvent) {
        let (module, StatusEvent { warning, reason, text, .. }) = (object.name_any(), &event);
        if *warning {
            warn!(module, reason, "{text}");
        } else {
            info!(module, reason, "{text}");
        }
        if self.leadership.check().is_err() {
            return;
        }
        if let Err(error) = self.recorder.publish(&event.into(), &object.object_ref(&())).await {
            debug!(module, error = error_chain(&error), "an Event could not be sent");
        }
    }
}

fn entry<'w>(all: &'w mut BTreeMap<ModuleName, Wanted>, name: &ModuleName, object: &Module) -> &'w mut Wanted {
    let new = || Wanted { object: object.clone(), status: None, finalizer: None };
    let wanted = all.entry(name.clone()).or_insert_with(new);
    wanted.object = object.clone();
    wanted
}
