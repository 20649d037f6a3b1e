//! Reconciles all HookBundles of a cluster. No HookBundle waits for another.

use std::{
    collections::HashMap,
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use boathook_core::{
    fair::Pool,
    model::{BundleId, HookBundlesNews, Installer, error_chain},
    tasks::{Tasks, panic_text},
};
use boathook_kube::election::{Leadership, NotLeading};
use futures::{FutureExt as _, Stream, StreamExt as _, future::pending, stream};
use k8s_openapi::{
    api::{
        authorization::v1::{ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec},
        core::v1::ObjectReference,
    },
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Resource, ResourceExt as _,
    api::{Api, ApiResource, DynamicObject, ListParams, Patch, PatchParams, PostParams},
    core::PartialObjectMeta,
    runtime::{
        Controller,
        controller::{self, Action},
        events::{Recorder, Reporter},
        watcher::{self, watcher},
    },
};
use serde_json::json;
use tokio::{
    sync::watch,
    time::{sleep, timeout_at},
};
use tracing::{debug, error, info, warn};

use super::{
    HookBundle, HookBundleStatus,
    list::{Breaks, Lists, list},
    reconciler::{Context, Reconciler},
    report::status_events,
    source::{SourceOptions, Sources},
    trimmed::{MAX_FINALIZERS, PAGE, TrimmedHookBundle},
};
use crate::status_event::StatusEvent;

/// Keeps a HookBundle until its hooks and registrations are gone.
pub const FINALIZER: &str = "boathook.dev/hooks";
const MANAGER: &str = "boathook";
/// The maximum number of installations at the same time. Removals need no turn, so reconciliations themselves are not
/// counted.
const INSTALLS: u64 = 16;
/// The interval of checks whether the kind is served, if no watch can show it.
const UNSERVED: Duration = Duration::from_secs(15);
/// While a definition is new, the API server requests clients to wait for a second.
const UNREADY: Duration = Duration::from_secs(1);
const UNREADY_TRIES: usize = 10;
/// How often a standby checks whether a HookBundle that is being deleted is gone.
const GONE: Duration = Duration::from_secs(5);

/// The configuration of the controller.
#[derive(Debug, Clone)]
pub struct Options {
    /// The sources of bundles.
    pub sources: SourceOptions,
    /// Namespaces in which the hooks of HookBundles may act outside of their namespace, as far as their ServiceAccounts
    /// may.
    pub unconfined: Vec<String>,
    /// The name of this process in Events.
    pub instance: String,
    /// Only the leader decides and reports. The other replicas run what it reports.
    pub leadership: Leadership,
    /// When all HookBundles are listed, to check that the watch reported everything.
    pub lists: Lists,
}

/// A step that failed. It is retried.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    #[error("HookBundle {id}: its {what} cannot be written")]
    Write {
        id: String,
        /// What should have been written.
        what: &'static str,
        #[source]
        source: Box<kube::Error>,
    },
    /// It has more finalizers than the operator keeps, so it cannot write them back.
    #[error(
        "HookBundle {id}: its finalizers cannot be written: it has more than {MAX_FINALIZERS}; remove those that nobody needs"
    )]
    Finalizers { id: String },
    /// Another replica may be the leader.
    #[error("HookBundle {id}: its {what} was not written")]
    NotLeading {
        id: String,
        /// What should have been written.
        what: &'static str,
        #[source]
        source: NotLeading,
    },
    /// A defect of the operator that concerns only this object.
    #[error("HookBundle {id}: {panic}")]
    Defect {
        id: String,
        /// The message of the panic.
        panic: String,
    },
}

struct Control {
    client: kube::Client,
    installer: Arc<dyn Installer>,
    sources: Arc<Sources>,
    installs: Pool,
    unconfined: Vec<String>,
    recorder: Recorder,
    leadership: Leadership,
    reconcilers: Mutex<HashMap<BundleId, Known>>,
}

struct Known {
    uid: String,
    reconciler: Arc<tokio::sync::Mutex<Reconciler>>,
}

/// Whether the cluster serves a kind.
pub async fn served<K: Resource<DynamicType = ()>>(client: &kube::Client) -> Result<bool, kube::Error> {
    match client.list_api_group_resources(&K::api_version(&())).await {
        Ok(list) => Ok(list.resources.iter().any(|resource| resource.name == K::plural(&()))),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(false),
        Err(error) => Err(error),
    }
}

/// Waits until objects of a kind can be listed. The API server makes the storage of a kind at its first use, and answers
/// 429 until its watch cache is filled. Without this wait, every fresh install would begin with that as a warning.
pub async fn listable<K: Resource<DynamicType = ()>>(client: &kube::Client) {
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &ApiResource::erase::<K>(&()));
    // While the cache is not filled, a list with a limit and without a selector passes by it, and shows nothing. No object
    // has this label.
    let none = ListParams::default().limit(1).labels("boathook.dev/none=none");
    for _ in 0..UNREADY_TRIES {
        match api.list_metadata(&none).await {
            Err(kube::Error::Api(status)) if status.code == 429 => sleep(UNREADY).await,
            // The controller reports every other problem, and a 429 that persists.
            _ => return,
        }
    }
}

