//! The webhook server in the operator: begins when a hook needs it, and then has the hooks registered. Answers
//! nothing itself and decides nothing of registrations.

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::PathBuf,
    sync::{Arc, OnceLock},
    time::Duration,
};

use tokio::{sync::watch, task::JoinSet, time::sleep};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};
use tracing::{debug, info, warn};

use super::{answers::Answers, health::Health, registrations, roster::Roster};
use crate::{
    election::Leadership,
    model::error_chain,
    registration::{self, Endpoint, Wanted},
    telemetry::Metrics,
    webhook::{CertificateError, Certificates, Lifetimes, Managed, Server, ServerError, Settings},
};

/// Between two tries to get certificates, or to take back what was registered before.
const RETRY: Duration = Duration::from_secs(5);
/// How old the metric of the certificate's expiry may be.
const EXPIRY: Duration = Duration::from_secs(60);

/// How to serve webhooks.
#[derive(Debug, Clone)]
pub struct WebhookOptions {
    /// Where to listen; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Bounds of the server.
    pub settings: Settings,
    /// Tells this operator's registrations from those of others in the cluster.
    pub instance: String,
    /// The operator's own namespace, which webhooks leave out.
    pub namespace: String,
    /// How the API server gets here.
    pub reached: Reached,
    /// Where certificates are from.
    pub certificates: CertificateSource,
    /// Authorities of clients, as PEM: only clients with a certificate of theirs are answered. Default none.
    pub client_ca: Option<Vec<u8>>,
}

/// How the API server gets to the webhook server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reached {
    /// Over this Service of the operator's namespace, at its port 443.
    Service(String),
    /// `https://host:port`
    Url(String),
    /// At the address that is listened on: for clusters on this machine.
    Address,
}

/// Where certificates are from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CertificateSource {
    /// Boathook's own, in this Secret of the operator's namespace; each lives so long, from 1 minute to 1 year, and
    /// its authority four times.
    Secret(String, Duration),
    /// `tls.crt`, `tls.key` and maybe `ca.crt` in this directory.
    Files(PathBuf),
    /// Boathook's own, which are gone when the operator ends.
    Memory,
}

impl CertificateSource {
    /// The usual life of a certificate: 90 days.
    pub const LIFETIME: Duration = Duration::from_secs(90 * 24 * 60 * 60);
}

