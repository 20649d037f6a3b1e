//! `docs/reference/cli.md`: the help of every command.

use std::fmt::Write as _;

use boathook::cli::Cli;
use clap::{Command, CommandFactory as _};

use super::generated::head;

pub fn page() -> String {
    let about = "What `boathook help COMMAND` prints. Exit codes are listed where they are more than 0, 1 for an error \
                 and 2 for a\ncommand line that is wrong.";
    let mut page = head("Commands", about, "`src/cli`");
    // One width, whatever terminal there is.
    let mut root = Cli::command().term_width(110);
    root.build();
    for command in root.get_subcommands_mut() {
        write(&mut page, command, "##");
    }
    page
}

fn write(page: &mut String, command: &mut Command, level: &str) {
    if command.is_hide_set() || command.get_name() == "help" {
        return;
    }
    let name = command.get_bin_name().unwrap_or(command.get_name()).to_owned();
    let help = command.render_long_help().to_string();
    let help: Vec<_> = help.trim().lines().map(str::trim_end).collect();
    write!(page, "\n{level} {name}\n\n```text\n{}\n```\n", help.join("\n")).unwrap();
    let deeper = format!("{level}#");
    for command in command.get_subcommands_mut() {
        write(page, command, &deeper);
    }
}