/// Waits until the cluster serves HookBundles. A watch of their definition says when to look, so an operator without them
/// sends nothing.
async fn until_served(client: &kube::Client, installer: &Arc<dyn Installer>) {
    let name = format!("{}.{}", HookBundle::plural(&()), HookBundle::group(&()));
    let named = watcher::Config::default().fields(&format!("metadata.name={name}"));
    let definitions = Api::<PartialObjectMeta<CustomResourceDefinition>>::all(client.clone());
    // Without this right, it looks again and again. Roles for hooks alone do not have it.
    let watches = may_watch(client, &name).await;
    let mut changes = if watches { watcher(definitions, named).boxed() } else { stream::pending().boxed() };
    let (mut reported, mut defined, mut tries) = (false, false, 0);
    loop {
        match served::<HookBundle>(client).await {
            Ok(true) => return,
            Ok(false) => installer.note_hook_bundles(HookBundlesNews::Unserved),
            // It is not known whether the kind is served.
            Err(_) => {}
        }
        if !reported {
            debug!("the cluster does not serve HookBundles yet: `boathook crd | kubectl apply --server-side -f -`");
        }
        reported = true;
        // The kind is served a moment after its definition changes for the last time.
        let pause = if tries < UNREADY_TRIES { UNREADY } else { UNSERVED };
        loop {
            tokio::select! {
                change = changes.next() => match change {
                    Some(Ok(watcher::Event::Apply(_) | watcher::Event::InitApply(_))) => {
                        (defined, tries) = (true, 0);
                        break;
                    }
                    Some(Ok(watcher::Event::Delete(_))) => defined = false,
                    Some(Ok(watcher::Event::Init | watcher::Event::InitDone)) => {}
                    // The operator may not watch definitions, or the API server cannot be reached.
                    Some(Err(_)) | None => {
                        sleep(UNSERVED).await;
                        break;
                    }
                },
                () = sleep(pause), if defined => {
                    tries += 1;
                    break;
                }
                () = sleep(UNSERVED), if !watches => break,
            }
        }
    }
}

/// Whether the operator may watch this definition. If the API server does not say it, the watch shows it.
async fn may_watch(client: &kube::Client, name: &str) -> bool {
    for verb in ["list", "watch"] {
        let attributes = ResourceAttributes {
            group: Some("apiextensions.k8s.io".to_owned()),
            resource: Some("customresourcedefinitions".to_owned()),
            name: Some(name.to_owned()),
            verb: Some(verb.to_owned()),
            ..ResourceAttributes::default()
        };
        let spec = SelfSubjectAccessReviewSpec { resource_attributes: Some(attributes), non_resource_attributes: None };
        let review = SelfSubjectAccessReview { spec, ..SelfSubjectAccessReview::default() };
        let answer = Api::all(client.clone()).create(&PostParams::default(), &review).await;
        let status = answer.ok().and_then(|answer: SelfSubjectAccessReview| answer.status);
        if status.is_some_and(|status| !status.allowed) {
            return false;
        }
    }
    true
}

/// Waits until the cluster serves HookBundles, and reconciles them until it is dropped. The hooks continue to run then,
/// and their owner ends them.
pub async fn run(client: kube::Client, installer: Arc<dyn Installer>, options: Options, tasks: Tasks) {
    until_served(&client, &installer).await;
    listable::<HookBundle>(&client).await;
    info!("keeping HookBundles");
    let reporter = Reporter { controller: "boathook.dev/boathook".to_owned(), instance: Some(options.instance) };
    let control = Arc::new(Control {
        recorder: Recorder::new(client.clone(), reporter),
        sources: Arc::new(Sources::new(client.clone(), options.sources)),
        installs: Pool::new(INSTALLS),
        client: client.clone(),
        installer,
        unconfined: options.unconfined,
        leadership: options.leadership.clone(),
        reconcilers: Mutex::default(),
    });
    while let Some(gone) = run_controller(&control, options.lists, &tasks).await {
        for id in gone {
            control.remove(&id).await;
        }
    }
}

