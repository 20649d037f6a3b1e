//! Says that its configuration document is 1 GiB long, which its memory is not.

fn config() -> String {
    // SAFETY: none. The text is never read here, only its place and length go to the host.
    #[allow(unsafe_code)]
    unsafe {
        String::from_raw_parts(std::ptr::without_provenance_mut(1024), 1 << 30, 1 << 30)
    }
}

boathook_sdk::hook!(config, hostile::run);
