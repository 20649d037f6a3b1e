//! What one run owns, and the store around it. No store leaves this file without its memory limiter, its deadline and
//! its limits.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Instant,
};

use boathook_core::model::{
    Allowance, Caller, Limit, MetricKind, MetricLabels, MetricOp, MetricSample, ValuesPatch, WriteOptions,
};
use wasmtime::{Engine, Store, UpdateDeadline, component::ResourceTable};
use wasmtime_wasi::{WasiCtx, WasiCtxBuilder, WasiCtxView, WasiView};
use wasmtime_wasi_http::{WasiHttpCtx, WasiHttpCtxView, WasiHttpView};

use crate::{
    ambient,
    budget::Budget,
    error::Reached,
    files::{Files, View},
    host::Host,
    http::{Calls, Http},
    limits::{self, Bounds, MemoryMeter},
    output::{Capture, RunLog, Stream},
    room::Room,
    script::Source,
    snapshots::Readable,
    turns::Turn,
};

/// The bytes that an export may return, in addition to what host calls may pass.
const SURPLUS: usize = 1024 * 1024;

/// What the imported functions work on.
pub(super) struct State {
    pub(super) host: Arc<dyn Host>,
    pub(super) caller: Caller,
    pub(super) bounds: Bounds,
    pub(super) memory: MemoryMeter,
    pub(super) room: Room,
    pub(super) budget: Budget,
    pub(super) log: Arc<RunLog>,
    pub(super) snapshots: Readable,
    pub(super) metrics: Reported,
    /// What the run changes in the values of its module.
    pub(super) patch: ValuesPatch,
    /// The call that waits for the rest of the operator. It is named if the time runs out.
    pub(super) waiting_in: Option<&'static str>,
    files: Files,
    /// Created with the first request.
    http: Option<Http>,
    http_fields: WasiHttpCtx,
    pub(super) table: ResourceTable,
    /// The options of the writes that follow.
    pub(super) writes: WriteOptions,
    /// For an interpreter, the script of this hook. No other script can be reached from here.
    pub(super) source: Option<Arc<Source>>,
    wasi: WasiCtx,
}

impl State {
    pub(super) fn new(
        host: Arc<dyn Host>,
        caller: Caller,
        bounds: Bounds,
        room: Room,
        log: Arc<RunLog>,
        snapshots: Readable,
    ) -> Self {
        let mut table = ResourceTable::new();
        table.set_max_capacity(limits::HANDLES);
        // By default, there are clocks and random numbers, and no environment, arguments or network.
        let mut wasi = WasiCtxBuilder::new();
        wasi.stdout(Capture::new(log.clone(), Stream::Stdout))
            .stderr(Capture::new(log.clone(), Stream::Stderr))
            .max_random_size(limits::RANDOM_BYTES);
        if let Some(ambient) = host.ambient() {
            ambient::put_in(&mut wasi, &ambient);
        }
        let wasi = wasi.build();
        let snapshots = snapshots.at(|| host.snapshot_set(&caller.hook));
        let budget = Budget::new(bounds.limits());
        let files = Files::new(&host.directories(), &caller, bounds, budget.clone(), log.clone());
        Self {
            host,
            caller: Caller { memory: Allowance::of(room.clone()), ..caller },
            bounds,
            memory: MemoryMeter::new(bounds.limits().memory, room.clone()),
            room,
            budget,
            log,
            snapshots,
            metrics: Reported::default(),
            patch: ValuesPatch::default(),
            waiting_in: None,
            files,
            http: None,
            http_fields: WasiHttpCtx::new(),
            table,
            writes: WriteOptions::default(),
            source: None,
            wasi,
        }
    }

    /// Who makes a write, if it has options.
    pub(super) fn writer(&self) -> Option<Caller> {
        let dry_run = self.caller.dry_run || self.writes.dry_run;
        (!self.writes.is_default()).then(|| Caller { dry_run, writes: self.writes, ..self.caller.clone() })
    }

