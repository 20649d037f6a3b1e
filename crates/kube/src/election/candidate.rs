//! Takes part in the election for one replica: sends the requests that the elector decides on.

use std::time::Duration;

use boathook_core::tasks::{Task, Tasks};
use futures::{StreamExt as _, future::pending, stream::BoxStream};
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use kube::{
    Client,
    api::{Api, DeleteParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams},
};
use tokio::{
    sync::{oneshot, watch},
    time::{Instant, sleep_until, timeout},
};
use tracing::{debug, info, warn};

use super::{
    Leadership, Standing, Terms,
    elector::{Elector, Step},
    lease::LeaderElectionRecord,
};

/// The API server's error. `None` if it did not answer in time.
type Failure = Option<Box<kube::Error>>;

/// Which Lease to use, and under which identity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ElectionConfig {
    pub namespace: String,
    pub name: String,
    /// The identity of this process. No other process has it, not even the previous one in the same Pod.
    pub identity: String,
    pub terms: Terms,
}

impl ElectionConfig {
    /// `host` shows people which replica this is. A random suffix makes the identity unique.
    pub fn new(namespace: impl Into<String>, name: impl Into<String>, host: &str, duration: Duration) -> Self {
        let identity = format!("{host}_{:016x}", rand::random::<u64>());
        Self { namespace: namespace.into(), name: name.into(), identity, terms: Terms::of(duration) }
    }
}

/// This process before it takes part in the election. Others can already query whether it leads.
#[derive(Debug)]
pub struct Candidacy {
    config: ElectionConfig,
    standing: watch::Sender<Standing>,
}

impl Candidacy {
    /// The process is a standby until it takes part.
    pub fn new(config: ElectionConfig) -> Self {
        Self { config, standing: watch::Sender::new(Standing::Standby { led: false }) }
    }

    /// Reports whether this process leads.
    pub fn leadership(&self) -> Leadership {
        Leadership::observing(self.standing.subscribe())
    }

    /// Takes part from now on.
    pub fn start(self, client: Client, tasks: &Tasks) -> Election {
        let Self { config, standing } = self;
        let (release, released) = oneshot::channel();
        let elector = Elector::new(config.identity.clone(), config.terms, Instant::now());
        let leases = Api::namespaced(client, &config.namespace);
        let candidate = Candidate { leases, config, elector, standing, signals: None, problem: String::new() };
        Election { release, task: tasks.spawn("election", candidate.run(released)) }
    }
}

/// This process's part in an election. If this is dropped, the Lease runs out.
#[derive(Debug)]
pub struct Election {
    release: oneshot::Sender<()>,
    task: Task<()>,
}

impl Election {
    /// Gives the Lease back, if this process holds it, so that another replica can lead at once. After this call, the
    /// process must not act as the leader, and nothing that it did as the leader may still be under way.
    pub async fn release(self) {
        // The receiver is gone if the election is over.
        let _ = self.release.send(());
        let _ = self.task.await;
    }
}

struct Candidate {
    leases: Api<Lease>,
    config: ElectionConfig,
    elector: Elector,
    standing: watch::Sender<Standing>,
    /// The changes of the Lease, while another replica holds it.
    signals: Option<BoxStream<'static, Result<WatchEvent<Lease>, kube::Error>>>,
    /// The problem that was logged last.
    problem: String,
}

impl Candidate {
    async fn run(mut self, mut release: oneshot::Receiver<()>) {
        let ElectionConfig { namespace, name, identity, terms } = &self.config;
        info!(namespace, lease = name, identity, duration = ?terms.duration, "taking part in the election of a leader");
        let given_up = loop {
            let step = self.elector.next(Instant::now(), Timestamp::now());
            self.notify();
            let asked = tokio::select! {
                over = self.take(step) => if over { break false } else { continue },
                asked = &mut release => asked,
            };
            break asked.is_ok();
        };
        if given_up && matches!(*self.standing.borrow(), Standing::Leading { .. }) {
            self.release().await;
        }
        self.standing.send_replace(Standing::Over);
        if !given_up {
            // A task that ends is taken for a bug, so this one waits. The caller reacts to the end of the lead and ends
            // it.
            let _ = release.await;
        }
    }

    /// Does one step. Returns true if it was the last one.
    async fn take(&mut self, step: Step) -> bool {
        match step {
            Step::Look => match self.look().await {
                Ok(found) => self.saw(found).await,
                Err(failure) => self.failed("read", failure),
            },
            Step::Create(record) => {
                let (namespace, name) = (self.config.namespace.clone(), self.config.name.clone());
                let body = record.body(Some((&namespace, &name)));
                let leases = self.leases.clone();
                self.write(async move {
                    let lease = serde_json::from_value(body).map_err(kube::Error::SerdeError)?;
                    leases.create(&PostParams::default(), &lease).await
                })
                .await;
            }
            Step::Write(record) => {
                let (leases, name, body) = (self.leases.clone(), self.config.name.clone(), record.body(None));
                self.write(async move { leases.patch(&name, &PatchParams::default(), &Patch::Merge(body)).await })
                    .await;
            }
            Step::Rest(at) => tokio::select! {
                () = sleep_until(at) => {}
                event = next(&mut self.signals) => self.signalled(event),
            },
            Step::End => {
                warn!(lease = self.config.name, holder = self.elector.holder(), "this replica no longer leads");
                return true;
            }
        }
        false
    }

