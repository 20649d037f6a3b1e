//! Stage 4: components made from text, and hostile ones, in a real sandbox.

mod calls;
mod compiler;
mod defining;
mod directories;
mod go;
mod guests;
mod hostile;
pub mod http;
mod loading;
mod logs;
mod memory;
mod resident;
mod runs;
pub mod support;
mod wasi;
