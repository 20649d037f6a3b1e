//! Never says what it binds.

use std::hint::black_box;

fn config() -> String {
    let mut n: u64 = 0;
    while black_box(true) {
        n = black_box(n.wrapping_add(1));
    }
    n.to_string()
}

boathook_sdk::hook!(config, hostile::run);
