//! `boathook import`: reads hooks of shell-operator from a directory or an image, reports what runs as it is, and writes the
//! permissions that they need. An interpreter reads the scripts; their scenarios run on a cluster in this process.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
};

use anyhow::{Context as _, bail};
use boathook_author::{
    import::{Found, Mode, What, Written, beside, find, other_keys, remedy, write},
    rbac::{self, Evidence, Kinds, Need, Proposed, Why},
    scenario::{self, Case, Settings, play_all},
};
use boathook_bundle::{self as bundle, Layout, Progress, Store};
use boathook_core::{
    hooks::{SHELL, ShellHook, shell_hooks},
    model::{HookName, HookSpec, Script, ScriptFile, ScriptPlace, ScriptProblem, ScriptUses, error_chain},
};
use boathook_operator::{app::load, record::SUFFIX};
use boathook_sandbox::Sandbox;
use serde_json::{Value, json};

use super::{bundle::pack_directory, place, rbac::local, runtime::block_on, sandbox};
use crate::cli::author::Import;

/// Exit code if the input cannot be used.
const UNUSABLE: u8 = 2;

pub(super) fn run(args: Import) -> anyhow::Result<ExitCode> {
    match block_on(act(&args)) {
        Ok(true) => Ok(ExitCode::SUCCESS),
        Ok(false) => Ok(ExitCode::FAILURE),
        Err(error) => {
            let error = error_chain(error.as_ref());
            eprintln!("error: {}", error.lines().map(rbac::one_line).collect::<Vec<_>>().join("\n"));
            Ok(ExitCode::from(UNUSABLE))
        }
    }
}

/// What is known of one file.
struct Read {
    found: Found,
    name: String,
    /// Why it does not run, and what a person has to look at.
    problems: Vec<Stated>,
    proposed: Vec<Proposed>,
    written: Written,
}

struct Stated {
    at: ScriptPlace,
    text: String,
    remedy: Option<&'static str>,
    refused: bool,
}

impl Read {
    fn runs(&self) -> bool {
        !self.problems.iter().any(|problem| problem.refused)
    }

    /// What a person has to review, with its place.
    fn review(&self) -> impl Iterator<Item = (&Why, &str)> {
        let whys = self.proposed.iter().flat_map(|one| &one.why);
        whys.flat_map(|why| why.review.iter().map(move |text| (why, text.as_str())))
    }
}

/// Whether all hooks run.
async fn act(args: &Import) -> anyhow::Result<bool> {
    let (directory, left_out) = directory(args).await?;
    let files = find(&directory).with_context(|| format!("cannot read {}", directory.display()))?;
    if files.is_empty() {
        bail!("{} has no executable file: shell-operator would find no hook in it", directory.display());
    }
    let kinds = Arc::new(Kinds::new(local(&args.crds).await?));
    let mut evidence = Evidence::default();
    for path in &args.records {
        rbac_records(path, &mut evidence)?;
    }
    let sandbox = Sandbox::new(sandbox::config(None)?)?;
    let hooks: BTreeMap<PathBuf, ShellHook> = shell_hooks(&directory)
        .with_context(|| format!("cannot read {}", directory.display()))?
        .into_iter()
        .map(|hook| (hook.path(), hook))
        .collect();
    let mut all = Vec::new();
    for found in files {
        all.push(match hooks.get(&found.path).filter(|_| found.what == What::Hook) {
            Some(hook) => {
                let read = read(args, found.clone(), hook, &sandbox, &kinds, &mut evidence).await;
                // One hook that cannot be read leaves the report of the others as it is.
                read.unwrap_or_else(|error| unreadable(found, error_chain(error.as_ref())))
            }
            None => other(found),
        });
    }
    refuse_equal_names(&mut all);
    let runs = all.iter().all(Read::runs);
    let packed = match &args.bundle {
        Some(layout) if runs => Some((layout, pack_directory(&directory, layout).await?)),
        _ => None,
    };
    let next = next(args, &directory, packed.is_some());
    let data = data(&directory, &all, &left_out, packed.as_ref(), &next);
    super::print(args.output, &data, || text(&directory, &all, &left_out, packed.as_ref(), &next))?;
    Ok(runs)
}

fn rbac_records(path: &Path, evidence: &mut Evidence) -> anyhow::Result<()> {
    super::rbac::read_records(path, evidence).with_context(|| format!("cannot use {}", path.display()))
}

