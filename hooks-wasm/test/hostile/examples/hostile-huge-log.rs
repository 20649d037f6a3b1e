//! Logs a message that it says is 1 GiB long, which its memory is not.

use boathook_sdk::entry::bindings::boathook::hook::log::{Level, write};
use boathook_sdk::prelude::*;

fn run(_: Context) -> Result<()> {
    // SAFETY: none. The text is never read here, only its place and length go to the host.
    #[allow(unsafe_code)]
    let text: &'static str = unsafe {
        std::str::from_utf8_unchecked(std::slice::from_raw_parts(std::ptr::without_provenance(1024), 1 << 30))
    };
    // By the import itself: the logger of the SDK would copy the text.
    write(Level::Info, text, &[]);
    Ok(())
}

boathook_sdk::hook!(hostile::config, run);
