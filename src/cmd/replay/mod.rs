//! `boathook replay`: repeats recorded runs and prints the differences, or makes a scenario of one.

use std::{
    collections::{BTreeSet, HashMap},
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
};

use anyhow::Context as _;
use boathook_author::{
    rbac::{Calls, Kinds, denied},
    scenario::of_record,
};
use boathook_core::model::{CallError, CallReason, HookName, HookSpec, Limits, error_chain};
use boathook_egress::check;
use boathook_operator::{
    app::{Hook, load},
    record::{
        self, Answer, Call, FileName, Header, Record, Request, SUFFIX, read_key,
        replay::{Components, Difference, Refuses, Tried, Unusable, replay},
        secrets::Key,
    },
};
use boathook_sandbox::{LoadedHook, Sandbox, SandboxConfig};
use futures::StreamExt as _;
use serde_json::{Value, json};
use tokio::sync::Mutex;

use super::{rbac::local, runtime::block_on, sandbox};
use crate::cli::{Output, record::Replay};

/// Like `println`, but a closed pipe does not end the replay.
macro_rules! say {
    ($($part:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stdout().lock(), $($part)*);
    }};
}

mod show;

/// Exit code if a record or a component cannot be used.
const UNUSABLE: u8 = 2;

pub(super) fn run(args: &Replay) -> anyhow::Result<ExitCode> {
    let reported = match &args.to_scenario {
        None if args.show => chosen(args).and_then(|files| show::show(args, &files)),
        Some(file) => block_on(async { Ok(to_scenario(args, file).await) })?,
        None => block_on(async { Ok(replay_all(args).await) })?,
    };
    reported.or_else(|error| {
        eprintln!("error: {error:#}");
        Ok(ExitCode::from(UNUSABLE))
    })
}

/// The result for one record.
enum Ended {
    Same,
    Differs(Vec<Difference>),
    /// The record cannot be compared, and this is not an error.
    Incomplete(String),
    Unusable(String),
}

struct Replayed {
    file: PathBuf,
    header: Option<Header>,
    ended: Ended,
}

/// The records that the arguments name.
fn chosen(args: &Replay) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in &args.paths {
        files.extend(records(path)?);
    }
    if let Some(hook) = &args.hook {
        let other = |file: &PathBuf| named(file).is_some_and(|name| name.hook != *hook);
        files.retain(|file| !other(file));
    }
    Ok(files)
}

/// Writes a scenario of the only record.
async fn to_scenario(args: &Replay, to: &Path) -> anyhow::Result<ExitCode> {
    let files = chosen(args)?;
    let [file] = files.as_slice() else {
        anyhow::bail!("--to-scenario takes one record, and these are {}: name its file", files.len());
    };
    let record = record::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    let hook = Player::new(args)?.hook(file, &record.header).await.map_err(anyhow::Error::msg)?;
    let text =
        of_record(&record, &hook.spec).with_context(|| format!("{} does not become a scenario", file.display()))?;
    let cant = || format!("cannot write {}: it must be a new file in a directory that exists", to.display());
    let mut new = std::fs::File::create_new(to).with_context(cant)?;
    std::io::Write::write_all(&mut new, text.as_bytes()).with_context(cant)?;
    say!("{}: {}", to.display(), described(Some(&record.header)));
    Ok(ExitCode::SUCCESS)
}

async fn replay_all(args: &Replay) -> anyhow::Result<ExitCode> {
    let files = chosen(args)?;
    let hooks: BTreeSet<_> = files.iter().filter_map(|file| Some(named(file)?.hook)).collect();
    if args.with.is_some() && hooks.len() > 1 {
        let hooks: Vec<_> = hooks.into_iter().collect();
        anyhow::bail!("--with is one component, and these are records of {}: choose with --hook", hooks.join(", "));
    }
    anyhow::ensure!(!files.is_empty(), "there is no record: no file ends with {SUFFIX}");
    let player = Player::new(args)?;
    let jobs = args.jobs.map_or_else(|| std::thread::available_parallelism().map_or(2, usize::from), usize::from);
    let runs = futures::stream::iter(files).map(|file| {
        let player = player.clone();
        async move { tokio::spawn(async move { player.play(file).await }).await }
    });
    let mut runs = runs.buffered(jobs.max(1));
    let mut all = Vec::new();
    while let Some(played) = runs.next().await {
        let played = played.context("a replay ended because of a defect")?;
        if args.output == Output::Text {
            report(&played);
        }
        all.push(played);
    }
    summarise(args.output, &all)
}

