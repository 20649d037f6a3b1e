//! The limits of a run as numbers: how they are clamped, the memory meter, and the message for a limit that was
//! reached. `budget.rs` counts calls, and `store.rs` measures time.

use std::time::{Duration, Instant};

use boathook_core::{
    memory::{CALL, STACK},
    model::{Limit, Limits},
};
use wasmtime::ResourceLimiter;

use super::{error::Reached, room::Room};

/// The frames of a back-trace, innermost first.
pub(super) const FRAMES: usize = 32;

/// The core instances in one component. A component made by `wit-component` has 3 to 10, and a script's interpreter
/// with shared libraries about 40.
pub(super) const INSTANCES: usize = 100;

/// The linear memories in one component.
pub(super) const MEMORIES: usize = 4;

/// The tables in one component.
pub(super) const TABLES: usize = 8;

/// The elements of one table.
pub(super) const TABLE_ELEMENTS: usize = 100_000;

/// The handles (streams, pollables, snapshots) that one run may hold at a time.
pub(super) const HANDLES: usize = 1024;

/// The same for a run that uses HTTP, whose handles can have [`FIELDS`] or two of [`BODY_CHUNK`].
pub(super) const HTTP_HANDLES: usize = 256;

/// The bytes of one set of headers that a guest makes.
pub(super) const FIELDS: usize = 16 * 1024;

/// The bytes that one write to the body of a request may pass.
pub(super) const BODY_CHUNK: usize = 16 * 1024;

/// The HTTP requests of one run at the same time. Further ones wait.
pub(super) const REQUESTS: usize = 4;

/// The largest file that a run writes, in bytes.
pub(super) const FILE: u64 = 64 * 1024 * 1024;

/// How much hooks may add to one directory while the operator runs, less what they remove, in bytes.
pub(super) const GROWTH: u64 = 256 * 1024 * 1024;

/// The same for files and directories.
pub(super) const NEW_ENTRIES: u64 = 10_000;

/// The entries of a directory that is listed.
pub(super) const LISTED: usize = 10_000;

/// The files and directories that one run has open at a time.
pub(super) const OPEN_FILES: usize = 64;

/// The random bytes in one WASI call.
pub(super) const RANDOM_BYTES: u64 = 1024 * 1024;

/// The limits of one call, and where they come from, so that a failure can name the remedy.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    limits: Limits,
    origin: Origin,
    /// The time is what the API server leaves for an answer, and is shorter than the limit.
    asked_until: bool,
}

#[derive(Debug, Clone, Copy)]
enum Origin {
    Document { maxima: Limits },
    ConfigCall,
}

impl Bounds {
    /// What a hook's document requests, clamped to the host's maxima.
    pub(super) fn of_run(asked: Limits, maxima: &Limits) -> Self {
        Self { limits: clamp(asked, maxima), origin: Origin::Document { maxima: *maxima }, asked_until: false }
    }

    /// The same for an answer, for which the API server waits no longer than `patience`.
    pub(super) fn of_answer(asked: Limits, maxima: &Limits, patience: Duration) -> Self {
        let run = Self::of_run(asked, maxima);
        let asked_until = patience < run.limits.time;
        Self { limits: Limits { time: run.limits.time.min(patience), ..run.limits }, asked_until, ..run }
    }

    /// The limits of a `config` call, for which no document has been read yet.
    pub(super) fn of_config(limits: Limits) -> Self {
        Self { limits, origin: Origin::ConfigCall, asked_until: false }
    }

    pub(super) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// When a call that begins now must have ended.
    pub(super) fn deadline(&self, now: Instant) -> Instant {
        const YEAR: Duration = Duration::from_secs(365 * 24 * 3600);
        now + self.limits.time.min(YEAR)
    }

    /// How many bytes one host call may copy before its budget is checked.
    pub(super) fn call_bytes(&self) -> usize {
        usize::try_from(self.limits.host_bytes).unwrap_or(CALL).min(CALL)
    }

    /// The message for a call that would copy more.
    pub(super) fn explain_call(&self) -> String {
        if self.limits.host_bytes <= CALL as u64 {
            return self.explain(Limit::HostBytes);
        }
        format!("one call passes more than {} to the host: pass it in several calls", bytes(CALL as u64))
    }

