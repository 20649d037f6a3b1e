//! `boathook serve`: runs the operator until a signal.

mod bundles;
mod modules;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
};

use anyhow::{Context as _, bail};
use boathook_core::{
    fair::Pool,
    memory::{self, Parts},
    tasks::{Ended, Tasks},
};
use boathook_kube::election::{ElectionConfig, Leadership, lease_name};
use boathook_operator::{
    app::{App, Awaited, CertificateSource, LoopPolicy, Options, Reached, WebhookOptions},
    console::{self, KeptLines},
    record::{RecordConfig, Which},
    telemetry::{LogControl, LogFormat, Traces, log},
};
use boathook_sandbox::CompilerConfig;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tracing::{debug, error, info, warn};

use super::{
    admin, connect, directories,
    effects::Plan,
    hookbundles, http_client, offered,
    runtime::{Stop, block_on_threads},
    variables::{self, NODE_NAME},
};
use crate::cli::{self, Serve, hookbundle::Mode, webhooks::Webhooks};

const MIB: u64 = 1024 * 1024;
/// Memory limit if neither the admin nor the system sets one.
const UNKNOWN: u64 = 4096 * MIB;
/// Exit code if shutdown interrupted runs.
const INTERRUPTED: u8 = 3;
/// Exit code if another replica may lead. The process ends, because only a new process is certain that nothing of its
/// old lead continues.
const LOST: u8 = 4;
/// Exit code if a task of the operator ended by itself. The process ends, because a new process starts all tasks.
const BROKEN: u8 = 5;

pub(super) fn run(mut args: Serve) -> anyhow::Result<ExitCode> {
    let given = args.memory_limit.map(|mebibytes| u64::from(mebibytes) * MIB);
    let limit = given.or_else(memory::limit).unwrap_or(UNKNOWN);
    let parts = Parts::of(limit);
    block_on_threads(parts.threads, async {
        let lines = args.console.map(|_| KeptLines::default());
        let (log, traces) = init_telemetry(&args, lines.as_ref())?;
        alone_on_its_node(&mut args)?;
        let only_hook_bundles = only_hook_bundles(&args)?;
        raise_file_limit();
        let mut stop = Stop::new()?;
        let usual_store = directories::bundles();
        let common = hookbundles::Common::read(&args.bundles, usual_store.clone())?;
        let mut hook_bundles = args.hook_bundles.clone();
        let named = bundles::Named::read(args.bundles.take(), usual_store)?;
        let no_webhooks = args.webhooks.no_webhooks;
        let awaited = Awaited {
            bundles: named.as_ref().map(bundles::Named::ids).unwrap_or_default(),
            hook_bundles: !args.plan && hookbundles::are_kept(&hook_bundles, &common),
        };
        let mut options = Options { log: Some(log), kept_lines: lines, awaited, ..options(args, parts).await? };
        hook_bundles.private_network.extend(connect::networks(&options.server).await);
        if let Some(resources) = options.modules.as_mut().and_then(|modules| modules.resources.as_mut()) {
            resources.sources = hookbundles::sources(&hook_bundles, &common)?;
        }
        let unasked = options.webhooks.is_none() && !options.plan && !no_webhooks;
        let (client, plan) = (options.client.clone(), options.plan);
        // Loading may take long, because each hook is compiled and its document is read.
        if options.plan {
            info!("a plan: nothing is written, each write is a server-side dry run");
        }
        let app = tokio::select! {
            app = App::start(options) => app?,
            () = stop.requested() => {
                info!("received a signal to end during the start");
                return Ok(ExitCode::SUCCESS);
            }
        };
        report(limit, parts);
        if unasked && app.binds_webhooks() {
            warn!("hooks bind webhooks, and none are registered: give --webhook-service or --webhook-url");
        }
        if only_hook_bundles {
            info!("no --hooks and no --bundle: hooks come from the cluster's HookBundles");
        }
        let bundles = named.map(|named| named.start(&app.installer(), &app.leadership(), app.tasks()));
        let kept = match plan {
            true => None,
            false => {
                hookbundles::start(hook_bundles, common, client, app.installer(), app.leadership(), app.tasks()).await?
            }
        };
        let leadership = app.leadership();
        let end = tokio::select! {
            () = stop.requested() => End::Asked,
            end = End::of(&leadership, app.tasks()) => end,
        };
        match &end {
            End::Asked => {}
            End::Lost => warn!(
                "this replica no longer leads: its runs were interrupted, and it ends, to start again as a standby"
            ),
            End::Broken(ended) => error!(
                task = ended.task,
                why = ended.why,
                "the operator is broken without this task: it ends, to start again; please report this defect"
            ),
        }
        info!("shutting down");
        drop((bundles, kept));
        let drained = tokio::select! {
            drained = app.shutdown() => drained,
            // A second signal ends the program at once.
            () = stop.requested() => {
                warn!("received a second signal: ending at once");
                return Ok(ExitCode::from(INTERRUPTED));
            }
        };
        if let Some(traces) = traces {
            traces.shutdown().await;
        }
        info!(finished = drained.finished, interrupted = drained.interrupted, "shut down");
        Ok(ExitCode::from(end.code(drained.interrupted)))
    })
}

