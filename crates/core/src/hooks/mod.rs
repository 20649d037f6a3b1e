//! Which hooks exist: components in a directory, and the configuration documents that they return.
//!
//! Components are only read here. They are neither compiled nor run. A shell script is packed into one.

mod directory;
mod document;
mod shell;

pub use directory::{DirectoryError, FileError, HookFile, find_hook, read_directory, with_hooks_below};
pub use document::{DocumentError, Duplicates, Problem, parse, plain_scalar, print, read_yaml};
pub use shell::{SHELL, ShellError, ShellHook, first_line, is_script, program_of, shell_hooks};

/// The JSON Schema (draft 2020-12) of the configuration document, version v1. The reader of documents does the checks,
/// and a test compares the two.
///
/// A schema cannot express some rules, which only the reader checks: that crontabs, time zones and jq programs are
/// valid; the bounds of durations and amounts of bytes; that `includeSnapshotsFrom` names one binding; and keys that
/// contradict each other (`content` and keepFullObjectsInMemory, `timeZone` and a TZ= prefix, `max` and `initial`, a
/// nameSelector and a field selector of metadata.name).
pub const SCHEMA: &str = include_str!("../../../../docs/reference/hook-document.schema.json");
