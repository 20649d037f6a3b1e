//! Keeps Boathook's own certificates in their Secret, together with the other replicas. The rules are in `decide`. A
//! replica that loses a race reads what the winner wrote.

use std::{collections::BTreeMap, fmt, sync::Arc, time::Duration};

use boathook_core::{model::error_chain, tasks::Tasks};
use futures::StreamExt as _;
use jiff::Timestamp;
use k8s_openapi::{ByteString, api::core::v1::Secret};
use kube::{
    Api,
    api::{DeleteParams, PostParams, Preconditions, WatchParams},
};

use super::{CertificateError, Certificates, Lifetimes, PathKeys, Published, UPKEEP, material::Material};

/// Returns the current time.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// Where Boathook's own certificates are, and the names they are for.
#[derive(Clone)]
pub struct Managed {
    pub namespace: String,
    pub secret: String,
    /// DNS names and addresses that the API server calls: `NAME.NAMESPACE.svc`.
    pub names: Vec<String>,
    pub lifetimes: Lifetimes,
    /// The maximum time between two checks of the Secret: 1 min, and less for short lifetimes. A change of the Secret
    /// is noticed earlier.
    pub every: Duration,
    pub clock: Clock,
}

impl Managed {
    /// Returns the defaults.
    pub fn new(namespace: impl Into<String>, secret: impl Into<String>, names: Vec<String>) -> Self {
        Self {
            namespace: namespace.into(),
            secret: secret.into(),
            names,
            lifetimes: Lifetimes::default(),
            every: Lifetimes::default().every(),
            clock: Arc::new(Timestamp::now),
        }
    }

    /// Uses other lifetimes, and checks as often as these need.
    pub fn living(self, lifetimes: Lifetimes) -> Self {
        Self { lifetimes, every: lifetimes.every(), ..self }
    }
}

impl fmt::Debug for Managed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Managed({}/{})", self.namespace, self.secret)
    }
}

pub(super) async fn start(
    client: kube::Client,
    managed: Managed,
    tasks: &Tasks,
) -> Result<Certificates, CertificateError> {
    let api = Api::namespaced(client, &managed.namespace);
    let upkeep = Upkeep { place: format!("{}/{}", managed.namespace, managed.secret), api, managed };
    let Held { material, version } = upkeep.look(None).await?;
    let published = Published::new(material.serving(&upkeep.place)?, material.bundle(), upkeep.path_keys(&material)?);
    let certificates = published.certificates();
    Ok(certificates(tasks.spawn(UPKEEP, upkeep.run(Held { material, version }, published))))
}

/// Deletes the Secret if it exists and is ours. Returns whether it did. With `dry_run`, it only returns that.
pub(super) async fn remove(
    client: kube::Client,
    namespace: &str,
    name: &str,
    dry_run: bool,
) -> Result<bool, CertificateError> {
    let api: Api<Secret> = Api::namespaced(client, namespace);
    let error = |verb: &'static str| {
        let secret = format!("{namespace}/{name}");
        move |source| CertificateError::Secret { verb, secret, source: Box::new(source) }
    };
    let Some(found) = api.get_opt(name).await.map_err(error("get"))?.filter(is_ours) else { return Ok(false) };
    let preconditions = Preconditions { uid: found.metadata.uid, resource_version: found.metadata.resource_version };
    let params = DeleteParams { dry_run, ..DeleteParams::default() }.preconditions(preconditions);
    match api.delete(name, &params).await {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(false),
        deleted => deleted.map(|_| true).map_err(error("delete")),
    }
}

struct Upkeep {
    api: Api<Secret>,
    managed: Managed,
    place: String,
}

/// The state at the last check.
struct Held {
    material: Material,
    /// The Secret's resourceVersion.
    version: String,
}

impl Upkeep {
    async fn run(self, mut held: Held, published: Published) {
        loop {
            tokio::select! {
                () = tokio::time::sleep(self.managed.every) => {}
                () = self.changed(&held.version) => {}
            }
            match self.look_and_publish(&held, &published).await {
                Ok(new) => held = new,
                Err(error) => {
                    tracing::warn!(error = %error_chain(&error), "the webhooks' certificates were not checked");
                    // Without this wait, a change that cannot be used would be handled again at once.
                    tokio::time::sleep(self.managed.every.min(Duration::from_secs(5))).await;
                }
            }
        }
    }

    async fn look_and_publish(&self, held: &Held, published: &Published) -> Result<Held, CertificateError> {
        let new = self.look(Some(&held.material)).await?;
        if new.material != held.material {
            published.publish(new.material.serving(&self.place)?, new.material.bundle());
            tracing::info!(secret = %self.place, "the webhooks' certificates have changed");
        }
        // Which of the keys is registered depends on the time, too.
        published.publish_paths(self.path_keys(&new.material)?);
        Ok(new)
    }

    fn path_keys(&self, material: &Material) -> Result<PathKeys, CertificateError> {
        let keys = material.path_keys((self.managed.clock)(), &self.managed.lifetimes);
        keys.ok_or_else(|| CertificateError::Contended(self.place.clone()))
    }

