//! The generated glue between Rust and the WIT package `boathook:hook`.
//!
//! Never seen by a hook author: everything public wraps these types.
#![allow(unsafe_code, missing_docs, rust_2018_idioms, clippy::all, clippy::restriction)]

wit_bindgen::generate!({
    path: "wit",
    world: "hook",
    pub_export_macro: true,
    export_macro_name: "export_hook",
    default_bindings_module: "boathook_sdk::entry::bindings",
});