    async fn look(&mut self) -> Result<Option<Lease>, Failure> {
        within(self.config.terms.patience, self.leases.get_opt(&self.config.name)).await
    }

    async fn write(&mut self, sending: impl Future<Output = Result<Lease, kube::Error>> + Send) {
        let sent = Instant::now();
        match within(self.config.terms.patience, sending).await {
            Ok(lease) => {
                let led = matches!(*self.standing.borrow(), Standing::Leading { .. });
                self.elector.wrote(LeaderElectionRecord::of(&lease), sent, Instant::now(), rand::random());
                self.signals = None;
                self.problem.clear();
                if !led {
                    info!(lease = self.config.name, identity = self.config.identity, "this replica leads");
                }
            }
            Err(failure) => self.failed("written", failure),
        }
    }

    async fn saw(&mut self, found: Option<Lease>) {
        self.problem.clear();
        let record = found.as_ref().map(LeaderElectionRecord::of);
        let version = record.as_ref().map(|record| record.version.clone());
        self.elector.saw(record, Instant::now(), rand::random());
        let another = matches!(self.elector.standing(Instant::now()), Standing::Standby { led: true });
        if let Some(version) = version.filter(|_| another && self.signals.is_none()) {
            let params = WatchParams::default().fields(&format!("metadata.name={}", self.config.name));
            // If there is no watch, the replica sees changes at its next read.
            let watched = within(self.config.terms.patience, self.leases.watch(&params, &version)).await;
            self.signals = watched.ok().map(|signals| signals.boxed());
        }
    }

    fn signalled(&mut self, event: Option<Result<WatchEvent<Lease>, kube::Error>>) {
        let found = match event {
            Some(Ok(WatchEvent::Added(lease) | WatchEvent::Modified(lease))) => Some(LeaderElectionRecord::of(&lease)),
            Some(Ok(WatchEvent::Deleted(_))) => None,
            Some(Ok(WatchEvent::Bookmark(_))) => return,
            Some(Ok(WatchEvent::Error(_)) | Err(_)) | None => return self.signals = None,
        };
        self.elector.saw(found, Instant::now(), rand::random());
    }

    fn failed(&mut self, what: &str, failure: Failure) {
        let conflict = matches!(failure.as_deref(), Some(kube::Error::Api(status)) if status.code == 409);
        self.elector.failed(conflict, Instant::now(), rand::random());
        if conflict {
            debug!(lease = self.config.name, "another client wrote the Lease");
            return;
        }
        let reason =
            failure.map_or_else(|| "no answer in time".to_owned(), |error| boathook_core::model::error_chain(&*error));
        let problem = format!("{what}: {reason}");
        if problem != self.problem {
            let ElectionConfig { namespace, name, .. } = &self.config;
            warn!(namespace, lease = name, reason, "the Lease cannot be {what}: retrying");
            self.problem = problem;
        }
    }

    fn notify(&self) {
        let now = self.elector.standing(Instant::now());
        self.standing.send_if_modified(|standing| std::mem::replace(standing, now) != now);
    }

    async fn release(&mut self) {
        // From here on, nothing in this process acts as the leader.
        self.standing.send_replace(Standing::Over);
        let Ok(Some(lease)) = self.look().await else { return };
        let Some(record) = self.elector.released(LeaderElectionRecord::of(&lease)) else { return };
        let (params, body) = (PatchParams::default(), Patch::Merge(record.body(None)));
        match within(self.config.terms.patience, self.leases.patch(&self.config.name, &params, &body)).await {
            Ok(_) => info!(lease = self.config.name, "Lease released: another replica can lead at once"),
            Err(_) => debug!(lease = self.config.name, "the Lease was not released: it expires"),
        }
    }
}

async fn within<T>(time: Duration, asking: impl Future<Output = Result<T, kube::Error>>) -> Result<T, Failure> {
    match timeout(time, asking).await {
        Ok(answer) => answer.map_err(|error| Some(Box::new(error))),
        Err(_) => Err(None),
    }
}

async fn next<T>(signals: &mut Option<BoxStream<'static, T>>) -> Option<T> {
    match signals {
        Some(signals) => signals.next().await,
        None => pending().await,
    }
}

/// Deletes the Lease of an operator that has ended. With `dry_run`, only returns whether it exists.
pub async fn remove(client: Client, namespace: &str, name: &str, dry_run: bool) -> Result<bool, kube::Error> {
    let leases: Api<Lease> = Api::namespaced(client, namespace);
    if dry_run {
        return Ok(leases.get_opt(name).await?.is_some());
    }
    match leases.delete(name, &DeleteParams::default()).await {
        Ok(_) => Ok(true),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(false),
        Err(error) => Err(error),
    }
}
