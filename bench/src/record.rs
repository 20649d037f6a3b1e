//! What recording costs a no-op hook's run, in this process: the same sandbox, in turns with a recorder around the host
//! and without. While the runs go on, the recorder writes the records to a disk. It drops those that the writer cannot
//! take.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result};
use boathook_core::{
    model::{HookName, Job, JobId, QueueName},
    tasks::Tasks,
};
use boathook_operator::record::{RecordConfig, RecordObserver, Recorder};
use boathook_sandbox::{LoadedHook, Sandbox, SandboxConfig};

use crate::{
    Paths,
    dispatch::{Nothing, request, trigger},
    report::Report,
    stats::{Percentiles, Spread, us},
};

const WARM_UP: usize = 500;
const RUNS: usize = 5_000;
/// Between two runs, so that the writer keeps up.
const EVERY: Duration = Duration::from_millis(1);

/// What one round gave.
pub struct Figures {
    recorded: Percentiles,
    plain: Percentiles,
    /// Records that were not written.
    dropped: usize,
}

/// Adds the table's rows.
pub fn report(report: &mut Report, rounds: &[Figures]) {
    type Pick = fn(&Percentiles) -> Duration;
    let rows: [(&'static str, Pick); 2] = [
        ("no-op run at ≤ 1 000/s, recorded / not recorded, p50", |percentiles| percentiles.p50),
        ("no-op run at ≤ 1 000/s, recorded / not recorded, p99", |percentiles| percentiles.p99),
    ];
    for (what, pick) in rows {
        let recorded = Spread::of(rounds.iter().map(|figures| us(pick(&figures.recorded))));
        let plain = Spread::of(rounds.iter().map(|figures| us(pick(&figures.plain))));
        report.row(what, "µs", "", recorded, Some(plain));
    }
    let dropped = Spread::of(rounds.iter().map(|figures| figures.dropped as f64));
    report.row("– records dropped of 5 000", "", "", dropped, None);
}

#[derive(Default)]
struct Dropped(AtomicUsize);

impl RecordObserver for Dropped {
    fn written(&self, _: &HookName, _: u64) {}

    fn dropped(&self, _: &HookName) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn failed(&self, _: &HookName, _: &str) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Measures one round.
pub async fn measure(paths: &Paths) -> Result<Figures> {
    let hook = HookName::new("noop")?;
    let sandbox = Sandbox::new(SandboxConfig::default())?;
    let loaded = sandbox.load(&hook, &paths.guest("test/noop.wasm")?).await?;
    let directory = tempfile::tempdir()?;
    let dropped = Arc::new(Dropped::default());
    let recorder = recorder(paths, directory.path(), dropped.clone())?;
    let (mut recorded, mut plain) = (Vec::with_capacity(RUNS), Vec::with_capacity(RUNS));
    let mut ticks = tokio::time::interval(EVERY);
    for i in 0..WARM_UP + RUNS {
        ticks.tick().await;
        // The first run after a pause is the slower one, so each is the first as often as the other.
        let turns = if i % 2 == 0 { [Some(&recorder), None] } else { [None, Some(&recorder)] };
        for turn in turns {
            let took = run(&sandbox, &loaded, i, turn).await?;
            if i >= WARM_UP {
                if turn.is_some() { &mut recorded } else { &mut plain }.push(took);
            }
        }
    }
    recorder.close();
    let dropped = dropped.0.load(Ordering::Relaxed);
    Ok(Figures { recorded: Percentiles::of(recorded), plain: Percentiles::of(plain), dropped })
}

fn recorder(paths: &Paths, directory: &Path, observer: Arc<Dropped>) -> Result<Arc<Recorder>> {
    let config = RecordConfig::new(directory.join("records"), paths.hooks.join("test"));
    Recorder::start(vec![config], observer, &Tasks::default()).map(Arc::new).context("cannot record")
}

async fn run(sandbox: &Sandbox, loaded: &LoadedHook, i: usize, recorder: Option<&Arc<Recorder>>) -> Result<Duration> {
    let job = Job {
        id: JobId(i as u64),
        hook: loaded.name().clone(),
        queue: QueueName::Own(loaded.name().clone()),
        attempt: 1,
        triggers: vec![trigger(loaded.name(), i)],
    };
    let request = request(loaded, job);
    let started = Instant::now();
    let outcome = match recorder {
        None => sandbox.run(loaded, request, Arc::new(Nothing)).await.outcome,
        Some(recorder) => {
            let begun = recorder.begin(Arc::new(Nothing), loaded.digest(), Vec::new(), request.clone());
            let report = sandbox.run(loaded, request, begun.host()).await;
            begun.end(&report, || None);
            report.outcome
        }
    };
    let took = started.elapsed();
    outcome.map_err(|failure| anyhow::anyhow!("the run failed: {failure}"))?;
    Ok(took)
}
