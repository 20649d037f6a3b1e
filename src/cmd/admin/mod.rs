//! Commands that query and control a running operator: from the command line to requests, and from responses to output.

use std::{
    ffi::OsStr,
    io::{self, IsTerminal as _, Write as _},
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use anyhow::{Context as _, bail};
use boathook_core::model::error_chain;
#[cfg(feature = "author")]
use boathook_operator::admin::modules::{GraphView, Part};
use boathook_operator::admin::{
    Client, ClientError, Letters, Refused, SnapshotQuery, Socket,
    render::{self, Style, Text},
    socket::default_places,
    views::{HooksView, RetriedView, SetLogLevel},
};
use serde::Serialize;

use super::runtime::{Stop, block_on};
use crate::cli::{
    Output,
    admin::{self as typed, Admin, LettersAction, LogLevelAction},
};

/// Exit code if no operator answers.
const NO_OPERATOR: u8 = 4;

/// Value of `--socket` that turns the socket off.
const NONE: &str = "none";

fn places() -> Vec<PathBuf> {
    let runtime_dir = std::env::var_os("XDG_RUNTIME_DIR");
    default_places(runtime_dir.as_deref(), &std::env::temp_dir(), rustix::process::geteuid().as_raw())
}

/// The socket that `serve` listens on.
pub(super) fn socket(typed: Option<PathBuf>) -> Option<Socket> {
    match typed.filter(|path| !path.as_os_str().is_empty()) {
        None => Some(Socket::FirstOf(places())),
        Some(path) if path == Path::new(NONE) => None,
        Some(path) => Some(Socket::At(path)),
    }
}

fn client(at: typed::At) -> anyhow::Result<Client> {
    match at.socket.as_deref().map(Path::as_os_str).filter(|path| !path.is_empty()) {
        None => Ok(Client::new(places())),
        Some(path) if path == OsStr::new(NONE) => {
            bail!("the admin socket is turned off (none): say where the operator's is with --socket PATH")
        }
        Some(path) => Ok(Client::new(vec![path.into()])),
    }
}

pub(super) fn run(command: Admin) -> anyhow::Result<ExitCode> {
    ended(block_on(ask(command)))
}

/// Shows the values, the configuration or the patches of a module. The text is YAML, too.
#[cfg(feature = "author")]
pub(super) fn section(name: &str, part: Part, show_secrets: bool, how: typed::Show) -> anyhow::Result<ExitCode> {
    let text = |data: &serde_json::Value, _: Style| yaml_serde::to_string(data).unwrap_or_default();
    ended(block_on(async {
        let (client, how) = split(how)?;
        show(&how, async || client.section(name, part, show_secrets).await, text).await
    }))
}

/// Gets the modules of the running operator in their order.
#[cfg(feature = "author")]
pub(super) fn graph(at: typed::At, then: impl FnOnce(GraphView) -> anyhow::Result<()>) -> anyhow::Result<ExitCode> {
    ended(block_on(async { then(client(at)?.graph().await?) }))
}

fn ended(done: anyhow::Result<()>) -> anyhow::Result<ExitCode> {
    match done {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(error) if matches!(error.downcast_ref(), Some(ClientError::NoOperator { .. })) => {
            eprintln!("error: {}", error_chain(error.as_ref()));
            Ok(ExitCode::from(NO_OPERATOR))
        }
        Err(error) => Err(error),
    }
}

async fn ask(command: Admin) -> anyhow::Result<()> {
    match command {
        Admin::Hooks(args) => hooks(args).await,
        Admin::Queues(typed::Queues { show_empty, show: how }) => {
            let (client, how) = split(how)?;
            show(&how, async || client.queues(show_empty).await, Text::text).await
        }
        Admin::Top(typed::Top { show: how }) => {
            let (client, how) = split(how)?;
            show(&how, async || client.bill().await, Text::text).await
        }
        Admin::Snapshots(args) => snapshots(args).await,
        Admin::Runs(typed::Runs { hook, failed, show: how }) => {
            let (client, how) = split(how)?;
            show(&how, async || client.runs(hook.as_deref(), failed).await, Text::text).await
        }
        Admin::Why(typed::Why { object, show: how }) => {
            let (client, how) = split(how)?;
            show(&how, async || client.why(&object).await, Text::text).await
        }
        Admin::WhyNot(typed::WhyNot { hook, object, show: how }) => {
            let (client, how) = split(how)?;
            show(&how, async || client.why_not(&hook, &object).await, Text::text).await
        }
        Admin::DeadLetters(args) => dead_letters(args).await,
        Admin::LogLevel(args) => log_level(args).await,
        Admin::Pause(typed::Pause { one }) => report(one, "pause", "paused").await,
        Admin::Resume(typed::Resume { one }) => report(one, "resume", "resumed").await,
        Admin::Quarantine(typed::Quarantine { one }) => report(one, "quarantine", "in quarantine").await,
        Admin::Release(typed::Release { one }) => report(one, "release", "released").await,
        Admin::Reload(typed::Reload { one }) => report(one, "reload", "reloaded").await,
        Admin::Raw(typed::Raw { path, at }) => raw(&path, at).await,
    }
}

fn split(how: typed::Show) -> anyhow::Result<(Client, How)> {
    let how_shown = How { output: how.output, watch: how.watch.then_some(how.interval) };
    Ok((client(how.at)?, how_shown))
}

async fn hooks(args: typed::Hooks) -> anyhow::Result<()> {
    let (client, how) = split(args.show)?;
    let Some(name) = args.hook else {
        return show(&how, async || client.hooks().await, Text::text).await;
    };
    let one = async || {
        let HooksView { hooks, .. } = client.hooks().await?;
        let known = hooks.iter().map(|hook| hook.name.clone()).collect();
        let found = hooks.into_iter().find(|hook| hook.name == name);
        Ok::<_, anyhow::Error>(found.ok_or_else(|| Refused::UnknownHook { name: name.clone(), known })?)
    };
    show(&how, one, render::hook).await
}

async fn snapshots(args: typed::Snapshots) -> anyhow::Result<()> {
    let (client, how) = split(args.show)?;
    let query = SnapshotQuery {
        binding: args.binding,
        namespace: args.namespace,
        limit: args.limit.map(usize::from),
        continue_token: args.continue_token,
        show_secrets: args.show_secrets,
    };
    show(&how, async || client.snapshots(&args.hook, &query).await, Text::text).await
}

async fn dead_letters(args: typed::DeadLetters) -> anyhow::Result<()> {
    let Some(action) = args.action else {
        let (client, how) = split(args.show)?;
        return show(&how, async || client.dead_letters(args.hook.as_deref()).await, Text::text).await;
    };
    let which = |which: typed::Which| Letters { ids: which.ids, hook: which.hook, all: which.all };
    match action {
        LettersAction::Retry(letters) => {
            let RetriedView { letters, triggers, superseded } =
                client(letters.at)?.retry_dead(&which(letters.which)).await?;
            println!("{letters} dead letters: {triggers} triggers are in their queues again");
            if superseded > 0 {
                println!("{superseded} triggers were left out: newer states of their objects took their place");
            }
        }
        LettersAction::Drop(letters) => {
            println!("{} dead letters dropped", client(letters.at)?.drop_dead(&which(letters.which)).await?.count);
        }
    }
    Ok(())
}

async fn log_level(args: typed::LogLevel) -> anyhow::Result<()> {
    let Some(LogLevelAction::Set(set)) = args.action else {
        let (client, how) = split(args.show)?;
        return show(&how, async || client.log_level().await, Text::text).await;
    };
    let lasts = set.lasts.map(|lasts| humantime::format_duration(lasts).to_string());
    let view = client(set.at)?.set_log_level(&SetLogLevel { level: set.level, lasts }).await?;
    print!("{}", view.text(style()));
    Ok(())
}

async fn report(one: typed::OneHook, action: &str, done: &str) -> anyhow::Result<()> {
    client(one.at)?.command(&one.hook, action).await?;
    println!("hook {} is {done}", one.hook);
    Ok(())
}

async fn raw(path: &str, at: typed::At) -> anyhow::Result<()> {
    let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
    let answer = client(at)?.get(&path).await?;
    std::io::stdout().write_all(&answer).context("cannot write to stdout")
}

struct How {
    pub output: Output,
    /// Repeats after this time.
    pub watch: Option<Duration>,
}

/// Colours only on a terminal, and not with `NO_COLOR`.
fn style() -> Style {
    let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    if wanted && io::stdout().is_terminal() { Style::Colours } else { Style::Plain }
}

/// Fetches and prints the view; with `watch`, until a signal. If the operator does not answer, that is an error only
/// the first time, because the operator may be restarting.
async fn show<T, E>(
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
        written => written.map(|()| true).context("cannot write to stdout"),
    }
}
