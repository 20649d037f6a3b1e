//! Keeps the cluster's registrations up to date: creates, repairs and removes them. The rules are in `plan`.

use std::{
    collections::{BTreeMap, BTreeSet},
    pin::pin,
    sync::Arc,
    time::Duration,
};

use boathook_core::{
    model::{error_chain, hide_secrets},
    tasks::{Task, Tasks},
};
use futures::StreamExt as _;
use kube::core::WatchEvent;
use serde_json::Value;
use tokio::{
    sync::{Notify, watch},
    time::{Instant, sleep, sleep_until, timeout},
};
use tracing::{debug, info, warn};

use super::{
    Endpoint, INSTANCE, Pending, RegistrationError, Settings, Wanted,
    conversion::Change,
    objects::{Kind, Objects, label, name},
    plan::{self, Act, Foreign, Plan},
};

/// If there is no sign of a change, everything is checked again after this time.
const LOOK_THROUGH: Duration = Duration::from_secs(600);
/// The wait after a call that failed. It doubles each time.
const FIRST_RETRY: Duration = Duration::from_millis(500);
const LAST_RETRY: Duration = Duration::from_secs(30);
/// Repairs within this time slow down the next ones, because somebody may change the objects back again and again.
const MEMORY: Duration = Duration::from_secs(60);
const FIRST_PAUSE: Duration = Duration::from_millis(50);

/// Keeps registrations until it is dropped, and then leaves them, because a restart must not open the cluster to what
/// hooks forbid. It does nothing until it is known what has to be registered. `registered` receives the hooks whose
/// registrations are complete.
pub async fn run(
    client: kube::Client,
    settings: Settings,
    mut wanted: watch::Receiver<Option<Wanted>>,
    registered: watch::Sender<Wanted>,
    tasks: Tasks,
) {
    let Ok(_) = wanted.wait_for(Option::is_some).await.map(drop) else { return };
    let objects = Objects::new(client);
    // The watches start before the first check, so that no change is missed after it.
    let signals = Signals::start(&objects, &tasks);
    let mut reconciler =
        Reconciler { objects, settings, aims: BTreeMap::new(), last_reported: BTreeSet::new(), calm: Calm::default() };
    let mut retry = FIRST_RETRY;
    loop {
        let now = wanted.borrow_and_update().clone().unwrap_or_default();
        let failed = reconciler.reconcile(&now).await;
        let next = if failed.as_ref().is_some_and(BTreeSet::is_empty) {
            retry = FIRST_RETRY;
            LOOK_THROUGH
        } else {
            let after = retry;
            retry = (retry * 2).min(LAST_RETRY);
            after
        };
        if let Some(failed) = failed {
            registered.send_replace(plan::in_place(now, &failed));
        }
        let (next, calm) = (Instant::now() + next, reconciler.calm.until(Instant::now()));
        tokio::select! {
            changed = wanted.changed() => if changed.is_err() { return },
            () = async { sleep_until(calm).await; signals.changed().await } => {}
            () = sleep_until(next) => {}
        }
    }
}

/// Names of objects that cannot be read, and why.
type Unread = Vec<(String, String)>;

struct Reconciler {
    objects: Objects,
    settings: Settings,
    /// The last content that was written to each object. It distinguishes a repair from a change of ours.
    aims: BTreeMap<String, Value>,
    /// Problems that were logged, and that still exist.
    last_reported: BTreeSet<String>,
    calm: Calm,
}

impl Reconciler {
    /// Checks everything and does what is necessary. Returns the names of objects that are not as they should be, or
    /// `None` if not everything could be checked.
    async fn reconcile(&mut self, wanted: &Wanted) -> Option<BTreeSet<String>> {
        let (mut problems, mut failed, mut seen) = (BTreeSet::new(), BTreeSet::new(), true);
        for kind in Kind::ALL {
            match self.plan(kind, wanted).await {
                Ok((Plan { acts, foreign }, unread)) => {
                    for (name, problem) in unread {
                        problems.insert(problem);
                        failed.insert(name);
                    }
                    for foreign in foreign {
                        problems.insert(foreign.to_string());
                        failed.insert(foreign.name);
                    }
                    for act in acts {
                        let (name, _) = act.aim();
                        if let Err(error) = self.act(kind, act).await {
                            problems.insert(hide_secrets(&error_chain(&error)));
                            failed.insert(name);
                        }
                    }
                }
                Err(error) => {
                    problems.insert(hide_secrets(&error_chain(&error)));
                    seen = false;
                }
            }
        }
        for problem in problems.difference(&self.last_reported) {
            warn!(problem, "not everything is registered: retrying");
        }
        self.last_reported = problems;
        seen.then_some(failed)
    }

