//! Runs the start of an interpreter, and makes a component of what it then is: no run waits for the start again.
//!
//!     snapshot MODULE.wasm COMPONENT.wasm
//!
//! The start may ask nothing but the time. It is the same at every build, so that the component is.

mod instance;

use std::{env, fs};

use anyhow::{Context as _, Result, bail};
use wasi_preview1_component_adapter_provider::{
    WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER,
};
use wasmtime_wizer::Wizer;
use wit_component::ComponentEncoder;

use instance::Started;

/// The export that is run, and that the component does not have any more.
const START: &str = "start-once";

fn main() -> Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [module, component] = arguments.as_slice() else { bail!("usage: snapshot MODULE.wasm COMPONENT.wasm") };
    let bytes = fs::read(module).with_context(|| format!("can't read {module}"))?;
    let started = started(&bytes).with_context(|| format!("can't run the start of {module}"))?;
    let encoded = encoded(&started).with_context(|| format!("can't make a component of {module}"))?;
    fs::write(component, encoded).with_context(|| format!("can't write {component}"))
}

/// The module with the memory that its start leaves.
fn started(module: &[u8]) -> Result<Vec<u8>> {
    let mut wizer = Wizer::new();
    wizer.init_func(START);
    let (context, instrumented) = wizer.instrument(module).map_err(|error| anyhow::anyhow!("{error:#}"))?;
    let mut instance = Started::of(&instrumented, START)?;
    let snapshot = futures_executor::block_on(wizer.snapshot(&context, &mut instance));
    snapshot.map_err(|error| anyhow::anyhow!("{error:#}"))
}

fn encoded(module: &[u8]) -> Result<Vec<u8>> {
    let mut encoder = ComponentEncoder::default();
    let adapter = WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER;
    encoder.module(module)?.adapter(WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, adapter)?.validate(true).encode()
}
