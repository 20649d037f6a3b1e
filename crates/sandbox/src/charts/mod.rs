//! Renders charts with Helm's own library, in a fresh instance of a component of ours ([`interpreters/helm`]).
//!
//! ```text
//!  RenderRequest ─▶ remembered? ─▶ memory (tenant's share) ─▶ instance, in its tenant's turns ─▶ Rendered
//! ```
//!
//! A chart is the admin's, but its templates may still loop, fill memory or recurse without end. CPU time, memory, stack and the
//! size of what is rendered are therefore bounded as for filters. The clock and the random numbers of an instance depend only
//! on the request, so the same request gives the same bytes. Only the answers of [`Lookup`] can differ, and a chart that
//! asked is not remembered.
//!
//! [`interpreters/helm`]: https://github.com/boathook/boathook/tree/main/interpreters/helm

mod ambient;
mod chart;
mod error;
mod instance;
mod remembered;

use std::{
    fmt,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use boathook_core::{
    fair::Tenant,
    model::{InterpreterRef, error_chain},
    tasks::Tasks,
};
use futures::future::FutureExt as _;
use tokio::sync::OnceCell;
use wasmtime::{Engine, component::Component};

use self::{
    instance::{Linked, Terms},
    remembered::Remembered,
};
use crate::{
    SandboxConfig,
    code::{Code, Program},
    compiler::{CompilerConfig, Engines},
    component::Loader,
    engine::TickingEngine,
    interpreters::{self, Installed},
    room::{Rooms, Usual},
    turns::Turns,
};

pub use chart::{
    Capabilities, Chart, ChartFile, ChartHook, KubeVersion, Manifest, Operation, Release, RenderRequest, Rendered,
    Secret,
};
pub use error::RenderError;
pub use instance::{Lookup, LookupQuery, NoCluster};

/// What the rendering of a chart may use.
#[derive(Debug, Clone)]
pub struct ChartConfig {
    /// The memory of one rendering, in bytes. Default 256 MiB.
    pub memory: u64,
    /// The CPU time of one rendering. Default 60 s, because a chart may make keys.
    pub cpu_time: Duration,
    /// How long one rendering may take by the clock, with all its waiting for turns and for the cluster. Default 10 min.
    pub patience: Duration,
    /// The largest result, in bytes. Default 64 MiB.
    pub output: usize,
    /// The bytes of results that are remembered. Default 16 MiB.
    pub remembered: usize,
}

impl Default for ChartConfig {
    fn default() -> Self {
        Self {
            memory: 256 << 20,
            cpu_time: Duration::from_secs(60),
            patience: Duration::from_secs(600),
            output: 64 << 20,
            remembered: 16 << 20,
        }
    }
}

/// Renders charts. Cheap to clone.
#[derive(Clone)]
pub struct ChartEngine(Arc<Inner>);

struct Inner {
    config: ChartConfig,
    directories: Vec<PathBuf>,
    compiler: Option<CompilerConfig>,
    compiles: Option<fn()>,
    tasks: Tasks,
    loader: Arc<Loader>,
    rooms: Rooms,
    turns: Turns,
    usual: Usual,
    started: OnceCell<Started>,
    remembered: Mutex<Remembered>,
}

/// The engine and its component. Most programs never render a chart, so neither is there before the first one.
struct Started {
    engine: TickingEngine,
    code: Code<Helm>,
    component: InterpreterRef,
    digest: [u8; 32],
}

impl ChartEngine {
    pub(super) fn new(config: &SandboxConfig, loader: Arc<Loader>, rooms: Rooms, turns: Turns) -> Self {
        let mut charts = config.charts.clone();
        charts.memory = charts.memory.min(rooms.most_memory());
        Self(Arc::new(Inner {
            directories: config.interpreters.clone(),
            compiler: config.compiler.clone(),
            compiles: config.compiles_interpreter,
            tasks: config.tasks.clone(),
            loader,
            rooms,
            turns,
            usual: Usual::default(),
            started: OnceCell::new(),
            remembered: Mutex::new(Remembered::new(charts.remembered)),
            config: charts,
        }))
    }

    /// The component that renders, with its version and digest. Another component may give other bytes.
    pub async fn component(&self) -> Result<InterpreterRef, RenderError> {
        Ok(self.started().await?.component.clone())
    }

    /// Renders a chart in its tenant's share of memory and turns. The same request gives the same result, unless `lookup` was
    /// called. Dropping the future ends the rendering.
    pub async fn render(
        &self,
        tenant: &Tenant,
        request: RenderRequest,
        lookup: Arc<dyn Lookup>,
    ) -> Result<Arc<Rendered>, RenderError> {
        let started = self.started().await?;
        let key = request.digest(&started.digest);
        if let Some(rendered) = self.remembered().get(&key) {
            return Ok(rendered);
        }
        let linked = started.code.get().await.map_err(|error| {
            RenderError::Engine(format!("the chart engine {} cannot be loaded: {error:#}", started.component))
        })?;
        let room = self.0.rooms.begin(tenant, &self.0.usual).await;
        let room = room.map_err(|error| RenderError::Engine(error_chain(&error)))?;
        let turn = self.0.turns.of(tenant);
        let terms = Terms {
            turn: turn.clone(),
            room: room.clone(),
            until: Instant::now() + self.0.config.patience,
            config: self.0.config.clone(),
        };
        let running = started.engine.running();
        let call = async move { instance::render(&linked, terms, &request, lookup).await };
        let (ended, _) = turn.run_isolated(running, call.boxed()).await;
        self.0.usual.ended(&room);
        let (rendered, asked) = ended?;
        let rendered = Arc::new(rendered);
        if !asked {
            self.remembered().put(key, &rendered);
        }
        Ok(rendered)
    }

    fn remembered(&self) -> std::sync::MutexGuard<'_, Remembered> {
        self.0.remembered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn started(&self) -> Result<&Started, RenderError> {
        let inner = &self.0;
        inner.started.get_or_try_init(async || {
            let directories = inner.directories.clone();
            let search = move || {
                let (component, file) = interpreters::newest(&directories, interpreters::CHARTS)?;
                let digest = interpreters::digest(&std::fs::read(&file).ok()?);
                Some((component, file, digest))
            };
            let found = tokio::task::spawn_blocking(search).await.ok().flatten();
            let (component, file, digest) = found.ok_or_else(|| {
                let places: Vec<_> = inner.directories.iter().map(|place| place.display().to_string()).collect();
                let places = if places.is_empty() { "any place".to_owned() } else { places.join(", ") };
                RenderError::Engine(format!(
                    "there is no chart engine helm-VERSION.wasm in {places}: build it with `make interpreters`, or name its directory (BOATHOOK_INTERPRETERS)"
                ))
            })?;
            let engine = TickingEngine::for_charts(&inner.tasks);
            let engine = engine.map_err(|error| RenderError::Engine(error_chain(&error)))?;
            let code = Code::new(
                Helm { file, digest },
                engine.engine().clone(),
                inner.loader.clone(),
                inner.compiler.clone(),
                &inner.directories,
            );
            Ok(Started { code: code.telling(inner.compiles), engine, component, digest })
        }).await
    }
}

impl fmt::Debug for ChartEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChartEngine").field("config", &self.0.config).finish_non_exhaustive()
    }
}

/// The component as a file among the interpreters.
struct Helm {
    file: PathBuf,
    digest: [u8; 32],
}

impl Program for Helm {
    type Native = Component;
    type Linked = Linked;

    const NAME: &'static str = "the chart engine";
    const ENGINES: Engines = Engines::Charts;
    const INSTALLED: Installed = Installed::Charts;
    const SMALL: bool = false;

    fn digest(&self) -> [u8; 32] {
        self.digest
    }

    fn bytes(&self) -> wasmtime::Result<Vec<u8>> {
        let bytes = std::fs::read(&self.file)?;
        if interpreters::digest(&bytes) != self.digest {
            wasmtime::bail!("{} changed since the operator started: restart the operator", self.file.display());
        }
        Ok(bytes)
    }

    fn link(engine: &Engine, native: &Component) -> wasmtime::Result<Linked> {
        instance::link(engine, native)
    }
}
