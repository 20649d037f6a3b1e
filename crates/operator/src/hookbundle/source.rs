//! Pulls a HookBundle's version into the store if it is trusted, with the logins, authorities and keys from its
//! namespace. It never reads from another namespace.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use boathook_bundle as bundle;
use boathook_bundle::{
    Connect, Credentials, Demand, Digest, Identity, IdentityParts, KeyError, NamedKey, Place, Policy, Progress,
    PublicKey, Pulled, Reach, Reference, Signer, Store, Verified,
};
use boathook_core::{
    fair::{Pool, Tenant},
    model::{BundleId, error_chain},
};
use kube::api::{Api, ApiResource, DynamicObject};
use tokio::{task::spawn_blocking, time::timeout};
use tracing::warn;

use super::{HookBundleSpec, SecretKey, Verification, problem::Problem, version::Version};

/// The maximum number of pulls from one registry at the same time, shared by namespaces.
const PER_REGISTRY: u64 = 4;
/// The maximum number of pulls at the same time, shared by namespaces. Each may hold a manifest and a config of 4 MiB.
const PULLS: u64 = 32;
/// The time limit for one version with all its layers. Layers that were pulled by then are kept for the next attempt.
const PATIENCE: Duration = Duration::from_secs(300);
/// The time limit for an answer of the API server.
const ANSWER: Duration = Duration::from_secs(10);

/// The settings for all HookBundles.
#[derive(Debug, Clone)]
pub struct SourceOptions {
    /// Where layers are stored, separately for each namespace.
    pub store: Store,
    /// The admin's policy for every bundle, in addition to what its HookBundle says.
    pub policy: Option<Policy>,
    /// Where the registries that HookBundles name may be.
    pub reach: Reach,
    /// Certificates (PEM) of registries' authorities, in addition to the system's and those that a HookBundle names.
    /// Each namespace has its own logins, so that nobody gets a bundle by another namespace's login.
    pub ca: Vec<u8>,
}

pub(crate) struct Sources {
    client: kube::Client,
    options: SourceOptions,
    pulls: Pool,
    /// One pool for each registry, so that a registry that does not answer holds up only those that need it.
    registries: Mutex<HashMap<String, Arc<Pool>>>,
}

impl Sources {
    pub fn new(client: kube::Client, options: SourceOptions) -> Self {
        Self { client, options, pulls: Pool::new(PULLS), registries: Mutex::default() }
    }

    /// Fetches the version that the source points to, or the one with this digest in the same repository.
    pub async fn fetch(&self, namespace: &str, spec: &HookBundleSpec, pin: Option<&str>) -> Result<Version, Problem> {
        let at = reference(spec, pin)?;
        if self.options.policy.as_ref().is_some_and(|policy| !policy.covers(&at.source())) {
            let text = format!("the operator's policy has no rule for {}: ask its admin to add one", at.source());
            return Err(Problem::refused("SourceNotAllowed", text));
        }
        let (registry, tenant) = (self.registry(at.registry()), Tenant::namespace(namespace));
        let interrupted = |_| Problem::passing("Interrupted", "the operator is ending");
        let _turn = registry.take(&tenant, 1).await.map_err(interrupted)?;
        let _pull = self.pulls.take(&tenant, 1).await.map_err(interrupted)?;
        let fetched = timeout(PATIENCE, self.bring(namespace, spec, &at)).await;
        let late = || {
            format!(
                "{at} was not complete after {} s: the operator keeps what it has and continues",
                PATIENCE.as_secs()
            )
        };
        let (pulled, policy) = fetched.map_err(|_| Problem::passing("RegistryUnavailable", late()))??;
        let unreadable = |error| Problem::passing("StoreUnusable", format!("what was pulled cannot be read: {error}"));
        let (ready, pulled) =
            blocking(move || pulled.ready().map(|ready| (ready, pulled))).await?.map_err(unreadable)?;
        let version = Version::new(ready, &reference(spec, None)?, pulled.verified.clone());
        Ok(Version { pulled: Some(Arc::new((pulled, policy))), ..version })
    }

    /// Remembers the version that runs, for a start without the registry.
    pub async fn remember(&self, id: &BundleId, version: &Version) {
        let Some(brought) = version.pulled.clone() else { return };
        let (store, key) = (self.store(id.namespace.as_deref().unwrap_or_default()), self.key(id));
        let work = move || store.remember(&key, &brought.0, &brought.1).map_err(|error| error_chain(&error));
        if let Err(error) = blocking(work).await.unwrap_or_else(|problem| Err(problem.message)) {
            warn!(bundle = %id, error, "cannot store the bundle: without it, its hooks cannot start while the registry is unavailable. Check the space and the permissions of --bundle-store");
        }
    }

