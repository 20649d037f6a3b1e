//! Calls itself without end.

use boathook_sdk::prelude::*;
use std::hint::black_box;

#[allow(unconditional_recursion)] // the point of it
fn dive(depth: u64) -> u64 {
    let frame = black_box([depth; 16]);
    dive(black_box(depth + 1)) + frame.iter().sum::<u64>()
}

fn run(_: Context) -> Result<()> {
    Err(Error::retry(dive(0)))
}

boathook_sdk::hook!(hostile::config, run);
