//! The public handle: options, start, kubeconfig, faults for tests, shutdown.

#[cfg(feature = "client")]
mod client;

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::auth::{Auth, User};
use crate::controllers::Controller;
use crate::kinds::Registry;
use crate::shared::{Limits, Shared};
use crate::state::{State, StateError};
use crate::store::{HistoryLimits, Store};
use crate::tls::Tls;
use crate::{controllers, lifecycle, server, state};

/// Options to start a [`Cluster`].
#[derive(Clone, Debug)]
pub struct Options {
    /// The listen address, which must be a loopback address. Default `127.0.0.1:0`, a port that the system chooses.
    pub listen: SocketAddr,
    /// How many changes of each resource are kept for watches. Default 20 000.
    pub history_events: usize,
    /// How many bytes of superseded objects the history of each resource may keep. Default 64 MiB.
    pub history_bytes: usize,
    /// How often a watch that allows bookmarks receives one. Default 30 s.
    pub bookmark_interval: Duration,
    /// The maximum size of a request body in bytes. Default 3 MiB, as in the real server.
    pub max_body_bytes: usize,
    /// Whether dependents are deleted with their owners, as the real controller manager does. Default true. Without it,
    /// the finalizers `foregroundDeletion` and `orphan` stay until a client removes them.
    pub garbage_collection: bool,
    /// How long a pod that is bound to a node takes to end after its deletion, and at most its grace period. With
    /// `None` it never ends, as on a node without a kubelet. Default 1 s. Pods without a node end at once.
    pub pod_shutdown: Option<Duration>,
    /// Whether RBAC decides what a request may do, as in a real cluster. Default false: everybody may do everything.
    /// With it, [`Cluster::kubeconfig`] and `Cluster::client` use an administrator's token, and the cluster starts with
    /// the default roles of the real server.
    pub rbac: bool,
    /// Users in addition to the administrator, each with a token. Default none.
    pub users: Vec<(String, User)>,
    /// The controllers to run. Default none. With RBAC, [`Controller::ClusterRoles`] always runs.
    pub controllers: Vec<Controller>,
    /// The addresses of services that webhooks are called through: namespace, name and address. Default none. Any other
    /// service is resolved by its EndpointSlices or Endpoints.
    pub services: Vec<(String, String, SocketAddr)>,
    /// The initial objects, in addition to the namespaces that every cluster has. Default none.
    pub state: State,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            history_events: 20_000,
            history_bytes: 64 << 20,
            bookmark_interval: Duration::from_secs(30),
            max_body_bytes: 3 << 20,
            garbage_collection: true,
            pod_shutdown: Some(Duration::from_secs(1)),
            rbac: false,
            users: Vec::new(),
            controllers: Vec::new(),
            services: Vec::new(),
            state: State::default(),
        }
    }
}

impl Options {
    /// Sets the listen address.
    #[must_use]
    pub fn listen(mut self, address: SocketAddr) -> Self {
        self.listen = address;
        self
    }

    /// Sets the bookmark interval.
    #[must_use]
    pub fn bookmark_interval(mut self, interval: Duration) -> Self {
        self.bookmark_interval = interval;
        self
    }

    /// Turns garbage collection on or off.
    #[must_use]
    pub fn garbage_collection(mut self, on: bool) -> Self {
        self.garbage_collection = on;
        self
    }

    /// Sets the time that pods on nodes take to end.
    #[must_use]
    pub fn pod_shutdown(mut self, after: Option<Duration>) -> Self {
        self.pod_shutdown = after;
        self
    }

    /// Turns RBAC on or off.
    #[must_use]
    pub fn rbac(mut self, on: bool) -> Self {
        self.rbac = on;
        self
    }

    /// Adds a user, who sends `token` as a bearer token.
    #[must_use]
    pub fn user(mut self, token: impl Into<String>, user: User) -> Self {
        self.users.push((token.into(), user));
        self
    }

