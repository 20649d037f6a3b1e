//! Opens an address in the browser of the person at this machine.

use std::{
    fs::OpenOptions,
    io::Write as _,
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
    process::{Command, Stdio},
};

use anyhow::Context as _;

/// The command that opens a file with the program that the desktop has for it.
const DESKTOP: &str = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };

/// The address has a secret, and all users of a machine see the arguments of commands. The browser therefore opens a private
/// file in this directory, which sends it on.
pub(super) fn open(url: &str, directory: &Path) -> anyhow::Result<()> {
    let file = directory.join("console.html");
    let page = format!("<!doctype html><meta charset=utf-8><meta http-equiv=refresh content=\"0;url={url}\">\n");
    let mut to = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&file)?;
    to.write_all(page.as_bytes())?;
    let browser = std::env::var_os("BROWSER").filter(|browser| !browser.is_empty());
    let program = browser.unwrap_or_else(|| DESKTOP.into());
    let mut command = Command::new(&program);
    command.arg(&file).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().with_context(|| format!("cannot run {}", Path::new(&program).display()))?;
    Ok(())
}
