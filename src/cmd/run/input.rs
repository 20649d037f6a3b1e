//! What a run is made of, out of files and flags. Touches no cluster.

use std::path::Path;

use anyhow::{Context as _, bail};
use serde_json::Value;

use crate::{
    app::once::{Asked, Occasion, Wanted},
    cli::run::{Event, Run},
    model::{HookSpec, WatchEventKind},
    scenario,
};

/// What was asked for.
pub(super) struct Input {
    /// With where that is said, for errors.
    pub asked: Vec<(String, Asked)>,
    /// Objects that the run's own cluster must have.
    pub objects: Vec<Value>,
}

/// Reads files and flags, and checks that the hook has the bindings.
pub(super) fn read(args: &Run, spec: &HookSpec) -> anyhow::Result<Input> {
    let input = match &args.context {
        Some(file) => contexts(file)?,
        None => Input { asked: vec![("on the command line".to_owned(), flags(args)?)], objects: Vec::new() },
    };
    for (place, asked) in &input.asked {
        asked.check(spec).with_context(|| place.clone())?;
    }
    Ok(input)
}

fn contexts(file: &Path) -> anyhow::Result<Input> {
    let text = std::fs::read_to_string(file).with_context(|| format!("can't read {}", file.display()))?;
    let contexts = match scenario::contexts(&text) {
        Ok(contexts) => contexts,
        Err(problems) => {
            let lines: Vec<_> = problems.iter().map(|problem| format!("{}:{problem}", file.display())).collect();
            bail!("the context can't be read\n  {}", lines.join("\n  "));
        }
    };
    if contexts.without_object > 0 {
        eprintln!(
            "warning: {} items of snapshots have no object: give these objects with --state",
            contexts.without_object
        );
    }
    let place = |place: scenario::Place| format!("{}:{}:{}", file.display(), place.line, place.column);
    let asked = contexts.asked.into_iter().map(|(at, asked)| (place(at), asked)).collect();
    Ok(Input { asked, objects: contexts.objects })
}

fn flags(args: &Run) -> anyhow::Result<Asked> {
    let occasion = match args.event {
        None => Occasion::Any,
        Some(Event::OnStartup) => Occasion::Startup,
        Some(Event::Schedule) => Occasion::Schedule,
        Some(Event::Synchronization) => Occasion::Synchronization,
        Some(Event::Added) => event(args, WatchEventKind::Added)?,
        Some(Event::Modified) => event(args, WatchEventKind::Modified)?,
        Some(Event::Deleted) => event(args, WatchEventKind::Deleted)?,
    };
    if args.object.is_some() && !matches!(occasion, Occasion::Event { .. }) {
        bail!("--object belongs to --event Added, Modified or Deleted");
    }
    Ok(Asked { binding: args.binding.clone(), occasion })
}

fn event(args: &Run, kind: WatchEventKind) -> anyhow::Result<Occasion> {
    let Some(object) = &args.object else {
        bail!("--event {} needs --object NAME, NAMESPACE/NAME or FILE: the object that it happens to", kind.as_str());
    };
    Ok(Occasion::Event { kind, object: wanted(object)?, filter_result: None })
}

fn wanted(object: &str) -> anyhow::Result<Wanted> {
    let path = Path::new(object);
    let is_file =
        path.extension().is_some_and(|extension| ["yaml", "yml", "json"].iter().any(|known| extension == *known));
    if is_file || path.is_file() {
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
    let text = std::fs::read_to_string(path).with_context(|| format!("can't read {}", path.display()))?;
    let object: Value =
        yaml_serde::from_str(&text).with_context(|| format!("{} is no YAML that can be read", path.display()))?;
    for pointer in ["/apiVersion", "/kind", "/metadata/name"] {
        if object.pointer(pointer).and_then(Value::as_str).is_none_or(str::is_empty) {
            let key = pointer.trim_start_matches('/').replace('/', ".");
            bail!("{} is no object: it needs {key}, a text", path.display());
        }
    }
    Ok(object)
}
