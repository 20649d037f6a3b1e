//! `boathook run`: runs a component once, on a cluster in this process or on another one. It never retries the run.

use std::{
    io::Read as _,
    path::Path,
    process::ExitCode,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use anyhow::{Context as _, bail};
use boathook_author::scenario;
use boathook_cluster::{Cluster, State};
use boathook_core::{
    effect::{self, Effect, Sink, Style},
    model::{HookName, HookSpec, MetricOp, MetricSample, MetricValue, Verdict, WatchEventKind, error_chain},
};
use boathook_operator::{
    admin::views::RunView,
    app::{
        App, Options, load,
        run_once::{Answered, Asked, OnceError, Question, TargetObjects, TriggerRequest, Wanted},
    },
    telemetry::{LogFormat, log},
};
use boathook_sandbox::{RunReport, Sandbox};
use serde_json::{Value, json};

use super::{
    connect,
    effects::{print, style},
    http_client,
    inspect::hook_name,
    offered,
    projects::warn_of_stale,
    runtime::{Stop, block_on},
    sandbox, variables,
};
use crate::cli::{
    Connection, Output,
    run::{Event, Run},
};

/// Log filter: lines of the hook, and problems of the operator.
const LOG: &str = "hook=debug,boathook=warn,boathook_operator::app::runs=off";
/// Time limit for the hook's bindings to list their objects.
const PATIENCE: Duration = Duration::from_secs(30);
/// Exit code if the input cannot be used.
const BAD_INPUT: u8 = 2;
const INTERRUPTED: u8 = 130;

pub(super) fn run(args: Run) -> anyhow::Result<ExitCode> {
    block_on(async {
        let mut stop = Stop::new()?;
        log::init(LogFormat::Text, LOG)?;
        tokio::select! {
            ended = once(&args) => match ended {
                Ok(code) => Ok(code),
                Err(error) => {
                    eprintln!("error: {}", error_chain(error.as_ref()));
                    Ok(ExitCode::from(BAD_INPUT))
                }
            },
            () = stop.requested() => {
                eprintln!("interrupted: the run was not awaited");
                Ok(ExitCode::from(INTERRUPTED))
            }
        }
    })
}

/// Collects effects, and prints them as they happen.
struct Effects {
    /// Empty if they are printed.
    all: Mutex<Vec<Effect>>,
    count: AtomicUsize,
    shown: Option<Style>,
}

impl Sink for Effects {
    fn effect(&self, effect: Effect) {
        self.count.fetch_add(1, Ordering::Relaxed);
        match self.shown {
            Some(style) => print(&effect, style),
            None => self.all.lock().unwrap_or_else(PoisonError::into_inner).push(effect),
        }
    }
}

async fn once(args: &Run) -> anyhow::Result<ExitCode> {
    let name = hook_name(&args.file)?;
    let bytes = std::fs::read(&args.file).with_context(|| format!("cannot read {}", args.file.display()))?;
    warn_of_stale(&args.file);
    let sandbox = sandbox::config(args.cache_dir.clone())?;
    let spec = load(&name, &bytes, &Sandbox::new(sandbox.clone())?).await?.spec;
    let input = read_input(args, &spec)?;
    let (client, cluster) = cluster(args).await?;
    let target_objects = TargetObjects::new(client.clone(), cluster.is_some());
    let hooks = tempfile::tempdir().context("cannot make a temporary directory")?;
    std::fs::write(hooks.path().join(format!("{name}.wasm")), &bytes).context("cannot copy the component")?;

    let effects = Arc::new(Effects { all: Mutex::default(), count: AtomicUsize::new(0), shown: shown(args) });
    let mut options = Options::new(client, hooks.path()).context("cannot find this program's own file")?;
    options.sandbox = sandbox;
    options.schedules_tick = false;
    options.hold = true;
    options.plan = args.plan;
    options.effects = Some(effects.clone());
    options.http = http_client::client(&args.http, &[])?;
    options.directories = offered::directories(&args.directories)?;
    options.variables = variables::variables(&args.variables)?;
    let ended = on(target_objects, options, &spec, input).await?;
    let all = std::mem::take(&mut *effects.all.lock().unwrap_or_else(PoisonError::into_inner));
    let succeeded = match &ended {
        Ended::Run(report) => {
            show_report(args, &name, report, &all, effects.count.load(Ordering::Relaxed))?;
            report.outcome.is_ok()
        }
        Ended::Answer(answered, run) => {
            show_answer(args, &name, answered, run.as_deref(), &all)?;
            !matches!(answered, Answered::Failed(_))
        }
    };
    if let Some(cluster) = cluster {
        cluster.shutdown().await;
    }
    Ok(if succeeded { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

enum Ended {
    Run(RunReport),
    /// With the run, if the hook came to its end.
    Answer(Answered, Option<Box<RunView>>),
}

fn shown(args: &Run) -> Option<Style> {
    (args.output == Output::Text).then(|| style(args.show_secrets))
}

/// The named cluster, or the run's own.
async fn cluster(args: &Run) -> anyhow::Result<(kube::Client, Option<Cluster>)> {
    if args.kubeconfig.is_some() {
        let connection = Connection { kubeconfig: args.kubeconfig.clone(), context: args.kube_context.clone() };
        return Ok((connect::client(&connection).await?.0, None));
    }
    let mut state = State::default();
    for path in &args.state {
        state.append(State::read(path)?);
    }
    let cluster = Cluster::start(boathook_cluster::Options::default().state(state)).await?;
    let client = connect::client_of(kube::Config::new(cluster.url().parse()?))?;
    Ok((client, Some(cluster)))
}

async fn on(
    target_objects: TargetObjects,
    mut options: Options,
    spec: &HookSpec,
    input: Input,
) -> anyhow::Result<Ended> {
    let mut sets = Vec::with_capacity(input.asked.len());
    for object in &input.objects {
        target_objects.add(object).await?;
    }
    for (place, asked) in input.asked {
        sets.push(target_objects.set(spec, asked).await.with_context(|| place.clone())?);
    }
    if sets.is_empty() && input.question.is_none() {
        return Err(OnceError::Nothing.into());
    }
    let hook: &HookName = &spec.name;
    let last: Arc<Mutex<Option<RunView>>> = Arc::default();
    let reported = last.clone();
    options.run_ended = Some(Arc::new(move |run| {
        *reported.lock().unwrap_or_else(PoisonError::into_inner) = Some(run.clone());
    }));
    let app = App::start(options).await?;
    if let Some((_, reason)) = app.readiness().quarantined.first() {
        anyhow::bail!("the hook cannot be used: {reason}");
    }
    for missing in app.settled(hook, PATIENCE).await {
        eprintln!("warning: {missing}");
    }
    let ended = match &input.question {
        None => Ended::Run(app.run_once(hook, &sets).await?),
        Some(question) => {
            let answered = app.answer_once(hook, question).await?;
            let run = last.lock().unwrap_or_else(PoisonError::into_inner).take();
            Ended::Answer(answered, run.map(Box::new))
        }
    };
    app.shutdown().await;
    Ok(ended)
}

/// Prints the result of a run. Its writes were already printed as they happened, unless the output is data.
fn show_report(
    args: &Run,
    hook: &HookName,
    report: &RunReport,
    effects: &[Effect],
    writes: usize,
) -> anyhow::Result<()> {
    crate::cmd::print(args.output, &report_data(args, hook, report, effects), || report_text(report, writes))
}

fn report_text(report: &RunReport, writes: usize) -> String {
    let mut out: String = report.metrics.iter().map(|metric| format!("metric {}\n", metric_shown(metric))).collect();
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
fn clean(text: &str) -> String {
    let plain = |c: char| if c.is_control() && c != '\n' && c != '\t' { '\u{fffd}' } else { c };
    text.chars().map(plain).collect::<String>().replace('\n', "\n  ")
}

fn metric_shown(metric: &MetricOp) -> String {
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

fn report_data(args: &Run, hook: &HookName, report: &RunReport, effects: &[Effect]) -> Value {
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

/// HTTP status and reason of a denial that does not set them.
const DENIED: (u16, &str) = (403, "Forbidden");

/// Prints the response. Effects on objects were already printed as they happened, unless the output is data.
fn show_answer(
    args: &Run,
    hook: &HookName,
    answered: &Answered,
    run: Option<&RunView>,
    effects: &[Effect],
) -> anyhow::Result<()> {
    crate::cmd::print(args.output, &answer_data(args, hook, answered, run, effects), || answer_text(answered, run))
}

fn answer_text(answered: &Answered, run: Option<&RunView>) -> String {
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

fn answer_data(args: &Run, hook: &HookName, answered: &Answered, run: Option<&RunView>, effects: &[Effect]) -> Value {
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

/// Stands for stdin.
const STDIN: &str = "-";
/// Maximum number of bytes to read from stdin.
const MOST: u64 = 16 << 20;

struct Input {
    /// With the place in the input, for errors.
    pub asked: Vec<(String, Asked)>,
    /// The API server's request, instead of `asked`.
    pub question: Option<Question>,
    /// Objects that the run's own cluster must contain.
    pub objects: Vec<Value>,
}

/// Reads files and flags, and checks that the hook has the bindings.
fn read_input(args: &Run, spec: &HookSpec) -> anyhow::Result<Input> {
    let input = match &args.context {
        Some(file) => contexts(file, spec)?,
        None => {
            let asked = vec![("on the command line".to_owned(), flags(args)?)];
            Input { asked, question: None, objects: Vec::new() }
        }
    };
    for (place, asked) in &input.asked {
        asked.check(spec).with_context(|| place.clone())?;
    }
    Ok(input)
}

fn contexts(file: &Path, spec: &HookSpec) -> anyhow::Result<Input> {
    let text = read_text(file)?;
    let contexts = match scenario::contexts(&text) {
        Ok(contexts) => contexts,
        Err(problems) => {
            let lines: Vec<_> = problems.iter().map(|problem| format!("{}:{problem}", named(file))).collect();
            bail!("the context cannot be read\n  {}", lines.join("\n  "));
        }
    };
    if contexts.without_object > 0 {
        eprintln!(
            "warning: {} items of snapshots have no object: give these objects with --state",
            contexts.without_object
        );
    }
    let place = |place: scenario::Place| format!("{}:{}:{}", named(file), place.line, place.column);
    let asked = contexts.asked.into_iter().map(|(at, asked)| (place(at), asked)).collect();
    let question = match contexts.question {
        Some((at, question)) => {
            question.check(spec).with_context(|| place(at))?;
            Some(question)
        }
        None => None,
    };
    Ok(Input { asked, question, objects: contexts.objects })
}

fn flags(args: &Run) -> anyhow::Result<Asked> {
    let occasion = match args.event {
        None => TriggerRequest::Any,
        Some(Event::OnStartup) => TriggerRequest::Startup,
        Some(Event::Schedule) => TriggerRequest::Schedule,
        Some(Event::Synchronization) => TriggerRequest::Synchronization,
        Some(Event::Added) => event(args, WatchEventKind::Added)?,
        Some(Event::Modified) => event(args, WatchEventKind::Modified)?,
        Some(Event::Deleted) => event(args, WatchEventKind::Deleted)?,
    };
    if args.object.is_some() && !matches!(occasion, TriggerRequest::Event { .. }) {
        bail!("--object belongs to --event Added, Modified or Deleted");
    }
    Ok(Asked { binding: args.binding.clone(), occasion })
}

fn event(args: &Run, kind: WatchEventKind) -> anyhow::Result<TriggerRequest> {
    let Some(object) = &args.object else {
        bail!("--event {} needs --object NAME, NAMESPACE/NAME or FILE: the object that it happens to", kind.as_str());
    };
    Ok(TriggerRequest::Event { kind, object: wanted(object)?, filter_result: None })
}

fn wanted(object: &str) -> anyhow::Result<Wanted> {
    let path = Path::new(object);
    let is_file =
        path.extension().is_some_and(|extension| ["yaml", "yml", "json"].iter().any(|known| extension == *known));
    if is_file || path.is_file() || object == STDIN {
        return Ok(Wanted::Given(file(path)?));
    }
    let named = |namespace: Option<&str>, name: &str| {
        Ok(Wanted::Named { namespace: namespace.map(str::to_owned), name: name.to_owned() })
    };
    match object.split('/').collect::<Vec<_>>().as_slice() {
        [name] if !name.is_empty() => named(None, name),
        [namespace, name] if !namespace.is_empty() && !name.is_empty() => named(Some(namespace), name),
        _ => bail!("--object {object:?} is neither NAME nor NAMESPACE/NAME nor a file"),
    }
}

fn file(path: &Path) -> anyhow::Result<Value> {
    let (text, place) = (read_text(path)?, named(path));
    let object: Value = yaml_serde::from_str(&text).with_context(|| format!("{place} is not valid YAML"))?;
    for pointer in ["/apiVersion", "/kind", "/metadata/name"] {
        if object.pointer(pointer).and_then(Value::as_str).is_none_or(str::is_empty) {
            let key = pointer.trim_start_matches('/').replace('/', ".");
            bail!("{place} is not an object: it needs {key}, a text");
        }
    }
    Ok(object)
}

/// `-` is stdin.
fn read_text(path: &Path) -> anyhow::Result<String> {
    if path.as_os_str() != STDIN {
        return std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()));
    }
    let mut text = String::new();
    std::io::stdin().lock().take(MOST).read_to_string(&mut text).context("cannot read stdin")?;
    Ok(text)
}

fn named(path: &Path) -> String {
    if path.as_os_str() == STDIN { "stdin".to_owned() } else { path.display().to_string() }
}
