//! Bundles as an operator has them: what to install, as which identity, and the result. Nothing here knows registries
//! or clusters.

use std::{error::Error as StdError, fmt, path::PathBuf, str::FromStr, sync::Arc, time::Duration};

use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};

use super::{CredentialProblem, HookName, HttpCredential, InterpreterRef, Limits, Permission};

/// Identifies a bundle in an operator.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BundleId {
    /// The HookBundle's namespace. `None`: the bundle was named on the command line.
    pub namespace: Option<String>,
    /// The bundle's name, a DNS subdomain.
    pub name: String,
}

impl fmt::Display for BundleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(namespace) = &self.namespace {
            write!(f, "{namespace}/")?;
        }
        f.write_str(&self.name)
    }
}

/// Where hooks come from. Each source is loaded separately, and may be unavailable separately.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Source {
    /// The hooks directory.
    Directory,
    /// A bundle: of a HookBundle, or named on the command line.
    Bundle(BundleId),
    /// A module, or the global hooks of all modules, which are called `global`.
    Module(String),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Directory => f.write_str("directory"),
            Self::Bundle(id) if id.namespace.is_some() => write!(f, "HookBundle {id}"),
            Self::Bundle(id) => write!(f, "bundle {id}"),
            Self::Module(name) => write!(f, "module {name}"),
        }
    }
}

impl FromStr for Source {
    type Err = UnknownSource;

    fn from_str(text: &str) -> Result<Self, UnknownSource> {
        let unknown = || UnknownSource(text.to_owned());
        match text.split_once(' ') {
            None if text == "directory" => Ok(Self::Directory),
            Some(("bundle", name)) => Ok(Self::Bundle(BundleId { namespace: None, name: name.to_owned() })),
            Some(("module", name)) => Ok(Self::Module(name.to_owned())),
            Some(("HookBundle", id)) => {
                let (namespace, name) = id.split_once('/').ok_or_else(unknown)?;
                Ok(Self::Bundle(BundleId { namespace: Some(namespace.to_owned()), name: name.to_owned() }))
            }
            _ => Err(unknown()),
        }
    }
}

/// A text that does not name a source of hooks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a source of hooks")]
pub struct UnknownSource(String);

/// What an operator knows about a bundle that should run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BundleNews {
    /// Nothing of the bundle runs, for this reason. What its hooks registered stays as it was.
    Missing(String),
    /// The bundle runs, but maybe not as its source has it now: the source is unavailable, or another replica decides.
    Running,
    /// The bundle runs as its source has it, or it is known that nothing of it should run.
    Settled,
}

/// What an operator knows about HookBundles as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookBundlesNews {
    /// The cluster does not serve them.
    Unserved,
    /// These are all HookBundles.
    Listed(Vec<BundleId>),
}

/// The ServiceAccount that a hook's calls are made as. The API server decides them by its rights.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Identity {
    pub namespace: String,
    pub service_account: String,
}

impl Identity {
    /// The user name that the API server knows.
    pub fn user(&self) -> String {
        format!("system:serviceaccount:{}:{}", self.namespace, self.service_account)
    }

    /// The groups that every ServiceAccount is in.
    pub fn groups(&self) -> [String; 3] {
        let own = format!("system:serviceaccounts:{}", self.namespace);
        ["system:serviceaccounts".to_owned(), own, "system:authenticated".to_owned()]
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ServiceAccount {}/{}", self.namespace, self.service_account)
    }
}

/// A hook of a bundle to install.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookSource {
    /// Its name in the bundle.
    pub name: HookName,
    /// Its component's file.
    pub path: PathBuf,
    /// `sha256:…` that the file must have. `None`: any.
    pub digest: Option<String>,
    /// What the bundle says that the hook requests. Trust was decided on this, so a document that requests anything
    /// else is refused. `None`: the bundle says nothing.
    pub declared: Option<Vec<Permission>>,
}

