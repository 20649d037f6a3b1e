//! The yardstick of a run: a fresh instance and one call of the no-op hook in wasmtime, with the
//! settings that a host needs to stay alive, and no host around it.

use std::time::Instant;

use wasmtime::{
    Config, Engine, InstanceAllocationStrategy, PoolingAllocationConfig, Result, Store,
    component::{Component, Linker},
};

use self::bindings::{HookPre, boathook::hook::types::RunInfo};
use crate::stats::Percentiles;

mod bindings {
    //! What `bindgen!` makes of `wit/`.
    // Generated code: its documentation is the WIT's, and it names functions that it type-checked
    // itself by `new_unchecked`.
    #![allow(missing_docs, unsafe_code, rust_2018_idioms, dead_code)]
    wasmtime::component::bindgen!({ path: "../wit", world: "hook", exports: { default: async } });
}

/// The no-op hook, compiled, and nothing else.
pub struct Alone {
    engine: Engine,
    pre: HookPre<()>,
    info: RunInfo,
}

impl Alone {
    /// Compiles it.
    pub fn new(component: &[u8]) -> Result<Self> {
        let mut config = Config::new();
        config.epoch_interruption(true).concurrency_support(false);
        let mut pool = PoolingAllocationConfig::new();
        // Zeroing what a run used is faster than asking the system for pages again.
        pool.linear_memory_keep_resident(256 * 1024).table_keep_resident(64 * 1024);
        config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
        let engine = Engine::new(&config)?;
        let component = Component::new(&engine, component)?;
        let mut linker = Linker::new(&engine);
        // The no-op hook calls nothing.
        linker.define_unknown_imports_as_traps(&component)?;
        let pre = HookPre::new(linker.instantiate_pre(&component)?)?;
        let info = RunInfo { run_id: "bench-1".into(), hook: "noop".into(), attempt: 1, dry_run: false };
        Ok(Self { engine, pre, info })
    }

    /// A fresh instance and one call.
    pub async fn run(&self) -> Result<()> {
        let mut store = Store::new(&self.engine, ());
        store.set_epoch_deadline(1);
        let hook = self.pre.instantiate_async(&mut store).await?;
        let outcome = hook.call_run(&mut store, &self.info, &[]).await?;
        wasmtime::ensure!(outcome.is_ok(), "the no-op hook failed");
        Ok(())
    }
}

/// Instance and call, so many times after as many to warm up.
pub async fn measure(component: &[u8], runs: usize) -> Result<Percentiles> {
    let alone = Alone::new(component)?;
    let mut times = Vec::with_capacity(runs);
    for i in 0..2 * runs {
        let started = Instant::now();
        alone.run().await?;
        if i >= runs {
            times.push(started.elapsed());
        }
    }
    Ok(Percentiles::of(times))
}
