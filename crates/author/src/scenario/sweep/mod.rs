//! Plays scenarios again and again, each time with one fault, and compares how they end. A scenario is deterministic, so
//! an undisturbed play shows every place where something can go wrong.

mod points;

use std::{
    collections::BTreeSet,
    fmt::Write as _,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    io,
};

use serde_json::{Value, json};

use super::{
    document::{Action, Scenario},
    end::Mask,
    play::{Failure, Observed, Playable, Played, Settings, play_all},
    tree,
};
use points::{Parts, Point};

/// How long the last expectation of a printed scenario may take. The operator is at rest there.
const WITHIN: &str = "500ms";
/// Maximum number of failures of a scenario that are played once more, and printed.
const MAX_SHOWN: usize = 10;

/// Which faults are played.
#[derive(Debug, Clone, Copy, Default)]
pub struct Choice {
    /// The number of faults. None: all of them.
    pub most: Option<usize>,
    /// Decides which faults they are.
    pub seed: u64,
}

/// A scenario to disturb, and its text.
#[derive(Debug, Clone, Copy)]
pub struct Plain<'s> {
    pub playable: Playable<'s>,
    pub text: &'s str,
}

/// What a sweep of one scenario found.
#[derive(Debug)]
pub enum Outcome {
    Swept(Swept),
    /// It fails without a fault.
    Fails(Failure),
    /// It cannot be swept, for this reason.
    Unfit(String),
}

/// A scenario that was disturbed.
#[derive(Debug, Default)]
pub struct Swept {
    /// The number of places where something can go wrong.
    pub faults: usize,
    /// The number of faults that were played to the end.
    pub played: usize,
    /// Faults that could not begin, or after which the scenario could not go on, because a step is about what the fault
    /// still holds up.
    pub halted: usize,
    /// Faults after which the end was another one, but not when they were played once more.
    pub unsteady: Vec<String>,
    /// Faults after which the end was another one, and that are not in `found`.
    pub more: Vec<String>,
    pub found: Vec<Found>,
}

/// A fault after which a scenario ends differently.
#[derive(Debug)]
pub struct Found {
    pub fault: String,
    /// The differences of the ends, in several lines.
    pub text: String,
    /// A scenario file that fails because of it.
    pub scenario: String,
}

impl Swept {
    /// Whether every fault was overcome.
    pub fn is_good(&self) -> bool {
        self.found.is_empty() && self.more.is_empty()
    }
}

/// A scenario whose undisturbed plays are done.
struct Known<'s> {
    playable: Playable<'s>,
    parts: Parts,
    end: Box<Observed>,
    mask: Mask,
    /// The scenario says itself what must be true at its end.
    says: bool,
}

/// Disturbs all scenarios. The outcomes are in their order.
pub fn sweep(plains: &[Plain<'_>], settings: &Settings, jobs: usize, choice: Choice) -> io::Result<Vec<Outcome>> {
    let settings = Settings { observe: true, ..settings.clone() };
    let mut outcomes: Vec<Outcome> = Vec::with_capacity(plains.len());
    let mut known = Vec::new();
    for played in undisturbed(plains, &settings, jobs)? {
        match played {
            Ok((found, points)) => {
                outcomes.push(Outcome::Swept(Swept { faults: points.len(), ..Swept::default() }));
                known.push(Some((found, points)));
            }
            Err(outcome) => {
                outcomes.push(outcome);
                known.push(None);
            }
        }
    }
    let chosen = choose(&known, choice);
    let mut disturbed = Vec::with_capacity(chosen.len());
    for (n, point) in chosen {
        let Some(Some((known, _))) = known.get(n) else { continue };
        let document = known.parts.with(Some(point));
        match (Scenario::parse(&document.to_string()), outcomes.get_mut(n)) {
            (Ok(scenario), _) => disturbed.push((n, point, (known, scenario))),
            (Err(problems), Some(Outcome::Swept(swept))) => {
                let problems: Vec<_> = problems.iter().map(ToString::to_string).collect();
                let text = format!("the scenario with this fault is not valid: {}", problems.join("; "));
                swept.found.push(Found { fault: point.text.clone(), text, scenario: file(&document) });
            }
            (Err(_), _) => {}
        }
    }
    let subjects: Vec<_> = disturbed.iter().map(|(_, _, (known, scenario))| known.with(scenario)).collect();
    let mut failed = Vec::new();
    let mut results: Vec<(usize, Result<Played, Failure>)> = Vec::new();
    play_all(&subjects, &settings, jobs, |index, played, _| results.push((index, played)))?;
    results.sort_by_key(|(index, _)| *index);
    for (index, played) in results {
        let Some((n, point, (known, scenario))) = disturbed.get(index) else { continue };
        let Some(Outcome::Swept(swept)) = outcomes.get_mut(*n) else { continue };
        match known.judge(&played, scenario, point) {
            Judged::Halted => swept.halted += 1,
            Judged::Good => swept.played += 1,
            Judged::Wrong { text, expect } => {
                swept.played += 1;
                failed.push((*n, *known, *point, text, known.printed(point, expect)));
            }
        }
    }
    confirm(failed, &settings, jobs, &mut outcomes)?;
    Ok(outcomes)
}

type Undisturbed<'s> = Result<(Known<'s>, Vec<Point>), Outcome>;

