//! The module in which filters run, as a program that is compiled once.

use std::path::Path;

use miniz_oxide::inflate::decompress_to_vec;
use sha2::{Digest as _, Sha256};
use wasmtime::{Engine, Module};

use super::instance::{self, Code as Linked};
use crate::{
    code::Program,
    compiler::{self, Engines},
    engine,
    interpreters::{self, Installed, InterpreterError},
};

/// What `tools/build-filters` makes of `interpreters/jq`. It is committed, so that a bare `cargo build` makes a whole
/// program. The header of gzip, without a name, has ten bytes; its trailer is ignored.
const PACKED: &[u8] = include_bytes!("jq.wasm.gz");
const HEADER: usize = 10;

/// The module, as WebAssembly.
fn module() -> wasmtime::Result<Vec<u8>> {
    let packed = PACKED.get(HEADER..).unwrap_or_default();
    decompress_to_vec(packed).map_err(|error| wasmtime::Error::msg(format!("the module is damaged: {error}")))
}

fn digest() -> [u8; 32] {
    Sha256::digest(PACKED).into()
}

pub(super) struct Jq;

impl Program for Jq {
    type Native = Module;
    type Linked = Linked;

    const NAME: &'static str = "jq";
    const ENGINES: Engines = Engines::Filters;
    const INSTALLED: Installed = Installed::Filters;
    const SMALL: bool = true;

    fn digest(&self) -> [u8; 32] {
        digest()
    }

    fn bytes(&self) -> wasmtime::Result<Vec<u8>> {
        module()
    }

    fn link(engine: &Engine, native: &Module) -> wasmtime::Result<Linked> {
        instance::link(engine, native)
    }
}

/// Compiles the module of filters for operators of this version on machines of this architecture, as
/// [`compile_interpreter`](crate::compile_interpreter) does an interpreter, and stores the code in the directory of
/// interpreters.
pub fn compile_filters(directory: &Path) -> Result<crate::Compiled, InterpreterError> {
    interpreters::install(directory, &interpreters::name(&digest(), Installed::Filters), || {
        compiler::compile_module_here(&engine::filters_for_any_machine()?, &module()?)
    })
}
