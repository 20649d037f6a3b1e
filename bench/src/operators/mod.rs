//! The same operator by Boathook, by a bare kube-rs controller, by controller-runtime in Go and by kopf: a HelloApp becomes a
//! Deployment and a Service. In each round, they take turns on one API server.
//!
//! | file | content |
//! | --- | --- |
//! | `contenders` | what each operator is made of, and how it starts |
//! | `stage` | HelloApps, and what the bench sees of them |
//! | `audit` | the contender's requests, from the API server's audit log |
//! | `many` | what one more operator costs Boathook |
//! | `lines` | what the author writes |
//! | `table` | the table |

pub mod audit;
mod contenders;
mod lines;
mod many;
mod stage;
mod table;

use std::time::Duration;

use anyhow::{Context as _, Result};
use tokio::time::sleep;

use self::{
    audit::{Mark, Requests},
    contenders::{Kind, Operator},
    stage::Stage,
    table::Table,
};
use crate::{
    Paths,
    backend::{Backend, CONTENDER},
    stats::{Percentiles, ms},
};

/// HelloApps that are there when a contender starts. Their size changes.
const FIRST: usize = 10;
const CHANGES: usize = 200;
const EDITS: usize = 200;
/// HelloApps that are created at once, unless `BENCH_PARENTS` says otherwise.
const PARENTS: usize = 1000;
/// Idle, unless `BENCH_IDLE_MINUTES` says otherwise.
const MINUTES: u64 = 1;
const QUIET: Duration = Duration::from_secs(3);

/// What a turn gave.
struct Figures {
    lines: lines::Lines,
    bytes: u64,
    /// Start of the process → the HelloApps that were there have everything.
    ready: Duration,
    /// Resident memory with the first HelloApps, in MB, and with all.
    idle: f64,
    full: f64,
    /// Patch of the size sent → Deployment seen with it, and → status seen with the generation.
    applied: Percentiles,
    observed: Percentiles,
    /// First create sent → all have everything.
    burst: Duration,
    burst_cpu: Duration,
    burst_requests: Requests,
    /// Edit of a Deployment sent → seen as it should be.
    repaired: Percentiles,
    /// Requests of idle minutes; counted in the first round.
    idle_requests: Option<Requests>,
    /// Of Boathook.
    many: Option<many::Figures>,
}

/// Measures all operators, and makes a table. Nothing without a real API server: the local cluster has no audit log.
pub async fn measure(paths: &Paths, rounds: usize) -> Result<Option<String>> {
    if paths.apiserver.is_none() {
        eprintln!("bench: operators are left out: they need the real control plane, which `make apiserver` builds");
        return Ok(None);
    }
    let mut operators = Operator::all()?;
    let parents = number("BENCH_PARENTS")?.unwrap_or(PARENTS);
    let minutes = number("BENCH_IDLE_MINUTES")?.unwrap_or(MINUTES);
    let columns = [Kind::Boathook, Kind::Bare, Kind::ControllerRuntime, Kind::Kopf];
    let is_there = |kind: &Kind| operators.iter().any(|operator| operator.kind == *kind);
    let mut table = Table::new(columns.into_iter().filter(is_there));
    let mut notes = String::new();
    for round in 0..rounds {
        // Of the same age for each contender of a round, and without the history of the rounds before.
        let backend = Backend::audited(paths).await?;
        for i in 0..operators.len() {
            let Some(operator) = operators.get(i) else { continue };
            let minutes = (round == 0).then_some(minutes);
            let figures = turn(operator, paths, &backend, parents, minutes).await;
            let figures = figures.with_context(|| format!("the operator of {}", operator.kind.name()))?;
            if let Some(idle) = &figures.idle_requests {
                let (name, burst) = (operator.kind.name(), audit::list(&figures.burst_requests));
                notes += &format!("- {name}: at once {burst}; idle {}\n", audit::list(idle));
            }
            table.add(operator.kind, figures);
        }
        // Who comes first changes.
        operators.rotate_left(1);
    }
    report(&mut table, parents, minutes);
    Ok(Some(format!("{table}\nRequests to the API server in the first round, without watches:\n\n{notes}")))
}

fn number<T: std::str::FromStr>(variable: &str) -> Result<Option<T>> {
    let text = std::env::var(variable).ok();
    text.map(|text| text.parse().ok().with_context(|| format!("{variable} is not a number"))).transpose()
}