/// A module is applied, becomes ready and is tried again by the machine's clock, so a sweep cannot tell when it rests.
const OF_A_MODULE: &str = "it is about a module: a sweep plays scenarios of hooks";

/// Plays each scenario as it is, and twice without its expectations.
fn undisturbed<'s>(plains: &[Plain<'s>], settings: &Settings, jobs: usize) -> io::Result<Vec<Undisturbed<'s>>> {
    let documents: Vec<_> = plains
        .iter()
        .map(|plain| tree::read(plain.text).map(|node| node.value()).unwrap_or_default())
        .map(|document| (Parts::of(&document), document))
        .collect();
    let texts = documents.iter().flat_map(|(parts, document)| {
        let plain = parts.with(None).to_string();
        [Parts::judged(document).to_string(), plain.clone(), plain]
    });
    let scenarios: Vec<_> = texts.map(|text| Scenario::parse(&text)).collect();
    let mut subjects = Vec::new();
    let is_swept = |plain: &Plain<'_>| !plain.playable.subject.is_module() && plain.playable.scenario.belongs.is_none();
    for (plain, scenarios) in plains.iter().zip(scenarios.chunks(3)).filter(|(plain, _)| is_swept(plain)) {
        for scenario in scenarios {
            // Each of them is a valid scenario with other steps, so it is valid too.
            let scenario = scenario.as_ref().unwrap_or(plain.playable.scenario);
            subjects.push(Playable { scenario, ..plain.playable });
        }
    }
    let mut results: Vec<_> = subjects.iter().map(|_| None).collect();
    play_all(&subjects, settings, jobs, |index, played, _| {
        if let Some(place) = results.get_mut(index) {
            *place = Some(played);
        }
    })?;
    let mut results = results.into_iter().flatten();
    let mut next = || results.next().unwrap_or_else(|| Ok(Played::default()));
    let mut all = Vec::with_capacity(plains.len());
    for (plain, (parts, document)) in plains.iter().zip(documents) {
        all.push(match is_swept(plain) {
            true => known(plain, parts, &document, [next(), next(), next()]),
            false => Err(Outcome::Unfit(OF_A_MODULE.to_owned())),
        });
    }
    Ok(all)
}

fn known<'s>(
    plain: &Plain<'s>,
    mut parts: Parts,
    document: &Value,
    [judged, first, second]: [Result<Played, Failure>; 3],
) -> Undisturbed<'s> {
    let observed = |played: Played| played.observed.ok_or_else(|| Outcome::Unfit("it was not played".to_owned()));
    let judged = observed(judged.map_err(Outcome::Fails)?)?;
    if judged.by_the_clock {
        let why = "its hook has a schedule that follows the clock: add a tick or a pass step";
        return Err(Outcome::Unfit(why.to_owned()));
    }
    let without = |failure: Failure| {
        let step = failure.step.map(|(step, _)| format!("steps[{step}]: ")).unwrap_or_default();
        Outcome::Unfit(format!("without its expectations, it does not reach its end: {step}{}", failure.text))
    };
    let (end, second) = (observed(first.map_err(without)?)?, observed(second.map_err(without)?)?);
    let says = document.get("sweep").is_some();
    let mask = Mask::new(end.end.differences(&second.end, &Mask::default()));
    let differences = judged.end.differences(&end.end, &mask);
    if let (Some(difference), false) = (differences.first(), says) {
        let text =
            difference.text().replace('\n', "; ").replace("undisturbed", "with them").replace("found", "without");
        let why = "without its expectations, it ends differently, because its steps depend on time or on what the hook \
                   logs or counts";
        return Err(Outcome::Unfit(format!("{why}: {text}")));
    }
    parts.restarts = end.reconciles;
    let points = parts.points(&end.noted, &end.targets, &end.http);
    Ok((Known { playable: plain.playable, parts, end, mask, says }, points))
}

