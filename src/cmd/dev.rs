//! `boathook dev`: runs an operator and a cluster for authors until a signal.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
    time::Duration,
};

use anyhow::{Context as _, bail};
use boathook_author::{
    author::Tools,
    dev::{Format, Look, Repeating, Session, Show, Source},
    module::is_module,
    rbac::Kinds,
};
use boathook_cluster::{Cluster, State};
use boathook_core::{
    hooks::{SHELL, read_directory},
    model::InterpreterRef,
};
use boathook_operator::{
    app::{App, CertificateSource, Options, Reached, WebhookOptions},
    console::{self, Access, Again, KeptLines},
    record::RecordConfig,
    registration,
    telemetry::{LogFormat, log},
};
use kube::Client;
use serde_json::json;

use super::{
    browser,
    cluster::{write_kubeconfig, write_private},
    connect, effects, http_client, modules, offered,
    rbac::local,
    runtime::{Stop, block_on},
    sandbox::{self, programs},
    variables,
};
use crate::cli::{
    Connection,
    dev::{Dev, DevOutput},
};

/// Log filter: lines of hooks, and what the author should know about the operator.
const FILTER: &str =
    "warn,hook=info,boathook_operator::registration=info,boathook_operator::app::observers=info,kube_client=off";
/// Stands in for the namespace of an operator in a cluster.
const OWN_NAMESPACE: &str = "boathook-dev";
/// Time limit for an API server's response.
const ANSWER: Duration = Duration::from_secs(10);
/// Time for runs to end when their hook is replaced, or on shutdown.
const GRACE: Duration = Duration::from_secs(1);

pub(super) fn run(args: Dev) -> anyhow::Result<ExitCode> {
    match (args.paths.as_slice(), args.paths.iter().find(|path| is_module(path))) {
        ([_], Some(module)) => return modules::develop(&args, module, &Show::new(format(args.output))),
        (_, Some(module)) => bail!("{} is a module: name it alone", module.display()),
        (_, None) if args.config.is_some() || !args.patch.is_empty() => {
            bail!("--config and --patch are for a module: name its directory");
        }
        (_, None) => {}
    }
    block_on(async {
        let mut stop = Stop::new()?;
        let tools = Tools::new(programs());
        let sources = sources(&args.paths, &tools)?;
        let show = Arc::new(Show::new(format(args.output)));
        let lines = show.clone();
        let kept = (!args.no_console).then(KeptLines::default);
        log::init_to(LogFormat::Json, FILTER, move || lines.lines(), kept.as_ref().map(KeptLines::layer))?;
        let directory = tempfile::tempdir().context("cannot make a temporary directory")?;
        let hooks = directory.path().join("hooks");
        prepare(&hooks, args.hooks.as_deref())?;
        let place = tokio::select! {
            place = Place::find(&args, directory.path()) => place?,
            () = stop.requested() => return Ok(ExitCode::SUCCESS),
        };
        let mut options = options(&place, &hooks, &args, &show)?;
        options.kept_lines = kept;
        let console = (!args.no_console).then(Access::random);
        if let Some(access) = console.clone() {
            let records = directory.path().join("records");
            options.record = Some(RecordConfig::new(&records, &hooks));
            let repeating = Repeating::new(records, super::replay::repeating(None)?);
            let (listen, again) = (([127, 0, 0, 1], 0).into(), Some(Again(Arc::new(repeating))));
            options.console = Some(console::Options { listen, access, again });
        }
        let app = tokio::select! {
            app = App::start(options) => app?,
            () = stop.requested() => return Ok(ExitCode::SUCCESS),
        };
        place.announce(&show);
        if let Some(address) = app.console_address() {
            announce_console(address, console.as_ref(), directory.path(), args.open, &show);
        }
        let kinds = Kinds::new(local(&[]).await?);
        let session = Session { sources, tools, hooks, kinds, rerun: args.rerun, no_webhooks: no_webhooks(&args) };
        let ended = tokio::select! {
            ended = session.run(&app, &show) => ended.map_err(anyhow::Error::from),
            ended = app.tasks().ended() => Err(anyhow::anyhow!("{ended}: this is a defect of boathook")),
            () = stop.requested() => Ok(()),
        };
        tokio::select! {
            saved = end(app, place, &args) => saved?,
            // A second signal ends the program at once.
            () = stop.requested() => {}
        }
        ended?;
        Ok(ExitCode::SUCCESS)
    })
}

/// The secret is behind a `#`, so a browser sends it in no request and to no other site.
fn announce_console(address: SocketAddr, access: Option<&Access>, directory: &Path, open: bool, show: &Show) {
    let url = format!("http://{address}/#secret={}", access.and_then(Access::secret).unwrap_or_default());
    show.say(&format!("console: {url}\n"), "console", json!({"url": url}));
    if open && let Err(error) = browser::open(&url, directory) {
        let text = format!("cannot open the console in a browser: {error:#}: open its address yourself");
        show.say(&format!("{text}\n"), "warning", json!({"message": text}));
    }
}

/// Removes the webhook registrations after the shutdown, because nothing answers them any more. They would block the
/// cluster, or the next one that starts from the saved state.
async fn end(app: App, place: Place, args: &Dev) -> anyhow::Result<()> {
    app.shutdown().await;
    if no_webhooks(args).is_none() {
        let removed = tokio::time::timeout(
            ANSWER,
            registration::remove(place.client.clone(), &args.instance, registration::Pending::default(), false),
        );
        let what = || format!("webhooks may be left: boathook uninstall --instance {} --yes", args.instance);
        removed.await.with_context(what)?.with_context(what)?;
    }
    place.save(args.save.as_deref())?;
    if let Some((cluster, _)) = place.local {
        cluster.shutdown().await;
    }
    Ok(())
}

