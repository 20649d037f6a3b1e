//! Logs a million lines.

use boathook_sdk::prelude::*;

fn run(_: Context) -> Result<()> {
    for n in 0..1_000_000 {
        log::info!("line {n}");
    }
    Ok(())
}

boathook_sdk::hook!(hostile::config, run);
