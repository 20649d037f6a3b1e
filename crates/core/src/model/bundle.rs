//! Bundles as an operator has them: what is to be installed, who it acts as, what came of it. Knows neither
//! registries nor clusters.

use std::{error::Error as StdError, fmt, path::PathBuf, str::FromStr, sync::Arc, time::Duration};

use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};

use super::{HookName, InterpreterRef, Limits, Permission};

/// Names a bundle in an operator.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BundleId {
    /// Of its HookBundle. Absent: it was named on the command line.
    pub namespace: Option<String>,
    /// Of its HookBundle, a DNS subdomain.
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

/// Where hooks come from. Each source is loaded on its own, and may be away on its own.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Source {
    /// The hooks directory.
    Directory,
    /// A bundle: of a HookBundle, or named on the command line.
    Bundle(BundleId),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Directory => f.write_str("directory"),
            Self::Bundle(id) if id.namespace.is_some() => write!(f, "HookBundle {id}"),
            Self::Bundle(id) => write!(f, "bundle {id}"),
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
            Some(("HookBundle", id)) => {
                let (namespace, name) = id.split_once('/').ok_or_else(unknown)?;
                Ok(Self::Bundle(BundleId { namespace: Some(namespace.to_owned()), name: name.to_owned() }))
            }
            _ => Err(unknown()),
        }
    }
}

/// A text that names no source of hooks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no source of hooks")]
pub struct UnknownSource(String);

/// What an operator knows of a bundle that is to be at work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BundleNews {
    /// Nothing of it is at work, for this reason. What its hooks registered stays as it was.
    Missing(String),
    /// It is at work, and maybe not as its source has it now: the source is away, or another replica decides.
    AtWork,
    /// It is at work as its source has it, or it is known that nothing of it is to be at work.
    Settled,
}

/// What an operator knows of HookBundles as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookBundlesNews {
    /// The cluster does not serve them.
    Unserved,
    /// These are all.
    Listed(Vec<BundleId>),
}

/// The ServiceAccount that a hook's calls are made as. The API server decides them by its rights.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Identity {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub service_account: String,
}

impl Identity {
    /// The user that it is for the API server.
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

/// A hook of a bundle that is to be installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookSource {
    /// Its name in the bundle.
    pub name: HookName,
    /// Its component's file.
    pub path: PathBuf,
    /// `sha256:…` that the file must have. Absent: any.
    pub digest: Option<String>,
    /// What the bundle says that it asks for, on which trust was decided: a document that asks for anything else is
    /// refused. Absent: the bundle says nothing.
    pub said: Option<Vec<Permission>>,
}

/// Bounds of runs that no hook of the bundle gets over. Absent: what the host allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LimitCaps {
    /// Bytes.
    pub memory: Option<u64>,
    /// From start to end.
    pub time: Option<Duration>,
    /// Calls.
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
    /// What a hook gets that asks for these.
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

/// A bundle as it should be at work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installation {
    /// The bundle.
    pub id: BundleId,
    /// `sha256:…` of its manifest: tells its versions apart.
    pub digest: String,
    /// Its hooks.
    pub hooks: Vec<HookSource>,
    /// Whom its hooks act as. Absent: the operator itself.
    pub identity: Option<Identity>,
    /// What its hooks are allowed. Absent: what they ask for.
    pub grants: Option<Vec<Permission>>,
    /// Its settings, a JSON object as text. Absent: `{}`.
    pub settings: Option<String>,
    /// The JSON Schema of its settings, as text, if it brings one.
    pub settings_schema: Option<String>,
    /// Bounds.
    pub limits: LimitCaps,
    /// The only namespace that its hooks may watch and act in. Absent: all.
    pub confined_to: Option<String>,
    /// It is known, and nothing of it runs.
    pub suspended: bool,
}

impl Installation {
    /// A bundle that may all that its hooks ask for, as the operator itself.
    pub fn new(id: BundleId, digest: impl Into<String>, hooks: Vec<HookSource>) -> Self {
        Self {
            id,
            digest: digest.into(),
            hooks,
            identity: None,
            grants: None,
            settings: None,
            settings_schema: None,
            limits: LimitCaps::default(),
            confined_to: None,
            suspended: false,
        }
    }
}

/// What an installation came to. Names are those in the bundle.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Installed {
    /// Hooks that began.
    pub started: Vec<HookName>,
    /// Hooks of which a new version took the place of the old one.
    pub swapped: Vec<HookName>,
    /// Hooks that go on untouched.
    pub kept: Vec<HookName>,
    /// Hooks that are gone.
    pub removed: Vec<HookName>,
    /// Hooks that do not run; [`Installer::states`] says why.
    pub held: Vec<HookName>,
}

