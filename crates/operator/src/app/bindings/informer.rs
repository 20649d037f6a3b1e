//! The inputs of one binding, in order: its kind was found, its streams report changes, its turn to go live has come,
//! its kind is gone.
//!
//! This module never reads an object. [`filter::Binding`](boathook_core::filter::Binding) decides what a change means.

use std::{
    collections::{HashSet, VecDeque},
    sync::Arc,
    time::Duration,
};

use boathook_core::{
    fair::Tenant,
    filter::{BindingStatus, Input, SourceId},
    model::{Change, HookName, KubernetesBinding, Resource, error_chain},
};
use boathook_kube::{
    discovery::{Changes, DiscoveryError},
    election::Leadership,
};
use futures::{
    FutureExt as _, Stream,
    future::{BoxFuture, pending},
    stream,
};
use tokio::{
    sync::Notify,
    time::{Instant, Interval, interval_at, sleep_until},
};
use tracing::{info, warn};

use super::{
    super::{Services, binding_states::Progress},
    subscriptions::{Heard, Subscriber, Subscriptions},
};
use crate::app::service_account::{self, NotWatched};

/// Between two lookups of a kind that was not found, or of an API server that does not answer.
const FIRST_WAIT: Duration = Duration::from_millis(500);
const LONGEST_WAIT: Duration = Duration::from_secs(10);
/// Between two checks whether the API server refuses to list the binding's objects. The checks end when they are
/// listed.
const LOOK_FOR_REFUSAL: Duration = Duration::from_secs(1);
/// A standby assumes that the leader has reported a change after one to two times this duration. It is twice the
/// longest time for which a leader may be gone without anybody knowing.
const REPORTED_BY_LEADER: Duration = Duration::from_secs(600);

/// The binding, and what it works with.
pub(super) struct Place {
    pub services: Arc<Services>,
    pub hook: HookName,
    pub tenant: Tenant,
    pub spec: Arc<KubernetesBinding>,
    pub progress: Progress,
    /// Notified when the binding needs another list.
    pub relist: Arc<Notify>,
}

impl Place {
    async fn find(&self) -> Result<Arc<Resource>, DiscoveryError> {
        self.services.discovery.find(self.spec.api_version.as_deref(), &self.spec.kind).await
    }
}

/// When to look up the kind again.
struct Pace {
    at: Instant,
    wait: Duration,
}

impl Pace {
    fn new() -> Self {
        Self { at: Instant::now(), wait: FIRST_WAIT }
    }

    fn put_off(&mut self) {
        self.at = Instant::now() + self.wait;
        self.wait = (self.wait * 2).min(LONGEST_WAIT);
    }
}

/// Produces a binding's inputs.
pub(super) struct Informer {
    place: Place,
    subscriber: Subscriber,
    ready: VecDeque<Input>,
    /// `None` while the kind is looked up.
    subscriptions: Option<Subscriptions>,
    pace: Pace,
    /// Changes of discovery, after which the kind may be served.
    news: Option<Changes>,
    /// The last reason that was logged for a missing kind.
    said: String,
    /// Sources for which the API server said that the kind is not served. It may be served again by now.
    doubtful: HashSet<SourceId>,
    next_source: SourceId,
    turn: BoxFuture<'static, ()>,
    elsewhere: Interval,
    status: Arc<BindingStatus>,
    refusal: Interval,
    /// Why the hook's other bindings continue without this one.
    refused: Option<String>,
}

impl Informer {
    pub fn new(place: Place, status: Arc<BindingStatus>, metadata_only: bool) -> Self {
        let turn = turn(place.services.leadership.clone(), place.progress.clone(), place.spec.wait_for_synchronization);
        let (streams, tenant) = (place.services.streams.clone(), place.tenant.clone());
        let subscriber = Subscriber { streams, tenant, spec: place.spec.clone(), metadata_only };
        Self {
            subscriber,
            ready: VecDeque::new(),
            subscriptions: None,
            pace: Pace::new(),
            news: None,
            said: String::new(),
            doubtful: HashSet::new(),
            next_source: 0,
            turn: turn.boxed(),
            elsewhere: interval_at(Instant::now() + REPORTED_BY_LEADER, REPORTED_BY_LEADER),
            status,
            refusal: interval_at(Instant::now() + LOOK_FOR_REFUSAL, LOOK_FOR_REFUSAL),
            refused: None,
            place,
        }
    }