#[derive(Debug, PartialEq, Eq)]
enum End {
    /// By a signal.
    Asked,
    /// It has lost the lead.
    Lost,
    /// One of its tasks has ended.
    Broken(Ended),
}

impl End {
    /// Waits for a reason other than a signal.
    async fn of(leadership: &Leadership, tasks: &Tasks) -> Self {
        tokio::select! {
            () = leadership.lost() => Self::Lost,
            ended = tasks.ended() => Self::Broken(ended),
        }
    }

    fn code(&self, interrupted: usize) -> u8 {
        match self {
            Self::Broken(_) => BROKEN,
            Self::Lost => LOST,
            Self::Asked if interrupted > 0 => INTERRUPTED,
            Self::Asked => 0,
        }
    }
}

/// A node agent keeps no HookBundles, because each replica would write their status.
fn alone_on_its_node(args: &mut Serve) -> anyhow::Result<()> {
    if !args.node.node_agent {
        return Ok(());
    }
    if variables::variables(&args.node.variables)?.get(NODE_NAME).is_none() {
        bail!(
            "--node-agent: the node is not known: set NODE_NAME in the environment, from spec.nodeName of the Pod, or give \
             --var NODE_NAME=NAME"
        );
    }
    if args.hook_bundles.hook_bundles == Mode::On {
        bail!("--node-agent: a node agent runs no HookBundles: leave --hook-bundles out, and give --hooks or --bundle");
    }
    args.hook_bundles.hook_bundles = Mode::Off;
    args.webhooks.no_webhooks = true;
    Ok(())
}

/// Whether the cluster's HookBundles are the only source of hooks. An error if there is no source at all.
fn only_hook_bundles(args: &Serve) -> anyhow::Result<bool> {
    let modules = !args.addons.modules.is_empty() || args.addons.module_resources;
    if args.hooks.is_some() || !args.bundles.bundles.is_empty() || modules {
        return Ok(false);
    }
    if args.plan {
        bail!("there is nothing to plan: --plan takes no HookBundles; give --hooks or --bundle");
    }
    if args.hook_bundles.hook_bundles == Mode::Off {
        bail!("there is nothing to run: --hook-bundles is off; give --hooks or --bundle, or leave it out");
    }
    Ok(true)
}

/// Each webhook connection uses a file descriptor. The usual limit, 1024, exists for programs that call `select`.
fn raise_file_limit() {
    let limit = getrlimit(Resource::Nofile);
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }) {
        debug!(%error, "the limit of open files stays as it is");
    }
}

