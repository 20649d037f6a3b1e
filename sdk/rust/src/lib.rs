//! Write Boathook hooks in Rust.
