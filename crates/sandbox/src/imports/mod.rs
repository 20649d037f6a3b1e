//! What a hook can ask of the host: one file for each imported interface. Each call is taken from the run's budget, and is
//! answered by [`Host`](super::host::Host).

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
    /// Takes a call that can't be refused to the guest's face: the run ends when it is not covered.
    fn spend(&mut self, bytes: usize) -> wasmtime::Result<()> {
        self.budget.take(1, bytes)?;
        self.begin_call(bytes)
    }

    /// Takes the bytes of an answer to such a call.
    fn spend_answer(&mut self, bytes: usize) -> wasmtime::Result<()> {
        self.budget.take_bytes(bytes)?;
        self.room.copy(bytes).map_err(|refused| refused.error(Limit::HostBytes))
    }

    /// What the last call copied is gone, and this one has copied so much.
    pub(super) fn begin_call(&self, bytes: usize) -> wasmtime::Result<()> {
        self.room.begin_call(bytes).map_err(|refused| refused.error(Limit::HostBytes))
    }
}

/// The length of a text that may be absent.
fn len(text: Option<&String>) -> usize {
    text.map_or(0, String::len)
}
