//! Keeps the cluster's registrations as they are wanted: makes, repairs and removes them. Holds no rule: the plan
//! does.

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

/// Without any sign of a change, all is looked through after this time.
const LOOK_THROUGH: Duration = Duration::from_secs(600);
/// After a call that failed; twice as long each time.
const FIRST_RETRY: Duration = Duration::from_millis(500);
const LAST_RETRY: Duration = Duration::from_secs(30);
/// Repairs in this time slow down those that follow: somebody may insist.
const MEMORY: Duration = Duration::from_secs(60);
const FIRST_PAUSE: Duration = Duration::from_millis(50);

/// Keeps registrations until it is dropped, and leaves them behind then: a restart must not open the cluster to
/// what hooks forbid. Does nothing as long as nothing is wanted that is known. `registered` is told of
/// the hooks that have all they want.
pub async fn keep(
    client: kube::Client,
    settings: Settings,
    mut wanted: watch::Receiver<Option<Wanted>>,
    registered: watch::Sender<Wanted>,
    tasks: Tasks,
) {
    let Ok(_) = wanted.wait_for(Option::is_some).await.map(drop) else { return };
    let objects = Objects::new(client);
    // Before the first look, so that nothing is missed after it.
    let signals = Signals::start(&objects, &tasks);
    let mut upkeep = Upkeep { objects, settings, aims: BTreeMap::new(), told: BTreeSet::new(), calm: Calm::default() };
    let mut retry = FIRST_RETRY;
    loop {
        let now = wanted.borrow_and_update().clone().unwrap_or_default();
        let failed = upkeep.pass(&now).await;
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
        let (next, calm) = (Instant::now() + next, upkeep.calm.until(Instant::now()));
        tokio::select! {
            changed = wanted.changed() => if changed.is_err() { return },
            () = async { sleep_until(calm).await; signals.changed().await } => {}
            () = sleep_until(next) => {}
        }
    }
}

/// Names of objects that can't be read, and why.
type Unread = Vec<(String, String)>;

struct Upkeep {
    objects: Objects,
    settings: Settings,
    /// What was last made of each object, to tell a repair from a change of ours.
    aims: BTreeMap<String, Value>,
    /// Said once, as long as they hold.
    told: BTreeSet<String>,
    calm: Calm,
}

impl Upkeep {
    /// Looks at everything and does what is to be done. The names of those that are not as they should be; `None`
    /// when not all could be looked at.
    async fn pass(&mut self, wanted: &Wanted) -> Option<BTreeSet<String>> {
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
        for problem in problems.difference(&self.told) {
            warn!(problem, "not everything is registered as it should be: trying until it is");
        }
        self.told = problems;
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

    /// Objects with these labels, and those of these names that have lost them. One that can't be read is a problem,
    /// and in nobody else's way.
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

/// Slows repairs down while somebody changes things back again and again. Pure.
#[derive(Debug, Default)]
struct Calm(Vec<Instant>);

impl Calm {
    fn repaired(&mut self, now: Instant) {
        self.0.retain(|then| now.duration_since(*then) < MEMORY);
        self.0.push(now);
    }

    /// The next look at what others did comes no earlier.
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
