//! The calls a hook makes to its host, as plain functions on the generated types.
//!
//! Inside a component they are the imports; in a native build a test may bring a host, and without
//! one each call answers so. Nothing outside this folder knows which of the two it talks to.

#[cfg(target_family = "wasm")]
mod component;
#[cfg(not(target_family = "wasm"))]
mod native;
#[cfg(all(target_family = "wasm", feature = "http"))]
mod wasi_http;

#[cfg(target_family = "wasm")]
pub(crate) use component::*;
#[cfg(not(target_family = "wasm"))]
pub(crate) use native::*;
#[cfg(all(target_family = "wasm", feature = "http"))]
pub(crate) use wasi_http::http;