/// Reconciles what one controller's watch reports. It ends when the watch missed something and no reconciliation is
/// running, and returns the objects that are gone. The next controller begins with a list.
async fn run_controller(control: &Arc<Control>, lists: Lists, tasks: &Tasks) -> Option<Vec<BundleId>> {
    let (tell, unreported) = watch::channel(None);
    let mut end = unreported.clone();
    let breaks = Arc::new(Breaks::default());
    let controller = Controller::new(
        Api::<TrimmedHookBundle>::all(breaks.noticed_by(&control.client)),
        watcher::Config::default().page_size(PAGE),
    )
    .reconcile_all_on(taking_over(control.leadership.clone()))
    .graceful_shutdown_on(async move {
        // If the list task ends, the operator is broken and ends.
        if end.wait_for(Option::is_some).await.is_err() {
            pending::<()>().await;
        }
    });
    let (client, installer) = (control.client.clone(), control.installer.clone());
    let of = control.clone();
    let list = list(client, installer, controller.store(), (lists, breaks), tell, move || of.known());
    let _listing = tasks.spawn("list of HookBundles", list);
    let mut passes = controller.run(reconcile, again, control.clone()).boxed();
    let mut last = String::new();
    while let Some(passed) = passes.next().await {
        match passed {
            Ok(_) => last.clear(),
            Err(controller::Error::QueueError(error)) => {
                let error = error_chain(&error);
                if error != last {
                    warn!(error, "cannot watch HookBundles: retrying");
                    last = error;
                }
            }
            // Somebody removed the finalizer.
            Err(controller::Error::ObjectNotFound(object)) => control.forget(object.namespace, object.name).await,
            Err(error) => debug!(error = error_chain(&error), "a HookBundle is tried again"),
        }
    }
    unreported.borrow().clone()
}

/// Emits once when this replica becomes the leader after others might have led. All objects then have to be reconciled
/// as the leader does.
fn taking_over(leadership: Leadership) -> impl Stream<Item = ()> + Send + 'static {
    stream::once(async move { leadership.gained().await })
}

/// Reconciles as a replica that does not lead: it reads, and writes nothing.
async fn follow(kept: &TrimmedHookBundle, control: &Control) -> Result<Action, ControlError> {
    if kept.bundle.metadata.deletion_timestamp.is_some() {
        control.remove(&id(&kept.bundle)).await;
        return Ok(Action::requeue(GONE));
    }
    control.reconcile(kept, true).await
}

/// Catches panics. Otherwise anyone who can write an object that triggers a defect could end the operator, and again at
/// each start.
async fn reconcile(kept: Arc<TrimmedHookBundle>, control: Arc<Control>) -> Result<Action, ControlError> {
    let passing = AssertUnwindSafe(reconcile_as_leader(&kept, control)).catch_unwind();
    passing.await.unwrap_or_else(|panic| {
        let (id, panic) = (id(&kept.bundle).to_string(), panic_text(panic.as_ref()));
        error!(
            bundle = id,
            panic, "a HookBundle cannot be reconciled because of a defect of the operator: the operator retries"
        );
        Err(ControlError::Defect { id, panic })
    })
}

async fn reconcile_as_leader(kept: &TrimmedHookBundle, control: Arc<Control>) -> Result<Action, ControlError> {
    let bundle = &kept.bundle;
    if !control.leadership.leads() {
        return follow(kept, &control).await;
    }
    let ours = bundle.finalizers().iter().any(|finalizer| finalizer == FINALIZER);
    match (bundle.metadata.deletion_timestamp.is_some(), ours) {
        (false, true) => control.reconcile(kept, false).await,
        (false, false) => {
            let mut finalizers = bundle.finalizers().to_vec();
            finalizers.push(FINALIZER.to_owned());
            control.set_finalizers(bundle, &finalizers).await
        }
        (true, true) => {
            control.remove(&id(bundle)).await;
            let others: Vec<_> = bundle.finalizers().iter().filter(|one| *one != FINALIZER).cloned().collect();
            control.set_finalizers(bundle, &others).await
        }
        (true, false) => Ok(Action::await_change()),
    }
}

fn again(kept: Arc<TrimmedHookBundle>, error: &ControlError, _: Arc<Control>) -> Action {
    debug!(bundle = %id(&kept.bundle), error = error_chain(error), "a HookBundle cannot be kept");
    Action::requeue(Duration::from_secs(5))
}

fn id(bundle: &HookBundle) -> BundleId {
    BundleId { namespace: bundle.namespace(), name: bundle.name_any() }
}

impl Control {
    async fn reconcile(&self, kept: &TrimmedHookBundle, standby: bool) -> Result<Action, ControlError> {
        let bundle = &kept.bundle;
        let id = id(bundle);
        let reconciler = self.reconciler(&id, &bundle.uid().unwrap_or_default()).await;
        let mut reconciler = reconciler.lock().await;
        let namespace = bundle.namespace().unwrap_or_default();
        let context = Context {
            sources: &self.sources,
            installer: &self.installer,
            installs: &self.installs,
            confined: !self.unconfined.contains(&namespace),
            standby,
        };
        let reconciled = reconciler.reconcile(kept, &context).await;
        self.installer.note(&id, reconciled.standing);
        if let Some((old, new)) = reconciled.news {
            self.write(&id, bundle, &new).await?;
            for event in status_events(&old, &new) {
                self.notify(bundle, event).await;
            }
            reconciler.wrote(new);
        }
        Ok(Action::requeue(reconciled.again))
    }