/// The directory of the hooks. For an image, they are written there first.
async fn directory(args: &Import) -> anyhow::Result<(PathBuf, Vec<String>)> {
    let path = Path::new(&args.from);
    if path.is_dir() && !Layout::is_at(path) {
        if args.out.is_some() {
            bail!("--out is for the hooks of an image, and {} is a directory of hooks: leave it out", path.display());
        }
        return Ok((path.to_owned(), Vec::new()));
    }
    let Some(out) = &args.out else {
        if !path.exists() && (path.is_absolute() || args.from.starts_with('.')) {
            bail!("there is no {}", path.display());
        }
        bail!(
            "{} is not a directory of hooks, so Boathook reads it as an image: name a directory for its hooks with --out DIR",
            args.from
        );
    };
    let taken = if bundle::is_saved(path) {
        let (file, folder, out) = (path.to_owned(), args.hooks_dir.clone(), out.clone());
        tokio::task::spawn_blocking(move || bundle::take_folder_of_saved(&file, &folder, &out)).await??
    } else {
        let from = place::named(&args.from, &args.registry).await?;
        let scratch = tempfile::tempdir().context("cannot make a temporary directory")?;
        let store = Store::open(&scratch.path().join("layers"))?;
        bundle::take_folder(&from, &args.hooks_dir, out, &store, &Progress::default()).await?
    };
    eprintln!("{} files of {} of {} are in {}", taken.files.len(), args.hooks_dir, args.from, out.display());
    Ok((out.clone(), taken.left_out))
}

/// Reads a bash hook, and writes its permissions.
async fn read(
    args: &Import,
    found: Found,
    hook: &ShellHook,
    sandbox: &Sandbox,
    kinds: &Arc<Kinds>,
    evidence: &mut Evidence,
) -> anyhow::Result<Read> {
    let interpreter = sandbox.newest_interpreter(SHELL).await;
    let packed = hook.pack(interpreter.clone())?;
    let name = hook.name();
    let entry = ScriptPlace { file: format!("/hooks/{}", found.inside), line: None };
    let refused = |text: String| Stated { at: entry.clone(), text, remedy: None, refused: true };
    let hook_name = match HookName::new(&name) {
        Ok(hook_name) => hook_name,
        Err(error) => {
            let problems = vec![refused(format!("{error}: rename the file"))];
            return Ok(Read { found, name, problems, proposed: Vec::new(), written: Written::None });
        }
    };
    let script = Script::read(&packed)?.context("a packed script cannot be read")?;
    let resolver = kinds.clone();
    let resolve = move |name: &str, version: Option<&str>| resolver.named(name, version);
    let uses = match sandbox.uses(&hook_name, script, resolve).await {
        Ok(Some(uses)) => uses,
        Ok(None) => bail!("the interpreter of shell hooks is older than this boathook: install both of one version"),
        // It may have taken too long to read. Whether it runs is another question.
        Err(error) => {
            let text = format!("what it needs is not known: {}", error_chain(&error));
            ScriptUses {
                problems: vec![ScriptProblem { at: entry.clone(), text, refused: false }],
                ..ScriptUses::default()
            }
        }
    };
    let loads = !uses.problems.iter().any(|problem| problem.refused);
    if let Some(folder) = scenarios(&found, &name).filter(|_| loads) {
        played(&hook_name, &packed, &folder, evidence)?;
    }
    let mut needs: Vec<Need> = uses.requests.iter().map(Need::from).collect();
    needs.extend(evidence.hooks.get(&hook_name).map(|calls| rbac::observed(calls, kinds)).unwrap_or_default());
    let proposed = rbac::propose(&needs);
    let mut problems: Vec<Stated> = uses
        .problems
        .into_iter()
        .map(|ScriptProblem { at, text, refused }| Stated { at, remedy: remedy(&text), text, refused })
        .collect();
    let file = beside(&found.path);
    let mode = match (args.dry_run, args.force) {
        (true, _) => Mode::Plan,
        (false, true) => Mode::Force,
        (false, false) => Mode::Keep,
    };
    let script_name = found.inside.rsplit('/').next().unwrap_or(&found.inside);
    let mut text = rbac::permissions_file(script_name, &proposed);
    if let Some(queue) = &args.queue {
        // A string of JSON is one of YAML.
        text.push_str(&format!("queue: {}\n", json!(queue)));
    }
    let needed = !proposed.is_empty() || args.queue.is_some();
    let written = write(&file, &text, needed, mode).with_context(|| format!("cannot use {}", file.display()))?;
    if !problems.iter().any(|problem| problem.refused) {
        // As the operator will load it, with the file beside it.
        match load(&hook_name, &hook.pack(interpreter)?, sandbox).await {
            Ok(hook) => problems.extend(of_modules(&hook.spec, &entry)),
            Err(error) => problems.push(refused(error_chain(&error))),
        }
    }
    Ok(Read { found, name, problems, proposed, written })
}

