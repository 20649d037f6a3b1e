//! Says one line when the operator starts: the smallest hook there is.
//!
//! It never asks for anything else.

use boathook_sdk::prelude::*;

fn config() -> Config {
    Config::new().on_startup(1)
}

fn run(_: Context) -> Result<()> {
    log::info!("OnStartup hook");
    Ok(())
}

boathook_sdk::hook!(config, run);
