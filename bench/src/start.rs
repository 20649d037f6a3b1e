//! How long a start with a hundred hooks takes, when their compiled code is in the cache.

use std::{path::Path, time::Duration};

use anyhow::{Context as _, Result};

use crate::{
    Paths,
    backend::Backend,
    contender,
    report::Report,
    stats::{Spread, ms},
};

const HOOKS: u8 = 100;

/// What was measured.
pub struct Figures {
    cold: Duration,
    warm: Vec<(Duration, f64)>,
}

/// Adds the table's rows.
pub fn report(report: &mut Report, figures: &Figures) {
    let spread = |pick: fn(&(Duration, f64)) -> f64| Spread::of(figures.warm.iter().map(pick));
    report.row("100 hooks ready, compiled before", "ms", "≤ 1 s", spread(|warm| ms(warm.0)), None);
    report.row("– resident then", "MB", "", spread(|warm| warm.1), None);
    report.row("– first start, which compiles them", "ms", "", Spread::of([ms(figures.cold)]), None);
}

/// From the start of the process to the answer that all hooks are ready.
pub async fn measure(paths: &Paths, rounds: usize) -> Result<Figures> {
    let backend = Backend::start(paths).await?;
    let cold = start(paths, &backend).await?.0;
    let mut warm = Vec::new();
    for _ in 0..rounds {
        warm.push(start(paths, &backend).await?);
    }
    Ok(Figures { cold, warm })
}

async fn start(paths: &Paths, backend: &Backend) -> Result<(Duration, f64)> {
    let directory = tempfile::tempdir()?;
    lay_out(paths, &directory.path().join("hooks"))?;
    let contender = contender::boathook(paths, backend, &[], directory).await?;
    Ok((contender.ready_after, contender.process.resident_megabytes()?))
}

/// Each hook is a component of its own, with a digest of its own.
fn lay_out(paths: &Paths, hooks: &Path) -> Result<()> {
    std::fs::create_dir(hooks)?;
    let component = paths.guest("test/noop.wasm")?;
    for i in 0..HOOKS {
        // A custom section: its id, its length, the length of its name, its name.
        let distinct = [component.as_slice(), &[0, 3, 1, b'n', i]].concat();
        std::fs::write(hooks.join(format!("noop-{i}.wasm")), distinct).context("cannot write a hook")?;
    }
    Ok(())
}
