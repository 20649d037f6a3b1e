//! Runs the start of a module, and writes the memory that it leaves into the module.
//!
//! The start may ask for the time and for a seed, which are always the same, and for nothing else: what a host knows is not
//! known before a run. Go's runtime also asks for arguments, an environment and files, of which there are none.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result, anyhow, bail};
use wasmi::{Caller, Config, Engine, Error, Extern, ExternType, Instance, Linker, Module, Store, Val};
use wasmtime_wizer::{InstanceState, SnapshotVal, ValType, Wizer};

/// The export that is run, and that the module does not have any more.
const START: &str = "start-once";
/// The export that starts Go's runtime. The module does not have it any more, either.
const INITIALIZE: &str = "_initialize";

/// Nanoseconds since 1970 of every start: 2026-01-01T00:00:00Z.
const TIME: u64 = 1_767_225_600_000_000_000;
/// Nanoseconds of Go's monotonic clock, which must never go back: a run's clock begins later. Go refuses zero.
const MONOTONIC: u64 = 1;
/// The seed of hash maps that a start makes: two numbers of 64 bits.
const SEED: [u8; 16] = [0x5a; 16];
/// How deep functions of Go call each other at most.
const DEPTH: usize = 100_000;

/// The errors of WASI preview 1 for success, and for a file that is not open.
const SUCCESS: i32 = 0;
const BADF: i32 = 8;
/// What `fd_fdstat_get` writes.
const FDSTAT: usize = 24;

/// The module as it is after its start.
pub fn started(module: &[u8]) -> Result<Vec<u8>> {
    snapshot(module, &Engine::default(), Kind::Plain)
}

/// The module of Go as it is when its runtime has started and its start has run.
pub fn started_go(module: &[u8]) -> Result<Vec<u8>> {
    let mut config = Config::default();
    config.set_max_recursion_depth(DEPTH);
    snapshot(module, &Engine::new(&config), Kind::Go)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Plain,
    Go,
}

fn snapshot(module: &[u8], engine: &Engine, kind: Kind) -> Result<Vec<u8>> {
    let mut wizer = Wizer::new();
    wizer.init_func(START);
    let (context, instrumented) = wizer.instrument(module).map_err(|error| anyhow!("{error:#}"))?;
    let mut instance = Started::of(&instrumented, engine, kind)?;
    futures_executor::block_on(wizer.snapshot(&context, &mut instance)).map_err(|error| anyhow!("{error:#}"))
}

struct Started {
    store: Store<()>,
    instance: Instance,
}

impl Started {
    fn of(module: &[u8], engine: &Engine, kind: Kind) -> Result<Self> {
        let module = Module::new(engine, module)?;
        let mut store = Store::new(engine, ());
        let instance = linker(&module, kind)?.instantiate_and_start(&mut store, &module)?;
        match (instance.get_typed_func::<(), ()>(&store, INITIALIZE), kind) {
            (Ok(_), Kind::Plain) => bail!("it has a function {INITIALIZE}, which would run again in every instance"),
            (Ok(initialize), Kind::Go) => initialize.call(&mut store, ()).context("Go's runtime does not start")?,
            (Err(_), Kind::Go) => bail!("it has no function {INITIALIZE}: build it with -buildmode=c-shared"),
            (Err(_), Kind::Plain) => {}
        }
        let function = instance.get_typed_func::<(), ()>(&store, START);
        function.with_context(|| format!("no function {START}"))?.call(&mut store, ())?;
        Ok(Self { store, instance })
    }
}

fn linker(module: &Module, kind: Kind) -> Result<Linker<()>> {
    let mut linker = Linker::new(module.engine());
    let mut defined = BTreeSet::new();
    for import in module.imports() {
        // Go imports some functions twice.
        if !defined.insert((import.module().to_owned(), import.name().to_owned())) {
            continue;
        }
        let ExternType::Func(ty) = import.ty() else { bail!("{} {} is no function", import.module(), import.name()) };
        let (from, name) = (import.module().to_owned(), import.name().to_owned());
        linker.func_new(import.module(), import.name(), ty.clone(), move |mut caller, given, answer| {
            match (name.as_str(), given, answer) {
                ("clock_time_get", [clock, _, Val::I32(at)], [errno]) => {
                    *errno = Val::I32(SUCCESS);
                    let monotonic = kind == Kind::Go && !matches!(clock, Val::I32(0));
                    write(&mut caller, *at, &if monotonic { MONOTONIC } else { TIME }.to_le_bytes())
                }
                ("insecure-seed", [Val::I32(at)], []) => write(&mut caller, *at, &SEED),
                (name, given, [errno]) if kind == Kind::Go && from == "wasi_snapshot_preview1" => {
                    *errno = Val::I32(of_go(&mut caller, name, given)?);
                    Ok(())
                }
                _ => Err(Error::new(format!("the start asks for {from} {name}, which only a run can have"))),
            }
        })?;
    }
    Ok(linker)
}