/// A CustomResourceDefinition of a bundle to install.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefinitionSource {
    /// Its name, according to the bundle. Trust was decided on this, so a file with another definition is refused.
    pub name: String,
    /// Its file, which is JSON.
    pub path: PathBuf,
}

/// Bounds of runs that no hook of the bundle can exceed. `None`: what the host allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LimitCaps {
    /// Bytes.
    pub memory: Option<u64>,
    /// From start to end.
    pub time: Option<Duration>,
    /// Calls of imported functions.
    pub host_calls: Option<u64>,
    /// Bytes.
    pub host_bytes: Option<u64>,
    /// Bytes.
    pub log_bytes: Option<u64>,
    /// Runs of one hook at the same time.
    #[serde(default)]
    pub concurrency: Option<usize>,
}

impl LimitCaps {
    /// What a hook gets that requests these limits.
    pub fn cap(&self, asked: Limits) -> Limits {
        let min = |asked: u64, cap: Option<u64>| cap.map_or(asked, |cap| asked.min(cap));
        Limits {
            memory: min(asked.memory, self.memory),
            time: self.time.map_or(asked.time, |cap| asked.time.min(cap)),
            host_calls: min(asked.host_calls, self.host_calls),
            host_bytes: min(asked.host_bytes, self.host_bytes),
            log_bytes: min(asked.log_bytes, self.log_bytes),
        }
    }
}

/// A bundle as it should run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installation {
    pub id: BundleId,
    /// `sha256:…` of its manifest, which distinguishes its versions.
    pub digest: String,
    pub hooks: Vec<HookSource>,
    /// Applied before its hooks start. They stay when the bundle goes.
    pub definitions: Vec<DefinitionSource>,
    /// The identity that its hooks act as. `None`: the operator itself.
    pub identity: Option<Identity>,
    /// What its hooks are allowed. `None`: what they request.
    pub grants: Option<Vec<Permission>>,
    /// What the operator adds to the HTTP requests of its hooks.
    pub credentials: Vec<HttpCredential>,
    /// Its settings, a JSON object as text. `None`: `{}`.
    pub settings: Option<String>,
    /// The JSON Schema of its settings, as text, if it has one.
    pub settings_schema: Option<String>,
    pub limits: LimitCaps,
    /// The only namespace that its hooks may watch and act in. `None`: all.
    pub confined_to: Option<String>,
    /// The bundle is known, but nothing of it runs.
    pub suspended: bool,
}

impl Installation {
    /// A bundle that may do everything that its hooks request, as the operator itself.
    pub fn new(id: BundleId, digest: impl Into<String>, hooks: Vec<HookSource>) -> Self {
        Self {
            id,
            digest: digest.into(),
            hooks,
            definitions: Vec::new(),
            identity: None,
            grants: None,
            credentials: Vec::new(),
            settings: None,
            settings_schema: None,
            limits: LimitCaps::default(),
            confined_to: None,
            suspended: false,
        }
    }
}

/// The result of an installation. Names are those in the bundle.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Installed {
    /// Hooks that started.
    pub started: Vec<HookName>,
    /// Hooks whose old version was replaced by a new one.
    pub swapped: Vec<HookName>,
    /// Hooks that continue unchanged.
    pub kept: Vec<HookName>,
    /// Hooks that were removed.
    pub removed: Vec<HookName>,
    /// Hooks that do not run. [`Installer::states`] says why.
    pub held: Vec<HookName>,
}

