//! The webhook server in the operator. It starts when a hook needs it, and the hooks are registered after that.

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::PathBuf,
    sync::{Arc, OnceLock},
    time::Duration,
};

use boathook_core::{
    model::{BindingName, Source, error_chain},
    tasks::Task,
};
use tokio::{sync::watch, time::sleep};
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use super::{
    Services,
    answers::Answers,
    health::Health,
    hooks::{Hook, HookRegistry},
    module_settings::SettingsReviewer,
};
use crate::{
    registration::{self, Endpoint, Registrant, Wanted},
    telemetry::Metrics,
    webhook::{CaBundle, CertificateError, Certificates, Lifetimes, Managed, PathKeys, Server, ServerError, Settings},
};

/// Between two attempts to get certificates, or to remove earlier registrations.
const RETRY: Duration = Duration::from_secs(5);
/// The maximum age of the metric for the certificate's expiry.
const EXPIRY: Duration = Duration::from_secs(60);

/// How to serve webhooks.
#[derive(Debug, Clone)]
pub struct WebhookOptions {
    /// The address to listen on. Port 0 takes a free port.
    pub listen: SocketAddr,
    /// The limits of the server.
    pub settings: Settings,
    /// Distinguishes this operator's registrations from those of others in the cluster.
    pub instance: String,
    /// The operator's own namespace, which contains its Secret and its Service.
    pub namespace: String,
    /// The namespaces that webhooks leave out.
    pub left_out: Vec<String>,
    /// How the API server reaches this server.
    pub reached: Reached,
    /// The source of the certificates.
    pub certificates: CertificateSource,
    /// The authorities of clients, as PEM. Only clients with a certificate of theirs are answered. Default: none.
    pub client_ca: Option<Vec<u8>>,
}

impl WebhookOptions {
    /// The namespaces that webhooks leave out: `kube-system`, and the operator's own if the operator runs in the
    /// cluster. Outside of the cluster, the operator's namespace is only that of a kubeconfig, and hooks apply to it,
    /// too.
    pub fn left_out(own: Option<&str>) -> Vec<String> {
        const SYSTEM: &str = "kube-system";
        let own = own.filter(|own| *own != SYSTEM);
        [Some(SYSTEM), own].into_iter().flatten().map(str::to_owned).collect()
    }
}

/// How the API server reaches the webhook server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reached {
    /// Through this Service in the operator's namespace, at its port 443.
    Service(String),
    /// `https://host:port`
    Url(String),
    /// At the address that the server listens on. For clusters on this machine.
    Address,
}

impl Reached {
    /// How long requests still arrive after the operator's shutdown begins. EndpointSlices change at once, and
    /// kube-proxy follows a little later on each node.
    pub(super) fn linger(&self) -> Option<Duration> {
        matches!(self, Self::Service(_)).then_some(Duration::from_secs(5))
    }
}

/// The source of certificates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CertificateSource {
    /// Certificates that Boathook issues, in this Secret of the operator's namespace. Each is valid for this duration
    /// (1 minute to 1 year), and its authority for four times as long.
    Secret(String, Duration),
    /// `tls.crt`, `tls.key` and optionally `ca.crt` in this directory.
    Files(PathBuf),
    /// Certificates that Boathook issues, and that are lost when the operator ends.
    Memory,
}

impl CertificateSource {
    /// The default lifetime of a certificate: 90 days.
    pub const LIFETIME: Duration = Duration::from_secs(90 * 24 * 60 * 60);
}