/// The faults to play, in the order of the scenarios.
fn choose<'k>(known: &'k [Option<(Known<'_>, Vec<Point>)>], choice: Choice) -> Vec<(usize, &'k Point)> {
    let all = known.iter().enumerate().filter_map(|(n, known)| Some((n, known.as_ref()?)));
    let mut all: Vec<_> = all.flat_map(|(n, (_, points))| points.iter().map(move |point| (n, point))).collect();
    let Some(most) = choice.most.filter(|most| *most < all.len()) else { return all };
    let rank = |index: usize| {
        let mut hasher = DefaultHasher::new();
        (choice.seed, index).hash(&mut hasher);
        hasher.finish()
    };
    let mut order: Vec<usize> = (0..all.len()).collect();
    order.sort_by_key(|index| rank(*index));
    let chosen: BTreeSet<usize> = order.into_iter().take(most).collect();
    let mut index = 0;
    all.retain(|_| {
        index += 1;
        chosen.contains(&(index - 1))
    });
    all
}

enum Judged {
    Good,
    Halted,
    Wrong { text: String, expect: Option<Value> },
}

impl Known<'_> {
    fn with<'s>(&'s self, scenario: &'s Scenario) -> Playable<'s> {
        Playable { scenario, ..self.playable }
    }

    fn judge(&self, played: &Result<Played, Failure>, scenario: &Scenario, point: &Point) -> Judged {
        let played = match played {
            Ok(played) => played,
            Err(failure) => {
                let action = failure.step.and_then(|(step, _)| scenario.steps.get(step)).map(|step| &step.action);
                let held_up = self.parts.holds_up(point)
                    && matches!(
                        action,
                        Some(Action::Create(_) | Action::Patch(_) | Action::Delete(_) | Action::Ask(_))
                    );
                // The kind of its object is not defined yet.
                let early = matches!(action, Some(Action::Fault(_)))
                    || (failure.step.is_none() && failure.text.starts_with("faults["));
                return match held_up || early {
                    true => Judged::Halted,
                    false => Judged::Wrong { text: failure.text.clone(), expect: None },
                };
            }
        };
        let Some(observed) = played.observed.as_ref().filter(|_| !self.says) else { return Judged::Good };
        let differences = self.end.end.differences(&observed.end, &self.mask);
        if differences.is_empty() {
            return Judged::Good;
        }
        let text: Vec<_> = differences.iter().map(|difference| difference.text()).collect();
        Judged::Wrong { text: text.join("\n"), expect: self.end.end.expectation(&differences) }
    }

    /// The scenario with the fault, and what must be true at its end.
    fn printed(&self, point: &Point, expect: Option<Value>) -> Value {
        let mut document = self.parts.with(Some(point));
        if let (Some(mut expect), Some(steps)) = (expect, document.get_mut("steps").and_then(Value::as_array_mut)) {
            if let Some(fields) = expect.as_object_mut() {
                fields.insert("within".to_owned(), WITHIN.into());
            }
            steps.push(json!({ "expect": expect }));
        }
        document
    }
}

type Failed<'f, 's> = (usize, &'f Known<'s>, &'f Point, String, Value);

/// Plays the scenarios that are printed, each of which must fail.
fn confirm(failed: Vec<Failed<'_, '_>>, settings: &Settings, jobs: usize, outcomes: &mut [Outcome]) -> io::Result<()> {
    let mut printed: Vec<(usize, &Known<'_>, &Point, String, Value, Scenario)> = Vec::new();
    for (n, known, point, text, document) in failed {
        let Some(Outcome::Swept(swept)) = outcomes.get_mut(n) else { continue };
        let of_this = printed.iter().filter(|(of, ..)| *of == n).count();
        match (of_this < MAX_SHOWN, Scenario::parse(&document.to_string())) {
            (true, Ok(scenario)) => printed.push((n, known, point, text, document, scenario)),
            _ => swept.more.push(point.text.clone()),
        }
    }
    let subjects: Vec<_> = printed.iter().map(|(_, known, .., scenario)| known.with(scenario)).collect();
    let mut results = Vec::new();
    play_all(&subjects, settings, jobs, |index, played, _| results.push((index, played)))?;
    results.sort_by_key(|(index, _)| *index);
    for ((n, known, point, text, document, scenario), (_, played)) in printed.iter().zip(results) {
        let Some(Outcome::Swept(swept)) = outcomes.get_mut(*n) else { continue };
        match known.judge(&played, scenario, point) {
            Judged::Wrong { .. } => {
                swept.found.push(Found { fault: point.text.clone(), text: text.clone(), scenario: file(document) })
            }
            Judged::Good | Judged::Halted => swept.unsteady.push(point.text.clone()),
        }
    }
    Ok(())
}

/// The text of a scenario file.
fn file(document: &Value) -> String {
    let mut text = "# A scenario that `boathook test --sweep` found.\n".to_owned();
    // Writing to a String cannot fail, and each document came from YAML.
    let _ = write!(text, "{}", yaml_serde::to_string(document).unwrap_or_default());
    text
}