    /// Returns the version that ran last, if it would be trusted today and the store has all of it.
    pub async fn recall(&self, id: &BundleId, spec: &HookBundleSpec) -> Option<Version> {
        let namespace = id.namespace.as_deref().unwrap_or_default();
        let policy = Secrets { client: &self.client, namespace }.policy(spec).await.ok()?;
        let (store, key) = (self.store(namespace), self.key(id));
        // This reads and hashes all of it.
        let ready = blocking(move || store.recall(&key, &policy)).await.ok()?.ok()??;
        Some(Version::new(ready, &reference(spec, None).ok()?, Verified::default()))
    }

    /// The key separates HookBundles from each other, and versions that another policy of the admin allowed.
    fn key(&self, id: &BundleId) -> String {
        let policy = Digest::of(format!("{:?}", self.options.policy).as_bytes());
        format!("HookBundle {id} {policy}")
    }

    async fn bring(&self, namespace: &str, spec: &HookBundleSpec, at: &Reference) -> Result<(Pulled, Policy), Problem> {
        let secrets = Secrets { client: &self.client, namespace };
        let connect = secrets.connect(spec, &self.options).await?;
        let policy = secrets.policy(spec).await?;
        let place = Place::registry(at, &connect).map_err(|error| Problem::of_bundle(&error))?;
        let mut by_operator = None;
        if let Some(policy) = &self.options.policy {
            let (seen, verified) = bundle::verify(&place, policy).await.map_err(|error| Problem::of_bundle(&error))?;
            by_operator = Some((seen.digest, verified));
        }
        let pulled = bundle::pull(&place, &self.store(namespace), &policy, &Progress::default()).await;
        let mut pulled = pulled.map_err(|error| Problem::of_bundle(&error))?;
        if let Some((digest, verified)) = by_operator {
            if digest != pulled.seen.digest {
                return Err(Problem::passing("TagMoved", format!("{at} moved during the check")));
            }
            pulled.verified = both(pulled.verified, verified);
        }
        Ok((pulled, policy))
    }

    fn registry(&self, host: &str) -> Arc<Pool> {
        let mut registries = self.registries.lock().unwrap_or_else(PoisonError::into_inner);
        // Registries that nobody uses at the moment need not be remembered.
        registries.retain(|_, turns| Arc::strong_count(turns) > 1);
        registries.entry(host.to_owned()).or_insert_with(|| Arc::new(Pool::new(PER_REGISTRY))).clone()
    }

    /// The store with this namespace's layers.
    pub fn store(&self, namespace: &str) -> Store {
        self.options.store.of(&Tenant::namespace(namespace))
    }
}

/// Reads and writes files on a blocking thread.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Problem> {
    spawn_blocking(work).await.map_err(|_| Problem::passing("Interrupted", "the operator is ending"))
}

fn reference(spec: &HookBundleSpec, pin: Option<&str>) -> Result<Reference, Problem> {
    let invalid = |error: &dyn std::error::Error| Problem::refused("ReferenceInvalid", error_chain(error));
    let oci = spec.source.oci.as_ref();
    let oci = oci.ok_or_else(|| Problem::refused("ReferenceInvalid", "spec.source names no source"))?;
    let at: Reference = oci.reference.parse().map_err(|error| invalid(&error))?;
    match pin {
        Some(pin) => Ok(at.pinned(&Digest::parse(pin).map_err(|error| invalid(&error))?)),
        None => Ok(at),
    }
}

fn both(mut own: Verified, operator: Verified) -> Verified {
    own.by_digest |= operator.by_digest;
    for kind in operator.attested {
        if !own.attested.contains(&kind) {
            own.attested.push(kind);
        }
    }
    for key in operator.by_keys {
        if !own.by_keys.contains(&key) {
            own.by_keys.push(key);
        }
    }
    own
}

/// Secrets of one namespace.
struct Secrets<'a> {
    client: &'a kube::Client,
    namespace: &'a str,
}