/// That a hook belongs to a module. It runs as it is, but not in a directory of `--hooks`.
fn of_modules(spec: &HookSpec, at: &ScriptPlace) -> Option<Stated> {
    let stage = spec.stages.first()?.stage;
    let (whose, remedy) = if stage.is_global() {
        ("global hooks of modules have", "put it into the directory that `boathook serve --global-hooks` names")
    } else {
        ("hooks of a module have", "put it into the folder `hooks` of a module, for `boathook serve --modules`")
    };
    let text = format!("its document has {}, which only {whose}", stage.key());
    Some(Stated { at: at.clone(), text, remedy: Some(remedy), refused: false })
}

/// The scenarios of a hook: in a folder with its name, or beside it if it is the only one in its folder.
fn scenarios(found: &Found, name: &str) -> Option<PathBuf> {
    let folder = found.path.parent()?;
    let alone = || shell_hooks(folder).is_ok_and(|hooks| hooks.len() == 1);
    let (own, beside) = (folder.join(name).join("scenarios"), folder.join("scenarios"));
    if own.is_dir() { Some(own) } else { Some(beside).filter(|beside| beside.is_dir() && alone()) }
}

/// Plays the scenarios of a hook with all permissions, and notes what the runs needed. Whether they pass is for
/// `boathook test`.
fn played(name: &HookName, packed: &[u8], scenarios: &Path, evidence: &mut Evidence) -> anyhow::Result<()> {
    let scratch = tempfile::tempdir().context("cannot make a temporary directory")?;
    let mut script = Script::read(packed)?.context("a packed script cannot be read")?;
    let beside = format!("{}.boathook.yaml", script.entry.strip_suffix(".sh").unwrap_or(&script.entry));
    let there = script.files.iter().position(|file| file.path == beside).map(|at| script.files.remove(at));
    script.files.push(ScriptFile { content: with_everything(there.as_ref())?, path: beside });
    let component = scratch.path().join(format!("{name}.wasm"));
    std::fs::write(&component, script.pack()?)?;
    let records = scratch.path().join("records");
    std::fs::create_dir(&records)?;
    let cases = scenario::find(&component, None, Some(scenarios))?;
    let playables: Vec<_> = cases.iter().filter_map(Case::playable).collect();
    let mut sandbox = sandbox::config(None)?;
    sandbox.cache_dir.get_or_insert_with(|| scratch.path().join("cache"));
    let settings = Settings { sandbox, accept: false, record: Some(records.clone()), observe: false };
    let jobs = std::thread::available_parallelism().map_or(2, usize::from);
    // It has a runtime for each scenario.
    let ended = std::thread::scope(|scope| scope.spawn(|| play_all(&playables, &settings, jobs, |_, _, _| {})).join());
    ended.map_err(|_| anyhow::anyhow!("the scenarios in {} cannot be played", scenarios.display()))??;
    for directory in std::fs::read_dir(&records)? {
        let directory = directory?.path();
        // A scenario in which nothing ran has no record.
        if std::fs::read_dir(&directory)?.flatten().any(|file| file.path().to_string_lossy().ends_with(SUFFIX)) {
            rbac_records(&directory, evidence)?;
        }
    }
    Ok(())
}

/// The file beside a hook whose permissions are to be learned: with its other keys, such as limits. The hook has a cluster
/// of its own.
fn with_everything(there: Option<&ScriptFile>) -> anyhow::Result<Vec<u8>> {
    let text = there.map(|file| String::from_utf8_lossy(&file.content));
    let mut keys = text.map(|text| other_keys(&text)).transpose().context("cannot use the file beside the hook")?;
    let keys = keys.get_or_insert_default();
    keys.insert(
        "permissions".to_owned(),
        json!({"kubernetes": [{"apiGroups": ["*"], "resources": ["*", "*/*"], "verbs": ["*"]}]}),
    );
    Ok(serde_json::to_vec(keys)?)
}