    async fn plan(&self, kind: Kind, wanted: &Wanted) -> Result<(Plan, Unread), RegistrationError> {
        Ok(match kind {
            Kind::Configuration(of) => {
                let (there, unread) = self.there(kind, plan::names(of, wanted)).await?;
                (plan::configurations(of, &there, wanted, &self.settings), unread)
            }
            Kind::Definition => {
                let names = plan::converted(wanted).into_keys().map(str::to_owned).collect();
                let (there, unread) = self.there(kind, names).await?;
                (plan::definitions(&there, wanted, &self.settings), unread)
            }
        })
    }

    /// Lists our objects by their labels, and gets those of these names that have lost them. An object that cannot be
    /// read is a problem, but does not hold up others.
    async fn there(&self, kind: Kind, names: Vec<String>) -> Result<(Vec<Value>, Unread), RegistrationError> {
        let (mut there, mut unread) = (self.objects.list(kind, &kind.selector()).await?, Unread::new());
        for wanted in names {
            if there.iter().any(|object| name(object) == wanted) {
                continue;
            }
            match self.objects.get(kind, &wanted).await {
                Ok(object) => there.extend(object),
                Err(error) => unread.push((wanted, hide_secrets(&error_chain(&error)))),
            }
        }
        Ok((there, unread))
    }

    async fn act(&mut self, kind: Kind, act: Act) -> Result<(), RegistrationError> {
        let (name, aim) = act.aim();
        let what = format!("{kind} {name}");
        match &act {
            Act::Create(object) => self.objects.create(kind, object).await?,
            Act::Replace(object) => self.objects.replace(kind, object).await?,
            Act::Delete(object) => self.objects.delete(kind, object).await?,
            Act::TakeOver(name, Change::Apply(body)) => self.objects.apply(kind, name, body).await?,
            Act::TakeOver(name, Change::Patch(patch)) | Act::Restore(name, patch) => {
                self.objects.patch(kind, name, patch).await?;
            }
        }
        match &act {
            Act::Delete(_) => info!(what, "registration removed"),
            Act::Restore(..) => info!(what, "conversion restored"),
            _ if self.aims.get(&what) == Some(&aim) => {
                warn!(what, "registration repaired: another client changed or deleted it");
                self.calm.repaired(Instant::now());
            }
            _ => info!(what, "registered"),
        }
        if aim.is_null() {
            self.aims.remove(&what);
        } else {
            self.aims.insert(what, aim);
        }
        Ok(())
    }
}

/// Slows down repairs while somebody changes objects back again and again. Pure.
#[derive(Debug, Default)]
struct Calm(Vec<Instant>);

impl Calm {
    fn repaired(&mut self, now: Instant) {
        self.0.retain(|then| now.duration_since(*then) < MEMORY);
        self.0.push(now);
    }

    /// The earliest time of the next check for changes of others.
    fn until(&self, now: Instant) -> Instant {
        let recent = self.0.iter().filter(|then| now.duration_since(**then) < MEMORY).count();
        now + FIRST_PAUSE * 2_u32.pow(recent.min(9) as u32)
    }
}

impl std::fmt::Display for Foreign {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} is another operator's: its label {INSTANCE} is {}", self.what, self.instance)
    }
}

/// The API server ends a watch after this time.
const LIFE: Duration = Duration::from_secs(290);
/// How long to wait beyond that if the API server does not end it.
const OVERDUE: Duration = Duration::from_secs(10);
const AFTER_END: Duration = Duration::from_secs(1);
const AFTER_FAILURE: Duration = Duration::from_secs(5);