/// Webhooks can't be served.
#[derive(Debug, thiserror::Error)]
#[error("webhooks can't be served")]
pub enum WebhookError {
    /// There are no certificates.
    Certificates(#[from] CertificateError),
    /// The server can't serve.
    Server(#[from] ServerError),
}

/// What webhooks work with.
pub(super) struct Parts {
    pub client: kube::Client,
    pub options: WebhookOptions,
    pub answers: Arc<Answers>,
    pub roster: Arc<Roster>,
    pub health: Arc<Health>,
    pub metrics: Arc<Metrics>,
    /// All replicas answer, and the one that leads registers.
    pub leadership: Leadership,
}

/// The webhooks of an operator. Dropping it ends them at once.
pub(super) struct Webhooks {
    address: Arc<OnceLock<SocketAddr>>,
    stop: CancellationToken,
    task: AbortOnDropHandle<()>,
}

impl Webhooks {
    /// Begins when a hook needs it. What can't be mended by waiting is an error, if a hook needs it now.
    pub async fn start(parts: Parts) -> Result<Self, WebhookError> {
        let first = if needed(&parts.roster) {
            match parts.begin().await {
                Ok(begun) => Some(begun),
                Err(WebhookError::Certificates(error @ CertificateError::Secret { .. })) => {
                    warn!(
                        error = error_chain(&error),
                        "webhooks are not served yet: trying until there are certificates"
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
        parts.health.registered(known);
        let task = tokio::spawn(keep(parts, first, registered, address.clone(), stop.clone()));
        Ok(Self { address, stop, task: AbortOnDropHandle::new(task) })
    }

    /// Where it listens, once it does.
    pub fn address(&self) -> Option<SocketAddr> {
        self.address.get().copied()
    }

    /// Lets answers end. Registrations stay: a restart must not let through what hooks refuse.
    pub async fn shutdown(self) {
        self.stop.cancel();
        // It ends by itself, and a panic in it was told of.
        let _ = self.task.await;
    }
}

/// The server, and what it shows.
struct Begun {
    server: Server,
    certificates: Certificates,
}

async fn keep(
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
    // The first time it is set.
    let _ = address.set(server.address());
    info!(listen = %server.address(), "webhooks served");
    let tasks = parts.register(&server, &certificates, registered);
    tokio::select! {
        () = show_expiry(&parts.metrics, &certificates) => {}
        () = stop.cancelled() => {}
    }
    drop(tasks);
    server.shutdown().await;
}

impl Parts {
    /// Once a hook needs it and it can be done.
    async fn waited(&self) -> Begun {
        let mut changes = self.health.changes();
        if !needed(&self.roster) {
            tokio::select! {
                () = self.leadership.gained() => self.take_back().await,
                () = self.comes_to_be_needed() => {}
            }
        }
        loop {
            changes.mark_unchanged();
            if needed(&self.roster) {
                match self.begin().await {
                    Ok(begun) => return begun,
                    Err(error) => {
                        warn!(error = error_chain(&error), "webhooks are not served: trying until they are");
                        sleep(RETRY).await;
                    }
                }
            } else if changes.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    async fn comes_to_be_needed(&self) {
        let mut changes = self.health.changes();
        while !needed(&self.roster) {
            if changes.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// No hook answers any more: what the last ones registered must not hold up anybody.
    async fn take_back(&self) {
        while !needed(&self.roster) {
            match registration::remove(self.client.clone(), &self.options.instance, false).await {
                Ok(removed) => {
                    removed.deleted.iter().for_each(|what| info!(what, "registration removed: no hook needs it"));
                    removed.restored.iter().for_each(|what| info!(what, "conversion given back as it was"));
                    return;
                }
                // Then it never registered anything, or lost the right to take it back.
                Err(error) if error.is_refused() => {
                    info!(error = error_chain(&error), "no look for what hooks registered before: it is not allowed");
                    return;
                }
                Err(error) => debug!(error = error_chain(&error), "leftover registrations can't be looked for"),
            }
            sleep(RETRY).await;
        }
    }

    async fn begin(&self) -> Result<Begun, WebhookError> {
        let WebhookOptions { listen, settings, namespace, certificates, client_ca, .. } = &self.options;
        let certificates = match certificates {
            CertificateSource::Files(directory) => Certificates::files(directory.clone()).await?,
            CertificateSource::Memory => Certificates::memory(&self.names())?,
            CertificateSource::Secret(secret, life) => {
                let managed = Managed::new(namespace.clone(), secret.clone(), self.names());
                let managed = managed.living(Lifetimes::of(*life));
                Certificates::managed(self.client.clone(), managed).await?
            }
        };
        let (settings, answers) = (settings.clone(), self.answers.clone());
        let server = Server::start(*listen, settings, &certificates, client_ca.as_deref(), answers).await?;
        Ok(Begun { server, certificates })
    }

    /// The names under which the API server knows the server.
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

    fn register(&self, server: &Server, certificates: &Certificates, registered: watch::Sender<Wanted>) -> JoinSet<()> {
        let WebhookOptions { instance, namespace, .. } = &self.options;
        let settings = registration::Settings {
            instance: instance.clone(),
            namespace: namespace.clone(),
            endpoint: self.endpoint(server.address()),
        };
        let (wanted, known) = watch::channel(None);
        let mut tasks = JoinSet::new();
        let (roster, health) = (self.roster.clone(), self.health.clone());
        tasks.spawn(registrations::compose(roster, health, certificates.watch(), wanted));
        let (leadership, keep) =
            (self.leadership.clone(), registration::keep(self.client.clone(), settings, known, registered));
        tasks.spawn(async move {
            leadership.gained().await;
            tokio::select! {
                () = keep => {}
                () = leadership.lost() => {}
            }
        });
        tasks
    }
}

/// Whether a hook has anything to answer.
pub(super) fn needed(roster: &Roster) -> bool {
    roster.live().iter().any(|hook| hook.spec.answers())
}

/// Until it is dropped.
async fn show_expiry(metrics: &Metrics, certificates: &Certificates) {
    loop {
        metrics.answers().set_certificate_expiry(certificates.expiry().serving.as_second());
        sleep(EXPIRY).await;
    }
}

/// `example.com` of `https://example.com:9443/`; an IPv6 address without its brackets.
fn host(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split_once('/').map_or(rest, |(authority, _)| authority);
    match authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, _)) => address,
        None => authority.rsplit_once(':').map_or(authority, |(host, _)| host),
    }
}

/// Where somebody on this machine finds it.
fn loopback(address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        return SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), address.port());
    }
    address
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
