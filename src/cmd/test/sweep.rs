//! `boathook test --sweep`: prints what a sweep found.

use std::{process::ExitCode, time::Instant};

use boathook_author::scenario::{Case, Choice, Found, Outcome, Plain, Playable, Settings, Swept, sweep};
use serde_json::{Value, json};

use super::{UNUSABLE, colour, entry_of, failure_text, print};
use crate::cli::Output;

/// Disturbs the scenarios, and prints each with its faults.
pub(super) fn run(
    output: Output,
    chosen: &[(&Case, Playable<'_>)],
    settings: &Settings,
    jobs: usize,
    choice: Choice,
) -> anyhow::Result<ExitCode> {
    let began = Instant::now();
    let plains: Vec<Plain<'_>> =
        chosen.iter().map(|(case, playable)| Plain { playable: *playable, text: &case.text }).collect();
    let outcomes = sweep(&plains, settings, jobs, choice)?;
    let all: Vec<_> =
        chosen.iter().zip(&outcomes).map(|((case, playable), outcome)| (*case, playable, outcome)).collect();
    let count = |wanted: fn(&Outcome) -> bool| outcomes.iter().filter(|outcome| wanted(outcome)).count();
    let good = count(|outcome| matches!(outcome, Outcome::Swept(swept) if swept.is_good()));
    let failed = count(|outcome| matches!(outcome, Outcome::Fails(_)))
        + count(|outcome| matches!(outcome, Outcome::Swept(swept) if !swept.is_good()));
    let unfit = count(|outcome| matches!(outcome, Outcome::Unfit(_)));
    let played: usize = outcomes.iter().map(|outcome| swept(outcome).map_or(0, |swept| swept.played)).sum();
    let took = began.elapsed();
    if output == Output::Text {
        all.iter().for_each(|(case, playable, outcome)| say!("{}", text(case, playable, outcome)));
        let left_out = if unfit > 0 { format!(", {unfit} left out") } else { String::new() };
        say!(
            "\n{} scenarios, {played} faults: {good} passed, {failed} failed{left_out}, in {:.1} s",
            all.len(),
            took.as_secs_f64()
        );
    } else {
        let scenarios: Vec<Value> =
            all.iter().map(|(case, playable, outcome)| entry(case, playable, outcome)).collect();
        let ms = took.as_millis();
        let value = json!({
            "passed": good, "failed": failed, "leftOut": unfit, "faults": played, "ms": ms, "scenarios": scenarios,
        });
        print(output, &value)?;
    }
    Ok(match (failed, good) {
        (0, 0) => ExitCode::from(UNUSABLE),
        (0, _) => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    })
}

fn swept(outcome: &Outcome) -> Option<&Swept> {
    if let Outcome::Swept(swept) = outcome { Some(swept) } else { None }
}

fn text(case: &Case, playable: &Playable<'_>, outcome: &Outcome) -> String {
    let named = format!("{}: {}", case.file.display(), playable.scenario.name);
    let swept = match outcome {
        Outcome::Unfit(why) => return format!("{} {named}\n  left out: {why}", colour(33, "skip")),
        Outcome::Fails(failure) => {
            let text = failure_text(case, failure);
            return format!("{} {named}\n  it fails without a fault\n{text}", colour(31, "FAIL"));
        }
        Outcome::Swept(swept) => swept,
    };
    let mut out = if swept.is_good() { colour(32, "ok  ") } else { colour(31, "FAIL") };
    out.push_str(&format!(" {named} ({} of {} faults{})", swept.played, swept.faults, halted(swept)));
    for Found { fault, text, scenario } in &swept.found {
        out.push_str(&format!("\n  {fault}:\n{}\n  this scenario shows it:\n\n{scenario}", indented(text, "    ")));
    }
    for fault in &swept.more {
        out.push_str(&format!("\n  {fault}: it ends differently, too"));
    }
    for fault in &swept.unsteady {
        out.push_str(&format!("\n  {fault}: it ended differently once, and not when it was repeated"));
    }
    out
}

fn halted(swept: &Swept) -> String {
    match swept.halted {
        0 => String::new(),
        1 => ", 1 makes a step impossible".to_owned(),
        halted => format!(", {halted} make a step impossible"),
    }
}

fn indented(text: &str, by: &str) -> String {
    text.lines().map(|line| format!("{by}{line}")).collect::<Vec<_>>().join("\n")
}

fn entry(case: &Case, playable: &Playable<'_>, outcome: &Outcome) -> Value {
    let result = match outcome {
        Outcome::Unfit(why) => json!({"result": "left out", "reason": why}),
        Outcome::Fails(failure) => json!({"result": "failed", "reason": failure.text}),
        Outcome::Swept(swept) => {
            let found = |found: &Found| json!({"fault": found.fault, "text": found.text, "scenario": found.scenario});
            json!({
                "result": if swept.is_good() { "passed" } else { "failed" },
                "faults": swept.faults, "played": swept.played, "halted": swept.halted, "unsteady": swept.unsteady,
                "more": swept.more, "failures": swept.found.iter().map(found).collect::<Vec<_>>(),
            })
        }
    };
    entry_of(case, playable, result)
}