    /// The message for a limit that was reached: its value, and the remedy.
    pub(super) fn explain(&self, limit: Limit) -> String {
        let of_limit = |limits: &Limits| match limit {
            Limit::Time => humantime::format_duration(limits.time).to_string(),
            Limit::Memory => bytes(limits.memory),
            Limit::HostCalls => format!("{} calls", limits.host_calls),
            Limit::HostBytes => bytes(limits.host_bytes),
            Limit::Stack => bytes(STACK as u64),
        };
        let less = match limit {
            Limit::Time | Limit::HostCalls => "do less per run",
            Limit::Memory => "keep less in memory at a time, for example by reading lists in pages",
            Limit::HostBytes => "pass less to and from the host per run",
            Limit::Stack => {
                let size = of_limit(&self.limits);
                return format!(
                    "the call stack of {size} is used up: the hook calls itself too deeply, or without end"
                );
            }
        };
        if limit == Limit::Time && self.asked_until {
            return format!(
                "no answer within {:.1} s, the API server's timeout less what the answer needs to get back: raise \
                 timeoutSeconds of the binding or do less per request",
                self.limits.time.as_secs_f64()
            );
        }
        let value = of_limit(&self.limits);
        match &self.origin {
            Origin::ConfigCall => {
                format!("{limit} of {value} reached; config cannot have more, because it only returns a document")
            }
            Origin::Document { maxima } if of_limit(maxima) == value => {
                format!("{limit} of {value} reached; the host allows no hook more: {less}")
            }
            Origin::Document { .. } => {
                format!("{limit} of {value} reached; raise {limit} in the configuration document or {less}")
            }
        }
    }
}

/// The lower of both, for each limit.
fn clamp(asked: Limits, maxima: &Limits) -> Limits {
    Limits {
        memory: asked.memory.min(maxima.memory),
        time: asked.time.min(maxima.time),
        host_calls: asked.host_calls.min(maxima.host_calls),
        host_bytes: asked.host_bytes.min(maxima.host_bytes),
        log_bytes: asked.log_bytes.min(maxima.log_bytes),
    }
}

/// Formats a number of bytes like a Kubernetes quantity.
pub(super) fn bytes(count: u64) -> String {
    const KIB: u64 = 1024;
    const MIB: u64 = KIB * KIB;
    match count {
        n if n >= MIB && n.is_multiple_of(MIB) => format!("{}Mi", n / MIB),
        n if n >= KIB && n.is_multiple_of(KIB) => format!("{}Ki", n / KIB),
        n => format!("{n} bytes"),
    }
}

/// Adds up all memories and tables of a run. It refuses growth over the run's limit, or over the memory that all runs
/// share.
#[derive(Debug)]
pub(super) struct MemoryMeter {
    limit: u64,
    room: Room,
    used: u64,
    peak: u64,
    growth: u64,
}

impl MemoryMeter {
    pub(super) fn new(limit: u64, room: Room) -> Self {
        Self { limit, room, used: 0, peak: 0, growth: 0 }
    }

    /// The most bytes that were in use at a time.
    pub(super) fn peak(&self) -> u64 {
        self.peak
    }

    /// Allows or refuses growth. Growth over a limit ends the run, because most guests abort without a reason if it
    /// only fails. Growth over the maximum that the component itself declared only fails, as WebAssembly specifies.
    fn grow(&mut self, growth: u64, declared: bool) -> wasmtime::Result<bool> {
        self.growth = 0;
        let used = self.used.saturating_add(growth);
        if used > self.limit {
            return Err(Reached(Limit::Memory).into());
        }
        if !declared {
            return Ok(false);
        }
        self.room.grow(growth).map_err(|refused| refused.error(Limit::Memory))?;
        self.used = used;
        self.peak = self.peak.max(used);
        self.growth = growth;
        Ok(true)
    }

    /// Takes back the last growth that was allowed, because it did not happen.
    fn undo(&mut self) {
        let growth = std::mem::take(&mut self.growth);
        self.used -= growth;
        self.room.ungrow(growth);
    }
}