/// A sandbox for recorded runs.
pub(super) fn repeating(cache: Option<PathBuf>) -> anyhow::Result<Sandbox> {
    // The maxima of the operator that recorded the runs already applied to them.
    let maxima = Limits { memory: 4 << 30, ..SandboxConfig::default().maxima };
    Ok(Sandbox::new(SandboxConfig { maxima, ..sandbox::config(cache)? })?)
}

/// The records at a path, ordered by time.
pub(super) fn records(path: &Path) -> anyhow::Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let cant = || format!("cannot read {}", path.display());
    let mut files = Vec::new();
    for entry in std::fs::read_dir(path).with_context(cant)? {
        let file = entry.with_context(cant)?.path();
        if file.to_string_lossy().ends_with(SUFFIX) {
            files.push(file);
        }
    }
    files.sort();
    Ok(files)
}

fn named(file: &Path) -> Option<FileName> {
    FileName::parse(file.file_name()?.to_str()?)
}

/// Plays records. It loads each component once.
struct Player {
    sandbox: Sandbox,
    components: Components,
    /// The bytes of `--with`.
    with: Option<Vec<u8>>,
    hook: Option<String>,
    loaded: Mutex<HashMap<(String, String), Result<Loaded, String>>>,
}

#[derive(Clone)]
struct Loaded {
    component: LoadedHook,
    /// What its document says, if it is the component of `--with`.
    tried: Option<Tried>,
}

impl Player {
    fn new(args: &Replay) -> anyhow::Result<Arc<Self>> {
        let read = |path: &PathBuf| std::fs::read(path).with_context(|| format!("cannot read {}", path.display()));
        Ok(Arc::new(Self {
            sandbox: repeating(args.cache_dir.clone())?,
            components: Components::new(&args.component_dir)?,
            with: args.with.as_ref().map(read).transpose()?,
            hook: args.hook.clone(),
            loaded: Mutex::default(),
        }))
    }

    async fn play(&self, file: PathBuf) -> Replayed {
        let path = file.clone();
        let read = tokio::task::spawn_blocking(move || {
            let key = read_key(path.parent().unwrap_or(&path)).map_err(|error| error_chain(&error))?;
            Ok((record::read(&path).map_err(|error| error_chain(&error))?, key))
        });
        match read.await {
            Ok(Ok((record, key))) => {
                let header = record.header.clone();
                let ended = self.play_record(&file, record, key).await.unwrap_or_else(Ended::Unusable);
                Replayed { file, header: Some(header), ended }
            }
            Ok(Err(error)) => Replayed { file, header: None, ended: Ended::Unusable(error) },
            Err(error) => Replayed { file, header: None, ended: Ended::Unusable(error.to_string()) },
        }
    }

    async fn play_record(&self, file: &Path, record: Record, key: Option<Key>) -> Result<Ended, String> {
        if let Some(reason) = &record.header.incomplete {
            return Ok(Ended::Incomplete(reason.clone()));
        }
        if let Some(hook) = self.hook.as_ref().filter(|hook| **hook != record.header.hook) {
            return Err(format!("it is of hook {}, not {hook}", record.header.hook));
        }
        let component = self.component(file, &record.header).await?;
        let Loaded { component, tried } = &component;
        match replay(&self.sandbox, component, Arc::new(record), tried.as_ref(), key.as_ref()).await {
            Ok(differences) if differences.is_empty() => Ok(Ended::Same),
            Ok(differences) => Ok(Ended::Differs(differences)),
            Err(Unusable::Incomplete(reason)) => Ok(Ended::Incomplete(reason)),
            Err(error) => Err(error_chain(&error)),
        }
    }

    async fn component(&self, file: &Path, header: &Header) -> Result<Loaded, String> {
        let mut loaded = self.loaded.lock().await;
        let key = (header.hook.clone(), header.component.clone());
        if let Some(known) = loaded.get(&key) {
            return known.clone();
        }
        let component = self.load(file, header).await;
        loaded.insert(key, component.clone());
        component
    }

    /// The hook of a record, with its document.
    async fn hook(&self, file: &Path, header: &Header) -> Result<Hook, String> {
        let name = HookName::new(&header.hook).map_err(|error| error.to_string())?;
        let bytes = match &self.with {
            Some(bytes) => bytes.clone(),
            None => {
                let found = self.components.find(file.parent().unwrap_or(file), &header.component, &header.hook);
                found.map_err(|error| error_chain(&error))?
            }
        };
        load(&name, &bytes, &self.sandbox).await.map_err(|error| error_chain(&error))
    }

