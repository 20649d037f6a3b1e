//! Human-readable output for bundles: contents, the reason for trust, and the progress of a transfer. Progress is shown
//! only on a terminal.

use std::{
    fmt::Write as _,
    io::{IsTerminal as _, Write as _},
    time::Duration,
};

use boathook_bundle::{BundleError, Progress, Seen, Verified};
use boathook_core::model::InterpreterRef;
use serde_json::{Value, json};

use crate::{cli::Output, cmd::summary};

const REDRAW: Duration = Duration::from_millis(200);

pub(super) fn print(output: Output, data: &Value, text: impl FnOnce() -> String) -> anyhow::Result<()> {
    match output {
        Output::Text => print!("{}", text()),
        Output::Json => println!("{data:#}"),
        Output::Yaml => print!("{}", yaml_serde::to_string(data)?),
    }
    Ok(())
}

pub(super) fn seen(seen: &Seen) -> String {
    let mut out = String::new();
    let contents = &seen.contents;
    // Writing to a String cannot fail.
    let _ = writeln!(out, "Bundle:   {}", seen.reference);
    let _ = writeln!(out, "Digest:   {}", seen.digest);
    let _ = writeln!(out, "Size:     {} bytes in {} layers", contents.size(), contents.layers().count());
    for (name, value) in [("Created:", &contents.created), ("Source: ", &contents.source)] {
        if let Some(value) = value {
            let _ = writeln!(out, "{name}  {}", clean(value));
        }
    }
    for hook in &contents.hooks {
        let _ = writeln!(out, "Hook:     {}, {} bytes, {}", hook.name, hook.layer.size, hook.layer.digest);
        if let Some(InterpreterRef { name, version, digest }) = &hook.interpreter {
            let _ = writeln!(out, "  a script  of {} {}, {}", clean(name), clean(version), clean(digest));
        }
        let may = match &hook.permissions {
            Some(permissions) => summary::may(&json!(permissions)),
            None => vec!["what its document asks for; the artifact does not say".to_owned()],
        };
        for (n, line) in may.iter().enumerate() {
            let _ = writeln!(out, "  {}  {}", if n == 0 { "asks to" } else { "       " }, clean(line));
        }
    }
    for file in &contents.files {
        let title = file.annotations.get(boathook_bundle::TITLE).map_or("?", String::as_str);
        let _ = writeln!(out, "File:     {}, {} bytes, {}", clean(title), file.size, clean(&file.media_type));
    }
    out
}

/// A bundle's texts must not move a terminal's cursor.
fn clean(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(500).collect()
}

pub(super) fn verified(seen: &Seen, verified: &Verified) -> String {
    let why = match (verified.by_digest, verified.by_keys.as_slice()) {
        (true, _) => "its digest is allowed".to_owned(),
        (false, []) => "nothing was asked of it".to_owned(),
        (false, keys) => format!("signed by {}", keys.join(", ")),
    };
    format!("trusted: {} is {}: {why}\n", seen.reference, seen.digest)
}

/// Shows the progress of a transfer while it runs.
pub(super) async fn during<T>(
    progress: &Progress,
    work: impl Future<Output = Result<T, BundleError>>,
) -> Result<T, BundleError> {
    if !std::io::stderr().is_terminal() {
        return work.await;
    }
    let mut work = std::pin::pin!(work);
    let mut clock = tokio::time::interval(REDRAW);
    loop {
        tokio::select! {
            result = &mut work => {
                eprint!("\r\x1b[K");
                return result;
            }
            _ = clock.tick() => draw(progress),
        }
    }
}

fn draw(progress: &Progress) {
    let (done, total) = progress.get();
    if total > 0 {
        eprint!("\r\x1b[K{:.1} of {:.1} MB", megabytes(done), megabytes(total));
        let _ = std::io::stderr().flush();
    }
}

#[allow(clippy::cast_precision_loss)]
fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}