/// Why a bundle was not installed. What was running continues.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// A name is not valid, or two hooks have the same one.
    #[error(
        "bundle {0} cannot be installed: its name and its ServiceAccount's must be DNS names, and no two of its hooks may have the same"
    )]
    Name(BundleId),
    /// Its settings do not fit.
    #[error("the settings of bundle {id} are refused: {problem}")]
    Settings {
        id: BundleId,
        /// What is wrong, and where.
        problem: String,
    },
    /// Another hook has the name.
    #[error("hook {hook} would be called {name}, and {by} has a hook of that name: rename one of them")]
    Taken {
        /// The hook's name in the bundle.
        hook: HookName,
        /// The hook's name in the operator.
        name: HookName,
        /// The owner of the other hook.
        by: String,
    },
    /// A hook of the new version cannot be used.
    #[error("hook {hook} of the new version cannot be used: the previous version continues to run")]
    Refused {
        /// The hook's name in the bundle.
        hook: HookName,
        #[source]
        reason: Arc<dyn StdError + Send + Sync>,
    },
    /// The new version requests more than is granted.
    #[error("the new version requests more than is granted, and the previous version continues to run: {}", list(.0))]
    Ungranted(Vec<(HookName, Vec<Permission>)>),
    /// The ServiceAccount is missing rights that a hook of the new version needs.
    #[error(
        "hook {hook} of the new version needs rights that its {identity} does not have, and the previous version continues to run: {}",
        rules(.missing)
    )]
    Forbidden {
        /// The hook's name in the bundle.
        hook: HookName,
        /// The ServiceAccount whose rights were checked.
        identity: Identity,
        missing: Vec<Permission>,
    },
    /// A CustomResourceDefinition cannot be applied.
    #[error("CustomResourceDefinition {name} of bundle {id} is not applied: {problem}")]
    Definition {
        id: BundleId,
        name: String,
        /// What is wrong, and what to do.
        problem: String,
    },
    /// A hook of the bundle did not start. Hooks that had started were put back.
    #[error("hook {hook} did not start: the previous version runs again")]
    RolledBack {
        /// The hook's name in the bundle.
        hook: HookName,
        #[source]
        reason: Arc<dyn StdError + Send + Sync>,
    },
    /// A defect of the operator ended the installation.
    #[error("bundle {0} could not be installed, because of a defect of the operator; see the operator's log")]
    Defect(BundleId),
}

fn list(missing: &[(HookName, Vec<Permission>)]) -> String {
    let each = missing.iter().map(|(hook, missing)| format!("hook {hook}: {}", rules(missing)));
    each.collect::<Vec<_>>().join("; ")
}

fn rules(missing: &[Permission]) -> String {
    missing.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// The state of a bundle's hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum HookPhase {
    /// It runs.
    Ready,
    /// It runs, but a binding does not know its objects yet.
    Pending,
    /// It cannot be used, or was taken out.
    Quarantined,
    /// It requests more than is granted.
    Ungranted,
    /// Its ServiceAccount does not exist, or may not do what its bindings need.
    Forbidden,
    /// The bundle is suspended.
    Suspended,
}

/// One hook of a bundle, for a status.
#[derive(Debug, Clone, PartialEq)]
pub struct HookState {
    /// The hook's name in the bundle.
    pub name: HookName,
    /// The hook's name in the operator: in logs, metrics and field managers, and for admins.
    pub hook: HookName,
    pub phase: HookPhase,
    /// Why it is not ready. Empty if it is.
    pub reason: String,
    /// The missing rules, if it is ungranted or forbidden.
    pub missing: Vec<Permission>,
    /// `sha256:…` of its component, if it was loaded.
    pub digest: Option<String>,
    /// The interpreter that runs it, if it is a script that was loaded.
    pub interpreter: Option<InterpreterRef>,
    /// When its last run ended, in milliseconds since the Unix epoch.
    pub last_run: Option<u64>,
    /// The error of its last run. `None` if its last run succeeded.
    pub last_error: Option<String>,
    /// Runs since it started.
    pub runs: u64,
    /// Failed runs since it started.
    pub failures: u64,
}

/// What a component's document requests.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestedPermissions {
    /// The hook's name in the bundle.
    pub hook: HookName,
    /// Everything that it requests, or why it cannot be queried.
    pub permissions: Result<Vec<Permission>, String>,
}

/// How a version that runs in the shadow of another one compares with it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Comparison {
    /// The digest of the version in the shadow.
    pub digest: String,
    /// The hooks whose runs are compared: those whose components differ, ordered by name.
    pub hooks: Vec<HookComparison>,
    /// What cannot be compared, in words.
    pub not_compared: Vec<String>,
}

