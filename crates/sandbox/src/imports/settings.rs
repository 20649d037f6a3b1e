//! `settings`: what the admin configured for the hook's bundle, or `{}` outside of bundles. The operator's own
//! configuration cannot be read here.

use crate::{bindings::boathook::hook::settings::Host, store::State};

impl Host for State {
    fn get(&mut self) -> wasmtime::Result<String> {
        let settings = self.caller.settings.clone();
        self.spend(settings.len())?;
        Ok(settings.to_string())
    }
}
