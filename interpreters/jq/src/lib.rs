//! Runs jq programs on objects: jaq, and what Boathook adds to it. Compiled to WebAssembly, it is the module in which the
//! operator runs filters. The host bounds the time, the memory and the stack; nothing here does.
//!
//! | module | content |
//! | --- | --- |
//! | `compile` | compiles a program, and reports where it is wrong |
//! | `syntax` | bounds the shape of a program before jaq's recursive parser sees it |
//! | `prelude` | the part of the standard library that a program uses |
//! | `parents` | makes assignments create missing parents, as jq does |
//! | `roots` | finds the fields of an object that a program can see |
//! | `run` | runs a program on an object, and writes the results |
//! | `exports` | what the host calls |

mod compile;
#[cfg(target_family = "wasm")]
mod exports;
mod parents;
mod prelude;
mod roots;
mod run;
#[cfg(test)]
mod seen;
mod syntax;
mod walk;

pub use compile::{CompileError, Compiled, compile};
pub use run::{Failure, MAX_RESULT, run};