    /// The inputs, as a stream that does not end.
    pub fn into_stream(self) -> impl Stream<Item = Input> + Send {
        stream::unfold(self, |mut informer| async {
            let input = informer.next().await;
            Some((input, informer))
        })
    }

    async fn next(&mut self) -> Input {
        loop {
            if let Some(input) = self.ready.pop_front() {
                return input;
            }
            let Some(subscriptions) = &mut self.subscriptions else {
                self.look().await;
                continue;
            };
            let leadership = &self.place.services.leadership;
            tokio::select! {
                () = &mut self.turn => {
                    self.turn = pending().boxed();
                    return Input::Admitted;
                }
                heard = subscriptions.hear() => match heard {
                    Heard::Sources(inputs) => self.ready.extend(inputs),
                    Heard::Change(source, change) => self.heard(source, change),
                },
                _ = self.elsewhere.tick(), if leadership.is_standby() => {
                    if leadership.led_by_another() {
                        return Input::ReportedByLeader;
                    }
                }
                () = sleep_until(self.pace.at), if !self.doubtful.is_empty() => self.look_again().await,
                () = self.place.relist.notified() => subscriptions.relist(),
                _ = self.refusal.tick(), if !self.status.is_listed() => self.look_for_refusal(),
            }
        }
    }

    fn heard(&mut self, source: SourceId, change: Change) {
        match change {
            Change::Unserved => {
                if self.doubtful.is_empty() {
                    self.pace = Pace::new();
                }
                self.doubtful.insert(source);
                return;
            }
            Change::ListStarted => drop(self.doubtful.remove(&source)),
            _ => {}
        }
        self.ready.push_back(Input::Change(source, change));
    }

    /// Waits until it is time, looks up the kind once, and logs a new reason for waiting once.
    async fn look(&mut self) {
        self.time_to_look().await;
        let _turn = self.place.services.streams.turn(&self.place.tenant).await;
        match self.place.find().await {
            Ok(resource) => match service_account::check_watch(&self.place.services, &self.place.spec, &resource).await
            {
                Ok(()) => {
                    let Place { hook, spec, .. } = &self.place;
                    info!(%hook, binding = %spec.name, %resource, "binding enabled");
                    self.follow(resource);
                }
                Err(reason) => self.kept_out(&reason),
            },
            Err(error) => self.missing(&error),
        }
    }

    async fn time_to_look(&mut self) {
        let Some(news) = &mut self.news else { return sleep_until(self.pace.at).await };
        tokio::select! {
            () = sleep_until(self.pace.at) => {}
            () = news.next() => self.pace = Pace::new(),
        }
    }

    /// For one of the sources, the API server said that there is no such kind. Discovery shows whether that is true, or
    /// whether the kind is served in another place now.
    async fn look_again(&mut self) {
        let Some(before) = self.subscriptions.as_ref().map(|subscriptions| subscriptions.resource().clone()) else {
            return;
        };
        self.place.services.discovery.doubt(&before.api_version());
        match self.place.find().await {
            // The kind may be about to be added or removed. The streams retry, and this code checks again.
            Ok(resource) if resource == before => {
                self.place.services.streams.retry_unserved();
                self.pace.put_off();
            }
            Ok(resource)
                if service_account::check_watch(&self.place.services, &self.place.spec, &resource).await.is_err() =>
            {
                self.pace.put_off();
            }
            Ok(resource) => {
                let Place { hook, spec, .. } = &self.place;
                info!(%hook, binding = %spec.name, %before, %resource, "binding moves: its kind is served elsewhere");
                self.follow(resource);
            }
            Err(error @ DiscoveryError::Unknown { .. }) => {
                self.next_source =
                    self.subscriptions.take().map_or(self.next_source, |subscriptions| subscriptions.next());
                self.doubtful.clear();
                self.missing(&error);
            }
            Err(DiscoveryError::Unavailable(_) | DiscoveryError::Silent(_) | DiscoveryError::Partial { .. }) => {
                self.pace.put_off();
            }
        }
    }