fn report(table: &mut Table<Figures>, parents: usize, minutes: u64) {
    let one = "≤ 1.3 ×";
    let number = |count: usize| Some(count as f64);
    table.row("author's lines: reconcile and what it calls", "", "", |f| number(f.lines.logic));
    table.row("– the program", "", "", |f| number(f.lines.program));
    table.row("– with the definition of the kind, where no type makes it", "", "", |f| number(f.lines.all));
    table.row("what is deployed for this operator", "MB", "", |f| Some(f.bytes as f64 / 1e6));
    table.row(&format!("start → {FIRST} HelloApps done"), "ms", "", |f| Some(ms(f.ready)));
    table.row("idle, resident", "MB", "", |f| Some(f.idle));
    table.row("– one more idle operator", "MB", "≤ 0.3 MB", |f| match &f.many {
        Some(many) => Some(many.each()),
        // It is a process of its own.
        None => Some(f.idle),
    });
    table.row("– of that, no pages of files", "MB", "", |f| f.many.as_ref().map(many::Figures::each_anonymous));
    table.row("change → applied, p50", "ms", one, |f| Some(ms(f.applied.p50)));
    table.row("– p99", "ms", "", |f| Some(ms(f.applied.p99)));
    table.row("change → in the status, p50", "ms", "", |f| Some(ms(f.observed.p50)));
    table.row("– p99", "ms", "", |f| Some(ms(f.observed.p99)));
    table.row(&format!("{parents} HelloApps at once"), "ms", one, |f| Some(ms(f.burst)));
    table.row("– CPU time of the operator", "ms", "", |f| Some(ms(f.burst_cpu)));
    table.row("– requests to the API server", "", "", |f| number(audit::total(&f.burst_requests)));
    table.row("– resident then", "MB", "", |f| Some(f.full));
    table.row("child edited → repaired, p50", "ms", "", |f| Some(ms(f.repaired.p50)));
    table.row("– p99", "ms", "≤ 1 s", |f| Some(ms(f.repaired.p99)));
    let idle = format!("requests in {minutes} min without work, no watches");
    table.row(&idle, "", "0", |f| number(audit::total(f.idle_requests.as_ref()?)));
}

async fn turn(
    operator: &Operator,
    paths: &Paths,
    backend: &Backend,
    parents: usize,
    minutes: Option<u64>,
) -> Result<Figures> {
    many::define(backend, "HelloApp").await?;
    if operator.kind == Kind::Boathook {
        // Compiles the hook.
        drop(operator.start(paths, backend).await?);
    }
    let log = backend.audit.as_deref().context("the API server has no audit log")?;
    let mut stage = Stage::new(&backend.client);
    let first: Vec<_> = (0..FIRST).map(|i| format!("first-{i}")).collect();
    stage.create(&first).await?;
    let running = operator.start(paths, backend).await?;
    for name in &first {
        stage.done(name).await?;
    }
    let ready = running.process.started().elapsed();
    for name in &first {
        stage.check(name).await?;
    }
    sleep(QUIET).await;
    let idle = running.process.resident_megabytes()?;
    let (applied, observed) = changes(&mut stage, &first).await?;

    sleep(QUIET).await;
    let (mark, cpu) = (Mark::now(log)?, running.process.cpu()?);
    let names: Vec<_> = (0..parents).map(|i| format!("burst-{i}")).collect();
    let burst = burst(&mut stage, &names).await?;
    // What is written again later counts, too.
    sleep(QUIET).await;
    let burst_requests = mark.requests_of(CONTENDER)?;
    let burst_cpu = running.process.cpu()?.saturating_sub(cpu);
    let full = running.process.resident_megabytes()?;

    let repaired = edits(&mut stage, &names).await?;
    let idle_requests = match minutes {
        Some(minutes) => {
            sleep(QUIET).await;
            let mark = Mark::now(log)?;
            sleep(Duration::from_secs(60 * minutes)).await;
            Some(mark.requests_of(CONTENDER)?)
        }
        None => None,
    };
    drop(running);
    stage.clear().await?;
    let many = match operator.kind {
        Kind::Boathook => Some(many::measure(paths, backend).await?),
        _ => None,
    };
    Ok(Figures {
        lines: operator.lines,
        bytes: operator.bytes,
        ready,
        idle,
        full,
        applied,
        observed,
        burst,
        burst_cpu,
        burst_requests,
        repaired,
        idle_requests,
        many,
    })
}

/// One change at a time, each of another HelloApp than the one before.
async fn changes(stage: &mut Stage, names: &[String]) -> Result<(Percentiles, Percentiles)> {
    let (mut applied, mut observed) = (Vec::with_capacity(CHANGES), Vec::with_capacity(CHANGES));
    for (i, name) in names.iter().cycle().take(CHANGES).enumerate() {
        let size = i32::try_from(2 + i)?;
        let started = tokio::time::Instant::now();
        let generation = stage.scale(name, size).await?;
        let has_size = |row: &stage::Row| row.deployment.filter(|(now, _, _)| *now == size).map(|(_, _, at)| at);
        applied.push(stage.wait(name, "the change in the Deployment", has_size).await? - started);
        let is_observed = |row: &stage::Row| row.observed.filter(|(now, _)| *now >= generation).map(|(_, at)| at);
        observed.push(stage.wait(name, "the change in the status", is_observed).await? - started);
    }
    Ok((Percentiles::of(applied), Percentiles::of(observed)))
}

async fn burst(stage: &mut Stage, names: &[String]) -> Result<Duration> {
    let started = tokio::time::Instant::now();
    stage.create(names).await?;
    let mut last = started;
    for name in names {
        last = last.max(stage.done(name).await?);
    }
    Ok(last - started)
}

/// One edit at a time, of another Deployment each: who edits the same one again and again is a manager to fight with.
async fn edits(stage: &mut Stage, names: &[String]) -> Result<Percentiles> {
    let mut times = Vec::with_capacity(EDITS);
    for name in names.iter().take(EDITS) {
        let started = tokio::time::Instant::now();
        let edited = stage.edit(name, 7).await?;
        let is_repaired = |row: &stage::Row| {
            row.deployment.filter(|(replicas, version, _)| *replicas == 1 && *version > edited).map(|(_, _, at)| at)
        };
        times.push(stage.wait(name, "the repair", is_repaired).await? - started);
    }
    Ok(Percentiles::of(times))
}
