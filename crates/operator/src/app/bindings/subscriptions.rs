//! The streams that feed one binding. They open and close as namespaces are added and removed.
//!
//! This module receives a kind that was found, and decides nothing about objects.

use std::{collections::HashMap, sync::Arc};

use boathook_core::{
    fair::Tenant,
    filter::{Input, SourceId},
    model::{Change, KubernetesBinding, Resource},
};
use boathook_kube::watch::{Selection, Streams, Subscribe, Subscription, WatchErrorKind, selections_for};
use futures::{
    StreamExt as _,
    future::{AbortHandle, pending},
    stream::{self, BoxStream, SelectAll},
};

use super::namespaces::{self, Namespaces, Step};

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
        let selection = Selection {
            label_selector: Some(labels.to_owned()),
            metadata_only: true,
            ..Selection::of(namespaces::resource())
        };
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]
    use std::time::Duration;

    use boathook_core::{
        hooks,
        model::{HookName, Object},
    };
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
        Arc::new(Resource { kind, plural, namespaced: true, ..(*namespaces::resource()).clone() })
    }

    fn namespace(name: &str) -> Change {
        let json = format!("{{\"metadata\":{{\"name\":\"{name}\"}}}}");
        Change::Upsert(Arc::new(Object::from_json(&json, &"v1".into(), &"Namespace".into()).unwrap()))
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
}