    /// Does what is due, and returns the content of the Secret. If the Secret was deleted, `held` is still served until
    /// others know the new authority.
    async fn look(&self, held: Option<&Material>) -> Result<Held, CertificateError> {
        // Each failed attempt is a race that another writer won.
        const TRIES: usize = 10;
        for _ in 0..TRIES {
            let found = self.api.get_opt(&self.managed.secret).await.map_err(|error| self.error("get", error))?;
            let exists = found.is_some();
            let mut secret = found.unwrap_or_else(|| new_secret(&self.managed.namespace, &self.managed.secret));
            let foreign = || CertificateError::Foreign(self.place.clone());
            let mut material = read_secret(&secret).ok_or_else(foreign)?;
            if let Some(held) = held.filter(|_| !exists) {
                material = Material { signing_key: String::new(), ..held.clone() };
            }
            let managed = &self.managed;
            if material.renew((managed.clock)(), &managed.names, &managed.lifetimes)? {
                write_secret(&mut secret, &material);
                match self.store(&secret, exists).await? {
                    Some(stored) => secret = stored,
                    None => continue,
                }
            }
            return Ok(Held { material, version: secret.metadata.resource_version.unwrap_or_default() });
        }
        Err(CertificateError::Contended(self.place.clone()))
    }

    /// Returns `None` if another writer was first.
    async fn store(&self, secret: &Secret, exists: bool) -> Result<Option<Secret>, CertificateError> {
        let params = PostParams { field_manager: Some("boathook".to_owned()), ..PostParams::default() };
        let (verb, stored) = if exists {
            ("update", self.api.replace(&self.managed.secret, &params, secret).await)
        } else {
            ("create", self.api.create(&params, secret).await)
        };
        match stored {
            Ok(stored) => Ok(Some(stored)),
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(None),
            // The Secret was deleted in the meantime.
            Err(kube::Error::Api(status)) if exists && status.code == 404 => Ok(None),
            Err(error) => Err(self.error(verb, error)),
        }
    }

    /// Returns when the Secret has changed. Never returns if the Secret cannot be watched.
    async fn changed(&self, version: &str) {
        let params = WatchParams::default().fields(&format!("metadata.name={}", self.managed.secret)).timeout(280);
        if let Ok(events) = self.api.watch(&params, version).await {
            let mut events = std::pin::pin!(events);
            if let Some(Ok(_)) = events.next().await {
                return;
            }
        }
        std::future::pending().await
    }

    fn error(&self, verb: &'static str, source: kube::Error) -> CertificateError {
        CertificateError::Secret { verb, secret: self.place.clone(), source: Box::new(source) }
    }
}

const AUTHORITIES: &str = "ca.crt";
const SIGNING_KEY: &str = "ca.key";
const CERTIFICATE: &str = "tls.crt";
const KEY: &str = "tls.key";
const PATHS: &str = "path.keys";

const MANAGED_BY: (&str, &str) = ("app.kubernetes.io/managed-by", "boathook");

/// Reads the Secret. Returns `None` if it contains certificates of others.
fn read_secret(secret: &Secret) -> Option<Material> {
    let text = |key: &str| {
        let bytes = secret.data.as_ref().and_then(|data| data.get(key));
        bytes.and_then(|bytes| String::from_utf8(bytes.0.clone()).ok()).unwrap_or_default()
    };
    let material = Material {
        authorities: text(AUTHORITIES),
        signing_key: text(SIGNING_KEY),
        certificate: text(CERTIFICATE),
        key: text(KEY),
        paths: text(PATHS),
    };
    // A chart may have created an empty Secret.
    let empty = material.certificate.trim().is_empty() && material.key.trim().is_empty();
    (is_ours(secret) || empty).then_some(material)
}

/// Whether Boathook made the Secret's certificates.
pub(super) fn is_ours(secret: &Secret) -> bool {
    let labels = secret.metadata.labels.as_ref();
    labels.and_then(|labels| labels.get(MANAGED_BY.0)).is_some_and(|by| by == MANAGED_BY.1)
}

/// Writes the material into the Secret. It changes no other keys.
fn write_secret(secret: &mut Secret, material: &Material) {
    let data = secret.data.get_or_insert_with(BTreeMap::new);
    for (key, text) in [
        (AUTHORITIES, &material.authorities),
        (SIGNING_KEY, &material.signing_key),
        (CERTIFICATE, &material.certificate),
        (KEY, &material.key),
        (PATHS, &material.paths),
    ] {
        data.insert(key.to_owned(), ByteString(text.as_bytes().to_vec()));
    }
    let labels = secret.metadata.labels.get_or_insert_with(BTreeMap::new);
    labels.insert(MANAGED_BY.0.to_owned(), MANAGED_BY.1.to_owned());
}

/// A Secret that does not exist yet.
fn new_secret(namespace: &str, name: &str) -> Secret {
    let mut secret = Secret { type_: Some("kubernetes.io/tls".to_owned()), ..Secret::default() };
    secret.metadata.namespace = Some(namespace.to_owned());
    secret.metadata.name = Some(name.to_owned());
    secret
}
