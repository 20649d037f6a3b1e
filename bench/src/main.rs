//! Measures Boathook beside a bare loop.
fn main() {}
