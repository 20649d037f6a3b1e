//! jq programs: compiles them, and runs them so that none can hang or exhaust the host.
//!
//! Programs that provably end soon run in this process. All others run in a worker process, which is killed when its
//! CPU time is used up.

mod analysis;
mod bound;
mod compile;
mod error;
mod parents;
mod prelude;
mod roots;
mod run;
#[cfg(test)]
mod soundness;
mod syntax;
mod walk;

pub use analysis::Cost;
pub use compile::{Compiled, compile};
pub use error::{CompileError, FilterError, FilterLimit};
pub use run::{MAX_RESULT, Outputs, run};