/// Notifies when a registration may have changed, until it is dropped. It does not say what changed, so the receiver reads
/// the objects again.
pub(super) struct Signals {
    changed: Arc<Notify>,
    _watches: Vec<Task<()>>,
}

impl Signals {
    pub fn start(objects: &Objects, tasks: &Tasks) -> Self {
        let changed = Arc::new(Notify::new());
        let watch = |kind: Kind| {
            let (objects, changed) = (objects.clone(), changed.clone());
            tasks.spawn(format!("watch of {kind}"), async move {
                loop {
                    let ended = timeout(LIFE + OVERDUE, follow(&objects, kind, &changed)).await;
                    sleep(if ended == Ok(true) { AFTER_END } else { AFTER_FAILURE }).await;
                }
            })
        };
        let watches = Kind::ALL.into_iter().map(watch).collect();
        Self { changed, _watches: watches }
    }

    /// Returns when something changed since the last call.
    pub async fn changed(&self) {
        self.changed.notified().await;
    }
}

/// Follows one watch to its end. Returns false if it failed.
async fn follow(objects: &Objects, kind: Kind, changed: &Notify) -> bool {
    // Definitions are watched without a label, because new ones do not have ours and matter, too.
    let labels = if kind == Kind::Definition { String::new() } else { kind.selector() };
    let mut events = match objects.watch(kind, &labels, LIFE.as_secs()).await {
        Ok(events) => pin!(events),
        Err(error) => {
            debug!(error = error_chain(&error), "registrations cannot be watched");
            return false;
        }
    };
    while let Some(event) = events.next().await {
        match event {
            Ok(WatchEvent::Bookmark(_)) => {}
            Ok(WatchEvent::Error(_)) | Err(_) => return false,
            Ok(_) => changed.notify_one(),
        }
    }
    true
}

/// What was removed, or would be.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Removed {
    /// Webhook configurations that were deleted: `validatingwebhookconfigurations NAME`.
    pub deleted: Vec<String>,
    /// Definitions whose former conversion was restored.
    pub restored: Vec<String>,
    /// Other operators that have something registered.
    pub others: BTreeSet<String>,
}

impl Removed {
    /// Whether the operator had nothing registered.
    pub fn is_nothing(&self) -> bool {
        self.deleted.is_empty() && self.restored.is_empty()
    }
}

/// Deletes the webhook configurations of an operator when no hook runs, and restores the former conversions of
/// definitions. It keeps what may still be needed. With `dry_run`, it only returns what it would do.
pub async fn remove(
    client: kube::Client,
    instance: &str,
    pending: Pending,
    dry_run: bool,
) -> Result<Removed, RegistrationError> {
    let (objects, mut removed) = (Objects::new(client), Removed::default());
    let (nothing, endpoint) = (Wanted { pending, ..Wanted::default() }, Endpoint::Url(String::new()));
    let settings = Settings { instance: instance.to_owned(), left_out: Vec::new(), endpoint };
    for kind in Kind::ALL {
        let there = objects.list(kind, &kind.selector()).await?;
        let instances = there.iter().filter_map(|object| label(object, INSTANCE));
        removed.others.extend(instances.filter(|other| *other != instance).map(str::to_owned));
        let plan = match kind {
            Kind::Configuration(of) => plan::configurations(of, &there, &nothing, &settings),
            Kind::Definition => plan::definitions(&there, &nothing, &settings),
        };
        for act in plan.acts {
            match act {
                Act::Delete(object) => {
                    if !dry_run {
                        objects.delete(kind, &object).await?;
                    }
                    removed.deleted.push(format!("{kind} {}", name(&object)));
                }
                Act::Restore(name, patch) => {
                    if !dry_run {
                        objects.patch(kind, &name, &patch).await?;
                    }
                    removed.restored.push(name);
                }
                // These do not occur, because nothing has to be registered.
                Act::Create(_) | Act::Replace(_) | Act::TakeOver(..) => {}
            }
        }
    }
    Ok(removed)
}
