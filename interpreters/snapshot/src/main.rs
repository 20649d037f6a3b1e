//! Makes interpreters quick to start: what each run would do again is done once, when they are built.
//!
//!     snapshot start MODULE.wasm COMPONENT.wasm      runs the module's start, and makes a component of what it then is
//!     snapshot settle COMPONENT.wasm COMPONENT.wasm  settles what componentize-py has made: its modules become one, and
//!                                                    Python does not count its own objects any more
//!     snapshot go MODULE.wasm COMPONENT.wasm WORLD WIT...
//!                                                    starts Go's runtime in a module of Go, runs the module's start, and
//!                                                    makes a component for the world of what it then is

mod lasting;
mod linked;
mod merge;
mod renumber;
mod segments;
mod start;

use std::{env, fs};

use anyhow::{Context as _, Result, bail};
use wasi_preview1_component_adapter_provider::{
    WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER,
};
use wit_component::{ComponentEncoder, StringEncoding};
use wit_parser::Resolve;

fn main() -> Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [make, from, to, more @ ..] = arguments.as_slice() else {
        bail!("usage: snapshot start|settle FROM.wasm TO.wasm, or snapshot go FROM.wasm TO.wasm WORLD WIT...")
    };
    let bytes = fs::read(from).with_context(|| format!("cannot read {from}"))?;
    let module = match (make.as_str(), more) {
        ("start", []) => start::started(&bytes),
        ("settle", []) => settled(bytes),
        ("go", [world, wit @ ..]) => of_go(&bytes, world, wit),
        (other, _) => bail!("{other} is not known, or has other arguments: start, settle or go"),
    };
    let module = module.with_context(|| format!("cannot use {from}"))?;
    let component = encoded(&module).with_context(|| format!("cannot make a component of {from}"))?;
    fs::write(to, component).with_context(|| format!("cannot write {to}"))
}

fn settled(mut component: Vec<u8>) -> Result<Vec<u8>> {
    lasting::make_immortal(&mut component)?;
    merge::merged(&component)
}

/// Go's compiler knows no worlds, so its world is written into the module here.
fn of_go(module: &[u8], world: &str, wit: &[String]) -> Result<Vec<u8>> {
    let mut module = start::started_go(&segments::joined(module)?)?;
    let mut resolve = Resolve::default();
    let mut packages = Vec::new();
    for path in wit {
        packages.push(resolve.push_path(path).with_context(|| format!("cannot use {path}"))?.0);
    }
    let package = packages.last().copied().context("no package has the world: name its folder")?;
    let world = resolve.select_world(&[package], Some(world))?;
    wit_component::embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8)?;
    Ok(module)
}

fn encoded(module: &[u8]) -> Result<Vec<u8>> {
    let mut encoder = ComponentEncoder::default();
    let adapter = WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER;
    encoder.module(module)?.adapter(WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, adapter)?.validate(true).encode()
}