impl ResourceLimiter for MemoryMeter {
    fn memory_growing(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> wasmtime::Result<bool> {
        let declared = maximum.is_none_or(|maximum| desired <= maximum);
        self.grow(desired.saturating_sub(current) as u64, declared)
    }

    fn memory_grow_failed(&mut self, _error: wasmtime::Error) -> wasmtime::Result<()> {
        self.undo();
        Ok(())
    }

    fn table_growing(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> wasmtime::Result<bool> {
        let declared = maximum.is_none_or(|maximum| desired <= maximum);
        let growth = (desired.saturating_sub(current) as u64).saturating_mul(size_of::<usize>() as u64);
        self.grow(growth, declared)
    }

    fn table_grow_failed(&mut self, _error: wasmtime::Error) -> wasmtime::Result<()> {
        self.undo();
        Ok(())
    }

    fn instances(&self) -> usize {
        INSTANCES
    }

    fn tables(&self) -> usize {
        TABLES
    }

    fn memories(&self) -> usize {
        MEMORIES
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn meter() -> MemoryMeter {
        MemoryMeter::new(1000, Room::unbounded())
    }

    #[test]
    fn memories_and_tables_are_summed() {
        let mut meter = meter();
        assert!(meter.memory_growing(0, 400, None).unwrap());
        assert!(meter.memory_growing(0, 400, None).unwrap());
        assert!(meter.table_growing(0, 25, None).unwrap());
        let refused = meter.memory_growing(400, 401, None).unwrap_err();
        assert_eq!(refused.downcast_ref::<Reached>(), Some(&Reached(Limit::Memory)));
        assert_eq!(meter.peak(), 1000);
    }

    #[test]
    fn growth_that_failed_is_given_back() {
        let mut meter = meter();
        assert!(meter.memory_growing(0, 900, None).unwrap());
        meter.memory_grow_failed(wasmtime::Error::msg("no memory")).unwrap();
        assert!(meter.memory_growing(0, 900, None).unwrap());
    }

    #[test]
    fn a_components_own_maximum_is_no_reached_limit() {
        let mut meter = meter();
        assert!(!meter.memory_growing(0, 600, Some(500)).unwrap());
        assert_eq!(meter.peak(), 0);
    }

    #[test]
    fn a_request_is_held_to_the_maxima() {
        let maxima = Limits { memory: 10, time: Duration::from_secs(1), ..Limits::default() };
        let clamped = clamp(Limits { memory: 20, host_calls: 5, ..Limits::default() }, &maxima);
        assert_eq!((clamped.memory, clamped.time, clamped.host_calls), (10, Duration::from_secs(1), 5));
    }

    // mutant: crates/sandbox/src/limits.rs: `if limit == Limit::Time && self.asked_until {` => `if false {`
    #[test]
    fn a_reached_limit_is_worded_with_its_value_and_the_mend() {
        let maxima =
            Limits { host_calls: 10_000, time: Duration::from_secs(600), memory: u64::MAX, ..Limits::default() };
        let run = Bounds::of_run(Limits::default(), &maxima);
        assert_eq!(
            run.explain(Limit::Time),
            "limits.time of 10s reached; raise limits.time in the configuration document or do less per run"
        );
        assert!(run.explain(Limit::Memory).starts_with("limits.memory of 64Mi reached; raise "));
        assert_eq!(
            run.explain(Limit::HostCalls),
            "limits.hostCalls of 10000 calls reached; the host allows no hook more: do less per run"
        );
        assert!(run.explain(Limit::Stack).contains("512Ki"));
        let answer = |patience| Bounds::of_answer(Limits::default(), &maxima, Duration::from_millis(patience));
        let late = answer(9_499).explain(Limit::Time);
        assert!(late.starts_with("no answer within 9.5 s, ") && late.contains("raise timeoutSeconds"), "{late}");
        assert!(answer(20_000).explain(Limit::Time).starts_with("limits.time of 10s reached"));
        assert!(answer(9_499).explain(Limit::Memory).starts_with("limits.memory of 64Mi reached; raise "));
        let config = Bounds::of_config(Limits::default());
        assert!(config.explain(Limit::Time).starts_with("limits.time of 10s reached; config cannot have more"));
        assert_eq!(bytes(1500), "1500 bytes");
    }

    #[test]
    fn a_deadline_without_end_is_no_overflow() {
        let bounds = Bounds::of_config(Limits { time: Duration::MAX, ..Limits::default() });
        let now = Instant::now();
        assert!(bounds.deadline(now) > now);
    }
}
