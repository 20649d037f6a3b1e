//! One instance of the component: its store, its bounds, and how it ends.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};

use boathook_core::model::Limit;
use futures::future::{BoxFuture, FutureExt as _};
use wasmtime::{
    Engine, Store, Trap, UpdateDeadline,
    component::{Component, HasSelf, Linker, ResourceTable},
};
use wasmtime_wasi::{I32Exit, WasiCtx, WasiCtxBuilder, WasiCtxView, WasiView, p2::pipe::MemoryOutputPipe};

use super::{ChartConfig, RenderError, RenderRequest, Rendered, ambient::Fixed};
use crate::{
    Ambient, ambient,
    error::Reached,
    limits::{self, MemoryMeter},
    room::{Crowded, Room},
    trap::HOST_CALL_TOO_LARGE,
    turns::Turn,
    wit::charts::{Charts, ChartsPre, boathook::chart::cluster, exports::boathook::chart::engine as wit},
};

/// How often a chart may ask the cluster.
const LOOKUPS: u64 = 10_000;
/// What Go writes when it ends a program is kept up to this many bytes, and shown up to its first lines.
const LAST_WORDS: usize = 1024 * 1024;
const SHOWN: usize = 400;

/// What a template asks the cluster for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LookupQuery {
    pub api_version: String,
    pub kind: String,
    /// Empty for all namespaces, and for kinds that have none.
    pub namespace: String,
    /// Empty for a list.
    pub name: String,
}

/// Answers `lookup` of templates.
pub trait Lookup: Send + Sync + 'static {
    /// The object as JSON, or a list with `items` if the query has no name. `None` if the object or its kind does not exist. The
    /// error ends the rendering: it says what is not allowed or does not answer, and what helps.
    fn lookup(&self, query: LookupQuery) -> BoxFuture<'_, Result<Option<String>, String>>;
}

/// A cluster in which nothing is found, as for `helm template`.
#[derive(Debug, Clone, Copy)]
pub struct NoCluster;

impl Lookup for NoCluster {
    fn lookup(&self, _: LookupQuery) -> BoxFuture<'_, Result<Option<String>, String>> {
        async { Ok(None) }.boxed()
    }
}

/// The terms of one rendering.
pub(super) struct Terms {
    pub(super) turn: Turn,
    pub(super) room: Room,
    pub(super) until: Instant,
    pub(super) config: ChartConfig,
}

/// The component with what it imports. Cheap to clone.
#[derive(Clone)]
pub(super) struct Linked(ChartsPre<State>);

pub(super) fn link(engine: &Engine, component: &Component) -> wasmtime::Result<Linked> {
    let mut linker = Linker::new(engine);
    wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
    Charts::add_to_linker::<_, HasSelf<State>>(&mut linker, |state| state)?;
    Ok(Linked(ChartsPre::new(linker.instantiate_pre(component)?)?))
}

/// The host's own reasons to end a rendering.
#[derive(Debug, thiserror::Error)]
enum Ended {
    #[error("it had no turn to run")]
    Late,
    #[error("{0}")]
    Lookup(String),
    #[error("the chart made too many `lookup` calls")]
    Lookups,
}

pub(super) struct State {
    wasi: WasiCtx,
    table: ResourceTable,
    memory: MemoryMeter,
    lookup: Arc<dyn Lookup>,
    lookups: u64,
    asked: Arc<AtomicBool>,
    most: usize,
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

impl cluster::Host for State {
    async fn lookup(
        &mut self,
        api_version: String,
        kind: String,
        namespace: String,
        name: String,
    ) -> wasmtime::Result<Result<Option<String>, String>> {
        self.asked.store(true, Ordering::Relaxed);
        self.lookups += 1;
        if self.lookups > LOOKUPS {
            return Err(Ended::Lookups.into());
        }
        let what = format!("lookup of {api_version} {kind} {namespace}/{name}");
        let answer = self.lookup.lookup(LookupQuery { api_version, kind, namespace, name }).await;
        match answer {
            Ok(Some(text)) if text.len() > self.most => {
                Err(Ended::Lookup(format!("{what}: the answer has {} bytes: look up one object", text.len())).into())
            }
            // A template cannot handle the error, so that it ends here.
            Err(why) => Err(Ended::Lookup(format!("{what}: {why}")).into()),
            answer => Ok(answer),
        }
    }
}

/// Renders in a new instance. Also returns whether the chart asked the cluster.
pub(super) async fn render(
    linked: &Linked,
    terms: Terms,
    request: &RenderRequest,
    lookup: Arc<dyn Lookup>,
) -> Result<(Rendered, bool), RenderError> {
    let Terms { turn, room, until, config } = terms;
    let (words, asked) = (MemoryOutputPipe::new(LAST_WORDS), Arc::new(AtomicBool::new(false)));
    let mut wasi = WasiCtxBuilder::new();
    wasi.stderr(words.clone()).max_random_size(limits::RANDOM_BYTES);
    let fixed: Arc<dyn Ambient> = Arc::new(Fixed::new(request.time(), request.seed()));
    ambient::put_in(&mut wasi, &fixed);
    let mut table = ResourceTable::new();
    table.set_max_capacity(limits::HANDLES);
    let state = State {
        wasi: wasi.build(),
        table,
        memory: MemoryMeter::new(config.memory, room.clone()),
        lookup,
        lookups: 0,
        asked: asked.clone(),
        most: config.output,
    };
    let mut store = Store::new(linked.0.engine(), state);
    store.limiter(|state| &mut state.memory);
    store.set_hostcall_fuel(config.output);
    store.set_max_component_handles(limits::HANDLES);
    store.set_epoch_deadline(1);
    let (ours, cpu_time) = (turn.clone(), config.cpu_time);
    store.epoch_deadline_callback(move |_| {
        if ours.cpu_time() >= cpu_time {
            return Err(Reached(Limit::Time).into());
        }
        if Instant::now() >= until {
            return Err(Ended::Late.into());
        }
        Ok(UpdateDeadline::YieldCustom(1, Box::pin(ours.clone().next(until))))
    });
    let call = async {
        let charts = linked.0.instantiate_async(&mut store).await?;
        charts
            .boathook_chart_engine()
            .call_render(&mut store, given(request, &request.values_text(), &Views::of(request)))
            .await
    };
    match turn.around(until, call).await {
        Ok(Ok(Ok(rendered))) => Ok((rendered.into(), asked.load(Ordering::Relaxed))),
        Ok(Ok(Err(own))) => Err(RenderError::Chart(own)),
        Ok(Err(error)) => Err(classify(&error, &config, &words)),
        Err(_) => Err(RenderError::late(config.patience)),
    }
}

/// The lists of a request, as the component takes them.
struct Views<'a> {
    files: Vec<wit::File<'a>>,
    api_versions: Vec<&'a str>,
}

