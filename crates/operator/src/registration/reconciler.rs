//! Keeps the cluster's registrations up to date: creates, repairs and removes them. The rules are in `plan`.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use boathook_core::{
    model::{error_chain, hide_secrets},
    tasks::Tasks,
};
use serde_json::Value;
use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};
use tracing::{info, warn};

use super::{
    RegistrationError, Wanted,
    conversion::Change,
    objects::{Kind, Objects, name},
    plan::{self, Act, Foreign, Plan},
    settings::{INSTANCE, MANAGED_BY, Settings},
    signals::Signals,
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
            warn!(problem, "not everything is registered as it should be: trying until it is");
        }
        self.last_reported = problems;
        seen.then_some(failed)
    }

    async fn plan(&self, kind: Kind, wanted: &Wanted) -> Result<(Plan, Unread), RegistrationError> {
        Ok(match kind {
            Kind::Configuration(of) => {
                let labels = format!("{}%3D{}", MANAGED_BY.0, MANAGED_BY.1);
                let (there, unread) = self.there(kind, &labels, plan::names(of, wanted)).await?;
                (plan::configurations(of, &there, wanted, &self.settings), unread)
            }
            Kind::Definition => {
                let names = plan::converted(wanted).into_keys().map(str::to_owned).collect();
                let (there, unread) = self.there(kind, INSTANCE, names).await?;
                (plan::definitions(&there, wanted, &self.settings), unread)
            }
        })
    }

    /// Lists objects with these labels, and gets those of these names that have lost them. An object that cannot be
    /// read is a problem, but does not hold up others.
    async fn there(
        &self,
        kind: Kind,
        labels: &str,
        names: Vec<String>,
    ) -> Result<(Vec<Value>, Unread), RegistrationError> {
        let (mut there, mut unread) = (self.objects.list(kind, labels).await?, Unread::new());
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
            Act::Restore(..) => info!(what, "conversion given back as it was"),
            _ if self.aims.get(&what) == Some(&aim) => {
                warn!(what, "registration repaired: somebody had changed or deleted it");
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
