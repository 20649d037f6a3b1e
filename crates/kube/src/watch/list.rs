//! Delivers one list to the subscribers that need it, as it arrives: page by page, or as the first part of a watch. It
//! holds one page or line at a time, and never retries.

use std::{pin::pin, sync::Arc, time::Duration};

use boathook_core::{
    fair::{Share, Tenant},
    model::{Change, error_chain},
};
use bytes::BytesMut;
use tokio::time::{Instant, timeout};

use super::{
    connection::{self, Lines},
    context::Context,
    error::RequestError,
    request,
    rollback::LastChange,
    subscriber::{Delivery, Subscriber},
    wire::{self, Line},
};

/// The longest time that one list keeps others waiting.
const TURN: Duration = Duration::from_secs(5);

/// A list whose first response has arrived.
#[derive(Debug)]
pub(super) struct Opened {
    source: Source,
    started: Instant,
    asked_at: String,
    turn: Option<Share>,
}

#[derive(Debug)]
enum Source {
    Pages { first: BytesMut, limit: usize },
    Watch(Lines),
}

/// A list that is over.
#[derive(Debug)]
pub(super) struct Listed {
    /// The subscribers that got the whole list. After an error, they need another one.
    pub subscribers: Vec<Subscriber>,
    /// The subscribers that did not take the list in time.
    pub behind: Vec<Subscriber>,
    /// Where the watch of the other subscribers stood when the list was requested.
    pub asked_at: String,
    pub result: Result<Complete, RequestError>,
}

/// A list that was delivered.
#[derive(Debug)]
pub(super) struct Complete {
    /// The version that the list shows.
    pub version: String,
    /// The watch that continues from the list, if the list was a part of one.
    pub watch: Option<Lines>,
    /// The object in the list that was changed last.
    pub witness: Option<LastChange>,
}

/// Requests a list when one of these tenants gets a turn, while the watch stands at `asked_at`.
pub(super) async fn open(context: &Context, asked_at: String, tenants: &[Tenant]) -> Result<Opened, RequestError> {
    let turn = context.turn(tenants).await;
    let started = Instant::now();
    let (source, turn) = in_turn(turn, first_answer(context)).await;
    let source = source?;
    context.watch_stats.heard(0);
    Ok(Opened { source, started, asked_at, turn })
}

async fn first_answer(context: &Context) -> Result<Source, RequestError> {
    if let Some(lines) = open_watch(context).await? {
        return Ok(Source::Watch(lines));
    }
    let (first, limit) = page(context, None, context.config.page_size).await?;
    Ok(Source::Pages { first, limit })
}

/// Does the work in a turn. If the server is silent or a subscriber is slow, the work gives the turn up on the way and
/// continues without it.
async fn in_turn<T>(turn: Option<Share>, work: impl Future<Output = T>) -> (T, Option<Share>) {
    let mut work = pin!(work);
    match timeout(TURN, &mut work).await {
        Ok(done) => (done, turn),
        Err(_) => {
            drop(turn);
            (work.await, None)
        }
    }
}

