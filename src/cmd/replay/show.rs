//! `boathook replay --show`: what a record says of its run, without a replay.

use std::{path::PathBuf, process::ExitCode};

use anyhow::Context as _;
use boathook_operator::{
    admin::render::clean,
    record::{self, Record, RecordedCauses, SUFFIX},
};
use serde_json::json;

use crate::cli::{Output, record::Replay};

/// The most lines of the log that are shown: the last ones.
const LINES: usize = 50;

pub(super) fn show(args: &Replay, files: &[PathBuf]) -> anyhow::Result<ExitCode> {
    anyhow::ensure!(!files.is_empty(), "there is no record: no file ends with {SUFFIX}");
    let mut shown = Vec::new();
    for file in files {
        let record = record::read(file).with_context(|| format!("cannot read {}", file.display()))?;
        match args.output {
            Output::Text => text(file, &record),
            Output::Json | Output::Yaml => shown.push(json!({
                "file": file, "header": record.header, "failure": record.end.failure,
                "memoryPeak": record.end.memory_peak, "hostCalls": record.end.host_calls,
                "durationUs": record.end.duration_us, "cpuUs": record.end.cpu_us,
                "log": record.log, "causes": record.causes,
            })),
        }
    }
    match args.output {
        Output::Text => {}
        Output::Json => say!("{:#}", json!({"records": shown})),
        Output::Yaml => say!("{}", yaml_serde::to_string(&json!({"records": shown}))?.trim_end()),
    }
    Ok(ExitCode::SUCCESS)
}

fn text(file: &std::path::Path, record: &Record) {
    let Record { header, end, log, causes, .. } = record;
    say!("{}", file.display());
    let (hook, binding, run) = (clean(&header.hook), clean(&header.binding), clean(&header.run));
    say!("hook {hook}, binding {binding}, run {run}, attempt {}", header.attempt);
    match &end.failure {
        Some(failure) => say!("failed: {}: {}", failure.kind.label(), clean(&failure.message)),
        None => say!("succeeded"),
    }
    for frame in end.failure.as_ref().and_then(|failure| failure.backtrace.as_deref()).unwrap_or_default().lines() {
        say!("  {}", clean(frame));
    }
    let ms = |us: u64| us / 1000;
    say!(
        "memory: {} bytes at most, of {}; time: {} ms, CPU: {} ms; host calls: {}",
        end.memory_peak,
        header.limits.memory,
        ms(end.duration_us),
        ms(end.cpu_us),
        end.host_calls
    );
    if let Some(causes) = causes {
        led(causes);
    }
    if log.len() > LINES {
        say!("log: {} earlier lines are not shown", log.len() - LINES);
    }
    for line in log.iter().skip(log.len().saturating_sub(LINES)) {
        say!("  {} {} {}", clean(&line.level), clean(&line.message), clean(&line.fields));
    }
}

fn led(causes: &RecordedCauses) {
    if let Some(reason) = &causes.reason {
        say!("because of {}", clean(&reason.to_string()));
    }
    for step in &causes.steps {
        say!(
            "  {} {} {} by hook {}, run {}",
            clean(&step.at),
            step.verb,
            clean(&step.object),
            clean(&step.hook),
            clean(&step.run)
        );
        if let Some(reason) = &step.reason {
            say!("    because of {}", clean(&reason.to_string()));
        }
    }
    say!("first cause: {}", clean(&causes.origin));
}