    /// Returns the reconciler of this object. If there is one of an earlier object with the same name, it is removed
    /// together with its hooks.
    async fn reconciler(&self, id: &BundleId, uid: &str) -> Arc<tokio::sync::Mutex<Reconciler>> {
        let other = {
            let mut reconcilers = self.reconcilers.lock().unwrap_or_else(PoisonError::into_inner);
            match reconcilers.get(id) {
                Some(known) if known.uid == uid => return known.reconciler.clone(),
                _ => reconcilers.remove(id).is_some(),
            }
        };
        if other {
            self.installer.remove(id).await;
        }
        let reconciler = Arc::default();
        let mut reconcilers = self.reconcilers.lock().unwrap_or_else(PoisonError::into_inner);
        reconcilers.insert(id.clone(), Known { uid: uid.to_owned(), reconciler: Arc::clone(&reconciler) });
        reconciler
    }

    /// Sends the resourceVersion that was read, so that no other finalizer is lost.
    async fn set_finalizers(&self, bundle: &HookBundle, finalizers: &[String]) -> Result<Action, ControlError> {
        if bundle.finalizers().len() > MAX_FINALIZERS {
            return Err(ControlError::Finalizers { id: id(bundle).to_string() });
        }
        let api: Api<HookBundle> = Api::namespaced(self.client.clone(), &bundle.namespace().unwrap_or_default());
        let metadata = json!({"finalizers": finalizers, "resourceVersion": bundle.resource_version()});
        let (params, patch) = (PatchParams::default(), Patch::Merge(json!({ "metadata": metadata })));
        match self.led(id(bundle), "finalizer", api.patch(&bundle.name_any(), &params, &patch)).await? {
            Ok(_) => Ok(Action::await_change()),
            // The object is gone already.
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(Action::await_change()),
            Err(source) => {
                let id = id(bundle).to_string();
                Err(ControlError::Write { id, what: "finalizer", source: Box::new(source) })
            }
        }
    }

    /// Runs a write while this replica leads, and no longer.
    async fn led<T>(
        &self,
        id: BundleId,
        what: &'static str,
        write: impl Future<Output = T>,
    ) -> Result<T, ControlError> {
        let refused = |source| ControlError::NotLeading { id: id.to_string(), what, source };
        match self.leadership.check().map_err(refused)? {
            None => Ok(write.await),
            Some(until) => timeout_at(until, write).await.map_err(|_| refused(NotLeading)),
        }
    }

    /// The objects that have a reconciler.
    fn known(&self) -> Vec<BundleId> {
        self.reconcilers.lock().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect()
    }

    async fn forget(&self, namespace: Option<String>, name: String) {
        self.remove(&BundleId { namespace, name }).await;
    }

    async fn remove(&self, id: &BundleId) {
        let known = self.reconcilers.lock().unwrap_or_else(PoisonError::into_inner).remove(id).is_some();
        if self.installer.remove(id).await || known {
            info!(bundle = %id, "bundle removed");
        }
    }

    async fn write(&self, id: &BundleId, bundle: &HookBundle, status: &HookBundleStatus) -> Result<(), ControlError> {
        let api: Api<HookBundle> = Api::namespaced(self.client.clone(), &bundle.namespace().unwrap_or_default());
        let body = json!({
            "apiVersion": HookBundle::api_version(&()),
            "kind": HookBundle::kind(&()),
            "metadata": {"name": bundle.name_any(), "uid": bundle.uid()},
            "status": status,
        });
        let params = PatchParams::apply(MANAGER).force();
        let (name, patch) = (bundle.name_any(), Patch::Apply(&body));
        let written = self.led(id.clone(), "status", api.patch_status(&name, &params, &patch)).await?;
        let failed = |source| ControlError::Write { id: id.to_string(), what: "status", source: Box::new(source) };
        written.map(drop).map_err(failed)
    }

    /// Writes an Event and a log line. An Event that cannot be sent holds up nothing.
    async fn notify(&self, bundle: &HookBundle, event: StatusEvent) {
        let (id, StatusEvent { warning, reason, text, .. }) = (id(bundle), &event);
        if *warning {
            warn!(bundle = %id, reason, "{text}");
        } else {
            info!(bundle = %id, reason, "{text}");
        }
        let about: ObjectReference = bundle.object_ref(&());
        let sent = self.led(id.clone(), "Event", self.recorder.publish(&event.into(), &about)).await;
        if let Ok(Err(error)) = sent {
            debug!(bundle = %id, error = error_chain(&error), "an Event could not be sent");
        }
    }
}