fn unreadable(found: Found, text: String) -> Read {
    let at = ScriptPlace { file: format!("/hooks/{}", found.inside), line: None };
    let problems = vec![Stated { at, text, remedy: None, refused: true }];
    let name = found.inside.trim_end_matches(".sh").replace('/', "-");
    Read { name, found, problems, proposed: Vec::new(), written: Written::None }
}

/// `a/b.sh` and `a-b.sh` are both called `a-b`.
fn refuse_equal_names(all: &mut [Read]) {
    let mut files: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for read in all.iter() {
        files.entry(read.name.clone()).or_default().push(read.found.inside.clone());
    }
    for read in all {
        let others = files.get(&read.name).into_iter().flatten().filter(|file| **file != read.found.inside);
        for other in others {
            let at = ScriptPlace { file: format!("/hooks/{}", read.found.inside), line: None };
            let text = format!("the name of the hook is {}, and {other} has the same: rename one of them", read.name);
            read.problems.push(Stated { at, text, remedy: None, refused: true });
        }
    }
}

/// A file that is no bash hook with the name of one.
fn other(found: Found) -> Read {
    let (text, remedy) = match &found.what {
        What::Hook | What::Unnamed => (
            "Boathook takes only scripts whose names end in .sh or have no extension".to_owned(),
            "rename it to NAME.sh",
        ),
        What::Script(program) => {
            let remedy = match program.as_str() {
                "python" | "python2" | "python3" => "write it again with `boathook new NAME --lang python`",
                "node" | "nodejs" | "deno" => "write it again with `boathook new NAME --lang ts`",
                _ => "write it again in one of the languages of docs/languages.md",
            };
            (format!("it is a script for {program}, and hooks that run as they are are bash scripts"), remedy)
        }
        What::Program => (
            "it is a program, and hooks that run as they are are bash scripts".to_owned(),
            "build it again with an SDK: see docs/languages.md",
        ),
    };
    let at = ScriptPlace { file: format!("/hooks/{}", found.inside), line: None };
    let problems = vec![Stated { at, text, remedy: Some(remedy), refused: true }];
    Read { name: found.inside.replace('/', "-"), found, problems, proposed: Vec::new(), written: Written::None }
}

/// The commands that come next, as they are typed.
fn next(args: &Import, directory: &Path, packed: bool) -> Vec<String> {
    let shown = directory.display();
    let bundle = match &args.bundle {
        Some(layout) => layout.display().to_string(),
        None => {
            let name = directory.canonicalize().ok().and_then(|path| Some(path.file_name()?.to_str()?.to_owned()));
            format!("{}.bundle", name.unwrap_or_else(|| "hooks".to_owned()))
        }
    };
    let mut next = vec![format!("boathook serve --hooks {shown} --plan")];
    if !packed {
        next.push(format!("boathook bundle pack {shown} -o {bundle}"));
    }
    next.push(format!("boathook bundle push {bundle} REGISTRY/TEAM/hooks:v1"));
    next
}

fn line(place: &ScriptPlace) -> String {
    let file = place.file.strip_prefix("/hooks/").unwrap_or(&place.file);
    place.line.map_or_else(|| file.to_owned(), |line| format!("{file}:{line}"))
}