    fn follow(&mut self, resource: Arc<Resource>) {
        // Numbers are never reused.
        let first = self.subscriptions.as_ref().map_or(self.next_source, Subscriptions::next);
        let (subscriptions, inputs) = Subscriptions::start(self.subscriber.clone(), resource, first);
        self.subscriptions = Some(subscriptions);
        self.ready.extend(inputs);
        self.doubtful.clear();
        self.news = None;
        self.said.clear();
        self.refused = None;
        self.place.progress.found();
    }

    /// The operator may not list the kind. This concerns only this hook. Its other bindings continue without this one,
    /// as with a kind that is not served. But objects may exist, so nothing runs with an empty snapshot.
    fn look_for_refusal(&mut self) {
        let refused = self.subscriptions.as_ref().and_then(Subscriptions::refused);
        let Place { services, hook, spec, progress, .. } = &self.place;
        let Some(selection) = refused else {
            if self.refused.take().is_some() {
                progress.found();
            }
            return;
        };
        let server = &services.server;
        let reason = format!("the API server at {server} does not let the operator list and watch {selection}");
        if self.refused.as_ref() != Some(&reason) {
            warn!(%hook, binding = %spec.name, reason, "binding pending: give the operator a role for this, see boathook rbac");
            progress.excused(&reason);
            self.refused = Some(reason);
        }
    }

    /// The bundle's bounds do not allow the binding to watch. That may change.
    fn kept_out(&mut self, why: &NotWatched) {
        self.pace.put_off();
        let reason = error_chain(why);
        let Place { hook, spec, progress, .. } = &self.place;
        match why {
            NotWatched::ClusterScoped { .. } | NotWatched::Misnamed { .. } | NotWatched::Forbidden { .. } => {
                progress.excused(&reason);
            }
            NotWatched::Unknown { .. } => progress.pending(&reason),
        }
        if reason != self.said {
            warn!(%hook, binding = %spec.name, reason, "binding pending: its bundle may not watch this");
            self.said = reason;
        }
    }

    fn missing(&mut self, error: &DiscoveryError) {
        self.pace.put_off();
        let reason = error_chain(error);
        let Place { services, progress, .. } = &self.place;
        match error {
            DiscoveryError::Unknown { .. } => {
                if progress.unserved(&reason) {
                    self.news = Some(services.discovery.changes());
                    // A kind that is not served has no objects.
                    self.ready.push_back(Input::Unserved);
                }
            }
            DiscoveryError::Unavailable(_) | DiscoveryError::Silent(_) => progress.pending(&reason),
            // The same as for a kind that may not be watched.
            DiscoveryError::Partial { .. } => progress.excused(&reason),
        }
        if reason != self.said {
            report(&self.place, error, &reason);
            self.said = reason;
        }
    }
}

/// A standby's bindings know their objects and report nothing about them. When the standby becomes the leader, they go
/// live as at a start.
async fn turn(leadership: Leadership, progress: Progress, waits: bool) {
    leadership.gained().await;
    if waits {
        progress.turn().await;
    }
}

fn report(place: &Place, error: &DiscoveryError, reason: &str) {
    let Place { services, hook, spec, .. } = place;
    match error {
        DiscoveryError::Unknown { .. } => {
            warn!(%hook, binding = %spec.name, reason, "binding pending: it starts when the kind is served");
        }
        DiscoveryError::Partial { .. } => {
            warn!(%hook, binding = %spec.name, reason, "binding pending: it starts when its API group answers");
        }
        DiscoveryError::Unavailable(_) | DiscoveryError::Silent(_) => {
            let server = &services.server;
            warn!(%hook, binding = %spec.name, server, reason, "API server unreachable: retrying until it answers");
        }
    }
}