impl Secrets<'_> {
    async fn connect(&self, spec: &HookBundleSpec, options: &SourceOptions) -> Result<Connect, Problem> {
        let Some(oci) = &spec.source.oci else { return Ok(Connect::default()) };
        let mut credentials = Credentials::default();
        for secret in &oci.pull_secrets {
            let object = self.get(&secret.name, "spec.source.oci.pullSecrets").await?;
            let own = Credentials::from_pull_secret(&object.data).map_err(|error| {
                Problem::passing("LoginRefused", format!("Secret {}: {}", secret.name, error_chain(&error)))
            })?;
            credentials.merge(own);
        }
        let mut ca = options.ca.clone();
        if let Some(at) = &oci.ca_secret {
            ca.push(b'\n');
            ca.extend(self.value(at, "spec.source.oci.caSecret").await?);
        }
        Ok(Connect { plain_http: oci.insecure, ca, credentials, reach: options.reach.clone() })
    }

    async fn policy(&self, spec: &HookBundleSpec) -> Result<Policy, Problem> {
        match &spec.verification {
            None => Ok(Policy::unchecked()),
            Some(Verification { unsigned: true, .. }) => Ok(Policy::unchecked()),
            Some(verification) => Ok(Policy::demanding(self.demand(verification).await?)),
        }
    }

    async fn demand(&self, verification: &Verification) -> Result<Demand, Problem> {
        let invalid = |text: String| Problem::passing("KeyInvalid", text);
        let mut keys: Vec<NamedKey> = Vec::new();
        for key in &verification.keys {
            let unusable =
                |error: KeyError| invalid(format!("spec.verification.keys: {}: {}", key.name, error_chain(&error)));
            let signer: Signer = match (&key.public_key, &key.secret, &key.identity) {
                (Some(pem), ..) => PublicKey::from_pem(pem).map_err(unusable)?.into(),
                (None, Some(at), _) => {
                    let bytes = self.value(at, "spec.verification.keys").await?;
                    PublicKey::from_pem(&String::from_utf8_lossy(&bytes)).map_err(unusable)?.into()
                }
                (None, None, Some(identity)) => {
                    let parts = IdentityParts {
                        issuer: &identity.issuer,
                        subject: &identity.subject,
                        authority: &identity.certificate_authority,
                        log: identity.transparency_log.as_deref(),
                    };
                    Identity::new(parts).map_err(unusable)?.into()
                }
                (None, None, None) => return Err(unusable(KeyError::NoPem)),
            };
            // The owner of one key must not count as two.
            if let Some(other) = keys.iter().find(|other| other.key.overlaps(&signer)) {
                return Err(invalid(format!("spec.verification.keys: {} and {} are one signer", other.name, key.name)));
            }
            keys.push(NamedKey { name: key.name.clone(), key: signer, may: None });
        }
        let digests = verification.digests.iter().map(|text| Digest::parse(text)).collect::<Result<_, _>>();
        let digests = digests.map_err(|error| invalid(format!("spec.verification.digests: {error}")))?;
        let minimum = usize::try_from(verification.minimum.unwrap_or(1)).unwrap_or(usize::MAX).max(1);
        let require = verification.require.iter().map(|text| text.parse()).collect::<Result<_, _>>();
        let require = require.map_err(|error| invalid(format!("spec.verification.require: {error}")))?;
        Ok(Demand { digests, keys, minimum, tag_must_match: verification.tag_must_match, require })
    }

    async fn value(&self, at: &SecretKey, what: &str) -> Result<Vec<u8>, Problem> {
        let object = self.get(&at.name, what).await?;
        let text = object.data.get("data").and_then(|data| data.get(&at.key)).and_then(|value| value.as_str());
        let missing = || format!("{what}: Secret {} has no key {:?}", at.name, at.key);
        text.and_then(|text| STANDARD.decode(text).ok()).ok_or_else(|| Problem::passing("SecretMissing", missing()))
    }

    async fn get(&self, name: &str, what: &str) -> Result<DynamicObject, Problem> {
        let kind = ApiResource {
            group: String::new(),
            version: "v1".to_owned(),
            api_version: "v1".to_owned(),
            kind: "Secret".to_owned(),
            plural: "secrets".to_owned(),
        };
        let api: Api<DynamicObject> = Api::namespaced_with(self.client.clone(), self.namespace, &kind);
        let problem = |text: String| Problem::passing("SecretMissing", format!("{what}: Secret {name}: {text}"));
        match timeout(ANSWER, api.get(name)).await {
            Ok(Ok(object)) => Ok(object),
            Ok(Err(kube::Error::Api(status))) => Err(problem(status.message.clone())),
            Ok(Err(error)) => Err(problem(error_chain(&error))),
            Err(_) => Err(problem("the API server does not answer".to_owned())),
        }
    }
}