    /// What the functions of `wasi:filesystem` work on.
    pub(super) fn files(&mut self) -> View<'_> {
        self.files.view(&mut self.table)
    }

    /// Sets the script that the interpreter reads.
    pub(super) fn reading(self, source: Option<Arc<Source>>) -> Self {
        Self { source, ..self }
    }
}

impl State {
    /// The call that the run waits for, if it waits for one.
    pub(super) fn waits_in(&self) -> Option<&'static str> {
        self.waiting_in.or_else(|| self.http.as_ref().and_then(Http::waits_in))
    }
}

impl State {
    /// The HTTP requests of this run.
    pub(super) fn requests(&mut self) -> Http {
        let http = self.http.take().unwrap_or_else(|| {
            Http::new(Calls {
                host: self.host.clone(),
                caller: self.caller.clone(),
                bounds: self.bounds,
                room: self.room.clone(),
                budget: self.budget.clone(),
                log: self.log.clone(),
            })
        });
        self.http.insert(http).clone()
    }
}

impl WasiHttpView for State {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        self.table.set_max_capacity(limits::HTTP_HANDLES);
        self.http_fields.set_field_size_limit(limits::FIELDS);
        let http = self.requests();
        let hooks = self.http.insert(http);
        WasiHttpCtxView { hooks, table: &mut self.table, ctx: &mut self.http_fields }
    }
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

/// A store that ends its guest at `deadline`, and lets it compute when it is its turn.
pub(super) fn new(engine: &Engine, state: State, deadline: Instant, turn: Turn) -> Store<State> {
    let call_bytes = state.bounds.call_bytes();
    let mut store = Store::new(engine, state);
    store.limiter(|state| &mut state.memory);
    // How much one call may copy out of the guest before the budget sees it. What an export returns counts too but is
    // not a host call, so the surplus is added.
    store.set_hostcall_fuel(call_bytes.saturating_add(SURPLUS));
    store.set_max_component_handles(limits::HANDLES);
    store.set_epoch_deadline(1);
    store.epoch_deadline_callback(move |_| {
        if Instant::now() >= deadline {
            return Err(Reached(Limit::Time).into());
        }
        Ok(UpdateDeadline::YieldCustom(1, Box::pin(turn.clone().next(deadline))))
    });
    store
}

/// The most operations of one run. `limits.hostCalls` is reached before that, unless it was raised.
const MAX_OPS: usize = 100_000;

#[derive(Debug, Default)]
pub(super) struct Reported {
    ops: Vec<MetricOp>,
    kinds: HashMap<Arc<str>, MetricKind>,
    known: HashSet<(Arc<str>, MetricLabels)>,
    series: usize,
}

impl Reported {
    /// Returns the operations, in order.
    pub fn into_ops(self) -> Vec<MetricOp> {
        self.ops
    }

    /// The number of series that the run would have reported with this sample.
    pub fn series_with(&self, sample: &MetricSample) -> usize {
        let known = self.known.contains(&(sample.name().clone(), sample.labels().clone()));
        self.series + if known { 0 } else { sample.series() }
    }

    pub fn check(&self, sample: &MetricSample) -> Result<(), String> {
        match self.kinds.get(sample.name()) {
            Some(kind) if *kind != sample.kind() => Err(format!(
                "metric {} was reported as a {kind} in this run, so it cannot also be a {}: choose another name",
                sample.name(),
                sample.kind()
            )),
            _ => self.room(),
        }
    }

    pub fn room(&self) -> Result<(), String> {
        if self.ops.len() < MAX_OPS {
            return Ok(());
        }
        Err(format!("a run can report {MAX_OPS} metric operations at most: add them up in the hook"))
    }

    pub fn push(&mut self, sample: MetricSample) {
        self.series = self.series_with(&sample);
        self.known.insert((sample.name().clone(), sample.labels().clone()));
        self.kinds.insert(sample.name().clone(), sample.kind());
        self.ops.push(MetricOp::Record(sample));
    }

    pub fn expire(&mut self, group: Arc<str>) {
        self.ops.push(MetricOp::Expire(group));
    }
}
