//! The streams that feed one binding. They open and close as namespaces are added and removed.
//!
//! This module receives a kind that was found, and decides nothing about objects.

use std::{collections::HashMap, sync::Arc};

use boathook_core::{
    fair::Tenant,
    filter::{Input, SourceId},
    model::{Change, KubernetesBinding, Object, Resource},
};
use boathook_kube::watch::{Selection, Streams, Subscribe, Subscription, WatchErrorKind, selections_for};
use futures::{
    StreamExt as _,
    future::{AbortHandle, pending},
    stream::{self, BoxStream, SelectAll},
};

pub(super) enum Heard {
    /// Namespaces were added or removed.
    Sources(Vec<Input>),
    /// A source saw a change.
    Change(SourceId, Change),
}

/// What a binding needs to subscribe.
#[derive(Clone)]
pub(super) struct Subscriber {
    pub streams: Streams,
    pub tenant: Tenant,
    pub spec: Arc<KubernetesBinding>,
    /// Whether only the metadata of objects is used.
    pub metadata_only: bool,
}

impl Subscriber {
    /// Returns one selection for each name, in one namespace or in those of the binding.
    fn selections(&self, resource: &Arc<Resource>, namespace: Option<&str>) -> Vec<Selection> {
        let mut selections = match namespace {
            None => selections_for(&self.spec, resource),
            Some(namespace) => {
                let mut spec = KubernetesBinding::clone(&self.spec);
                spec.namespaces = vec![namespace.to_owned()];
                selections_for(&spec, resource)
            }
        };
        selections.iter_mut().for_each(|selection| selection.metadata_only = self.metadata_only);
        selections
    }

    fn namespaces(&self, labels: &str) -> Subscription {
        let selection =
            Selection { label_selector: Some(labels.to_owned()), metadata_only: true, ..Selection::of(namespaces()) };
        self.streams.subscribe(Subscribe { selection, resynchronization: None, tenant: self.tenant.clone() })
    }
}

/// All streams of a binding whose kind is known.
pub(super) struct Subscriptions {
    subscriber: Subscriber,
    resource: Arc<Resource>,
    namespaces: Option<(Subscription, Namespaces)>,
    changes: SelectAll<BoxStream<'static, (SourceId, Change)>>,
    /// What each source follows.
    sources: HashMap<SourceId, (Selection, AbortHandle)>,
    /// The sources of each namespace that was chosen by label.
    open: HashMap<Arc<str>, Vec<SourceId>>,
    next: SourceId,
}

impl Subscriptions {
    /// Opens the streams that are open from the start. Returns also the binding's first inputs. The numbers of sources
    /// begin at `first`.
    pub fn start(subscriber: Subscriber, resource: Arc<Resource>, first: SourceId) -> (Self, Vec<Input>) {
        let by_labels = subscriber.spec.namespace_labels.as_deref().filter(|_| resource.namespaced);
        let namespaces = by_labels.map(|labels| (subscriber.namespaces(labels), Namespaces::of(&subscriber.spec)));
        let all = namespaces.is_none();
        let mut subscriptions = Self {
            subscriber,
            resource: resource.clone(),
            namespaces,
            changes: SelectAll::new(),
            sources: HashMap::new(),
            open: HashMap::new(),
            next: first,
        };
        let mut inputs = vec![Input::Served(resource)];
        if all {
            let sources = subscriptions.subscribe(None);
            inputs.extend(sources.into_iter().map(Input::SourceAdded));
            inputs.push(Input::SourcesComplete);
        }
        (subscriptions, inputs)
    }

    pub fn resource(&self) -> &Arc<Resource> {
        &self.resource
    }

    /// The number for the next source.
    pub fn next(&self) -> SourceId {
        self.next
    }

    /// A selection whose stream the API server refused last. It may be that of the namespaces.
    pub fn refused(&self) -> Option<&Selection> {
        let namespaces = self.namespaces.iter().map(|(stream, _)| stream.selection());
        let refused =
            |selection: &&Selection| self.subscriber.streams.trouble(selection) == Some(WatchErrorKind::Forbidden);
        self.sources.values().map(|(selection, _)| selection).chain(namespaces).find(refused)
    }

    /// Waits for the next message. Cancel-safe.
    pub async fn hear(&mut self) -> Heard {
        tokio::select! {
            change = next_namespace(&mut self.namespaces) => Heard::Sources(self.namespace_changed(&change)),
            (source, change) = next_change(&mut self.changes) => Heard::Change(source, change),
        }
    }

    fn namespace_changed(&mut self, change: &Change) -> Vec<Input> {
        let steps = self.namespaces.as_mut().map(|(_, known)| known.apply(change)).unwrap_or_default();
        let mut inputs = Vec::new();
        for step in steps {
            match step {
                Step::Enter(name) => {
                    let sources = self.subscribe(Some(&name));
                    inputs.extend(sources.iter().copied().map(Input::SourceAdded));
                    self.open.insert(name, sources);
                }
                Step::Leave(name) => {
                    for source in self.open.remove(&name).unwrap_or_default() {
                        if let Some((_, handle)) = self.sources.remove(&source) {
                            handle.abort();
                        }
                        inputs.push(Input::SourceRemoved(source));
                    }
                }
                Step::Complete => inputs.push(Input::SourcesComplete),
            }
        }
        inputs
    }

