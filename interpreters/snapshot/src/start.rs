//! Runs the start of a module, and writes the memory that it leaves into the module.
//!
//! The start may ask for the time and for a seed, which are always the same, and for nothing else: what a host knows is not
//! known before a run.

use anyhow::{Context as _, Result, anyhow, bail};
use wasmi::{Caller, Engine, Error, Extern, ExternType, Instance, Linker, Module, Store, Val};
use wasmtime_wizer::{InstanceState, SnapshotVal, ValType, Wizer};

/// The export that is run, and that the module does not have any more.
const START: &str = "start-once";

/// Nanoseconds since 1970 of every start: 2026-01-01T00:00:00Z.
const TIME: u64 = 1_767_225_600_000_000_000;
/// The seed of hash maps that a start makes: two numbers of 64 bits.
const SEED: [u8; 16] = [0x5a; 16];

/// The module as it is after its start.
pub fn started(module: &[u8]) -> Result<Vec<u8>> {
    let mut wizer = Wizer::new();
    wizer.init_func(START);
    let (context, instrumented) = wizer.instrument(module).map_err(|error| anyhow!("{error:#}"))?;
    let mut instance = Started::of(&instrumented)?;
    futures_executor::block_on(wizer.snapshot(&context, &mut instance)).map_err(|error| anyhow!("{error:#}"))
}

struct Started {
    store: Store<()>,
    instance: Instance,
}

impl Started {
    fn of(module: &[u8]) -> Result<Self> {
        let engine = Engine::default();
        let module = Module::new(&engine, module)?;
        let mut store = Store::new(&engine, ());
        let instance = linker(&module)?.instantiate_and_start(&mut store, &module)?;
        if instance.get_func(&store, "_initialize").is_some() {
            bail!("it has a function _initialize, which would run again in every instance");
        }
        let function = instance.get_typed_func::<(), ()>(&store, START);
        function.with_context(|| format!("no function {START}"))?.call(&mut store, ())?;
        Ok(Self { store, instance })
    }
}

fn linker(module: &Module) -> Result<Linker<()>> {
    let mut linker = Linker::new(module.engine());
    for import in module.imports() {
        let ExternType::Func(ty) = import.ty() else { bail!("{} {} is no function", import.module(), import.name()) };
        let (from, name) = (import.module().to_owned(), import.name().to_owned());
        linker.func_new(import.module(), import.name(), ty.clone(), move |caller, given, answer| {
            match (name.as_str(), given, answer) {
                ("clock_time_get", [_, _, Val::I32(at)], [errno]) => {
                    *errno = Val::I32(0);
                    write(caller, *at, &TIME.to_le_bytes())
                }
                ("insecure-seed", [Val::I32(at)], []) => write(caller, *at, &SEED),
                _ => Err(Error::new(format!("the start asks for {from} {name}, which only a run can have"))),
            }
        })?;
    }
    Ok(linker)
}

fn write(mut caller: Caller<'_, ()>, at: i32, bytes: &[u8]) -> Result<(), Error> {
    let memory = caller.get_export("memory").and_then(Extern::into_memory);
    let memory = memory.ok_or_else(|| Error::new("no memory"))?;
    let at = at.cast_unsigned() as usize;
    memory.write(&mut caller, at, bytes).map_err(|error| Error::new(error.to_string()))
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
