//! The origin of a bundle's hook, and the reasons why it may not start.

use std::sync::Arc;

use boathook_bundle::Digest;
use boathook_core::model::{HookName, HookPhase, HookSource, Permission};
use boathook_kube::discovery::DiscoveryError;
use boathook_sandbox::Sandbox;

use super::{
    hooks::{HookLoadError, Registrations},
    scope::{OutOfBounds, Terms},
    service_account::{BadAccount, NotWatched, rules},
};

/// The origin of a bundle's hook, and the terms on which it runs.
pub(super) struct Origin {
    /// The hook's name in the operator.
    pub name: HookName,
    pub source: HookSource,
    pub terms: Arc<Terms>,
    /// Locked while the bundle changes.
    pub changing: Arc<tokio::sync::Mutex<()>>,
}

/// Why a hook of a bundle does not run.
#[derive(Debug, thiserror::Error)]
pub enum Held {
    /// The hook cannot be used.
    #[error(transparent)]
    HookLoadError(#[from] HookLoadError),
    #[error("the digest of its file is {got}, and the bundle's is {want}: pull the bundle again")]
    Digest {
        /// The digest of the file.
        got: String,
        /// The digest in the bundle.
        want: String,
    },
    /// The bundle was trusted with other permissions.
    #[error("its document requests other permissions than the bundle states: pack the bundle again")]
    Understated,
    #[error(transparent)]
    OutOfBounds(#[from] OutOfBounds),
    #[error("it requests more than is granted: {}", rules(.0))]
    Ungranted(Vec<Permission>),
    #[error("binding {binding} may not watch its objects")]
    NotWatched {
        binding: String,
        #[source]
        reason: NotWatched,
    },
    #[error(transparent)]
    BadAccount(#[from] BadAccount),
    #[error("the API server does not list its kinds, so the operator cannot check what the hook may watch")]
    Discovery(#[source] DiscoveryError),
    #[error("its bundle is suspended")]
    Suspended,
}

impl Held {
    /// The phase in a status.
    pub(super) fn phase(&self) -> HookPhase {
        match self {
            Self::HookLoadError(_) | Self::Digest { .. } | Self::Understated | Self::OutOfBounds(_) => {
                HookPhase::Quarantined
            }
            Self::Ungranted(_) => HookPhase::Ungranted,
            Self::NotWatched { reason: NotWatched::Unknown { .. }, .. } | Self::Discovery(_) => HookPhase::Pending,
            Self::BadAccount(BadAccount::Unknown { .. }) => HookPhase::Pending,
            Self::NotWatched { .. } | Self::BadAccount(_) => HookPhase::Forbidden,
            Self::Suspended => HookPhase::Suspended,
        }
    }

    /// A hook that cannot be loaded keeps its registrations, so that what it forbids stays forbidden. A hook that lost
    /// a right, or that was suspended, must not answer any more.
    pub(super) fn registrations(&self) -> Registrations {
        match self {
            Self::HookLoadError(_) | Self::Digest { .. } | Self::Understated | Self::Discovery(_) => {
                Registrations::Keep
            }
            Self::NotWatched { reason: NotWatched::Unknown { .. }, .. } => Registrations::Keep,
            Self::BadAccount(BadAccount::Unknown { .. }) => Registrations::Keep,
            Self::OutOfBounds(_) | Self::Ungranted(_) | Self::NotWatched { .. } => Registrations::Remove,
            Self::BadAccount(_) | Self::Suspended => Registrations::Remove,
        }
    }

    /// Why the hook cannot be used, if that is the reason.
    pub(super) fn load_error(&self) -> Option<&HookLoadError> {
        match self {
            Self::HookLoadError(error) => Some(error),
            _ => None,
        }
    }

    /// The missing rules.
    pub(super) fn missing(&self) -> &[Permission] {
        match self {
            Self::Ungranted(missing)
            | Self::NotWatched { reason: NotWatched::Forbidden { missing, .. }, .. }
            | Self::BadAccount(BadAccount::Forbidden { missing, .. }) => missing,
            _ => &[],
        }
    }
}

/// Reads the bytes of a component, and checks their digest. A layer of a bundle may be larger than any component that
/// is loaded, so the size is checked first.
pub(super) async fn read(name: &HookName, source: &HookSource, sandbox: &Sandbox) -> Result<Vec<u8>, Held> {
    let path = &source.path;
    let size = tokio::fs::metadata(path).await.map_err(HookLoadError::Unreadable)?.len();
    sandbox.check_size(name, size).map_err(HookLoadError::Component)?;
    let path = path.clone();
    // The digest of a large file takes time, too.
    let work = move || std::fs::read(path).map(|bytes| (Digest::of(&bytes), bytes));
    let read = tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Err(error.into()));
    let (got, bytes) = read.map_err(HookLoadError::Unreadable)?;
    let Some(want) = &source.digest else { return Ok(bytes) };
    let got = got.to_string();
    if got == *want { Ok(bytes) } else { Err(Held::Digest { got, want: want.clone() }) }
}
