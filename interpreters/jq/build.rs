//! The stack of Rust's own data. The longest chain of operators that a program may have needs about a half of it.

fn main() {
    if std::env::var("CARGO_CFG_TARGET_FAMILY").is_ok_and(|family| family == "wasm") {
        println!("cargo::rustc-cdylib-link-arg=-zstack-size=8388608");
    }
}
