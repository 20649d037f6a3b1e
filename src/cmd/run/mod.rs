//! `boathook run`: runs a component once, on a cluster in this process or on another one. It never retries the run.

mod answer;
mod input;
mod show;

use std::{
    process::ExitCode,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use anyhow::Context as _;
use boathook_cluster::{Cluster, State};
use boathook_core::{
    effect::{Effect, Sink, Style},
    model::{HookName, HookSpec, error_chain},
};
use boathook_operator::{
    admin::views::RunView,
    app::{
        App, Options, load,
        run_once::{Answered, OnceError, TargetObjects},
    },
    telemetry::{LogFormat, log},
};
use boathook_sandbox::{RunReport, Sandbox};

use super::{
    connect,
    effects::{print, style},
    inspect::hook_name,
    runtime::{Stop, block_on},
    sandbox,
};
use crate::cli::{Connection, Output, run::Run};
use input::Input;

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
    let bytes = std::fs::read(&args.file).with_context(|| format!("can't read {}", args.file.display()))?;
    let sandbox = sandbox::config(args.cache_dir.clone())?;
    let spec = load(&name, &bytes, &Sandbox::new(sandbox.clone())?).await?.spec;
    let input = input::read(args, &spec)?;
    let (client, cluster) = cluster(args).await?;
    let target_objects = TargetObjects::new(client.clone(), cluster.is_some());
    let hooks = tempfile::tempdir().context("can't make a temporary directory")?;
    std::fs::write(hooks.path().join(format!("{name}.wasm")), &bytes).context("can't copy the component")?;

    let effects = Arc::new(Effects { all: Mutex::default(), count: AtomicUsize::new(0), shown: shown(args) });
    let mut options = Options::new(client, hooks.path()).context("can't find this program's own file")?;
    options.sandbox = sandbox;
    options.schedules_tick = false;
    options.hold = true;
    options.plan = args.plan;
    options.effects = Some(effects.clone());
    let ended = on(target_objects, options, &spec, input).await?;
    let all = std::mem::take(&mut *effects.all.lock().unwrap_or_else(PoisonError::into_inner));
    let succeeded = match &ended {
        Ended::Run(report) => {
            show::report(args, &name, report, &all, effects.count.load(Ordering::Relaxed))?;
            report.outcome.is_ok()
        }
        Ended::Answer(answered, run) => {
            answer::show(args, &name, answered, run.as_deref(), &all)?;
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
    let told = last.clone();
    options.run_ended = Some(Arc::new(move |run| {
        *told.lock().unwrap_or_else(PoisonError::into_inner) = Some(run.clone());
    }));
    let app = App::start(options).await?;
    if let Some((_, reason)) = app.readiness().quarantined.first() {
        anyhow::bail!("the hook can't be used: {reason}");
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