/// What Go's runtime asks for when it starts.
fn of_go(caller: &mut Caller<'_, ()>, name: &str, given: &[Val]) -> Result<i32, Error> {
    match (name, given) {
        ("random_get", [Val::I32(at), Val::I32(length)]) => {
            let bytes: Vec<u8> = SEED.into_iter().cycle().take(length.cast_unsigned() as usize).collect();
            write(caller, *at, &bytes)?;
        }
        ("args_sizes_get" | "environ_sizes_get", [Val::I32(count), Val::I32(bytes)]) => {
            write(caller, *count, &[0; 4])?;
            write(caller, *bytes, &[0; 4])?;
        }
        ("args_get" | "environ_get" | "sched_yield" | "fd_fdstat_set_flags", _) => {}
        ("fd_fdstat_get", [_, Val::I32(at)]) => write(caller, *at, &[0; FDSTAT])?,
        ("fd_prestat_get", _) => return Ok(BADF),
        ("fd_write", [_, Val::I32(vectors), Val::I32(count), Val::I32(written)]) => {
            let mut all = 0;
            for vector in 0..*count {
                let [at, length] = [0, 4].map(|offset| word(caller, vectors + 8 * vector + offset));
                let (at, length) = (at?, length?);
                let mut text = vec![0; length as usize];
                memory(caller)?.read(&*caller, at as usize, &mut text).map_err(failed)?;
                eprint!("{}", String::from_utf8_lossy(&text));
                all += length;
            }
            write(caller, *written, &all.to_le_bytes())?;
        }
        _ => return Err(Error::new(format!("the start asks for {name}, which only a run can have"))),
    }
    Ok(SUCCESS)
}

fn memory(caller: &Caller<'_, ()>) -> Result<wasmi::Memory, Error> {
    let memory = caller.get_export("memory").and_then(Extern::into_memory);
    memory.ok_or_else(|| Error::new("no memory"))
}

fn failed(error: impl std::fmt::Display) -> Error {
    Error::new(error.to_string())
}

fn word(caller: &Caller<'_, ()>, at: i32) -> Result<u32, Error> {
    let mut bytes = [0; 4];
    memory(caller)?.read(caller, at.cast_unsigned() as usize, &mut bytes).map_err(failed)?;
    Ok(u32::from_le_bytes(bytes))
}

fn write(caller: &mut Caller<'_, ()>, at: i32, bytes: &[u8]) -> Result<(), Error> {
    memory(caller)?.write(caller, at.cast_unsigned() as usize, bytes).map_err(failed)
}

impl InstanceState for Started {
    #[allow(clippy::panic, reason = "the trait has no other answer")]
    async fn global_get(&mut self, name: &str, _: ValType) -> SnapshotVal {
        match self.instance.get_global(&self.store, name).map(|global| global.get(&self.store)) {
            Some(Val::I32(value)) => SnapshotVal::I32(value),
            Some(Val::I64(value)) => SnapshotVal::I64(value),
            Some(Val::F32(value)) => SnapshotVal::F32(value.to_bits()),
            Some(Val::F64(value)) => SnapshotVal::F64(value.to_bits()),
            other => panic!("the global {name} is {other:?}"),
        }
    }

    #[allow(clippy::panic, reason = "the trait has no other answer")]
    async fn memory_contents(&mut self, name: &str, contents: impl FnOnce(&[u8]) + Send) {
        match self.instance.get_memory(&self.store, name) {
            Some(memory) => contents(memory.data(&self.store)),
            None => panic!("no memory {name}"),
        }
    }
}