/// Why the cluster does not call hooks' webhooks, if it does not.
fn no_webhooks(args: &Dev) -> Option<&'static str> {
    if args.plan {
        return Some("a plan registers none, so that the cluster does not ask it");
    }
    let unreachable = args.kubeconfig.is_some() && args.webhook_url.is_none();
    unreachable.then_some("give --webhook-url https://HOST:PORT, by which the cluster reaches this machine")
}

fn webhooks(args: &Dev) -> Option<WebhookOptions> {
    let (listen, reached) = match &args.webhook_url {
        Some(url) => (args.webhook_listen, Reached::Url(url.clone())),
        None => (([127, 0, 0, 1], 0).into(), Reached::Address),
    };
    no_webhooks(args).is_none().then(|| WebhookOptions {
        listen,
        settings: Default::default(),
        instance: args.instance.clone(),
        namespace: OWN_NAMESPACE.to_owned(),
        left_out: WebhookOptions::left_out(None),
        reached,
        certificates: CertificateSource::Memory,
        client_ca: None,
    })
}

/// Each hook may have only one source.
fn sources(paths: &[PathBuf], tools: &Tools) -> anyhow::Result<Vec<Source>> {
    let mut sources: Vec<Source> = Vec::new();
    for path in paths {
        let source = Source::find(path, tools)?;
        if sources.iter().any(|known| known.name == source.name) {
            bail!("there are two sources of the hook {}: give one", source.name);
        }
        sources.push(source);
    }
    Ok(sources)
}

fn format(output: DevOutput) -> Format {
    match output {
        DevOutput::Text => Format::Text(Look { style: effects::style(false), frames: 12 }),
        DevOutput::Json => Format::Json,
    }
}

/// The operator's directory, with the hooks that have no source here.
fn prepare(hooks: &Path, others: Option<&Path>) -> anyhow::Result<()> {
    std::fs::create_dir(hooks).context("cannot make a directory for the hooks")?;
    let Some(others) = others else { return Ok(()) };
    let interpreter = InterpreterRef::newest(&programs().interpreters, SHELL);
    for file in read_directory(others)? {
        let unusable = || format!("cannot use {}", file.path.display());
        let component = file.component(interpreter.clone()).with_context(unusable)?;
        std::fs::write(hooks.join(format!("{}.wasm", file.stem())), component).with_context(unusable)?;
    }
    Ok(())
}

/// The cluster to use.
struct Place {
    client: Client,
    server: String,
    /// The local cluster and its kubeconfig, if no other cluster was named.
    local: Option<(Cluster, PathBuf)>,
}

impl Place {
    async fn find(args: &Dev, directory: &Path) -> anyhow::Result<Self> {
        let Some(kubeconfig) = &args.kubeconfig else { return Self::local(args, directory).await };
        let connection = Connection { kubeconfig: Some(kubeconfig.clone()), context: args.context.clone() };
        let (client, server) = connect::client(&connection).await?;
        let what = || format!("no cluster answers at {server}, which {} names", kubeconfig.display());
        tokio::time::timeout(ANSWER, client.apiserver_version()).await.with_context(what)?.with_context(what)?;
        Ok(Self { client, server, local: None })
    }

    async fn local(args: &Dev, directory: &Path) -> anyhow::Result<Self> {
        let mut state = State::default();
        for path in &args.state {
            state.append(State::read(path)?);
        }
        let cluster = Cluster::start(boathook_cluster::Options::default().state(state)).await?;
        let file = args.write_kubeconfig.clone().unwrap_or_else(|| directory.join("kubeconfig"));
        write_kubeconfig(&file, &cluster.kubeconfig())?;
        let client = connect::client_of(kube::Config::new(cluster.url().parse()?))?;
        Ok(Self { client, server: cluster.url().to_string(), local: Some((cluster, file)) })
    }

    fn announce(&self, show: &Show) {
        let kubeconfig = self.local.as_ref().map(|(_, file)| file.display().to_string());
        let text = match &kubeconfig {
            Some(file) => format!(
                "local cluster on {}; in another terminal, try:\n  kubectl --kubeconfig {file} get namespaces\n",
                self.server
            ),
            None => format!("working on the cluster at {}\n", self.server),
        };
        show.say(&text, "started", json!({"server": self.server, "kubeconfig": kubeconfig}));
    }

    fn save(&self, file: Option<&Path>) -> anyhow::Result<()> {
        let (Some(file), Some((cluster, _))) = (file, &self.local) else { return Ok(()) };
        write_private(file, &cluster.save())
            .with_context(|| format!("cannot write the cluster's state to {}", file.display()))
    }
}

fn options(place: &Place, hooks: &Path, args: &Dev, show: &Arc<Show>) -> anyhow::Result<Options> {
    let mut options = Options::new(place.client.clone(), hooks).context("cannot find this program's own file")?;
    options.server = place.server.clone();
    options.grace_period = GRACE;
    options.plan = args.plan;
    options.http = http_client::client(&args.http, &[])?;
    options.directories = offered::directories(&args.directories)?;
    options.variables = variables::variables(&args.variables)?;
    options.webhooks = webhooks(args);
    options.keep_last_run = args.rerun;
    options.effects = Some(show.clone());
    let ended = show.clone();
    options.run_ended = Some(Arc::new(move |run| ended.run_ended(run)));
    options.sandbox = sandbox::config(None)?;
    Ok(options)
}