    fn subscribe(&mut self, namespace: Option<&str>) -> Vec<SourceId> {
        let selections = self.subscriber.selections(&self.resource, namespace);
        let sources = selections.into_iter().map(|selection| {
            let source = self.next;
            self.next += 1;
            self.open(source, selection);
            source
        });
        sources.collect()
    }

    fn open(&mut self, source: SourceId, selection: Selection) {
        let resynchronization = self.subscriber.spec.resynchronization_period;
        let tenant = self.subscriber.tenant.clone();
        let subscribe = Subscribe { selection: selection.clone(), resynchronization, tenant };
        let changes = self.subscriber.streams.subscribe(subscribe).map(move |change| (source, change));
        let (changes, handle) = stream::abortable(changes);
        self.changes.push(changes.boxed());
        if let Some((_, before)) = self.sources.insert(source, (selection, handle)) {
            before.abort();
        }
    }

    /// Lists every source again, for this binding only.
    pub fn relist(&mut self) {
        let sources: Vec<_> =
            self.sources.iter().map(|(source, (selection, _))| (*source, selection.clone())).collect();
        for (source, selection) in sources {
            self.open(source, selection);
        }
    }
}

async fn next_namespace(namespaces: &mut Option<(Subscription, Namespaces)>) -> Change {
    let next = match namespaces {
        Some((stream, _)) => stream.next().await,
        None => None,
    };
    match next {
        Some(change) => change,
        None => pending().await,
    }
}

