//! Prints a hook's response to an API server's request, as text or data.

use boathook_core::{
    effect::{self, Effect},
    model::{HookName, Verdict},
};
use boathook_operator::{admin::views::RunView, app::run_once::Answered};
use serde_json::{Value, json};

use super::show::clean;
use crate::cli::{Output, run::Run};

/// HTTP status and reason of a denial that does not set them.
const DENIED: (u16, &str) = (403, "Forbidden");

/// Prints the response. Effects on objects were already printed as they happened, unless the output is data.
pub(super) fn show(
    args: &Run,
    hook: &HookName,
    answered: &Answered,
    run: Option<&RunView>,
    effects: &[Effect],
) -> anyhow::Result<()> {
    match args.output {
        Output::Text => print!("{}", text(answered, run)),
        Output::Json => println!("{:#}", data(args, hook, answered, run, effects)),
        Output::Yaml => print!("{}", yaml_serde::to_string(&data(args, hook, answered, run, effects))?),
    }
    Ok(())
}

fn text(answered: &Answered, run: Option<&RunView>) -> String {
    let used = run.map(|run| {
        let mib = run.memory_peak_bytes as f64 / (1024.0 * 1024.0);
        format!(" in {:.2} ms, with {mib:.1} MiB of memory, {} host calls", run.duration_ms, run.host_calls)
    });
    let mut out = format!("{}{}\n", word(answered), used.unwrap_or_default());
    let mut line = |key: &str, text: &str| out.push_str(&format!("  {key}{}\n", clean(text)));
    match answered {
        Answered::Converted(_) => {}
        Answered::Refused(why) | Answered::Failed(why) => line("", why),
        Answered::Reviewed(reviewed) => {
            let Verdict { denied, warnings, audit_annotations } = &reviewed.verdict;
            if let Some(denied) = denied {
                let reason = denied.reason.as_deref().unwrap_or(DENIED.1);
                line(&format!("{} {}: ", denied.code.unwrap_or(DENIED.0), clean(reason)), &denied.message);
            }
            warnings.iter().for_each(|text| line("warning: ", text));
            audit_annotations.iter().for_each(|(key, value)| line(&format!("audit {}: ", clean(key)), value));
        }
    }
    if let Some(trace) = run.and_then(|run| run.outcome.backtrace.as_deref()) {
        trace.lines().for_each(|frame| out.push_str(&format!("    {}\n", clean(frame))));
    }
    out
}

fn word(answered: &Answered) -> &'static str {
    match answered {
        Answered::Reviewed(reviewed) if reviewed.verdict.denied.is_some() => "denied",
        Answered::Reviewed(_) => "allowed",
        Answered::Converted(_) => "converted",
        Answered::Refused(_) => "refused",
        Answered::Failed(_) => "no answer",
    }
}

fn data(args: &Run, hook: &HookName, answered: &Answered, run: Option<&RunView>, effects: &[Effect]) -> Value {
    let object = |text: &String| serde_json::from_str(text).unwrap_or_else(|_| Value::from(text.as_str()));
    let (mut denied, mut verdict, mut objects, mut failure) = (Value::Null, Verdict::default(), Value::Null, None);
    match answered {
        Answered::Reviewed(reviewed) => {
            verdict = reviewed.verdict.clone();
            denied = verdict.denied.as_ref().map_or(Value::Null, |denied| {
                let (code, reason) = (denied.code.unwrap_or(DENIED.0), denied.reason.as_deref().unwrap_or(DENIED.1));
                json!({"message": denied.message, "code": code, "reason": reason})
            });
        }
        Answered::Converted(texts) => objects = texts.iter().map(object).collect(),
        Answered::Refused(why) | Answered::Failed(why) => failure = Some(why),
    }
    let audit: serde_json::Map<_, _> =
        verdict.audit_annotations.into_iter().map(|(key, value)| (key, Value::from(value))).collect();
    json!({
        "hook": hook.as_str(),
        "plan": args.plan,
        "result": word(answered),
        "denied": denied,
        "warnings": verdict.warnings,
        "auditAnnotations": audit,
        "objects": objects,
        "failure": failure,
        "durationMs": run.map(|run| run.duration_ms),
        "memoryPeakBytes": run.map(|run| run.memory_peak_bytes),
        "hostCalls": run.map(|run| run.host_calls),
        "writes": effects.iter().map(|effect| effect::json(effect, args.show_secrets)).collect::<Vec<_>>(),
    })
}