#[derive(Debug, thiserror::Error)]
#[error("webhooks cannot be served")]
pub enum WebhookError {
    Certificates(#[from] CertificateError),
    Server(#[from] ServerError),
}

/// What webhooks work with.
pub(super) struct Parts {
    pub client: kube::Client,
    pub options: WebhookOptions,
    pub answers: Arc<Answers>,
    pub services: Arc<Services>,
    /// Answers about the settings of modules.
    pub settings: Option<Arc<SettingsReviewer>>,
}

/// The webhooks of an operator. Dropping it ends them at once.
pub(super) struct Webhooks {
    address: Arc<OnceLock<SocketAddr>>,
    stop: CancellationToken,
    task: Task<()>,
}

impl Webhooks {
    /// Starts the server when a hook needs it. If a hook needs it now, an error that waiting cannot fix is returned.
    pub async fn start(parts: Parts) -> Result<Self, WebhookError> {
        let first = if parts.needed() {
            match parts.begin().await {
                Ok(begun) => Some(begun),
                Err(WebhookError::Certificates(error @ CertificateError::Secret { .. })) => {
                    warn!(
                        error = error_chain(&error),
                        "webhooks are not served yet: retrying until there are certificates"
                    );
                    None
                }
                Err(error) => return Err(error),
            }
        } else {
            None
        };
        let (address, stop) = (Arc::new(OnceLock::new()), CancellationToken::new());
        let (registered, known) = watch::channel(Wanted::default());
        parts.services.health.registered(known);
        let tasks = parts.services.tasks.clone();
        let task = tasks.spawn("webhooks", run(parts, first, registered, address.clone(), stop.clone()));
        Ok(Self { address, stop, task })
    }

    /// The address of the server, once it listens.
    pub fn address(&self) -> Option<SocketAddr> {
        self.address.get().copied()
    }

    /// Lets answers end. Registrations stay, because a restart must not let through what hooks refuse.
    pub async fn shutdown(self) {
        self.stop.cancel();
        // The task ends by itself, and a panic in it was already reported.
        let _ = self.task.await;
    }
}

/// The server and its certificates.
struct Begun {
    server: Server,
    certificates: Certificates,
}

async fn run(
    parts: Parts,
    first: Option<Begun>,
    registered: watch::Sender<Wanted>,
    address: Arc<OnceLock<SocketAddr>>,
    stop: CancellationToken,
) {
    let begun = match first {
        Some(begun) => begun,
        None => tokio::select! {
            begun = parts.waited() => begun,
            () = stop.cancelled() => return,
        },
    };
    let Begun { server, certificates } = begun;
    // This is the first time that it is set.
    let _ = address.set(server.address());
    let left_out = parts.options.left_out.join(", ");
    info!(listen = %server.address(), left_out, "webhooks served");
    let tasks = parts.register(&server, &certificates, registered);
    tokio::select! {
        () = show_expiry(&parts.services.metrics, &certificates) => {}
        () = stop.cancelled() => {}
    }
    drop(tasks);
    server.shutdown().await;
}

impl Parts {
    /// Whether anything answers the API server.
    fn needed(&self) -> bool {
        self.settings.is_some() || needed(&self.services.hook_registry)
    }

    /// Waits until a hook needs the server and it can be started.
    async fn waited(&self) -> Begun {
        let mut changes = self.services.health.changes();
        if !self.needed() {
            tokio::select! {
                () = async { self.services.leadership.gained().await; self.take_back().await } => {}
                () = self.comes_to_be_needed() => {}
            }
        }
        loop {
            changes.mark_unchanged();
            if self.needed() {
                match self.begin().await {
                    Ok(begun) => return begun,
                    Err(error) => {
                        warn!(error = error_chain(&error), "webhooks are not served: retrying until they are");
                        sleep(RETRY).await;
                    }
                }
            } else if changes.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    async fn comes_to_be_needed(&self) {
        let mut changes = self.services.health.changes();
        while !self.needed() {
            if changes.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Removes registrations when no hook answers any more, because they must not hold up anybody. What a hook that is
    /// not loaded may still need stays until all sources are settled.
    async fn take_back(&self) {
        let mut changes = self.services.health.changes();
        while !self.needed() {
            changes.mark_unchanged();
            let pending = wanted_now(&self.services.hook_registry, &self.services.health, None).pending;
            let all = pending.is_none();
            match registration::remove(self.client.clone(), &self.options.instance, pending, false).await {
                Ok(removed) => {
                    removed.deleted.iter().for_each(|what| info!(what, "registration removed: no hook needs it"));
                    removed.restored.iter().for_each(|what| info!(what, "conversion restored"));
                    if all || changes.changed().await.is_err() {
                        return;
                    }
                    // Each step of a module is a change.
                    sleep(RETRY).await;
                    continue;
                }
                // The operator never registered anything, or has lost the right to remove it.
                Err(error) if error.is_refused() => {
                    info!(
                        error = error_chain(&error),
                        "leftover registrations are not deleted: listing them is forbidden"
                    );
                    return;
                }
                Err(error) => debug!(error = error_chain(&error), "leftover registrations cannot be listed"),
            }
            sleep(RETRY).await;
        }
    }

    async fn begin(&self) -> Result<Begun, WebhookError> {
        let WebhookOptions { listen, settings, namespace, certificates, client_ca, .. } = &self.options;
        let certificates = match certificates {
            CertificateSource::Files(directory) => Certificates::files(directory.clone(), &self.services.tasks).await?,
            CertificateSource::Memory => Certificates::memory(&self.names(), &self.services.tasks)?,
            CertificateSource::Secret(secret, life) => {
                let managed = Managed::new(namespace.clone(), secret.clone(), self.names());
                let managed = managed.living(Lifetimes::of(*life));
                Certificates::managed(self.client.clone(), managed, &self.services.tasks).await?
            }
        };
        let (settings, answers) = (settings.clone(), self.answers.clone());
        let server =
            Server::start(*listen, settings, &certificates, client_ca.as_deref(), answers, &self.services.tasks)
                .await?;
        Ok(Begun { server, certificates })
    }

    /// The names by which the API server reaches the server.
    fn names(&self) -> Vec<String> {
        let namespace = &self.options.namespace;
        match &self.options.reached {
            Reached::Service(name) => {
                let full = format!("{name}.{namespace}.svc");
                vec![full.clone(), format!("{name}.{namespace}"), name.clone(), format!("{full}.cluster.local")]
            }
            Reached::Url(url) => vec![host(url).to_owned()],
            Reached::Address => vec![loopback(self.options.listen).ip().to_string()],
        }
    }

    fn endpoint(&self, address: SocketAddr) -> Endpoint {
        match &self.options.reached {
            Reached::Service(name) => {
                Endpoint::Service { namespace: self.options.namespace.clone(), name: name.clone(), port: 443 }
            }
            Reached::Url(url) => Endpoint::Url(url.clone()),
            Reached::Address => Endpoint::Url(format!("https://{}", loopback(address))),
        }
    }

    fn register(
        &self,
        server: &Server,
        certificates: &Certificates,
        registered: watch::Sender<Wanted>,
    ) -> [Task<()>; 2] {
        let WebhookOptions { instance, left_out, .. } = &self.options;
        let settings = registration::Settings {
            instance: instance.clone(),
            left_out: left_out.clone(),
            endpoint: self.endpoint(server.address()),
        };
        let (wanted, known) = watch::channel(None);
        let (hook_registry, health) = (self.services.hook_registry.clone(), self.services.health.clone());
        let trust = (certificates.watch(), certificates.paths());
        let compose = compose(hook_registry, health, self.settings.clone(), trust, wanted);
        let (leadership, keep) = (
            self.services.leadership.clone(),
            registration::run(self.client.clone(), settings, known, registered, self.services.tasks.clone()),
        );
        let keep = async move {
            leadership.gained().await;
            tokio::select! {
                () = keep => {}
                // The code that runs the operator ends it.
                () = async { leadership.lost().await; std::future::pending().await } => {}
            }
        };
        [self.services.tasks.spawn("what to register", compose), self.services.tasks.spawn("registrations", keep)]
    }
}

/// Whether a hook answers the API server.
pub(super) fn needed(hook_registry: &HookRegistry) -> bool {
    hook_registry.live().iter().any(|hook| hook.spec.answers())
}

/// Updates the metric until it is dropped.
async fn show_expiry(metrics: &Metrics, certificates: &Certificates) {
    loop {
        metrics.set_certificate_expiry(certificates.expiry().serving.as_second());
        sleep(EXPIRY).await;
    }
}

/// `example.com` of `https://example.com:9443/`, and an IPv6 address without its brackets.
fn host(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split_once('/').map_or(rest, |(authority, _)| authority);
    match authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, _)) => address,
        None => authority.rsplit_once(':').map_or(authority, |(host, _)| host),
    }
}

/// The address for clients on this machine.
fn loopback(address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        return SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), address.port());
    }
    address
}