async fn open_watch(context: &Context) -> Result<Option<Lines>, RequestError> {
    let api_version = context.selection.resource.api_version();
    if !context.config.streaming_lists || context.paged_only.holds(&api_version) {
        return Ok(None);
    }
    let request = request::streaming_list(&context.selection, context.watch_timeout())?;
    let config = &context.config;
    match Lines::open(&context.client, request, config.list_silence, config.max_line_bytes).await {
        Ok(lines) => Ok(Some(lines)),
        Err(error) if error.refuses_streaming() => {
            context.paged_only.add(api_version);
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Requests a page, and a smaller one if it is too long. Returns the page and the size that worked.
async fn page(context: &Context, token: Option<&str>, limit: usize) -> Result<(BytesMut, usize), RequestError> {
    let config = &context.config;
    let mut limit = limit.max(1);
    loop {
        let request = request::page(&context.selection, limit, token)?;
        match connection::whole(&context.client, request, config.list_silence, config.max_page_bytes).await {
            Err(RequestError::TooLong(_)) if limit > 1 => limit = (limit / 8).max(1),
            Err(error) => return Err(error),
            Ok(bytes) => return Ok((bytes, limit)),
        }
    }
}

/// Delivers a list. If `patient`, the subscribers set the pace. Otherwise a subscriber that is slower than the others
/// for too long falls behind.
pub(super) async fn deliver(
    context: Arc<Context>,
    opened: Opened,
    subscribers: Vec<Subscriber>,
    patient: bool,
) -> Listed {
    let mut group = Group { context: &context, subscribers, behind: Vec::new(), patient, objects: 0, witness: None };
    let (result, turn) = in_turn(opened.turn, group.run(opened.source)).await;
    drop(turn);
    let Group { subscribers, behind, objects, .. } = group;
    if result.is_ok() && !subscribers.is_empty() {
        context.watch_stats.listed();
        context.observer.on_list(&context.selection, objects, opened.started.elapsed());
    }
    Listed { subscribers, behind, asked_at: opened.asked_at, result }
}

struct Group<'a> {
    context: &'a Context,
    subscribers: Vec<Subscriber>,
    behind: Vec<Subscriber>,
    patient: bool,
    objects: u64,
    witness: Option<LastChange>,
}

impl Group<'_> {
    async fn run(&mut self, source: Source) -> Result<Complete, RequestError> {
        self.send(&Change::ListStarted).await;
        let complete = match source {
            Source::Pages { first, limit } => self.pages(first, limit).await?,
            Source::Watch(lines) => self.watch(lines).await?,
        };
        self.send(&Change::ListDone).await;
        Ok(complete)
    }

    async fn pages(&mut self, first: BytesMut, mut limit: usize) -> Result<Complete, RequestError> {
        let mut bytes = first;
        loop {
            let page = wire::page(&bytes)?;
            for item in &page.items {
                match self.context.kind.object(item.get()) {
                    Ok(object) => self.object(Change::Upsert(object)).await,
                    Err(error) => {
                        self.context.observer.on_invalid_object(&self.context.selection, &error_chain(&error))
                    }
                }
            }
            let (version, token) = (page.version, page.token);
            let Some(token) = token.filter(|_| !self.subscribers.is_empty()) else {
                return Ok(Complete { version, watch: None, witness: self.witness.take() });
            };
            drop(bytes);
            (bytes, limit) = self::page(self.context, Some(&token), limit).await?;
        }
    }

    async fn watch(&mut self, mut lines: Lines) -> Result<Complete, RequestError> {
        while !self.subscribers.is_empty() {
            let bytes = match lines.next().await {
                Ok(Some(bytes)) => bytes,
                Ok(None) => return Err(RequestError::HalfList),
                Err(error) => return Err(self.doubt_streaming(error)),
            };
            match wire::line(&bytes, &self.context.kind) {
                Ok(Line::Upsert(object)) => self.object(Change::Upsert(object)).await,
                Ok(Line::Delete(object)) => self.object(Change::Delete(object)).await,
                Ok(Line::Bookmark { list_done: false, .. }) => {}
                Ok(Line::Bookmark { list_done: true, version }) => {
                    lines.set_silence(self.context.config.silence);
                    return Ok(Complete { version, watch: Some(lines), witness: self.witness.take() });
                }
                Ok(Line::Failed(error)) => return Err(error),
                Err(error) => self.context.observer.on_invalid_object(&self.context.selection, &error_chain(&error)),
            }
        }
        Err(RequestError::HalfList)
    }

    /// A server that ignores the parameter sends the objects and then waits for changes.
    fn doubt_streaming(&self, error: RequestError) -> RequestError {
        if matches!(error, RequestError::Silent(_)) {
            self.context.paged_only.add(self.context.selection.resource.api_version());
        }
        error
    }

    async fn object(&mut self, change: Change) {
        if let Change::Upsert(object) = &change {
            self.witness = LastChange::later(self.witness.take(), LastChange::new(object, false));
        }
        self.objects = self.objects.saturating_add(1);
        self.context.watch_stats.heard(1);
        self.send(&change).await;
    }

    async fn send(&mut self, change: &Change) {
        let mut next = 0;
        while let Some(subscriber) = self.subscribers.get_mut(next) {
            let delivery = if self.patient {
                subscriber.deliver_patiently(change.clone()).await
            } else {
                subscriber.deliver(change.clone(), self.context.config.grace).await
            };
            match delivery {
                Delivery::Done => next += 1,
                Delivery::Gone => drop(self.subscribers.swap_remove(next)),
                Delivery::Lagging => self.behind.push(self.subscribers.swap_remove(next)),
            }
        }
    }
}