async fn next_change(changes: &mut SelectAll<BoxStream<'static, (SourceId, Change)>>) -> (SourceId, Change) {
    match changes.next().await {
        Some(next) => next,
        None => pending().await,
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    /// Follow this namespace.
    Enter(Arc<str>),
    /// Stop following it.
    Leave(Arc<str>),
    /// All namespaces that matched at the start were entered. Sent once.
    Complete,
}

/// The namespaces that a binding follows if it chooses them by label. Pure.
#[derive(Debug, Default)]
struct Namespaces {
    /// Only these names match. If empty, all namespaces with the labels match.
    only: Vec<String>,
    /// For each name, the last list that contained it.
    known: HashMap<Arc<str>, u32>,
    list: u32,
    complete: bool,
}

impl Namespaces {
    /// If the binding has names, too, a namespace must be among them and have the labels.
    fn of(spec: &KubernetesBinding) -> Self {
        Self { only: spec.namespaces.clone(), ..Self::default() }
    }

    /// Applies a change from the stream that selects by the labels.
    fn apply(&mut self, change: &Change) -> Vec<Step> {
        match change {
            Change::ListStarted => {
                self.list = self.list.wrapping_add(1);
                Vec::new()
            }
            Change::Upsert(namespace) => self.seen(namespace),
            Change::Delete(namespace) => self.leave(&namespace.key.name).into_iter().collect(),
            Change::ListDone => self.listed(),
            // Every API server serves namespaces. If a proxy does not, that is no reason to leave them.
            Change::Unserved => Vec::new(),
        }
    }

    fn seen(&mut self, namespace: &Object) -> Vec<Step> {
        let name = &namespace.key.name;
        if !self.only.is_empty() && !self.only.iter().any(|only| **only == **name) {
            return Vec::new();
        }
        match self.known.insert(name.clone(), self.list) {
            Some(_) => Vec::new(),
            None => vec![Step::Enter(name.clone())],
        }
    }

    fn leave(&mut self, name: &Arc<str>) -> Option<Step> {
        self.known.remove(name).map(|_| Step::Leave(name.clone()))
    }

    fn listed(&mut self) -> Vec<Step> {
        let mut gone: Vec<_> =
            self.known.iter().filter(|(_, list)| **list != self.list).map(|(name, _)| name.clone()).collect();
        gone.sort();
        let mut steps: Vec<_> = gone.iter().filter_map(|name| self.leave(name)).collect();
        if !std::mem::replace(&mut self.complete, true) {
            steps.push(Step::Complete);
        }
        steps
    }
}

/// The kind Namespace, which needs no discovery.
fn namespaces() -> Arc<Resource> {
    Arc::new(Resource {
        group: String::new(),
        version: "v1".into(),
        kind: "Namespace".into(),
        plural: "namespaces".into(),
        namespaced: false,
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use boathook_core::{hooks, model::HookName};
    use boathook_kube::watch::{Observer, StreamConfig};

    use super::*;

    struct Silent;

    impl Observer for Silent {}

    /// Streams that get no answer.
    fn subscriber(binding: &str) -> Subscriber {
        let config = kube::Config::new("http://127.0.0.1:1".parse().unwrap());
        let streams = Streams::new(kube::Client::try_from(config).unwrap(), StreamConfig::default(), Arc::new(Silent));
        let document = format!("configVersion: v1\nkubernetes: [{{apiVersion: v1, {binding}}}]");
        let hook = hooks::parse(&HookName::new("h").unwrap(), &document, &|_| Ok(())).unwrap();
        let (tenant, spec) = (Tenant::hook("h"), Arc::new(hook.kubernetes[0].clone()));
        Subscriber { streams, tenant, spec, metadata_only: false }
    }

    fn pods() -> Arc<Resource> {
        let (kind, plural) = ("Pod".into(), "pods".into());
        Arc::new(Resource { kind, plural, namespaced: true, ..(*namespaces()).clone() })
    }

    fn object(name: &str) -> Arc<Object> {
        let json = format!("{{\"metadata\":{{\"name\":\"{name}\"}}}}");
        Arc::new(Object::from_json(&json, &"v1".into(), &"Namespace".into()).unwrap())
    }

    fn namespace(name: &str) -> Change {
        Change::Upsert(object(name))
    }

    fn followed(streams: &Streams) -> Vec<String> {
        let mut followed: Vec<_> = streams.stats().iter().map(|stream| stream.selection.to_string()).collect();
        followed.sort();
        followed
    }

    #[tokio::test(start_paused = true)]
    async fn streams_come_and_go_with_their_namespaces() {
        let subscriber = subscriber(
            "kind: Pod, nameSelector: {matchNames: [x, y]}, namespace: {labelSelector: {matchLabels: {t: a}}}",
        );
        let streams = subscriber.streams.clone();
        let (mut subscriptions, inputs) = Subscriptions::start(subscriber, pods(), 7);
        assert_eq!(inputs, [Input::Served(pods())]);
        let labels = "v1 Namespace with labels t=a, metadata only";
        assert_eq!(followed(&streams), [labels]);
        let entered = subscriptions.namespace_changed(&namespace("n"));
        assert_eq!(entered, [Input::SourceAdded(7), Input::SourceAdded(8)]);
        assert_eq!(followed(&streams).len(), 3);
        let Change::Upsert(gone) = namespace("n") else { panic!() };
        let left = subscriptions.namespace_changed(&Change::Delete(gone));
        assert_eq!(left, [Input::SourceRemoved(7), Input::SourceRemoved(8)]);
        // The streams close when they are polled next.
        assert!(tokio::time::timeout(Duration::from_millis(10), subscriptions.hear()).await.is_err());
        assert_eq!(followed(&streams), [labels]);
        assert_eq!(subscriptions.namespace_changed(&namespace("m")), [Input::SourceAdded(9), Input::SourceAdded(10)]);
    }

    #[tokio::test(start_paused = true)]
    async fn labels_of_namespaces_say_nothing_about_kinds_without() {
        let subscriber = subscriber("kind: Node, namespace: {labelSelector: {matchLabels: {t: a}}}");
        let nodes = Arc::new(Resource { namespaced: false, ..(*pods()).clone() });
        let (_subscriptions, inputs) = Subscriptions::start(subscriber, nodes.clone(), 0);
        assert_eq!(inputs, [Input::Served(nodes), Input::SourceAdded(0), Input::SourcesComplete]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_binding_that_uses_only_metadata_follows_no_more() {
        let subscriber = Subscriber { metadata_only: true, ..subscriber("kind: Pod") };
        let streams = subscriber.streams.clone();
        let _subscriptions = Subscriptions::start(subscriber, pods(), 0);
        assert_eq!(followed(&streams), ["v1 Pod, metadata only"]);
    }

    fn list(namespaces: &mut Namespaces, names: &[&str]) -> Vec<Step> {
        let mut steps = namespaces.apply(&Change::ListStarted);
        steps.extend(names.iter().flat_map(|name| namespaces.apply(&Change::Upsert(object(name)))));
        steps.extend(namespaces.apply(&Change::ListDone));
        steps
    }

    fn enter(name: &str) -> Step {
        Step::Enter(name.into())
    }

    fn leave(name: &str) -> Step {
        Step::Leave(name.into())
    }

    #[test]
    fn they_come_and_go() {
        let mut namespaces = Namespaces::default();
        assert_eq!(list(&mut namespaces, &["a", "b"]), [enter("a"), enter("b"), Step::Complete]);
        assert_eq!(namespaces.apply(&Change::Upsert(object("a"))), []);
        assert_eq!(namespaces.apply(&Change::Delete(object("a"))), [leave("a")]);
        assert_eq!(namespaces.apply(&Change::Delete(object("a"))), []);
        assert_eq!(namespaces.apply(&Change::Upsert(object("c"))), [enter("c")]);
        // `Complete` is sent only once, and a namespace that a list does not contain is gone.
        assert_eq!(list(&mut namespaces, &["a", "c"]), [enter("a"), leave("b")]);
        assert_eq!(namespaces.apply(&Change::Unserved), []);
    }

    #[test]
    fn names_and_labels_must_both_hold() {
        let mut namespaces = Namespaces { only: vec!["a".into(), "x".into()], ..Namespaces::default() };
        assert_eq!(list(&mut namespaces, &["a", "b"]), [enter("a"), Step::Complete]);
        assert_eq!(namespaces.apply(&Change::Upsert(object("b"))), []);
        assert_eq!(namespaces.apply(&Change::Delete(object("b"))), []);
    }
}
