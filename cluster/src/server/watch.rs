//! Watches: a cursor into a collection's history for each client. At most one chunk is buffered for a client. A client
//! that falls behind the history receives a 410 and is disconnected.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures::stream;
use http::Response;
use rand::Rng;
use serde_json::{Value, json};
use tokio::sync::watch::Receiver;
use tokio::time::{Instant, Interval, MissedTickBehavior};

use super::call::{Call, Params};
use super::list::{internal_type, prefix, revision, selection};
use super::render::Renderer;
use super::respond::{Body, Shape};
use super::{render, respond};
use crate::kinds::Resource;
use crate::selectors::Selection;
use crate::shared::Shared;
use crate::status::{Cause, Failure};
use crate::store::{Event, OutOfRange, Query, Stored};
use crate::{conversion, json, table};

/// Maximum size of a write.
const CHUNK: usize = 64 << 10;
/// Number of events to read from the history at once.
const BATCH: usize = 256;

enum Phase {
    /// The initial state is being sent.
    Initial {
        items: VecDeque<Arc<Stored>>,
        announce_end: bool,
    },
    Following,
    Ended,
}

struct Watch {
    shared: Arc<Shared>,
    resource: Arc<Resource>,
    prefix: String,
    selection: Selection,
    params: Params,
    shape: Shape,
    phase: Phase,
    cursor: u64,
    columns_sent: bool,
    /// The next bookmark announces that the initial state has been sent.
    announce: bool,
    changed: Receiver<u64>,
    disconnects: Receiver<u64>,
    bookmarks: Interval,
    deadline: Instant,
    /// The start revision is no longer available.
    expired: Option<u64>,
}

pub(crate) async fn start(call: &Call<'_>) -> Result<Response<Body>, Failure> {
    let Call { shared, resource, params, .. } = *call;
    call.accept.check_watch()?;
    call.accept.check(false, &internal_type(resource))?;
    let mut selection = selection(resource, params)?;
    if !call.name.is_empty() {
        let selector = format!("metadata.name={}", call.name);
        selection.fields = crate::selectors::FieldSelector::parse(&selector, |_| None)?;
    }
    let from = check_options(params)?;
    let prefix = prefix(call.namespace);
    // The subscription begins before the state is read, so that no change is missed in between.
    let changed = shared.store.subscribe(&resource.storage);
    let disconnects = shared.disconnects();
    let wants_state = params.send_initial_events.unwrap_or(matches!(from, None | Some(0)));
    let mut expired = None;
    let (phase, cursor) = if wants_state {
        let query = Query { prefix: &prefix, after: None, at: None, limit: 0, matches: &|o| selection.matches(o) };
        let page = shared.store.list(&resource.storage, &query);
        let page = page.map_err(|_| Failure::internal("the newest state is always there"))?;
        if let Some(asked) = from.filter(|asked| *asked > page.revision) {
            return Err(Failure::future_revision(asked, page.revision));
        }
        let announce_end = params.send_initial_events == Some(true) && params.bookmarks;
        let items = conversion::all(shared, resource, page.items).await?;
        (Phase::Initial { items: items.into(), announce_end }, page.revision)
    } else {
        let start = from.filter(|v| *v > 0).unwrap_or_else(|| shared.store.revision());
        match shared.store.check_start(&resource.storage, start) {
            Ok(()) => {}
            Err(OutOfRange::Expired { oldest }) => expired = Some(oldest),
            // The real server also waits for the revision.
            Err(OutOfRange::Future { .. }) => {}
        }
        (Phase::Following, start)
    };
    let interval = shared.options.bookmark_interval.max(Duration::from_millis(1));
    let mut bookmarks = tokio::time::interval_at(Instant::now() + interval, interval);
    bookmarks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let seconds = params.timeout_seconds.filter(|s| *s > 0).map(|s| s.min(86_400));
    let seconds = seconds.unwrap_or_else(|| rand::rng().random_range(1800..3600));
    let watch = Watch {
        shared: shared.clone(),
        resource: resource.clone(),
        prefix,
        selection,
        params: Params {
            bookmarks: params.bookmarks,
            include_object: params.include_object.clone(),
            ..Params::default()
        },
        shape: call.accept.shape,
        phase,
        cursor,
        columns_sent: false,
        announce: wants_state,
        changed,
        disconnects,
        bookmarks,
        deadline: Instant::now() + Duration::from_secs(seconds),
        expired,
    };
    Ok(respond::stream(stream::unfold(watch, |mut watch| async move {
        let chunk = watch.next().await?;
        Some((chunk, watch))
    })))
}