/// How the runs of one hook compare.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookComparison {
    /// The hook's name in the bundle.
    pub name: HookName,
    /// Runs with the same effects.
    pub equal: u64,
    /// Runs with other effects.
    pub different: u64,
    /// Runs that were not compared, because there was no free slot or too much to note.
    pub skipped: u64,
    /// The first difference, in words. Values of Secrets are not in it.
    pub example: Option<String>,
}

impl HookComparison {
    /// The runs that were compared.
    pub fn compared(&self) -> u64 {
        self.equal.saturating_add(self.different)
    }
}

/// Installs and runs bundles. All methods may be called at any time. Calls for one bundle wait for each other.
///
/// The first version of a bundle starts hook by hook: a hook that cannot start is held, and the others run. A further
/// version takes over as a whole or not at all. If only grants, identity, settings or limits of the same version
/// change, this happens for each hook separately.
pub trait Installer: Send + Sync {
    /// Puts the bundle into the described state. The installation continues to its end even if nobody waits for it.
    fn install(&self, installation: Installation) -> BoxFuture<'_, Result<Installed, InstallError>>;

    /// Stops all hooks of a bundle, or starts them again as at the operator's start. While they are stopped, their
    /// webhooks are not registered. Returns false if there is no such bundle.
    fn suspend<'a>(&'a self, id: &'a BundleId, suspended: bool) -> BoxFuture<'a, bool>;

    /// Stops all hooks of a bundle and forgets it. Runs may end within the grace period. Returns false if there is no
    /// such bundle.
    fn remove<'a>(&'a self, id: &'a BundleId) -> BoxFuture<'a, bool>;

    /// Runs a version in the shadow of the one that is installed, in place of another one that did. Each run of a hook whose
    /// component differs is done again with the new one: its writes are dry runs, nothing of it is registered, and its
    /// effects are only compared. What an installation would refuse is refused here.
    fn shadow(&self, installation: Installation) -> BoxFuture<'_, Result<(), InstallError>>;

    /// Ends the version in the shadow, if there is one. An installation that succeeds does not.
    fn end_shadow(&self, id: &BundleId);

    /// How the version in the shadow compares so far. `None` if there is none.
    fn comparison(&self, id: &BundleId) -> Option<Comparison>;

    /// The states of the bundle's hooks, ordered by name. Empty if there is no such bundle.
    fn states(&self, id: &BundleId) -> Vec<HookState>;

    /// Why credentials of an installed bundle cannot be used. Their values are read, and sent nowhere.
    fn check_credentials<'a>(&'a self, id: &'a BundleId) -> BoxFuture<'a, Vec<CredentialProblem>> {
        let _ = id;
        Box::pin(std::future::ready(Vec::new()))
    }

    /// Takes a note of a bundle: it counts for readiness, and until it is settled, nothing that its hooks registered is
    /// removed. [`Self::remove`] forgets it.
    fn note(&self, id: &BundleId, news: BundleNews) {
        let _ = (id, news);
    }

    /// Takes a note of all HookBundles.
    fn note_hook_bundles(&self, news: HookBundlesNews) {
        let _ = news;
    }

    /// What components request. Only their `config` is called, and nothing starts.
    fn requested<'a>(&'a self, hooks: &'a [HookSource]) -> BoxFuture<'a, Vec<RequestedPermissions>>;
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn sources_are_read_as_they_are_written() {
        let bundle = |namespace: Option<&str>| {
            Source::Bundle(BundleId { namespace: namespace.map(str::to_owned), name: "a.b".to_owned() })
        };
        let module = Source::Module("web".to_owned());
        for source in [Source::Directory, bundle(None), bundle(Some("team")), module] {
            assert_eq!(source.to_string().parse(), Ok(source));
        }
        for text in ["", "elsewhere", "HookBundle a", "x a/b"] {
            assert!(text.parse::<Source>().is_err(), "{text}");
        }
    }
}