    /// Sets the controllers, and replaces all others.
    #[must_use]
    pub fn controllers(mut self, controllers: impl IntoIterator<Item = Controller>) -> Self {
        self.controllers = controllers.into_iter().collect();
        self
    }

    /// Sets the address at which webhooks of a service are called, whatever port they name.
    #[must_use]
    pub fn service(mut self, namespace: impl Into<String>, name: impl Into<String>, address: SocketAddr) -> Self {
        self.services.push((namespace.into(), name.into(), address));
        self
    }

    /// Sets the initial objects.
    #[must_use]
    pub fn state(mut self, state: State) -> Self {
        self.state = state;
        self
    }

    /// Sets the limits on the history of each resource.
    #[must_use]
    pub fn history(mut self, events: usize, bytes: usize) -> Self {
        self.history_events = events;
        self.history_bytes = bytes;
        self
    }
}

/// Why a cluster did not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The listen address is reachable from other machines, but the server also speaks plain HTTP.
    #[error(
        "the local cluster listens on loopback only, not on {0}: it speaks plain HTTP as well; use 127.0.0.1 or [::1]"
    )]
    NotLoopback(SocketAddr),
    /// The client for the cluster could not be created.
    #[cfg(feature = "client")]
    #[error("no client could be made for the local cluster")]
    Client(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The TLS certificate could not be created.
    #[error("the local cluster cannot speak TLS")]
    Certificate(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// An initial object is invalid.
    #[error("the local cluster cannot start with this state")]
    State(#[source] StateError),
    /// The listen address could not be bound.
    #[error("the local cluster cannot listen on {address}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The error of the operating system.
        #[source]
        source: std::io::Error,
    },
}

/// A running API server. Dropping it stops everything at once.
#[derive(Debug)]
pub struct Cluster {
    address: SocketAddr,
    shared: Arc<Shared>,
    stop: CancellationToken,
    task: Option<JoinHandle<()>>,
    #[cfg(feature = "client")]
    client: client::Connection,
}

impl Cluster {
    /// Binds the address and serves requests from then on.
    ///
    /// # Errors
    /// If the address is not loopback or cannot be bound, or if an object of the state is invalid.
    pub async fn start(mut options: Options) -> Result<Self, Error> {
        if !options.listen.ip().is_loopback() {
            return Err(Error::NotLoopback(options.listen));
        }
        let listen_error = |source| Error::Listen { address: options.listen, source };
        let listener = TcpListener::bind(options.listen).await.map_err(listen_error)?;
        let address = listener.local_addr().map_err(listen_error)?;
        let state = std::mem::take(&mut options.state);
        let stop = CancellationToken::new();
        let limits = HistoryLimits { events: options.history_events, bytes: options.history_bytes };
        let tls = Tls::new().map_err(|problem| Error::Certificate(Box::new(problem)))?;
        let store = Store::new(limits, options.garbage_collection, options.pod_shutdown);
        let auth = Auth::new(options.rbac, &options.users, &store);
        let limits = Limits {
            bookmark_interval: options.bookmark_interval,
            max_body_bytes: options.max_body_bytes,
            garbage_collection: options.garbage_collection,
            services: options.services.clone(),
        };
        let shared = Arc::new(Shared::new(store, auth, tls, limits, address, stop.clone()));
        lifecycle::seed(&shared.store, &shared.registry());
        if options.rbac {
            put(&shared.store, &shared.registry());
        }
        state::load(&shared, &state).map_err(Error::State)?;
        tokio::spawn(lifecycle::collect::run(shared.clone()));
        let roles = options.rbac.then_some(Controller::ClusterRoles);
        let running: BTreeSet<Controller> = options.controllers.iter().copied().chain(roles).collect();
        tokio::spawn(controllers::run(shared.clone(), running));
        let task = tokio::spawn(server::serve(listener, shared.clone(), stop.clone()));
        Ok(Self {
            address,
            #[cfg(feature = "client")]
            client: client::Connection::new(address, shared.auth.admin_token())?,
            shared,
            stop,
            task: Some(task),
        })
    }

    /// A client for this cluster, which works as long as the cluster runs. It runs in the runtime in which the cluster
    /// was started.
    ///
    /// ```
    /// use boathook_cluster::{Cluster, Options};
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube::api::{Api, PostParams};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let cluster = Cluster::start(Options::default()).await?;
    /// let maps: Api<ConfigMap> = Api::default_namespaced(cluster.client());
    /// let mut map = ConfigMap::default();
    /// map.metadata.name = Some("greeting".to_owned());
    /// maps.create(&PostParams::default(), &map).await?;
    /// assert!(maps.get("greeting").await?.metadata.uid.is_some());
    /// # Ok(())
    /// # }
    /// ```
    #[cfg(feature = "client")]
    pub fn client(&self) -> kube::Client {
        self.client.client()
    }

    /// The listen address, with the actual port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The base URL, which is plain HTTP on loopback. HTTPS on the same address also works.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// A kubeconfig that kubectl and client libraries accept. With [`Options::rbac`] it is the administrator's and uses
    /// TLS, because kubectl sends tokens only over TLS.
    pub fn kubeconfig(&self) -> String {
        let (cluster, user) = match self.token() {
            None => (format!("{{server: '{}'}}", self.url()), "{}".to_owned()),
            Some(token) => {
                let certificate = STANDARD.encode(self.certificate());
                let cluster =
                    format!("{{server: 'https://{}', certificate-authority-data: {certificate}}}", self.address);
                (cluster, format!("{{token: {token}}}"))
            }
        };
        format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: boathook\nclusters:\n- name: boathook\n  cluster: {cluster}\n\
             contexts:\n- name: boathook\n  context:\n    cluster: boathook\n    user: boathook\n\
             users:\n- name: boathook\n  user: {user}\n"
        )
    }

    /// The certificate in PEM for clients that use HTTPS instead of HTTP at [`Cluster::address`].
    pub fn certificate(&self) -> &str {
        self.shared.tls.certificate()
    }

    /// The administrator's bearer token. None without [`Options::rbac`], because every client is then the
    /// administrator.
    pub fn token(&self) -> Option<&str> {
        self.shared.auth.admin_token()
    }

    /// Stops serving, closes all connections and waits until the port is free.
    pub async fn shutdown(mut self) {
        self.stop.cancel();
        if let Some(task) = self.task.take() {
            let _ended = task.await;
        }
    }

    /// All objects, including Secrets, as YAML documents that [`State::parse`] reads. Objects that are being deleted
    /// are saved as if they were not.
    pub fn save(&self) -> String {
        state::save(&self.shared)
    }

    /// Drops all watch history. A watch or list from an older resourceVersion then fails with 410 Expired.
    pub fn compact(&self) {
        self.shared.store.compact();
    }

    /// Closes every open watch connection, like a broken network.
    pub fn disconnect_watches(&self) {
        self.shared.disconnect_watches();
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

// The initial roles and bindings of a cluster with RBAC. Do not edit `roles.jsonl`: `schema/roles.py` records it from
// a kube-apiserver.

const ROLES: &str = include_str!("roles.jsonl");

fn put(store: &Store, registry: &Registry) {
    for object in ROLES.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
        lifecycle::seed_object(store, registry, object);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_an_object() {
        let kinds = ROLES.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        assert!(kinds.clone().all(|o| o.get("kind").is_some()));
        let name = |o: &Value| o.pointer("/metadata/name").and_then(Value::as_str).map(str::to_owned);
        let names: Vec<String> = kinds.filter_map(|o| name(&o)).collect();
        for wanted in ["cluster-admin", "admin", "edit", "view", "system:basic-user", "system:discovery"] {
            assert!(names.iter().any(|n| n == wanted), "{wanted}");
        }
    }
}