/// Sets up the log, what the console keeps of it, and traces if they are configured.
fn init_telemetry(args: &Serve, lines: Option<&KeptLines>) -> anyhow::Result<(LogControl, Option<Traces>)> {
    let standard = || std::env::var("OTEL_EXPORTER_OTLP_ENDPOINT").ok();
    let Some(endpoint) = args.otlp_endpoint.clone().or_else(standard).filter(|endpoint| !endpoint.is_empty()) else {
        return Ok((log::init_with(format(&args.log), &args.log.log_level, lines.map(KeptLines::layer))?, None));
    };
    let (traces, layer) = Traces::start(&endpoint)?;
    let log = log::init_with(format(&args.log), &args.log.log_level, KeptLines::with(lines, layer))?;
    info!(endpoint, "sending traces");
    Ok((log, Some(traces)))
}

pub(super) fn init_log(args: &cli::Log) -> anyhow::Result<LogControl> {
    Ok(log::init(format(args), &args.log_level)?)
}

fn format(args: &cli::Log) -> LogFormat {
    match args.log_format {
        cli::LogFormat::Text => LogFormat::Text,
        cli::LogFormat::Json => LogFormat::Json,
    }
}

async fn options(args: Serve, parts: Parts) -> anyhow::Result<Options> {
    kept_apart(&args)?;
    let (client, server) = connect::client_in(&args.connection, args.namespace).await?;
    let record = record(args.recording, args.hooks.as_deref().unwrap_or(Path::new("")));
    let post_mortems = post_mortems(args.post_mortems, args.hooks.as_deref().unwrap_or(Path::new("")));
    let election = election(args.election, args.webhooks.instance.as_deref(), client.default_namespace());
    let webhooks = webhooks(args.webhooks, client.default_namespace())?;
    let mut options = Options::new(client, "").context("cannot find this program's own file")?;
    let networks = [args.hook_bundles.private_network, connect::networks(&server).await].concat();
    options.http = http_client::client(&args.http, &networks)?;
    options.directories = offered::directories(&args.directories)?;
    options.variables = variables::variables(&args.node.variables)?;
    options.node_agent = args.node.node_agent;
    options.hooks = args.hooks;
    options.modules = modules::options(args.addons);
    options.record = record;
    options.post_mortems = post_mortems;
    options.webhooks = webhooks;
    options.election = election;
    options.server = server;
    if args.plan {
        let text = args.log.log_format == cli::LogFormat::Text;
        options.plan = true;
        options.effects = Some(Arc::new(Plan::new(text)));
    }
    options.listen = args.listen;
    options.admin_socket = admin::socket(args.admin_socket);
    let reviewed = |listen| console::Options { listen, access: console::Access::Reviewed, again: None };
    options.console = args.console.map(reviewed);
    options.metrics_prefix = args.metrics_prefix;
    options.hook_metrics_series = usize::try_from(args.hook_metrics_series).unwrap_or(usize::MAX);
    options.grace_period = args.grace_period;
    options.loops = match args.loops {
        cli::Loops::Warn => LoopPolicy::Warn,
        cli::Loops::Slow => LoopPolicy::Slow,
        cli::Loops::Stop => LoopPolicy::Stop,
    };
    options.queue.max_parallel_runs = args.max_parallel_runs.into();
    options.queue.max_concurrency = args.max_concurrency.into();
    options.queue.max_held_bytes = parts.queues;
    options.queue.max_dead_letter_bytes = usize::try_from(parts.queues / 2).unwrap_or(usize::MAX);
    options.sandbox.max_concurrent_runs = args.max_parallel_runs.into();
    options.sandbox.maxima.memory = u64::from(args.max_memory) * MIB;
    options.sandbox.filters.memory = Pool::new(parts.filters);
    options.kept = parts.kept;
    options.sandbox.memory = parts.runs;
    let compiler = CompilerConfig::new(std::env::current_exe()?);
    let memory = args.compile_memory.map_or(parts.compiler, |mebibytes| u64::from(mebibytes) * MIB);
    options.sandbox.compiler = Some(CompilerConfig { memory, ..compiler });
    options.sandbox.cache_dir = args.cache_dir.or_else(directories::cache);
    options.sandbox.interpreters = directories::interpreters(args.interpreters);
    options.access.reporting_instance = std::env::var("HOSTNAME").unwrap_or(options.access.reporting_instance);
    Ok(options)
}