fn check_options(params: &Params) -> Result<Option<u64>, Failure> {
    let matching = params.resource_version_match.as_str();
    let field = "resourceVersionMatch";
    let mut causes = Vec::new();
    if params.send_initial_events.is_some() && matching != "NotOlderThan" {
        causes.push(Cause::forbidden(field, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"));
    }
    if !matching.is_empty() {
        if params.send_initial_events.is_none() {
            let why = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
            causes.push(Cause::forbidden(field, why));
        }
        if matching != "NotOlderThan" {
            causes.push(Cause::unsupported(field, &matching.into(), &["NotOlderThan"]));
        }
    }
    if !params.continue_token.is_empty() {
        causes.push(Cause::forbidden(field, "resourceVersionMatch is forbidden when continue is provided"));
    }
    if causes.is_empty() {
        return revision(&params.resource_version);
    }
    Err(Failure::invalid("meta.k8s.io", "ListOptions", "", &causes))
}

impl Watch {
    async fn next(&mut self) -> Option<Result<Bytes, io::Error>> {
        let mut buffer = BytesMut::new();
        if let Some(oldest) = self.expired.take() {
            self.expire(&mut buffer, oldest);
        }
        loop {
            self.fill(&mut buffer).await;
            if !buffer.is_empty() {
                return Some(Ok(buffer.freeze()));
            }
            if matches!(self.phase, Phase::Ended) {
                return None;
            }
            tokio::select! {
                biased;
                () = self.shared.stop.cancelled() => return None,
                _ = self.disconnects.changed() => {
                    self.phase = Phase::Ended;
                    return Some(Err(io::Error::other("the watch was cut on request")));
                }
                alive = self.changed.changed() => {
                    // The collection is gone, because its definition was deleted.
                    if alive.is_err() { return None; }
                }
                () = tokio::time::sleep_until(self.deadline) => {
                    self.phase = Phase::Ended;
                    if self.params.bookmarks { self.bookmark(&mut buffer); }
                    if buffer.is_empty() { return None; }
                    return Some(Ok(buffer.freeze()));
                }
                _ = self.bookmarks.tick(), if self.params.bookmarks => {
                    self.bookmark(&mut buffer);
                    return Some(Ok(buffer.freeze()));
                }
            }
        }
    }

    /// Renders pending events, up to a chunk.
    async fn fill(&mut self, buffer: &mut BytesMut) {
        while buffer.len() < CHUNK {
            match &mut self.phase {
                Phase::Ended => return,
                Phase::Initial { items, announce_end } => match items.pop_front() {
                    Some(item) => self.write(buffer, "ADDED", &item),
                    None => {
                        let announce = *announce_end;
                        self.phase = Phase::Following;
                        if announce {
                            self.bookmark(buffer);
                        }
                    }
                },
                Phase::Following => {
                    self.changed.mark_unchanged();
                    match self.shared.store.changes(&self.resource.storage, self.cursor, BATCH) {
                        Ok(changes) => {
                            let idle = changes.events.is_empty();
                            for event in &changes.events {
                                self.event(buffer, event).await;
                            }
                            self.cursor = self.cursor.max(changes.seen);
                            if idle {
                                return;
                            }
                        }
                        Err(OutOfRange::Expired { oldest } | OutOfRange::Future { current: oldest }) => {
                            self.expire(buffer, oldest);
                        }
                    }
                }
            }
        }
    }

    fn expire(&mut self, buffer: &mut BytesMut, oldest: u64) {
        let failure = Failure::expired(format!("too old resource version: {} ({oldest})", self.cursor));
        line(buffer, "ERROR", &json::bytes(&failure.to_value()));
        self.phase = Phase::Ended;
    }

    async fn event(&mut self, buffer: &mut BytesMut, event: &Event) {
        if !event.object.key.starts_with(&self.prefix) {
            return;
        }
        let before = event.previous.as_ref().filter(|p| self.selection.matches(p));
        let now = !event.deleted && self.selection.matches(&event.object);
        match (before, now) {
            (None, true) => self.convert(buffer, "ADDED", event.object.clone()).await,
            (Some(_), true) => self.convert(buffer, "MODIFIED", event.object.clone()).await,
            (Some(_), false) if event.deleted => self.convert(buffer, "DELETED", event.object.clone()).await,
            (Some(previous), false) => {
                // The object left the selection. The client receives its last selected state, with the revision of the
                // change.
                let mut value = previous.value();
                json::metadata(&mut value).insert("resourceVersion".into(), event.revision.to_string().into());
                let last = Stored::build(&value, event.revision, self.resource.index(&value));
                self.convert(buffer, "DELETED", Arc::new(last)).await;
            }
            (None, false) => {}
        }
    }

    /// Writes an object in the version of the watch. If the conversion fails, the watch ends.
    async fn convert(&mut self, buffer: &mut BytesMut, kind: &str, stored: Arc<Stored>) {
        if matches!(self.phase, Phase::Ended) {
            return;
        }
        match conversion::shown(&self.shared, &self.resource, stored).await {
            Ok(stored) => self.write(buffer, kind, &stored),
            Err(failure) => {
                line(buffer, "ERROR", &json::bytes(&failure.to_value()));
                self.phase = Phase::Ended;
            }
        }
    }

    fn write(&mut self, buffer: &mut BytesMut, kind: &str, stored: &Stored) {
        if self.shape == Shape::Object {
            line(buffer, kind, &render::bytes(&self.resource, stored));
            return;
        }
        let bytes = Renderer::new(&self.resource, &self.params).object(stored, self.shape, !self.columns_sent);
        self.columns_sent = true;
        line(buffer, kind, &bytes);
    }

    fn bookmark(&mut self, buffer: &mut BytesMut) {
        let mut metadata = json!({ "resourceVersion": self.cursor.to_string() });
        if std::mem::take(&mut self.announce) {
            let annotations = json!({ "k8s.io/initial-events-end": "true" });
            json::object(&mut metadata).insert("annotations".into(), annotations);
        }
        let object = match self.shape {
            Shape::Object => self.typed(&self.resource.kind, &self.resource.api_version(), metadata),
            Shape::Metadata | Shape::MetadataList => self.typed("PartialObjectMetadata", "meta.k8s.io/v1", metadata),
            Shape::Table => {
                let inner = self.typed("PartialObjectMetadata", "meta.k8s.io/v1", metadata.clone());
                let cells = table::cells(&self.resource, &json!({}), crate::time::now());
                let rows = vec![json!({ "cells": cells, "object": inner })];
                let renderer = Renderer::new(&self.resource, &self.params);
                let version = json!({ "resourceVersion": self.cursor.to_string() });
                renderer.table(!self.columns_sent, version, rows)
            }
        };
        line(buffer, "BOOKMARK", &json::bytes(&object));
    }

    fn typed(&self, kind: &str, api_version: &str, metadata: Value) -> Value {
        json!({ "kind": kind, "apiVersion": api_version, "metadata": metadata })
    }
}

fn line(buffer: &mut BytesMut, kind: &str, object: &[u8]) {
    buffer.extend_from_slice(b"{\"type\":\"");
    buffer.extend_from_slice(kind.as_bytes());
    buffer.extend_from_slice(b"\",\"object\":");
    buffer.extend_from_slice(object);
    buffer.extend_from_slice(b"}\n");
}
