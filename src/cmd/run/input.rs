//! Reads the input of a run from files and flags. It contacts no cluster.

use std::{io::Read as _, path::Path};

use anyhow::{Context as _, bail};
use boathook_author::scenario;
use boathook_core::model::{HookSpec, WatchEventKind};
use boathook_operator::app::run_once::{Asked, Question, TriggerRequest, Wanted};
use serde_json::Value;

use crate::cli::run::{Event, Run};

/// Stands for stdin.
const STDIN: &str = "-";
/// Maximum number of bytes to read from stdin.
const MOST: u64 = 16 << 20;

pub(super) struct Input {
    /// With the place in the input, for errors.
    pub asked: Vec<(String, Asked)>,
    /// The API server's request, instead of `asked`.
    pub question: Option<Question>,
    /// Objects that the run's own cluster must contain.
    pub objects: Vec<Value>,
}

/// Reads files and flags, and checks that the hook has the bindings.
pub(super) fn read(args: &Run, spec: &HookSpec) -> anyhow::Result<Input> {
    let input = match &args.context {
        Some(file) => contexts(file, spec)?,
        None => {
            let asked = vec![("on the command line".to_owned(), flags(args)?)];
            Input { asked, question: None, objects: Vec::new() }
        }
    };
    for (place, asked) in &input.asked {
        asked.check(spec).with_context(|| place.clone())?;
    }
    Ok(input)
}

fn contexts(file: &Path, spec: &HookSpec) -> anyhow::Result<Input> {
    let text = read_text(file)?;
    let contexts = match scenario::contexts(&text) {
        Ok(contexts) => contexts,
        Err(problems) => {
            let lines: Vec<_> = problems.iter().map(|problem| format!("{}:{problem}", named(file))).collect();
            bail!("the context can't be read\n  {}", lines.join("\n  "));
        }
    };
    if contexts.without_object > 0 {
        eprintln!(
            "warning: {} items of snapshots have no object: give these objects with --state",
            contexts.without_object
        );
    }
    let place = |place: scenario::Place| format!("{}:{}:{}", named(file), place.line, place.column);
    let asked = contexts.asked.into_iter().map(|(at, asked)| (place(at), asked)).collect();
    let question = match contexts.question {
        Some((at, question)) => {
            question.check(spec).with_context(|| place(at))?;
            Some(question)
        }
        None => None,
    };
    Ok(Input { asked, question, objects: contexts.objects })
}

fn flags(args: &Run) -> anyhow::Result<Asked> {
    let occasion = match args.event {
        None => TriggerRequest::Any,
        Some(Event::OnStartup) => TriggerRequest::Startup,
        Some(Event::Schedule) => TriggerRequest::Schedule,
        Some(Event::Synchronization) => TriggerRequest::Synchronization,
        Some(Event::Added) => event(args, WatchEventKind::Added)?,
        Some(Event::Modified) => event(args, WatchEventKind::Modified)?,
        Some(Event::Deleted) => event(args, WatchEventKind::Deleted)?,
    };
    if args.object.is_some() && !matches!(occasion, TriggerRequest::Event { .. }) {
        bail!("--object belongs to --event Added, Modified or Deleted");
    }
    Ok(Asked { binding: args.binding.clone(), occasion })
}

fn event(args: &Run, kind: WatchEventKind) -> anyhow::Result<TriggerRequest> {
    let Some(object) = &args.object else {
        bail!("--event {} needs --object NAME, NAMESPACE/NAME or FILE: the object that it happens to", kind.as_str());
    };
    Ok(TriggerRequest::Event { kind, object: wanted(object)?, filter_result: None })
}

fn wanted(object: &str) -> anyhow::Result<Wanted> {
    let path = Path::new(object);
    let is_file =
        path.extension().is_some_and(|extension| ["yaml", "yml", "json"].iter().any(|known| extension == *known));
    if is_file || path.is_file() || object == STDIN {
        return Ok(Wanted::Given(file(path)?));
    }
    let named = |namespace: Option<&str>, name: &str| {
        Ok(Wanted::Named { namespace: namespace.map(str::to_owned), name: name.to_owned() })
    };
    match object.split('/').collect::<Vec<_>>().as_slice() {
        [name] if !name.is_empty() => named(None, name),
        [namespace, name] if !namespace.is_empty() && !name.is_empty() => named(Some(namespace), name),
        _ => bail!("--object {object:?} is no NAME, no NAMESPACE/NAME and no file"),
    }
}

fn file(path: &Path) -> anyhow::Result<Value> {
    let (text, place) = (read_text(path)?, named(path));
    let object: Value = yaml_serde::from_str(&text).with_context(|| format!("{place} is no YAML that can be read"))?;
    for pointer in ["/apiVersion", "/kind", "/metadata/name"] {
        if object.pointer(pointer).and_then(Value::as_str).is_none_or(str::is_empty) {
            let key = pointer.trim_start_matches('/').replace('/', ".");
            bail!("{place} is no object: it needs {key}, a text");
        }
    }
    Ok(object)
}

/// `-` is stdin.
fn read_text(path: &Path) -> anyhow::Result<String> {
    if path.as_os_str() != STDIN {
        return std::fs::read_to_string(path).with_context(|| format!("can't read {}", path.display()));
    }
    let mut text = String::new();
    std::io::stdin().lock().take(MOST).read_to_string(&mut text).context("can't read stdin")?;
    Ok(text)
}

fn named(path: &Path) -> String {
    if path.as_os_str() == STDIN { "stdin".to_owned() } else { path.display().to_string() }
}
