//! Turns what wasmtime returns into a [`Failure`] that says what happened, which limit was reached, and what would
//! help.

use std::{collections::HashSet, fmt::Write as _};

use boathook_core::model::{Failure, FailureKind, Limit};
use wasmtime::{FrameInfo, PoolConcurrencyLimitError, Trap, WasmBacktrace};
use wasmtime_wasi::I32Exit;

use super::{
    error::Reached,
    limits::{self, Bounds},
    output::one_line,
    room::Crowded,
};

/// The error of a host call that would have copied more than it may. wasmtime has no public type for it.
pub(super) const HOST_CALL_TOO_LARGE: &str = "fuel allocated for hostcalls has been exhausted";

/// Like the message for the call stack, but the component itself chose the size.
const OWN_STACK: &str = "the stack in the hook's memory is used up: the hook calls itself too deeply, or without end";

/// Marks errors that happened before a guest had an instance.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("no instance")]
pub(super) struct NotStarted;

/// The failure for an error that ended a guest. `panic` is the output of a Rust panic on stderr.
pub(super) fn classify(error: &wasmtime::Error, bounds: &Bounds, panic: Option<&str>) -> Failure {
    let (kind, message) = cause(error, bounds, panic);
    Failure { kind, message, backtrace: backtrace(error) }
}

/// The failure of a run that did not answer in time and was not computing.
pub(super) fn timed_out(bounds: &Bounds, waiting_in: Option<&str>) -> Failure {
    let mut message = bounds.explain(Limit::Time);
    if let Some(call) = waiting_in {
        let _ = write!(message, " (the run was waiting for {call})");
    }
    Failure { kind: FailureKind::Limit(Limit::Time), message, backtrace: None }
}

/// Removes the back-trace of a script's failure. The frames of a script are data of its interpreter. The wasm frames
/// are the interpreter's own, and mean nothing to the script's author.
pub(super) fn in_a_script(failure: Failure) -> Failure {
    if failure.backtrace.is_none() {
        return failure;
    }
    let message =
        format!("{}; where in the script is not known: the last line that it logged is before it", failure.message);
    Failure { message, backtrace: None, ..failure }
}

/// The table of causes. The first match counts.
fn cause(error: &wasmtime::Error, bounds: &Bounds, panic: Option<&str>) -> (FailureKind, String) {
    if let Some(Reached(limit)) = error.downcast_ref::<Reached>() {
        return limit_of(*limit, bounds);
    }
    if let Some(crowded) = error.downcast_ref::<Crowded>() {
        return (FailureKind::Host, crowded.to_string());
    }
    if let Some(trap) = error.downcast_ref::<Trap>() {
        return match trap {
            Trap::StackOverflow => limit_of(Limit::Stack, bounds),
            Trap::Interrupt => limit_of(Limit::Time, bounds),
            Trap::UnreachableCodeReached => (FailureKind::Trap, aborted(panic)),
            Trap::MemoryOutOfBounds if recursing(error) => (FailureKind::Limit(Limit::Stack), OWN_STACK.to_owned()),
            Trap::MemoryOutOfBounds => (FailureKind::Trap, "the hook used memory that it does not have".to_owned()),
            other => (FailureKind::Trap, format!("the hook crashed: {}", plain(other))),
        };
    }
    if let Some(I32Exit(code)) = error.downcast_ref::<I32Exit>() {
        return (FailureKind::Trap, format!("the hook exited with code {code}; it must return from its function"));
    }
    if error.is::<PoolConcurrencyLimitError>() {
        return (FailureKind::Host, "the host has no free instance; lower the number of concurrent runs".to_owned());
    }
    let root = error.root_cause().to_string();
    if root.contains(HOST_CALL_TOO_LARGE) {
        return (FailureKind::Limit(Limit::HostBytes), bounds.explain_call());
    }
    if error.is::<NotStarted>() {
        return (FailureKind::Host, format!("the host could not start the hook: {root}"));
    }
    (FailureKind::Trap, format!("the hook made a call that the host cannot carry out: {root}"))
}

