//! What is compiled of an interpreter when it is installed, beside it: a host that starts for the first time, in an image
//! that nobody may write to, compiles nothing.
//!
//! ```text
//!  js-0.1.0.wasm    compiled/DIGEST-ENGINE-ARCHITECTURE-pooled.cwasm, …-plain.cwasm
//! ```
//!
//! For any machine of the architecture. Never takes code that somebody else could have written.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use sha2::{Digest as _, Sha256};

use crate::{ENGINE, cache, compiler, engine};

/// The folder beside the interpreters.
const FOLDER: &str = "compiled";

/// Why an interpreter is not compiled.
#[derive(Debug, thiserror::Error)]
pub enum InterpreterError {
    /// It can't be read, or its code can't be written.
    #[error("can't use {}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The compiler refuses.
    #[error("{} does not compile: {reason}", path.display())]
    Component {
        /// The interpreter.
        path: PathBuf,
        /// What the compiler said.
        reason: String,
    },
}

/// What came of compiling one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compiled {
    /// Bytes of the code, for all kinds of engines.
    pub bytes: u64,
    /// It was there already.
    pub kept: bool,
}

/// Compiles an interpreter for hosts of this version on machines of this architecture, with a pool of instances and
/// without one. Takes seconds for a large one.
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
        // Whoever reads it finds nothing, or all of it.
        let beside = folder.join(format!("{name}.new"));
        let written = fs::write(&beside, [cache::seal(&artifact), artifact.clone()].concat());
        written.and_then(|()| fs::rename(&beside, &path)).map_err(failed(&path))?;
        compiled = Compiled { bytes: compiled.bytes + artifact.len() as u64, kept: false };
    }
    Ok(compiled)
}

/// The code of an interpreter for this host, if it was compiled when it was installed.
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

/// Code of another engine, of another version or for another kind of host has another name.
fn name(component: &[u8], pooled: bool) -> String {
    let digest = cache::hex(&Sha256::digest(component));
    let (engine, kind) = (ENGINE.replace(' ', ""), if pooled { "pooled" } else { "plain" });
    format!("{digest}-{engine}-{}-{}-{kind}.cwasm", env!("CARGO_PKG_VERSION"), std::env::consts::ARCH)
}
