//! `boathook serve`: the operator, until a signal ends it.

mod bundles;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
};

use anyhow::Context as _;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tracing::{debug, info, warn};

use super::{
    admin, connect,
    effects::Plan,
    hookbundles, interpreters,
    runtime::{Stop, block_on},
};
use crate::{
    app::{App, CertificateSource, Options, Reached, WebhookOptions},
    cli::{self, Serve, webhooks::Webhooks},
    election::{ElectionConfig, lease_name},
    record::{RecordConfig, Which},
    sandbox::CompilerConfig,
    telemetry::{LogControl, LogFormat, Traces, log},
};

/// Runs had to be interrupted on shutdown.
const INTERRUPTED: u8 = 3;
/// Another replica may lead. A process that starts anew knows for sure that nothing of its time goes on.
const LOST: u8 = 4;
/// Beside the cache of compiled components.
pub(super) const BUNDLES: &str = "boathook-bundles";

pub(super) fn run(mut args: Serve) -> anyhow::Result<ExitCode> {
    block_on(async {
        let (log, traces) = init_telemetry(&args)?;
        raise_file_limit();
        let mut stop = Stop::new()?;
        let usual_store = cache_dir().map(|dir| dir.with_file_name(BUNDLES));
        let common = hookbundles::Common::read(&args.bundles, usual_store.clone())?;
        let hook_bundles = args.hook_bundles.clone();
        let named = bundles::Named::read(args.bundles.take(), usual_store)?;
        let no_webhooks = args.webhooks.no_webhooks;
        let options = Options { log: Some(log), ..options(args).await? };
        let unasked = options.webhooks.is_none() && !options.plan && !no_webhooks;
        let (client, plan) = (options.client.clone(), options.plan);
        // Loading may take long: each hook is compiled, and asked for its document.
        if options.plan {
            info!("a plan: nothing is written, each write is a server-side dry run");
        }
        let app = tokio::select! {
            app = App::start(options) => app?,
            () = stop.requested() => {
                info!("asked to end while starting");
                return Ok(ExitCode::SUCCESS);
            }
        };
        if unasked && app.binds_webhooks() {
            warn!("hooks bind webhooks, and none are registered: give --webhook-service or --webhook-url");
        }
        let bundles = named.map(|named| named.keep(&app.installer()));
        let kept = match plan {
            true => None,
            false => hookbundles::start(hook_bundles, common, client, app.installer(), app.leadership()).await?,
        };
        let leadership = app.leadership();
        let lost = tokio::select! {
            () = stop.requested() => false,
            () = leadership.lost() => true,
        };
        if lost {
            warn!(
                "this replica does not lead any more: its runs were interrupted, and it ends to start anew as a standby"
            );
        }
        info!("shutting down");
        drop((bundles, kept));
        let drained = tokio::select! {
            drained = app.shutdown() => drained,
            // Whoever asks twice does not want to wait.
            () = stop.requested() => {
                warn!("asked again: ending at once");
                return Ok(ExitCode::from(INTERRUPTED));
            }
        };
        if let Some(traces) = traces {
            traces.shutdown().await;
        }
        info!(finished = drained.finished, interrupted = drained.interrupted, "shut down");
        if lost {
            return Ok(ExitCode::from(LOST));
        }
        Ok(if drained.interrupted == 0 { ExitCode::SUCCESS } else { ExitCode::from(INTERRUPTED) })
    })
}

/// Each connection of a webhook takes a file handle. The usual limit, 1024, is the one of programs that call `select`.
fn raise_file_limit() {
    let limit = getrlimit(Resource::Nofile);
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }) {
        debug!(%error, "the limit of open files stays as it is");
    }
}

/// Sets up the log, and traces if somebody asks for them.
fn init_telemetry(args: &Serve) -> anyhow::Result<(LogControl, Option<Traces>)> {
    let standard = || std::env::var("OTEL_EXPORTER_OTLP_ENDPOINT").ok();
    let Some(endpoint) = args.otlp_endpoint.clone().or_else(standard).filter(|endpoint| !endpoint.is_empty()) else {
        return Ok((init_log(&args.log)?, None));
    };
    let (traces, layer) = Traces::start(&endpoint)?;
    let log = log::init_with(format(&args.log), &args.log.log_level, layer)?;
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

async fn options(args: Serve) -> anyhow::Result<Options> {
    let (client, server) = connect::client(&args.connection).await?;
    let record = record(args.recording, args.hooks.as_deref().unwrap_or(Path::new("")));
    let election = election(args.election, args.webhooks.instance.as_deref(), client.default_namespace());
    let webhooks = webhooks(args.webhooks, client.default_namespace())?;
    let mut options = Options::new(client, "").context("can't find this program's own file")?;
    options.hooks = args.hooks;
    options.record = record;
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
    options.metrics_prefix = args.metrics_prefix;
    options.hook_metrics_series = usize::try_from(args.hook_metrics_series).unwrap_or(usize::MAX);
    options.grace_period = args.grace_period;
    options.queue.max_parallel_runs = args.max_parallel_runs.into();
    options.sandbox.max_concurrent_runs = args.max_parallel_runs.into();
    options.sandbox.maxima.memory = u64::from(args.max_memory) * 1024 * 1024;
    options.sandbox.compiler = Some(CompilerConfig::new(std::env::current_exe()?));
    options.sandbox.cache_dir = args.cache_dir.or_else(cache_dir);
    options.sandbox.interpreters = interpreters::directories(args.interpreters);
    options.access.reporting_instance = std::env::var("HOSTNAME").unwrap_or(options.access.reporting_instance);
    Ok(options)
}

/// None as long as nobody says how the API server gets here: registered webhooks that it can't reach would hold
/// up the cluster.
fn webhooks(args: Webhooks, namespace: &str) -> anyhow::Result<Option<WebhookOptions>> {
    let reached = match (args.webhook_service, args.webhook_url) {
        _ if args.no_webhooks => return Ok(None),
        (Some(service), _) => Reached::Service(service),
        (None, Some(url)) => Reached::Url(url),
        (None, None) => return Ok(None),
    };
    let read = |file: &PathBuf| std::fs::read(file).with_context(|| format!("can't read {}", file.display()));
    Ok(Some(WebhookOptions {
        listen: args.webhook_listen,
        settings: Default::default(),
        instance: args.instance.unwrap_or_else(|| namespace.to_owned()),
        namespace: namespace.to_owned(),
        reached,
        certificates: match args.webhook_certs {
            Some(directory) => CertificateSource::Files(directory),
            None => CertificateSource::Secret(args.webhook_secret, args.webhook_certificate_lifetime),
        },
        client_ca: args.webhook_client_ca.as_ref().map(read).transpose()?,
    }))
}

/// None for the only replica.
fn election(args: cli::election::Election, instance: Option<&str>, namespace: &str) -> Option<ElectionConfig> {
    if !args.leader_elect {
        return None;
    }
    let name = args.lease_name.unwrap_or_else(|| lease_name(instance));
    let host = std::env::var("HOSTNAME").unwrap_or_else(|_| "boathook".to_owned());
    Some(ElectionConfig::new(args.lease_namespace.as_deref().unwrap_or(namespace), name, &host, args.lease_duration))
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

/// The user's cache directory, as the XDG base directory specification has it. None where there is no
/// home: compiled components are not kept then.
pub(super) fn cache_dir() -> Option<PathBuf> {
    let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?;
    Some(base.join("boathook"))
}
