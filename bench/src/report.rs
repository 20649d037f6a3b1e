//! The table that the bench prints, as Markdown.

use std::{fmt, time::Duration};

use crate::{contender::Kind, namespaces::Figures, stats::Percentiles};

/// All figures of one run.
#[derive(Default)]
pub struct Report {
    /// The API server that was used.
    pub backend: &'static str,
    /// Trigger taken → run finished, of a no-op hook.
    pub dispatch: Option<Percentiles>,
    boathook: Option<Figures>,
    bare: Option<Figures>,
}

impl Report {
    /// Adds one contender's figures.
    pub fn add(&mut self, kind: Kind, figures: Figures) {
        match kind {
            Kind::Boathook => self.boathook = Some(figures),
            Kind::BareLoop => self.bare = Some(figures),
        }
    }
}

fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

fn row(f: &mut fmt::Formatter<'_>, what: &str, boathook: f64, bare: f64, unit: &str, hold: &str) -> fmt::Result {
    writeln!(f, "| {what} | {boathook:.2} {unit} | {bare:.2} {unit} | {:.2} × | {hold} |", boathook / bare)
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "API server: {}\n", self.backend)?;
        writeln!(f, "| what | Boathook | bare loop | ratio | hold |\n| --- | --- | --- | --- | --- |")?;
        if let Some(dispatch) = self.dispatch {
            let (p50, p99) = (ms(dispatch.p50) * 1e3, ms(dispatch.p99) * 1e3);
            writeln!(f, "| no-op hook, trigger taken → run finished, p50 / p99 | {p50:.0} / {p99:.0} µs | – | – | ≤ 100 / 250 µs |")?;
        }
        let (Some(boathook), Some(bare)) = (&self.boathook, &self.bare) else { return Ok(()) };
        row(f, "idle, resident (10 hooks)", boathook.idle, bare.idle, "MB", "≤ 40 MB")?;
        row(f, "namespace → secret, p50", ms(boathook.one.p50), ms(bare.one.p50), "ms", "≤ 1.3 ×")?;
        row(f, "namespace → secret, p99", ms(boathook.one.p99), ms(bare.one.p99), "ms", "")?;
        row(f, "1 000 namespaces → 1 000 secrets", ms(boathook.burst), ms(bare.burst), "ms", "≤ 1.3 ×")?;
        row(f, "of that, creating the namespaces", ms(boathook.burst_created), ms(bare.burst_created), "ms", "")
    }
}
