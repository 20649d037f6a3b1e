//! `boathook test`: plays scenario files and prints the results.

use std::{
    collections::BTreeSet,
    io::IsTerminal as _,
    path::Path,
    process::ExitCode,
    time::{Duration, Instant},
};

use anyhow::Context as _;
use boathook_author::{
    author::{Tools, is_shell_project},
    module::is_module,
    scenario::{self, Case, Choice, Failure, Playable, Played, Settings, Subject, play_all},
};
use serde_json::{Value, json};

use super::{projects::warn_of_stale, sandbox};
use crate::cli::{Output, Test};

/// Like `println`, but a closed pipe does not end the scenarios.
macro_rules! say {
    ($($part:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stdout().lock(), $($part)*);
    }};
}

mod sweep;

/// Exit code if a file is invalid, or if there is none.
const UNUSABLE: u8 = 2;

pub(super) fn run(args: Test) -> anyhow::Result<ExitCode> {
    if args.schema {
        say!("{:#}", scenario::schema());
        return Ok(ExitCode::SUCCESS);
    }
    build_scripts(&args)?;
    let cases = match scenario::find(&args.path, args.hooks.as_deref(), args.scenarios.as_deref()) {
        Ok(cases) => cases,
        Err(error) => {
            eprintln!("error: {}", boathook_core::model::error_chain(&error));
            return Ok(ExitCode::from(UNUSABLE));
        }
    };
    if tell_problems(&cases) > 0 {
        return Ok(ExitCode::from(UNUSABLE));
    }
    let chosen: Vec<(&Case, Playable<'_>)> = cases
        .iter()
        .filter_map(|case| Some((case, case.playable()?)))
        .filter(|(case, it)| wanted(&args, case, it))
        .collect();
    if chosen.is_empty() {
        eprintln!("error: no scenario's file or name contains {:?}", args.filter.unwrap_or_default());
        return Ok(ExitCode::from(UNUSABLE));
    }
    if args.list {
        list(&args, &chosen)?;
        return Ok(ExitCode::SUCCESS);
    }
    let components: BTreeSet<_> = chosen.iter().filter_map(|(case, _)| component(&case.subject)).collect();
    components.into_iter().for_each(warn_of_stale);
    play(&args, &chosen)
}

/// Builds the shell hook whose scenarios are played, because that takes no toolchain. Those of modules run as they are.
fn build_scripts(args: &Test) -> anyhow::Result<()> {
    if args.hooks.is_none() && !is_module(&args.path) && is_shell_project(&args.path) {
        let tools = Tools::new(sandbox::programs());
        tools.build(&tools.project(&args.path)?)?;
    }
    Ok(())
}

fn component(subject: &Subject) -> Option<&Path> {
    match subject {
        Subject::Hook { component, .. } => Some(component),
        Subject::Module { .. } => None,
    }
}

/// A result, with what it is of: the name of a hook or of a module.
fn entry_of(case: &Case, playable: &Playable<'_>, rest: Value) -> Value {
    let mut entry = json!({"file": case.file, "name": playable.scenario.name});
    if let (Some(entry), Value::Object(rest)) = (entry.as_object_mut(), rest) {
        entry.insert(case.subject.kind().to_owned(), case.subject.name().into());
        entry.extend(rest);
    }
    entry
}

fn wanted(args: &Test, case: &Case, playable: &Playable<'_>) -> bool {
    let holds = |text: &String| case.file.to_string_lossy().contains(text) || playable.scenario.name.contains(text);
    args.filter.as_ref().is_none_or(holds)
}

/// Prints all problems of all files in the format of compilers, and returns the number of files with problems.
fn tell_problems(cases: &[Case]) -> usize {
    let mut files = 0;
    for case in cases {
        let Err(problems) = &case.scenario else { continue };
        files += 1;
        for problem in problems {
            eprintln!("{}:{problem}", case.file.display());
        }
    }
    if files > 0 {
        let are = if files == 1 { "1 scenario file is".to_owned() } else { format!("{files} scenario files are") };
        eprintln!("error: {are} wrong, nothing was played; the format: docs/reference/scenario.md, or --schema");
    }
    files
}

fn list(args: &Test, chosen: &[(&Case, Playable<'_>)]) -> anyhow::Result<()> {
    let entry = |(case, playable): &(&Case, Playable<'_>)| {
        let rest = match &case.subject {
            Subject::Hook { component, .. } => json!({"component": component}),
            Subject::Module { directory, .. } => json!({"directory": directory}),
        };
        entry_of(case, playable, rest)
    };
    let entries: Vec<Value> = chosen.iter().map(entry).collect();
    if args.output == Output::Text {
        chosen.iter().for_each(|(case, playable)| say!("{}: {}", case.file.display(), playable.scenario.name));
        return Ok(());
    }
    print(args.output, &json!(entries))
}

fn print(output: Output, value: &Value) -> anyhow::Result<()> {
    match output {
        Output::Yaml => say!("{}", yaml_serde::to_string(value)?.trim_end()),
        Output::Text | Output::Json => say!("{value:#}"),
    }
    Ok(())
}

struct Ended {
    played: Result<Played, Failure>,
    took: Duration,
}

fn play(args: &Test, chosen: &[(&Case, Playable<'_>)]) -> anyhow::Result<ExitCode> {
    let began = Instant::now();
    let scratch = tempfile::tempdir().context("cannot make a temporary directory")?;
    let mut sandbox = sandbox::config(args.cache_dir.clone())?;
    // Each operator has its own sandbox, and all of them share one cache.
    sandbox.cache_dir.get_or_insert_with(|| scratch.path().join("cache"));
    let settings = Settings { sandbox, accept: args.update, record: None, observe: false };
    let playables: Vec<Playable<'_>> = chosen.iter().map(|(_, playable)| *playable).collect();
    let cores = std::thread::available_parallelism().map_or(2, usize::from);
    let jobs = args.jobs.map_or(2 * cores, usize::from);
    if let Some(most) = args.sweep {
        let choice = Choice { most: most.map(usize::from), seed: args.seed.unwrap_or_default() };
        return sweep::run(args.output, chosen, &settings, jobs, choice);
    }
    let mut all: Vec<Option<Ended>> = chosen.iter().map(|_| None).collect();
    play_all(&playables, &settings, jobs, |index, played, took| {
        let Some((case, playable)) = chosen.get(index) else { return };
        let ended = Ended { played, took };
        if args.output == Output::Text {
            report(case, playable, &ended);
        }
        if let Some(place) = all.get_mut(index) {
            *place = Some(ended);
        }
    })?;
    let all: Vec<(&Case, &Playable<'_>, &Ended)> = chosen
        .iter()
        .zip(&all)
        .filter_map(|((case, playable), ended)| Some((*case, playable, ended.as_ref()?)))
        .collect();
    for (case, _, ended) in &all {
        update(case, ended)?;
    }
    summarise(args.output, &all, began.elapsed())
}

fn colour(code: u8, text: &str) -> String {
    let plain = !std::io::stdout().is_terminal() || std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    if plain { text.to_owned() } else { format!("\u{1b}[{code}m{text}\u{1b}[0m") }
}

fn report(case: &Case, playable: &Playable<'_>, ended: &Ended) {
    let (file, name, ms) = (case.file.display(), &playable.scenario.name, ended.took.as_millis());
    match &ended.played {
        Ok(played) if !played.is_new() => say!("{} {file}: {name} ({ms} ms)", colour(32, "ok  ")),
        Ok(_) => say!("{} {file}: {name} ({ms} ms)", colour(33, "new ")),
        Err(failure) => {
            say!("{} {file}: {name} ({ms} ms)\n{}", colour(31, "FAIL"), failure_text(case, failure));
        }
    }
}

fn failure_text(case: &Case, failure: &Failure) -> String {
    let place = match failure.step {
        Some((step, line)) => format!("{}:{line}: steps[{step}]: ", case.file.display()),
        None => String::new(),
    };
    let mut out = format!("  {place}{}\n", failure.text.replace('\n', "\n    "));
    if !failure.log.is_empty() {
        out.push_str("  the end of the operator's log:\n");
        failure.log.iter().for_each(|line| out.push_str(&format!("    {line}\n")));
    }
    out
}

fn update(case: &Case, ended: &Ended) -> anyhow::Result<()> {
    let Ok(played) = &ended.played else { return Ok(()) };
    for (path, text) in &played.files {
        super::put(path, text.as_bytes())?;
    }
    if played.edits.is_empty() {
        return Ok(());
    }
    let text = scenario::apply(&case.text, &played.edits);
    std::fs::write(&case.file, text).with_context(|| format!("cannot write {}", case.file.display()))
}

fn summarise(output: Output, all: &[(&Case, &Playable<'_>, &Ended)], took: Duration) -> anyhow::Result<ExitCode> {
    let failed = all.iter().filter(|(_, _, ended)| ended.played.is_err()).count();
    let updated = all.iter().filter(|(_, _, ended)| is_updated(ended)).count();
    let passed = all.len() - failed - updated;
    if output == Output::Text {
        let changed = if updated > 0 { format!(", {updated} changed") } else { String::new() };
        say!("\n{} scenarios: {passed} passed, {failed} failed{changed}, in {:.1} s", all.len(), took.as_secs_f64());
    } else {
        let scenarios: Vec<Value> = all.iter().map(|(case, playable, ended)| entry(case, playable, ended)).collect();
        let ms = took.as_millis();
        print(
            output,
            &json!({"passed": passed, "failed": failed, "updated": updated, "ms": ms, "scenarios": scenarios}),
        )?;
    }
    Ok(if failed > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn is_updated(ended: &Ended) -> bool {
    ended.played.as_ref().is_ok_and(Played::is_new)
}

fn entry(case: &Case, playable: &Playable<'_>, ended: &Ended) -> Value {
    let result = match &ended.played {
        Err(_) => "failed",
        Ok(_) if is_updated(ended) => "updated",
        Ok(_) => "passed",
    };
    let failure = ended.played.as_ref().err().map(|failure| {
        let (step, line) = failure.step.unzip();
        json!({"step": step, "line": line, "text": failure.text, "log": failure.log})
    });
    entry_of(case, playable, json!({"result": result, "ms": ended.took.as_millis(), "failure": failure}))
}
