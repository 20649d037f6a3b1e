//! Prints a view once or repeatedly.

use std::{
    io::{self, IsTerminal as _, Write as _},
    time::Duration,
};

use anyhow::Context as _;
use boathook_core::model::error_chain;
use boathook_operator::admin::render::Style;
use serde::Serialize;

use super::super::runtime::Stop;
use crate::cli::Output;

pub(super) struct How {
    pub output: Output,
    /// Repeats after this time.
    pub watch: Option<Duration>,
}

/// Colours only on a terminal, and not with `NO_COLOR`.
pub(super) fn style() -> Style {
    let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    if wanted && io::stdout().is_terminal() { Style::Colours } else { Style::Plain }
}

/// Fetches and prints the view; with `watch`, until a signal. If the operator does not answer, that is an error only
/// the first time, because the operator may be restarting.
pub(super) async fn show<T, E>(
    how: &How,
    ask: impl AsyncFn() -> Result<T, E>,
    text: impl Fn(&T, Style) -> String,
) -> anyhow::Result<()>
where
    T: Serialize,
    E: Into<anyhow::Error>,
{
    let view = ask().await.map_err(Into::into)?;
    let Some(interval) = how.watch else {
        return print(&document(how.output, &view, &text)?).map(drop);
    };
    let mut stop = Stop::new()?;
    let in_place = io::stdout().is_terminal();
    let mut shown = frame(how.output, in_place, &document(how.output, &view, &text)?);
    while print(&shown)? {
        tokio::select! {
            () = stop.requested() => return Ok(()),
            () = tokio::time::sleep(interval) => {}
        }
        shown = match ask().await {
            Ok(view) => frame(how.output, in_place, &document(how.output, &view, &text)?),
            Err(error) => {
                eprintln!("error: {}", error_chain(error.into().as_ref()));
                String::new()
            }
        };
    }
    Ok(())
}

fn document<T: Serialize>(output: Output, view: &T, text: &impl Fn(&T, Style) -> String) -> anyhow::Result<String> {
    Ok(match output {
        Output::Text => text(view, style()),
        Output::Json => serde_json::to_string_pretty(view)? + "\n",
        Output::Yaml => yaml_serde::to_string(view)?,
    })
}

/// One document of several: it replaces the previous one on the screen, or is separated from it.
fn frame(output: Output, in_place: bool, document: &str) -> String {
    match output {
        // Clears the screen and the scrollback buffer.
        _ if in_place => format!("\x1b[H\x1b[2J\x1b[3J{document}"),
        Output::Text => format!("{document}\n"),
        Output::Json => document.to_owned(),
        Output::Yaml => format!("---\n{document}"),
    }
}

/// False if the reader has closed the pipe.
fn print(text: &str) -> anyhow::Result<bool> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        written => written.map(|()| true).context("can't write to stdout"),
    }
}
