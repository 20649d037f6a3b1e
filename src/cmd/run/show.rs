//! Prints the result of a run, as text or data.

use boathook_core::{
    effect::{self, Effect},
    model::{HookName, MetricOp, MetricSample, MetricValue},
};
use boathook_sandbox::RunReport;
use serde_json::{Value, json};

use crate::cli::{Output, run::Run};

/// Prints the result of a run. Its writes were already printed as they happened, unless the output is data.
pub(super) fn report(
    args: &Run,
    hook: &HookName,
    report: &RunReport,
    effects: &[Effect],
    writes: usize,
) -> anyhow::Result<()> {
    match args.output {
        Output::Text => print!("{}", text(report, writes)),
        Output::Json => println!("{:#}", data(args, hook, report, effects)),
        Output::Yaml => print!("{}", yaml_serde::to_string(&data(args, hook, report, effects))?),
    }
    Ok(())
}

fn text(report: &RunReport, writes: usize) -> String {
    let mut out: String = report.metrics.iter().map(|metric| format!("metric {}\n", shown(metric))).collect();
    let mib = report.memory_peak as f64 / (1024.0 * 1024.0);
    let used = format!(
        "in {:.2} ms, with {mib:.1} MiB of memory, {} host calls, {writes} writes",
        report.duration.as_secs_f64() * 1e3,
        report.host_calls
    );
    match &report.outcome {
        Ok(()) => out.push_str(&format!("succeeded {used}\n")),
        Err(failure) => {
            out.push_str(&format!("failed ({}) {used}\n  {}\n", failure.kind.label(), clean(&failure.message)));
            let frames = failure.backtrace.as_deref().unwrap_or_default().lines();
            frames.for_each(|frame| out.push_str(&format!("    {}\n", clean(frame))));
        }
    }
    out
}

/// Without control characters, because the text comes from the hook.
pub(super) fn clean(text: &str) -> String {
    let plain = |c: char| if c.is_control() && c != '\n' && c != '\t' { '\u{fffd}' } else { c };
    text.chars().map(plain).collect::<String>().replace('\n', "\n  ")
}

fn shown(metric: &MetricOp) -> String {
    let sample = match metric {
        MetricOp::Expire(group) => return format!("expire group {group}"),
        MetricOp::Record(sample) => sample,
    };
    let labels: Vec<_> =
        sample.labels().iter().map(|(name, value)| format!("{name}={}", Value::from(&**value))).collect();
    let (verb, value) = value(sample);
    format!("{verb} {}{{{}}} {value}", sample.name(), labels.join(","))
}

fn value(sample: &MetricSample) -> (&'static str, f64) {
    match sample.value() {
        MetricValue::Add(value) => ("add", *value),
        MetricValue::Set(value) => ("set", *value),
        MetricValue::Observe { value, .. } => ("observe", *value),
    }
}

fn data(args: &Run, hook: &HookName, report: &RunReport, effects: &[Effect]) -> Value {
    let failure = report.outcome.as_ref().err();
    json!({
        "hook": hook.as_str(),
        "plan": args.plan,
        "result": if failure.is_none() { "succeeded" } else { "failed" },
        "failure": failure.map(|failure| {
            json!({"kind": failure.kind.label(), "message": failure.message, "backtrace": failure.backtrace})
        }),
        "durationMs": millis(report.duration),
        "cpuMs": millis(report.cpu),
        "memoryPeakBytes": report.memory_peak,
        "hostCalls": report.host_calls,
        "hostBytes": report.host_bytes,
        "logBytes": report.log_bytes,
        "writes": effects.iter().map(|effect| effect::json(effect, args.show_secrets)).collect::<Vec<_>>(),
        "metrics": report.metrics.iter().map(metric).collect::<Vec<_>>(),
    })
}

fn millis(duration: std::time::Duration) -> f64 {
    (duration.as_secs_f64() * 1e6).round() / 1e3
}

fn metric(metric: &MetricOp) -> Value {
    match metric {
        MetricOp::Expire(group) => json!({"action": "expire", "group": &**group}),
        MetricOp::Record(sample) => {
            let (action, value) = value(sample);
            let labels: serde_json::Map<_, _> =
                sample.labels().iter().map(|(name, value)| (name.to_string(), Value::from(&**value))).collect();
            let group = sample.group().map(|group| &**group);
            json!({"action": action, "name": &**sample.name(), "labels": labels, "value": value, "group": group})
        }
    }
}
