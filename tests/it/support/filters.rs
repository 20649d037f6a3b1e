//! Filters on their own, without an operator.

use boathook_core::{
    fair::{Pool, Share, Tenant},
    memory::FILTER_BASE,
};
use boathook_sandbox::{FilterConfig, Filters, Sandbox, SandboxConfig};
use tokio::runtime::Builder;

use super::guests::cache_dir;

/// With the code that all tests share.
pub fn filters(config: FilterConfig) -> Filters {
    let cache_dir = Some(cache_dir());
    let sandbox = SandboxConfig { cache_dir, pooling: false, filters: config, ..SandboxConfig::default() };
    Sandbox::new(sandbox).unwrap().filters().clone()
}

/// Whether a program compiles, for the parser of documents.
pub fn compiles(program: &str) -> Result<(), String> {
    let compile = || {
        let runtime = Builder::new_current_thread().enable_time().build().unwrap();
        let compiled = runtime.block_on(filters(FilterConfig::default()).compile(&Tenant::hook("h"), program));
        compiled.map(drop).map_err(|error| error.to_string())
    };
    // The caller may be in a runtime of its own.
    std::thread::scope(|scope| scope.spawn(compile).join().unwrap())
}

/// Takes the memory of filters but for so many bytes, until this is dropped.
pub fn take_all_but(memory: &Pool, left: u64) -> Vec<Share> {
    let mut taken = Vec::new();
    while memory.free() > left + 1024 {
        let tenant = Tenant::namespace(&format!("other-{}", taken.len()));
        taken.extend(memory.try_take(&tenant, (memory.free() - left).min(memory.free() / 2)));
    }
    taken
}

/// A program that needs more memory than [`crowded`] leaves. It gives `.data`.
pub const HUNGRY: &str = ". as $map | [range(2000000)] | $map.data";

/// Takes so much of the memory of filters that programs still compile, and that [`HUNGRY`] cannot run.
pub fn crowded(memory: &Pool) -> Vec<Share> {
    take_all_but(memory, 2 * FILTER_BASE)
}
