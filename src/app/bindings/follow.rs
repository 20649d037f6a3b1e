//! The streams that feed one binding, opened and closed as namespaces come and go.
//!
//! Decides nothing about objects, and looks for no kind: it is given one.

use std::{collections::HashMap, sync::Arc};

use futures::{
    StreamExt as _,
    future::{AbortHandle, pending},
    stream::{self, BoxStream, SelectAll},
};

use super::namespaces::{self, Namespaces, Step};
use crate::{
    filter::{Input, SourceId},
    model::{Change, KubernetesBinding, Resource},
    watch::{Selection, Streams, Subscription, selections_for},
};

/// What the streams said.
pub(super) enum Heard {
    /// Namespaces came or went.
    Sources(Vec<Input>),
    /// A source saw a change.
    Change(SourceId, Change),
}

/// What all bindings are followed with.
#[derive(Clone)]
pub(super) struct Subscriber {
    pub streams: Streams,
    pub spec: Arc<KubernetesBinding>,
    /// Of the objects, only metadata is used.
    pub metadata_only: bool,
}

impl Subscriber {
    /// One for each name, in one namespace or in those of the binding.
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
        self.streams.subscribe(Selection {
            label_selector: Some(labels.to_owned()),
            metadata_only: true,
            ..Selection::of(namespaces::resource())
        })
    }
}

/// All streams of a binding whose kind is known.
pub(super) struct Following {
    subscriber: Subscriber,
    resource: Arc<Resource>,
    namespaces: Option<(Subscription, Namespaces)>,
    changes: SelectAll<BoxStream<'static, (SourceId, Change)>>,
    /// The sources of each namespace that was chosen by label.
    open: HashMap<Arc<str>, Vec<(SourceId, AbortHandle)>>,
    next: SourceId,
}

impl Following {
    /// Opens what is open from the start; what the binding is to be told of it comes second. Sources
    /// are numbered from `first`.
    pub fn start(subscriber: Subscriber, resource: Arc<Resource>, first: SourceId) -> (Self, Vec<Input>) {
        let by_labels = subscriber.spec.namespace_labels.as_deref().filter(|_| resource.namespaced);
        let namespaces = by_labels.map(|labels| (subscriber.namespaces(labels), Namespaces::of(&subscriber.spec)));
        let all = namespaces.is_none();
        let mut following = Self {
            subscriber,
            resource: resource.clone(),
            namespaces,
            changes: SelectAll::new(),
            open: HashMap::new(),
            next: first,
        };
        let mut inputs = vec![Input::Served(resource)];
        if all {
            let sources = following.subscribe(None);
            inputs.extend(sources.into_iter().map(|(source, _)| Input::SourceAdded(source)));
            inputs.push(Input::SourcesComplete);
        }
        (following, inputs)
    }

    /// The kind.
    pub fn resource(&self) -> &Arc<Resource> {
        &self.resource
    }

    /// The number after that of its last source.
    pub fn next(&self) -> SourceId {
        self.next
    }

    /// What happens next. Cancel-safe.
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
                    inputs.extend(sources.iter().map(|(source, _)| Input::SourceAdded(*source)));
                    self.open.insert(name, sources);
                }
                Step::Leave(name) => {
                    for (source, handle) in self.open.remove(&name).unwrap_or_default() {
                        handle.abort();
                        inputs.push(Input::SourceRemoved(source));
                    }
                }
                Step::Complete => inputs.push(Input::SourcesComplete),
            }
        }
        inputs
    }

    fn subscribe(&mut self, namespace: Option<&str>) -> Vec<(SourceId, AbortHandle)> {
        let selections = self.subscriber.selections(&self.resource, namespace);
        let sources = selections.into_iter().map(|selection| {
            let source = self.next;
            self.next += 1;
            let changes = self.subscriber.streams.subscribe(selection).map(move |change| (source, change));
            let (changes, handle) = stream::abortable(changes);
            self.changes.push(changes.boxed());
            (source, handle)
        });
        sources.collect()
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