/// A bundle that was not installed; what was at work goes on.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// Names are wrong.
    #[error(
        "bundle {0} can't be installed: its name and its ServiceAccount's must be DNS names, and no two of its hooks may have the same"
    )]
    Name(BundleId),
    /// Its settings do not fit.
    #[error("the settings of bundle {id} are refused: {problem}")]
    Settings {
        /// The bundle.
        id: BundleId,
        /// What is wrong, and where.
        problem: String,
    },
    /// Another hook has the name.
    #[error("hook {hook} would be called {name}, and {by} has a hook of that name: rename one of them")]
    Taken {
        /// The name in the bundle.
        hook: HookName,
        /// The name in the operator.
        name: HookName,
        /// Who has it.
        by: String,
    },
    /// A new version's hook can't be used.
    #[error("hook {hook} of the new version can't be used: the version before goes on")]
    Refused {
        /// The name in the bundle.
        hook: HookName,
        /// Why.
        #[source]
        reason: Arc<dyn StdError + Send + Sync>,
    },
    /// A new version asks for more than it was granted.
    #[error("the new version asks for more than is granted, and the version before goes on: {}", list(.0))]
    Ungranted(Vec<(HookName, Vec<Permission>)>),
    /// The ServiceAccount lacks rights that a new version's hook needs of it.
    #[error(
        "hook {hook} of the new version needs rights that its {identity} lacks, and the version before goes on: {}",
        rules(.missing)
    )]
    Forbidden {
        /// The name in the bundle.
        hook: HookName,
        /// Whose rights were looked at.
        identity: Identity,
        /// The rights it lacks.
        missing: Vec<Permission>,
    },
    /// A hook of it would not start; those that had started were put back.
    #[error("hook {hook} did not start: the version before is back")]
    RolledBack {
        /// The name in the bundle.
        hook: HookName,
        /// Why.
        #[source]
        reason: Arc<dyn StdError + Send + Sync>,
    },
    /// It ended by a defect of the operator.
    #[error("bundle {0} could not be installed, by a defect of the operator; its log says more")]
    Defect(BundleId),
}

fn list(missing: &[(HookName, Vec<Permission>)]) -> String {
    let each = missing.iter().map(|(hook, missing)| format!("hook {hook}: {}", rules(missing)));
    each.collect::<Vec<_>>().join("; ")
}

fn rules(missing: &[Permission]) -> String {
    missing.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// How far a hook of a bundle is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum HookPhase {
    /// It is at work.
    Ready,
    /// It is at work, and a binding does not know its objects yet.
    Pending,
    /// It can't be used, or was taken out.
    Quarantined,
    /// It asks for more than is granted.
    Ungranted,
    /// Its ServiceAccount is not there, or may not do what its bindings take.
    Forbidden,
    /// The bundle is suspended.
    Suspended,
}

/// One hook of a bundle, for a status.
#[derive(Debug, Clone, PartialEq)]
pub struct HookState {
    /// The name in the bundle.
    pub name: HookName,
    /// The name in the operator: in logs, metrics, field managers, for admins.
    pub hook: HookName,
    /// How far it is.
    pub phase: HookPhase,
    /// Why it is no further. Empty when it is ready.
    pub reason: String,
    /// The rules that lack, when it is ungranted or forbidden.
    pub missing: Vec<Permission>,
    /// `sha256:…` of its component, when it was loaded.
    pub digest: Option<String>,
    /// What runs it, when it is a script that was loaded.
    pub interpreter: Option<InterpreterRef>,
    /// When its last run ended, milliseconds since the Unix epoch.
    pub last_run: Option<u64>,
    /// What its last failed run said; absent when its last run succeeded.
    pub last_error: Option<String>,
    /// Runs since it began.
    pub runs: u64,
    /// Failed runs since it began.
    pub failures: u64,
}

/// What a component's document asks for.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    /// The name in the bundle.
    pub hook: HookName,
    /// All that it asks for, or why it can't be asked.
    pub permissions: Result<Vec<Permission>, String>,
}

/// Has bundles at work. All of it may be called at any time; calls for one bundle wait for each other.
///
/// The first version of a bundle starts hook by hook: a hook that can't start is held, and the others run. A further
/// version takes over as a whole or not at all. What grants, identity, settings or limits change of the same version
/// is done for each hook.
pub trait Installer: Send + Sync {
    /// Has the bundle as it is described. Goes on to its end when nobody waits for it.
    fn install(&self, installation: Installation) -> BoxFuture<'_, Result<Installed, InstallError>>;

    /// Stops all hooks of a bundle, or starts them again as at the operator's start. Registered webhooks go
    /// meanwhile. False when there is no such bundle.
    fn suspend<'a>(&'a self, id: &'a BundleId, suspended: bool) -> BoxFuture<'a, bool>;

    /// Stops all hooks of a bundle and forgets it; runs may end within the grace period. False when there is no such
    /// bundle.
    fn remove<'a>(&'a self, id: &'a BundleId) -> BoxFuture<'a, bool>;

    /// How far its hooks are, ordered by name; none when there is no such bundle.
    fn states(&self, id: &BundleId) -> Vec<HookState>;

    /// Takes a note of a bundle: it counts for readiness, and until it is settled nothing that its hooks registered
    /// is removed. [`Self::remove`] forgets it.
    fn note(&self, id: &BundleId, news: BundleNews) {
        let _ = (id, news);
    }

    /// The same of all HookBundles.
    fn note_hook_bundles(&self, news: HookBundlesNews) {
        let _ = news;
    }

    /// What components ask for: only their `config` is called, and nothing starts.
    fn asked<'a>(&'a self, hooks: &'a [HookSource]) -> BoxFuture<'a, Vec<Asked>>;
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
        for source in [Source::Directory, bundle(None), bundle(Some("team"))] {
            assert_eq!(source.to_string().parse(), Ok(source));
        }
        for text in ["", "elsewhere", "HookBundle a", "x a/b"] {
            assert!(text.parse::<Source>().is_err(), "{text}");
        }
    }
}
