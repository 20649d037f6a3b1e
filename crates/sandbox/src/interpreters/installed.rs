//! The code of an interpreter, compiled at installation and stored next to it. An operator that starts for the first
//! time, in an image that nobody can write to, therefore compiles nothing.
//!
//! ```text
//!  js-0.1.0.wasm    compiled/DIGEST-ENGINE-ARCHITECTURE-pooled.cwasm, …-plain.cwasm
//! ```
//!
//! The code runs on any machine of the architecture. Code that somebody else could have written is not used.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use sha2::{Digest as _, Sha256};

use crate::{ENGINE, cache, compiler, engine};

/// The folder next to the interpreters.
const FOLDER: &str = "compiled";

/// Why an interpreter is not compiled.
#[derive(Debug, thiserror::Error)]
pub enum InterpreterError {
    /// It cannot be read, or its code cannot be written.
    #[error("can't use {}", path.display())]
    File { path: PathBuf, source: io::Error },
    /// It does not compile.
    #[error("{} does not compile: {reason}", path.display())]
    Component {
        path: PathBuf,
        /// The compiler's message.
        reason: String,
    },
}

/// The result of compiling an interpreter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compiled {
    /// The bytes of the code, for all kinds of engines.
    pub bytes: u64,
    /// Whether the code was there already.
    pub kept: bool,
}

/// Compiles an interpreter for operators of this version on machines of this architecture, with a pool of instances and
/// without one. This takes seconds for a large interpreter.
pub fn compile_interpreter(file: &Path) -> Result<Compiled, InterpreterError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| InterpreterError::File { path, source }
    };
    let component = fs::read(file).map_err(failed(file))?;
    let folder = folder(file);
    fs::create_dir_all(&folder).map_err(failed(&folder))?;
    let mut compiled = Compiled { bytes: 0, kept: true };
    for pooled in [true, false] {
        let name = name(&component, pooled);
        let path = folder.join(&name);
        if let Ok(Some(there)) = cache::installed(&folder, &name) {
            compiled.bytes += there.len() as u64;
            continue;
        }
        let made = engine::for_any_machine(pooled).and_then(|engine| compiler::compile_here(&engine, &component));
        let artifact =
            made.map_err(|error| InterpreterError::Component { path: file.to_owned(), reason: format!("{error:#}") })?;
        // Readers find nothing, or the whole file.
        let beside = folder.join(format!("{name}.new"));
        let written = fs::write(&beside, [cache::seal(&artifact), artifact.clone()].concat());
        written.and_then(|()| fs::rename(&beside, &path)).map_err(failed(&path))?;
        compiled = Compiled { bytes: compiled.bytes + artifact.len() as u64, kept: false };
    }
    Ok(compiled)
}

/// Returns the code of an interpreter for this operator, if it was compiled at installation.
pub(super) fn find(file: &Path, component: &[u8], pooled: bool) -> Option<Vec<u8>> {
    let (folder, name) = (folder(file), name(component, pooled));
    cache::installed(&folder, &name).unwrap_or_else(|error| {
        tracing::warn!(path = %folder.join(&name).display(), "installed code is not used: {error}");
        None
    })
}

fn folder(file: &Path) -> PathBuf {
    file.with_file_name(FOLDER)
}

/// Code for another engine, another version or another kind of operator has another name.
fn name(component: &[u8], pooled: bool) -> String {
    let digest = cache::hex(&Sha256::digest(component));
    let (engine, kind) = (ENGINE.replace(' ', ""), if pooled { "pooled" } else { "plain" });
    format!("{digest}-{engine}-{}-{}-{kind}.cwasm", env!("CARGO_PKG_VERSION"), std::env::consts::ARCH)
}
