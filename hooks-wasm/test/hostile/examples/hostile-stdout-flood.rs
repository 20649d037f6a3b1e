//! Writes 10 MB to stdout, 5 MB of it without a line break.

use boathook_sdk::prelude::*;
use std::io::Write;

fn run(_: Context) -> Result<()> {
    let mut out = std::io::stdout().lock();
    let line = [b'x'; 1000];
    for n in 0..10_000 {
        out.write_all(&line)?;
        if n >= 5000 {
            out.write_all(b"\n")?;
        }
    }
    Ok(out.flush()?)
}

boathook_sdk::hook!(hostile::config, run);
