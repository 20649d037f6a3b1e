//! Makes interpreters quick to start: what each run would do again is done once, when they are built.
//!
//!     snapshot start MODULE.wasm COMPONENT.wasm      runs the module's start, and makes a component of what it then is
//!     snapshot settle COMPONENT.wasm COMPONENT.wasm  settles what componentize-py has made: its modules become one, and
//!                                                    Python does not count its own objects any more

mod lasting;
mod linked;
mod merge;
mod renumber;
mod start;

use std::{env, fs};

use anyhow::{Context as _, Result, bail};
use wasi_preview1_component_adapter_provider::{
    WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER,
};
use wit_component::ComponentEncoder;

fn main() -> Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [make, from, to] = arguments.as_slice() else { bail!("usage: snapshot start|settle FROM.wasm TO.wasm") };
    let bytes = fs::read(from).with_context(|| format!("cannot read {from}"))?;
    let module = match make.as_str() {
        "start" => start::started(&bytes),
        "settle" => settled(bytes),
        other => bail!("{other} is not known: start or settle"),
    };
    let module = module.with_context(|| format!("cannot use {from}"))?;
    let component = encoded(&module).with_context(|| format!("cannot make a component of {from}"))?;
    fs::write(to, component).with_context(|| format!("cannot write {to}"))
}

fn settled(mut component: Vec<u8>) -> Result<Vec<u8>> {
    lasting::make_immortal(&mut component)?;
    merge::merged(&component)
}

fn encoded(module: &[u8]) -> Result<Vec<u8>> {
    let mut encoder = ComponentEncoder::default();
    let adapter = WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER;
    encoder.module(module)?.adapter(WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, adapter)?.validate(true).encode()
}