fn text(
    directory: &Path,
    all: &[Read],
    left_out: &[String],
    packed: Option<&(&PathBuf, String)>,
    next: &[String],
) -> String {
    // Writing to a String cannot fail.
    let mut out = String::new();
    for file in left_out {
        let _ = writeln!(out, "left out: {}", rbac::one_line(file));
    }
    for read in all {
        let inside = rbac::one_line(&read.found.inside);
        let state = if read.runs() { "runs as it is" } else { "does not run" };
        let _ = writeln!(out, "{inside}: {state}");
        for problem in &read.problems {
            let mark = if problem.refused { "" } else { "review: " };
            let remedy = problem.remedy.map(|remedy| format!("; {remedy}")).unwrap_or_default();
            let (at, text) = (rbac::one_line(&line(&problem.at)), rbac::one_line(&problem.text));
            let _ = writeln!(out, "  {at}: {mark}{text}{remedy}");
        }
        let mut reviewed: Vec<String> = Vec::new();
        for (why, text) in read.review() {
            let shown = format!(
                "  {}: review: {text}",
                why.file.as_deref().map_or_else(
                    || why.text.clone(),
                    |file| why.line.map_or_else(|| file.to_owned(), |line| format!("{file}:{line}")),
                )
            );
            let shown = rbac::one_line(&shown);
            if !reviewed.contains(&shown) {
                reviewed.push(shown);
            }
        }
        for shown in reviewed {
            let _ = writeln!(out, "{shown}");
        }
        permissions_text(directory, read, &mut out);
    }
    let running = all.iter().filter(|read| read.runs()).count();
    let _ = writeln!(out, "\n{running} of {} hooks run as they are", all.len());
    if let Some((layout, digest)) = packed {
        let _ = writeln!(out, "packed {} as {digest}", layout.display());
    }
    if running == all.len() {
        let _ = writeln!(out, "next:");
        for command in next {
            let _ = writeln!(out, "  {command}");
        }
    } else {
        let _ = writeln!(out, "next: fix or remove the others, and run this again");
    }
    out
}

fn permissions_text(directory: &Path, read: &Read, out: &mut String) {
    let file = beside(&read.found.path);
    let shown = rbac::one_line(&file.strip_prefix(directory).unwrap_or(&file).display().to_string());
    let difference = match &read.written {
        Written::None if read.runs() => {
            let found = if read.problems.is_empty() {
                "it needs no permissions"
            } else {
                "no permission is known that it needs"
            };
            let _ = writeln!(out, "  {found}");
            return;
        }
        Written::None => return,
        Written::New => {
            let _ = writeln!(out, "  wrote its permissions to {shown}");
            return;
        }
        Written::Same => {
            let _ = writeln!(out, "  {shown} has the permissions that it needs");
            return;
        }
        Written::Planned(None) => {
            let _ = writeln!(out, "  its permissions would be written to {shown}");
            return;
        }
        Written::Replaced(difference) => {
            let _ = writeln!(out, "  replaced the permissions in {shown}:");
            difference
        }
        Written::Kept(difference) => {
            let _ = writeln!(out, "  {shown} is there and was not changed; --force makes this of it:");
            difference
        }
        Written::Planned(Some(difference)) => {
            let _ = writeln!(out, "  {shown} would become:");
            difference
        }
    };
    for line in difference.lines() {
        let _ = writeln!(out, "    {}", rbac::one_line(line));
    }
}

fn data(
    directory: &Path,
    all: &[Read],
    left_out: &[String],
    packed: Option<&(&PathBuf, String)>,
    next: &[String],
) -> Value {
    let place = |at: &ScriptPlace| (at.file.strip_prefix("/hooks/").unwrap_or(&at.file).to_owned(), at.line);
    let hook = |read: &Read| {
        let problems = read.problems.iter().map(|problem| {
            let (file, line) = place(&problem.at);
            json!({
                "file": file, "line": line, "text": problem.text, "remedy": problem.remedy, "refused": problem.refused,
            })
        });
        let permissions = read.proposed.iter().map(|one| {
            let why = one
                .why
                .iter()
                .map(|why| json!({"file": why.file, "line": why.line, "command": why.text, "review": why.review}));
            json!({"permission": one.permission, "incomplete": one.is_incomplete(), "for": why.collect::<Vec<_>>()})
        });
        let (file, difference) = match &read.written {
            Written::None => ("none", None),
            Written::New => ("written", None),
            Written::Same => ("same", None),
            Written::Replaced(difference) => ("replaced", Some(difference)),
            Written::Kept(difference) => ("kept", Some(difference)),
            Written::Planned(difference) => ("planned", difference.as_ref()),
        };
        json!({
            "name": read.name,
            "file": read.found.inside,
            "runs": read.runs(),
            "problems": problems.collect::<Vec<_>>(),
            "permissions": permissions.collect::<Vec<_>>(),
            "permissionsFile": {"path": beside(&read.found.path).display().to_string(), "state": file, "difference": difference},
        })
    };
    json!({
        "directory": directory.display().to_string(),
        "leftOut": left_out,
        "hooks": all.iter().map(hook).collect::<Vec<_>>(),
        "bundle": packed.map(|(layout, digest)| json!({"path": layout.display().to_string(), "digest": digest})),
        "next": next,
    })
}