/// Logs the parts of the operator's memory.
fn report(limit: u64, parts: Parts) {
    let (mebibytes, runs, compiler, filters) =
        (limit / MIB, parts.runs / MIB, parts.compiler / MIB, parts.filters / MIB);
    info!(limit = mebibytes, runs, compiler, filters, "memory, in MiB");
    if !Parts::fit(limit) {
        warn!(limit = mebibytes, "less than 1 GiB of memory: the operator can run out of memory; raise the limit");
    }
}

/// None unless a flag says how the API server reaches the operator, because registered webhooks that it cannot reach
/// would block the cluster.
fn webhooks(args: Webhooks, namespace: &str) -> anyhow::Result<Option<WebhookOptions>> {
    let reached = match (args.webhook_service, args.webhook_url) {
        _ if args.no_webhooks => return Ok(None),
        (Some(service), _) => Reached::Service(service),
        (None, Some(url)) => Reached::Url(url),
        (None, None) => return Ok(None),
    };
    let read = |file: &PathBuf| std::fs::read(file).with_context(|| format!("cannot read {}", file.display()));
    // A Service leads to Pods of its own namespace.
    let in_cluster = matches!(reached, Reached::Service(_)) || std::env::var_os("KUBERNETES_SERVICE_HOST").is_some();
    Ok(Some(WebhookOptions {
        listen: args.webhook_listen,
        settings: Default::default(),
        instance: args.instance.unwrap_or_else(|| namespace.to_owned()),
        namespace: namespace.to_owned(),
        left_out: WebhookOptions::left_out(in_cluster.then_some(namespace)),
        reached,
        certificates: match args.webhook_certs {
            Some(directory) => CertificateSource::Files(directory),
            None => CertificateSource::Secret(args.webhook_secret, args.webhook_certificate_lifetime),
        },
        client_ca: args.webhook_client_ca.as_ref().map(read).transpose()?,
    }))
}

/// None for a single replica.
fn election(args: cli::Election, instance: Option<&str>, namespace: &str) -> Option<ElectionConfig> {
    if !args.leader_elect {
        return None;
    }
    let name = args.lease_name.unwrap_or_else(|| lease_name(instance));
    let host = std::env::var("HOSTNAME").unwrap_or_else(|_| "boathook".to_owned());
    Some(ElectionConfig::new(args.lease_namespace.as_deref().unwrap_or(namespace), name, &host, args.lease_duration))
}

/// Each of them removes its oldest files.
fn kept_apart(args: &Serve) -> anyhow::Result<()> {
    if let (Some(records), Some(post_mortems)) = (&args.recording.record, &args.post_mortems.post_mortems) {
        let same = std::path::absolute(records)? == std::path::absolute(post_mortems)?;
        anyhow::ensure!(
            !same,
            "--record and --post-mortems name the same directory, {}: choose another one for post-mortems",
            records.display()
        );
    }
    Ok(())
}

fn post_mortems(args: cli::record::PostMortems, hooks: &Path) -> Option<RecordConfig> {
    let mut config = RecordConfig::new(args.post_mortems?, hooks);
    config.keep = usize::try_from(args.post_mortems_keep).unwrap_or(usize::MAX);
    config.which = Which::Crashed;
    Some(config)
}