fn limit_of(limit: Limit, bounds: &Bounds) -> (FailureKind, String) {
    (FailureKind::Limit(limit), bounds.explain(limit))
}

/// Whether a memory fault is a stack overflow. Compilers keep a second stack in linear memory, below everything else,
/// so if it grows too far it leaves the memory. A deep trace of only a few functions distinguishes it from a wild
/// pointer.
fn recursing(error: &wasmtime::Error) -> bool {
    let Some(trace) = error.downcast_ref::<WasmBacktrace>() else { return false };
    let functions: HashSet<_> = trace.frames().iter().map(FrameInfo::func_index).collect();
    trace.frames().len() >= limits::FRAMES && functions.len() <= limits::FRAMES / 2
}

fn aborted(panic: Option<&str>) -> String {
    panic.map_or_else(|| "the hook aborted".to_owned(), |panic| format!("the hook panicked at {panic}"))
}

/// wasmtime's text without its prefix.
fn plain(trap: &Trap) -> String {
    let text = trap.to_string();
    text.strip_prefix("wasm trap: ").unwrap_or(&text).to_owned()
}

/// The back-trace with one frame per line, innermost first, with demangled names.
fn backtrace(error: &wasmtime::Error) -> Option<String> {
    let frames = error.downcast_ref::<WasmBacktrace>()?.to_string();
    let lines: Vec<_> = frames.lines().skip(1).map(|line| one_line(line.trim())).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use boathook_core::model::Limits;

    use super::*;

    fn classified(error: wasmtime::Error, panic: Option<&str>) -> Failure {
        classify(&error, &Bounds::of_config(Limits::default()), panic)
    }

    #[test]
    fn each_cause_has_its_kind() {
        let limit = FailureKind::Limit;
        let table: [(wasmtime::Error, FailureKind); 10] = [
            (wasmtime::Error::msg("no memory").context(NotStarted), FailureKind::Host),
            (wasmtime::Error::from(Trap::StackOverflow).context(NotStarted), limit(Limit::Stack)),
            (Reached(Limit::HostCalls).into(), limit(Limit::HostCalls)),
            (Trap::StackOverflow.into(), limit(Limit::Stack)),
            (Trap::Interrupt.into(), limit(Limit::Time)),
            (Trap::UnreachableCodeReached.into(), FailureKind::Trap),
            (Trap::IntegerDivisionByZero.into(), FailureKind::Trap),
            (I32Exit(3).into(), FailureKind::Trap),
            (wasmtime::Error::msg(HOST_CALL_TOO_LARGE), limit(Limit::HostBytes)),
            (wasmtime::Error::msg("anything"), FailureKind::Trap),
        ];
        for (error, kind) in table {
            let text = error.to_string();
            assert_eq!(classified(error, None).kind, kind, "{text}");
        }
    }

    #[test]
    fn frames_of_an_interpreter_are_not_shown_as_the_scripts() {
        let failure = Failure { kind: FailureKind::Trap, message: "no".into(), backtrace: Some("_PyEval".into()) };
        let reported = in_a_script(failure.clone());
        assert_eq!((reported.kind, reported.backtrace), (FailureKind::Trap, None));
        assert!(reported.message.starts_with("no; where in the script is not known"), "{}", reported.message);
        // A failure of the script itself contains its place.
        let own = Failure { backtrace: None, ..failure };
        assert_eq!(in_a_script(own.clone()), own);
    }

    #[test]
    fn a_reached_limit_is_found_under_context() {
        let error = wasmtime::Error::from(Reached(Limit::Memory)).context("growing");
        assert_eq!(classified(error, None).kind, FailureKind::Limit(Limit::Memory));
    }

    #[test]
    fn a_panic_is_reported_where_it_is_the_reason() {
        let failure = classified(Trap::UnreachableCodeReached.into(), Some("src/lib.rs:3: no such key"));
        assert_eq!(failure.message, "the hook panicked at src/lib.rs:3: no such key");
        let failure = classified(Trap::StackOverflow.into(), Some("src/lib.rs:3: no such key"));
        assert!(!failure.message.contains("no such key"), "{}", failure.message);
    }
}