    async fn load(&self, file: &Path, header: &Header) -> Result<Loaded, String> {
        let name = HookName::new(&header.hook).map_err(|error| error.to_string())?;
        if self.with.is_some() {
            let Hook { spec, component, .. } = self.hook(file, header).await?;
            let kinds = local(&[]).await.map_err(|error| format!("{error:#}"))?;
            let refuses = refuses(&spec, Kinds::new(kinds));
            let tried = Tried { permissions: spec.permissions.clone(), limits: spec.limits, refuses };
            return Ok(Loaded { component, tried: Some(tried) });
        }
        let beside = file.parent().unwrap_or(file);
        let found = self.components.find(beside, &header.component, &header.hook);
        let bytes = found.map_err(|error| error_chain(&error))?;
        let component = self.sandbox.load(&name, &bytes).await.map_err(|error| error_chain(&error))?;
        Ok(Loaded { component, tried: None })
    }
}

fn report(replayed: &Replayed) {
    let file = replayed.file.display();
    match &replayed.ended {
        Ended::Same => {}
        Ended::Differs(differences) => {
            say!("{file}: {}", described(replayed.header.as_ref()));
            differences.iter().for_each(|difference| say!("  {difference}"));
        }
        Ended::Incomplete(reason) => say!("{file}: left out, the record is incomplete: {reason}"),
        Ended::Unusable(reason) => eprintln!("error: {file}: {reason}"),
    }
}

fn described(header: Option<&Header>) -> String {
    header.map(|header| format!("hook {}, binding {}", header.hook, header.binding)).unwrap_or_default()
}

fn summarise(output: Output, all: &[Replayed]) -> anyhow::Result<ExitCode> {
    let count = |wanted: fn(&Ended) -> bool| all.iter().filter(|replayed| wanted(&replayed.ended)).count();
    let same = count(|ended| matches!(ended, Ended::Same));
    let differ = count(|ended| matches!(ended, Ended::Differs(_)));
    let incomplete = count(|ended| matches!(ended, Ended::Incomplete(_)));
    let unusable = count(|ended| matches!(ended, Ended::Unusable(_)));
    match output {
        Output::Text => say!("{}", sentence(all.len(), same, differ, incomplete, unusable)),
        Output::Json | Output::Yaml => {
            let runs: Vec<Value> = all.iter().map(entry).collect();
            let value =
                json!({"same": same, "differ": differ, "incomplete": incomplete, "unusable": unusable, "runs": runs});
            match output {
                Output::Yaml => say!("{}", yaml_serde::to_string(&value)?.trim_end()),
                _ => say!("{value:#}"),
            }
        }
    }
    Ok(match (unusable, differ, same) {
        (0, 0, 1..) => ExitCode::SUCCESS,
        (0, 1.., _) => ExitCode::FAILURE,
        _ => ExitCode::from(UNUSABLE),
    })
}

fn sentence(all: usize, same: usize, differ: usize, incomplete: usize, unusable: usize) -> String {
    let runs = if all == 1 { "run" } else { "runs" };
    let differ = if differ == 1 { "1 differs".to_owned() } else { format!("{differ} differ") };
    let mut text = format!("{all} {runs}: {same} same, {differ}");
    for (count, what) in [(incomplete, "incomplete"), (unusable, "unusable")] {
        if count > 0 {
            text.push_str(&format!(", {count} {what}"));
        }
    }
    text
}

fn entry(replayed: &Replayed) -> Value {
    let (result, reason, differences) = match &replayed.ended {
        Ended::Same => ("same", None, &[][..]),
        Ended::Differs(differences) => ("differs", None, &differences[..]),
        Ended::Incomplete(reason) => ("incomplete", Some(reason), &[][..]),
        Ended::Unusable(reason) => ("unusable", Some(reason), &[][..]),
    };
    let header = replayed.header.as_ref();
    json!({
        "file": replayed.file, "hook": header.map(|header| &header.hook), "run": header.map(|header| &header.run),
        "result": result, "reason": reason, "differences": differences,
    })
}

/// Refuses what an operator would refuse, with the same texts.
fn refuses(spec: &HookSpec, kinds: Kinds) -> Arc<Refuses> {
    let (hook, permissions) = (spec.name.clone(), spec.permissions.clone());
    Arc::new(move |request| {
        let refusal = |message| CallError { reason: CallReason::ForbiddenByGrant, message, code: None, status: None };
        if let Request::Http { request } = request {
            return check(&hook, &permissions, request).err().map(|error| refusal(error.message));
        }
        let mut calls = Calls::default();
        // The rights that an apply needs depend on the objects that the API server finds. The operator checks for
        // `patch`.
        let answer = matches!(request, Request::Write { .. }).then(|| Answer::Written(Err(refusal(String::new()))));
        calls.recorded(&Call { request: request.clone(), answer });
        let denied = denied(&permissions, &calls, &kinds)?;
        Some(refusal(format!("hook {:?} may not {denied}: add it to permissions.kubernetes", hook.as_str())))
    })
}