fn record(args: cli::record::Recording, hooks: &Path) -> Option<RecordConfig> {
    let mut config = RecordConfig::new(args.record?, hooks);
    config.keep = usize::try_from(args.record_keep).unwrap_or(usize::MAX);
    config.secrets = args.record_secrets;
    config.which = match args.record_runs {
        cli::record::Runs::All => Which::All,
        cli::record::Runs::Failed => Which::Failed,
    };
    Some(config)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use boathook_core::model::{
        BundleId, Comparison, HookSource, HookState, InstallError, Installation, Installed, Installer,
        RequestedPermissions,
    };
    use clap::Parser as _;
    use futures::future::{BoxFuture, FutureExt as _};

    use super::*;

    /// An installer without hooks.
    struct Nobody;

    impl Installer for Nobody {
        fn install(&self, _: Installation) -> BoxFuture<'_, Result<Installed, InstallError>> {
            std::future::pending().boxed()
        }

        fn suspend<'a>(&'a self, _: &'a BundleId, _: bool) -> BoxFuture<'a, bool> {
            std::future::pending().boxed()
        }

        fn remove<'a>(&'a self, _: &'a BundleId) -> BoxFuture<'a, bool> {
            std::future::pending().boxed()
        }

        fn states(&self, _: &BundleId) -> Vec<HookState> {
            Vec::new()
        }

        fn shadow(&self, _: Installation) -> BoxFuture<'_, Result<(), InstallError>> {
            std::future::pending().boxed()
        }

        fn end_shadow(&self, _: &BundleId) {}

        fn comparison(&self, _: &BundleId) -> Option<Comparison> {
            None
        }

        fn requested<'a>(&'a self, _: &'a [HookSource]) -> BoxFuture<'a, Vec<RequestedPermissions>> {
            std::future::pending().boxed()
        }
    }

    /// `tests/it/pipeline/tasks.rs` ends the tasks of an operator that has no bundles.
    #[tokio::test]
    async fn whatever_keeps_bundles_is_noticed_when_it_ends() {
        let dir = tempfile::tempdir().unwrap();
        let store = dir.path().display().to_string();
        // Nothing listens there.
        let nowhere = "127.0.0.1:1";
        let typed = [
            "boathook",
            "serve",
            "--unverified",
            "--bundle-store",
            &store,
            "--bundle",
            &format!("team={nowhere}/x:v1"),
        ];
        let cli::Command::Serve(mut args) = cli::Cli::parse_from(typed).command else { panic!() };
        let common = hookbundles::Common::read(&args.bundles, None).unwrap();
        let named = bundles::Named::read(args.bundles.take(), None).unwrap().unwrap();
        let (installer, leadership): (Arc<dyn Installer>, _) = (Arc::new(Nobody), Leadership::alone());

        let tasks = Tasks::default();
        let _held = named.start(&installer, &leadership, &tasks);
        assert!(tasks.kill("bundle team"));
        assert_eq!(tasks.ended().await.task, "bundle team");

        let tasks = Tasks::default();
        let config = kube::Config::new(format!("http://{nowhere}").parse().unwrap());
        let client = kube::Client::try_from(config).unwrap();
        let held = hookbundles::start(args.hook_bundles, common, client, installer, leadership, &tasks);
        let _held = held.await.unwrap().unwrap();
        assert!(tasks.kill("HookBundles"));
        assert_eq!(tasks.ended().await.task, "HookBundles");
    }

    #[tokio::test]
    async fn a_task_that_ends_by_itself_ends_the_operator_with_a_code_of_its_own() {
        let tasks = Tasks::default();
        let _held = tasks.spawn("queues", async {});
        let end = End::of(&Leadership::alone(), &tasks).await;
        assert!(matches!(&end, End::Broken(ended) if ended.task == "queues"), "{end:?}");
        let codes = [end.code(0), end.code(3), End::Lost.code(3), End::Asked.code(3), End::Asked.code(0)];
        assert_eq!(codes, [5, 5, 4, 3, 0]);
    }
}
