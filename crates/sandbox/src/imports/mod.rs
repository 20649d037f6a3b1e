//! What a hook can request from the host, with one file for each imported interface. Each call is taken from the run's
//! budget, and [`Host`](super::host::Host) answers it.

mod convert;
mod kube;
mod log;
mod metrics;
mod settings;
mod snapshots;
mod source;

use boathook_core::model::Limit;

use super::{bindings::boathook::hook::types, store::State};

impl types::Host for State {}

impl State {
    /// Takes a call of a function that has no error. If the budget does not cover it, the run ends.
    fn spend(&mut self, bytes: usize) -> wasmtime::Result<()> {
        self.budget.take(1, bytes)?;
        self.begin_call(bytes)
    }

    /// Takes the bytes of an answer to such a call.
    fn spend_answer(&mut self, bytes: usize) -> wasmtime::Result<()> {
        self.budget.take_bytes(bytes)?;
        self.room.copy(bytes).map_err(|refused| refused.error(Limit::HostBytes))
    }

    /// Notes that what the last call copied is gone, and that this call has copied this much.
    pub(super) fn begin_call(&self, bytes: usize) -> wasmtime::Result<()> {
        self.room.begin_call(bytes).map_err(|refused| refused.error(Limit::HostBytes))
    }
}

fn len(text: Option<&String>) -> usize {
    text.map_or(0, String::len)
}
