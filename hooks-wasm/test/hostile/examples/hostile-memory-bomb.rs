//! Takes memory until there is none.

use boathook_sdk::prelude::*;
use std::hint::black_box;

fn run(_: Context) -> Result<()> {
    let mut hoard: Vec<Vec<u8>> = Vec::new();
    while black_box(true) {
        hoard.push(black_box(vec![1; 1 << 20]));
    }
    Err(Error::retry(hoard.len()))
}

boathook_sdk::hook!(hostile::config, run);
