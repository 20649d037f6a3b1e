//! `boathook advise`: reads records of runs, and prints what documents may leave out. `advice` decides. Nothing here changes a
//! hook or contacts a cluster.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
};

use anyhow::{Context as _, anyhow, bail};
use boathook_author::{
    advice::{ENOUGH, Item, Probe, Seen, Subject, Verdict, advise, judge, notes, patch, patched, probes},
    rbac::{Kinds, one_line},
};
use boathook_core::{
    fair::Tenant,
    hooks::{Duplicates, parse, plain_scalar, read_yaml},
    model::{HookName, HookSpec, error_chain},
};
use boathook_operator::{
    app::load,
    record::{
        self, LogLine, Record, SUFFIX, read_key,
        replay::{Components, repeat},
        secrets::Key,
    },
};
use boathook_sandbox::{LoadedHook, Sandbox};
use serde_json::{Value, json};

use super::{rbac::local, replay, runtime::block_on};
use crate::cli::record::Advise;

/// Exit code if there is advice.
const ADVICE: u8 = 1;
/// Exit code if an input cannot be used.
const UNUSABLE: u8 = 2;
/// A module's hook changes values by this interface.
const VALUES: &str = "boathook:hook/values";

pub(super) fn run(args: &Advise) -> anyhow::Result<ExitCode> {
    match block_on(act(args)) {
        Ok(false) => Ok(ExitCode::SUCCESS),
        Ok(true) => Ok(ExitCode::from(ADVICE)),
        Err(error) => {
            eprintln!("error: {}", error_chain(error.as_ref()));
            Ok(ExitCode::from(UNUSABLE))
        }
    }
}

/// A record's file, and what of it is needed to choose.
struct File {
    path: PathBuf,
    component: String,
    started: u64,
}

/// The result for one hook.
struct Advised {
    hook: HookName,
    component: String,
    runs: usize,
    notes: Vec<String>,
    items: Vec<(Item, Vec<Value>)>,
    /// All of the advice as one patch.
    patch: Vec<Value>,
}

/// Whether there is advice.
async fn act(args: &Advise) -> anyhow::Result<bool> {
    let hooks = files(args)?;
    let adviser = Adviser {
        sandbox: replay::repeating(args.cache_dir.clone())?,
        components: Components::new(&args.component_dir)?,
        kinds: Kinds::new(local(&args.crds).await?),
    };
    let mut all = Vec::new();
    for (hook, files) in hooks {
        all.push(adviser.advised(HookName::new(&hook)?, files).await.with_context(|| format!("hook {hook}"))?);
    }
    let hooks: Vec<_> = all.iter().map(data).collect();
    super::print(args.output, &json!({ "hooks": hooks }), || all.iter().map(text).collect())?;
    Ok(all.iter().any(|advised| !advised.items.is_empty()))
}

/// The records of each hook, by time.
fn files(args: &Advise) -> anyhow::Result<BTreeMap<String, Vec<File>>> {
    let mut hooks: BTreeMap<String, Vec<File>> = BTreeMap::new();
    for path in &args.paths {
        for path in replay::records(path)? {
            let header = record::read(&path)?.header;
            if args.hook.as_ref().is_some_and(|wanted| *wanted != header.hook) {
                continue;
            }
            let file = File { path, component: header.component, started: header.started };
            hooks.entry(header.hook).or_default().push(file);
        }
    }
    if hooks.is_empty() {
        match &args.hook {
            Some(hook) => bail!("there is no record of hook {hook}: `boathook serve --record DIR` writes records"),
            None => bail!("there is no record: no file ends with {SUFFIX}; `boathook serve --record DIR` writes them"),
        }
    }
    hooks.values_mut().for_each(|files| files.sort_by_key(|file| file.started));
    Ok(hooks)
}

struct Adviser {
    sandbox: Sandbox,
    components: Components,
    kinds: Kinds,
}

/// The hook of some records.
struct Known {
    spec: HookSpec,
    component: LoadedHook,
    document: Value,
    /// Whether the hook can do what records do not show.
    silent: bool,
}

impl Adviser {
    async fn advised(&self, hook: HookName, mut files: Vec<File>) -> anyhow::Result<Advised> {
        let newest = files.last().context("there is no record")?;
        let (component, beside) = (newest.component.clone(), newest.path.clone());
        let all = files.len();
        files.retain(|file| file.component == component);
        let known = self.known(&hook, &component, &beside).await?;
        let mut seen = Seen::default();
        for file in &files {
            seen.add(&record::read(&file.path)?, known.silent);
        }
        let mut told = Vec::new();
        if files.len() < all {
            told.push(format!("{} records of other versions of it are left out", all - files.len()));
        }
        let asked = if known.silent { Vec::new() } else { probes(&known.spec, &seen) };
        if known.silent {
            told.push(
                "records do not show values of modules and files of directories, so nothing is said of what its bindings \
                 run for nothing"
                    .to_owned(),
            );
        }
        let unread = self.unread(&known, asked, &files, &mut told).await?;
        let subject =
            Subject { spec: &known.spec, document: &known.document, seen: &seen, unread: &unread, kinds: &self.kinds };
        told.extend(notes(&subject));
        let mut items = Vec::new();
        for item in advise(&subject) {
            let operations = patch(&known.document, &item.changes);
            match self.contradiction(&known, &operations, &files).await? {
                None => items.push((item, operations)),
                Some(why) => told.push(format!("{}: no advice, because {why}", item.at)),
            }
        }
        let mut whole = patch(&known.document, items.iter().flat_map(|(item, _)| &item.changes));
        if let Some(why) = self.contradiction(&known, &whole, &files).await? {
            told.push(format!("the patches cannot be applied together: {why}"));
            whole.clear();
        }
        Ok(Advised { hook, component, runs: seen.runs, notes: told, items, patch: whole })
    }

