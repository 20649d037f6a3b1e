//! The binary's own half: what was typed, and the subcommands. The rest is in `crates/`.

pub mod cli;
pub mod cmd;
