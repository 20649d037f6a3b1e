//! Which hooks exist: components in a directory, and the configuration documents that they return.
//!
//! Components are only read here. They are neither compiled nor run.

mod directory;
mod document;
mod schema;

pub use directory::{DirectoryError, HookFile, read_directory, with_hooks_below};
pub use document::{DocumentError, Problem, ProblemKind, parse, plain_scalar, print};
pub use schema::schema;