impl<'a> Views<'a> {
    fn of(request: &'a RenderRequest) -> Self {
        let file = |file: &'a super::ChartFile| wit::File { path: &file.path, content: &file.content };
        Self {
            files: request.chart.files().iter().map(file).collect(),
            api_versions: request.capabilities.api_versions.iter().map(String::as_str).collect(),
        }
    }
}

fn given<'a>(request: &'a RenderRequest, values: &'a str, views: &'a Views<'a>) -> wit::Request<'a> {
    let super::Release { name, namespace, revision, operation } = &request.release;
    let super::Capabilities { kube, assumed, .. } = &*request.capabilities;
    let seed = request.seed();
    let seed = seed.first_chunk().copied().map_or(0, i64::from_le_bytes);
    wit::Request {
        files: &views.files,
        directory: request.chart.is_directory(),
        values,
        release: wit::Release {
            name,
            namespace,
            revision: *revision,
            install: *operation == super::Operation::Install,
            upgrade: *operation == super::Operation::Upgrade,
        },
        capabilities: wit::Capabilities {
            version: &kube.version,
            major: &kube.major,
            minor: &kube.minor,
            api_versions: &views.api_versions,
            more: *assumed,
        },
        skip_schema: request.skip_schema,
        seed,
    }
}

/// Why the instance ended without a response. The first match counts.
fn classify(error: &wasmtime::Error, config: &ChartConfig, words: &MemoryOutputPipe) -> RenderError {
    let needs = |what: String| RenderError::Limit(format!("the chart needs more than {what}"));
    let memory = || needs(format!("{} of memory: make less of its values and templates", limits::bytes(config.memory)));
    if let Some(Reached(limit)) = error.downcast_ref::<Reached>() {
        return match limit {
            Limit::Memory => memory(),
            _ => needs(format!(
                "{} of CPU time: look for a template that includes itself or a loop that grows",
                humantime::format_duration(config.cpu_time)
            )),
        };
    }
    if let Some(crowded) = error.downcast_ref::<Crowded>() {
        return RenderError::Crowded(crowded.to_string());
    }
    match error.downcast_ref::<Ended>() {
        Some(Ended::Late) => return RenderError::late(config.patience),
        Some(Ended::Lookup(why)) => return RenderError::Lookup(why.clone()),
        Some(Ended::Lookups) => return needs(format!("{LOOKUPS} lookups")),
        None => {}
    }
    if error.downcast_ref::<Trap>() == Some(&Trap::StackOverflow) {
        return needs("the stack that there is: a template or a function of it calls itself too deeply".to_owned());
    }
    if error.root_cause().to_string().contains(HOST_CALL_TOO_LARGE) {
        return needs(format!("{} for what it renders: split it", limits::bytes(config.output as u64)));
    }
    let words = words.contents();
    let words = String::from_utf8_lossy(&words);
    let words = words.trim();
    if error.is::<I32Exit>() || error.is::<Trap>() {
        // Go ends a program that it cannot give more memory or stack.
        if words.contains("out of memory")
            || words.contains("cannot allocate memory")
            || words.contains("stack overflow")
        {
            return memory();
        }
    }
    let shown = words.get(..words.floor_char_boundary(SHOWN)).unwrap_or_default();
    RenderError::Engine(format!("the chart engine failed, please report it: {} {shown}", error.root_cause()))
}
