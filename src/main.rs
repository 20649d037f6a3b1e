//! The boathook binary.
fn main() {}