    async fn known(&self, name: &HookName, digest: &str, file: &Path) -> anyhow::Result<Known> {
        let beside = file.parent().unwrap_or(file);
        let bytes = self.components.find(beside, digest, name.as_str())?;
        let hook = load(name, &bytes, &self.sandbox).await?;
        let text = self.sandbox.config(&hook.component).await;
        let text = text.map_err(|failure| anyhow!("it does not return its document: {failure}"))?;
        let document = read_yaml(&text, plain_scalar, Duplicates::Refused).map_err(anyhow::Error::msg)?;
        let values = hook.component.imports().iter().any(|import| import.starts_with(VALUES));
        // Interpreters import more than a script uses. Only the names of hooks of modules and bundles have a dot.
        let of_module = values || (hook.component.script().is_some() && name.as_str().contains('.'));
        let silent = of_module || hook.spec.has_directories() || !hook.spec.stages.is_empty();
        Ok(Known { spec: hook.spec, component: hook.component, document, silent })
    }

    /// The probes without which each run did the same, and enough runs had something to hide.
    async fn unread(
        &self,
        known: &Known,
        probes: Vec<Probe>,
        files: &[File],
        told: &mut Vec<String>,
    ) -> anyhow::Result<Vec<Probe>> {
        let mut open: Vec<(Probe, usize)> = probes.into_iter().map(|probe| (probe, 0)).collect();
        for file in files {
            let record = record::read(&file.path)?;
            let hidden: Vec<_> = open.iter().map(|(probe, _)| probe.hide(&record)).collect();
            if hidden.iter().all(Option::is_none) {
                continue;
            }
            let key = read_key(file.path.parent().unwrap_or(&file.path))?;
            let Some(log) = self.same(known, record, key.as_ref()).await else {
                let path = file.path.display();
                told.push(format!(
                    "nothing is said of what it reads, because a run is not the same again: `boathook replay {path}`"
                ));
                return Ok(Vec::new());
            };
            let mut left = Vec::new();
            for ((probe, times), hidden) in open.into_iter().zip(hidden) {
                match hidden {
                    None => left.push((probe, times)),
                    Some(hidden) => {
                        if self.same(known, hidden, key.as_ref()).await.as_ref() == Some(&log) {
                            left.push((probe, times + 1));
                        }
                    }
                }
            }
            open = left;
        }
        Ok(open.into_iter().filter(|(_, times)| *times >= ENOUGH).map(|(probe, _)| probe).collect())
    }

    /// The log of a run that did the same again.
    async fn same(&self, known: &Known, record: Record, key: Option<&Key>) -> Option<Vec<LogLine>> {
        let repeated = repeat(&self.sandbox, &known.component, Arc::new(record), None, key).await.ok()?;
        repeated.differences.is_empty().then_some(repeated.log)
    }

    /// Why a patch must not be made: the document would not be valid, or a record needs what it takes away.
    async fn contradiction(
        &self,
        known: &Known,
        operations: &[Value],
        files: &[File],
    ) -> anyhow::Result<Option<String>> {
        let after = match patched(&known.document, operations) {
            Ok(document) => document,
            Err(error) => return Ok(Some(format!("the patch does not fit: {error}"))),
        };
        let (name, filters) = (known.spec.name.clone(), self.sandbox.filters().clone());
        let read = move || {
            let tenant = Tenant::hook(name.as_str());
            let check =
                |program: &str| filters.compile_blocking(&tenant, program).map(drop).map_err(|error| error.to_string());
            parse(&name, &after.to_string(), &check)
        };
        let after = match tokio::task::spawn_blocking(read).await? {
            Ok(after) => after,
            Err(error) => return Ok(Some(format!("the document would not be valid: {}", error_chain(&error)))),
        };
        for file in files {
            let record = record::read(&file.path)?;
            if let Verdict::Contradicted(why) = judge(&record, &known.spec, &after, &self.kinds, known.silent) {
                return Ok(Some(why));
            }
        }
        Ok(None)
    }
}

fn text(advised: &Advised) -> String {
    let mut out = String::new();
    let runs = if advised.runs == 1 { "1 run".to_owned() } else { format!("{} runs", advised.runs) };
    // Writing to a String cannot fail.
    let _ = writeln!(out, "hook {}, {runs} of {}:", advised.hook, advised.component);
    for note in &advised.notes {
        let _ = writeln!(out, "  note: {}", one_line(note));
    }
    if advised.items.is_empty() {
        let _ = writeln!(out, "  no advice");
        return out;
    }
    for (item, _) in &advised.items {
        let _ = writeln!(out, "  {}: {}", one_line(&item.at), one_line(&item.advice));
        let _ = writeln!(out, "    {}", one_line(&item.reason));
    }
    if !advised.patch.is_empty() {
        let _ = writeln!(out, "  all of it, as a JSON Patch of the document:");
        for operation in &advised.patch {
            let _ = writeln!(out, "    - {operation}");
        }
    }
    out
}

fn data(advised: &Advised) -> Value {
    let item = |(item, operations): &(Item, Vec<Value>)| {
        json!({
            "at": item.at, "advice": item.advice, "reason": item.reason, "runs": item.runs, "spares": item.spares,
            "patch": operations,
        })
    };
    json!({
        "hook": advised.hook.as_str(),
        "component": advised.component,
        "runs": advised.runs,
        "notes": advised.notes,
        "advice": advised.items.iter().map(item).collect::<Vec<_>>(),
        "patch": advised.patch,
    })
}