/// Publishes what has to be registered whenever that changes, until it is dropped.
async fn compose(
    hook_registry: Arc<HookRegistry>,
    health: Arc<Health>,
    settings: Option<Arc<SettingsReviewer>>,
    (mut bundle, mut paths): (watch::Receiver<CaBundle>, watch::Receiver<PathKeys>),
    wanted: watch::Sender<Option<Wanted>>,
) {
    let mut changes = health.changes();
    loop {
        changes.mark_unchanged();
        let ca = bundle.borrow_and_update().clone();
        let ca = (!ca.is_empty()).then(|| ca.as_pem().into());
        let key = Some(paths.borrow_and_update().registered().clone());
        let now = Some(Wanted { ca, paths: key, ..wanted_now(&hook_registry, &health, settings.as_deref()) });
        wanted.send_if_modified(|known| {
            let changed = *known != now;
            *known = now;
            changed
        });
        tokio::select! {
            changed = changes.changed() => if changed.is_err() { return },
            changed = bundle.changed() => if changed.is_err() { return },
            changed = paths.changed() => if changed.is_err() { return },
        }
    }
}

/// Sources are read first. If a bundle is settled in the meantime, its hooks are already in the registry.
fn wanted_now(hook_registry: &HookRegistry, health: &Health, settings: Option<&SettingsReviewer>) -> Wanted {
    let mut pending = health.sources().pending();
    let (live, broken) = hook_registry.registered();
    pending.hooks = broken;
    let registrant = |hook: &Hook| {
        let (spec, source) = (&hook.spec, hook.source());
        let bindings: Vec<BindingName> = spec.kubernetes.iter().map(|binding| binding.name.clone()).collect();
        let ready = health.unlisted(&spec.name, &bindings).is_empty();
        let settled = !pending.has(&source);
        Registrant { spec: Arc::new(spec.clone()), source, ready, settled }
    };
    let own = settings.map(SettingsReviewer::spec);
    // What stands in is registered by the leader, or not at all.
    let running = live.iter().filter(|hook| !hook.stands_in);
    let others = running.filter(|hook| own.is_none_or(|own| own.name != hook.spec.name));
    let own = own.map(|spec| Registrant { spec: spec.clone(), source: Source::Directory, ready: true, settled: true });
    let hooks = others.map(|hook| registrant(hook)).chain(own).collect();
    Wanted { hooks, pending, ..Wanted::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_of_a_url() {
        let hosts =
            ["https://a.example.com", "https://a.example.com:9443/x", "https://[::1]:1/", "https://127.0.0.1:2"];
        assert_eq!(hosts.map(host), ["a.example.com", "a.example.com", "::1", "127.0.0.1"]);
    }
}
