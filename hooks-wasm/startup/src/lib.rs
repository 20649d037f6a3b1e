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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use super::*;
    use boathook_sdk::testing::{Kit, Run};

    #[test]
    fn it_says_one_line_and_writes_nothing() {
        let ran = Kit::new(config, run).run(Run::new().startup()).ok();
        assert_eq!(ran.log.len(), 1);
        assert!(ran.logged("OnStartup hook") && ran.writes.is_empty());
    }
}
