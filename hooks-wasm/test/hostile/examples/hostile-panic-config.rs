//! Panics when asked what it binds.

fn config() -> String {
    #[allow(clippy::panic)] // the point of it
    {
        panic!("no configuration today")
    }
}

boathook_sdk::hook!(config, hostile::run);
