//! Never ends its run.

use boathook_sdk::prelude::*;
use std::hint::black_box;

fn run(_: Context) -> Result<()> {
    let mut n: u64 = 0;
    while black_box(true) {
        n = black_box(n.wrapping_add(1));
    }
    Err(Error::retry(n))
}

boathook_sdk::hook!(hostile::config, run);
