//! Where a bundle's hook is from, and the reasons why it may not start. Starts nothing.

use std::sync::Arc;

use boathook_core::model::{HookName, HookPhase, HookSource, Permission};
use boathook_kube::discovery::DiscoveryError;
use sha2::{Digest as _, Sha256};

use super::{
    account::BadAccount,
    hooks::Quarantine,
    roster::Registrations,
    scope::{OutOfBounds, Terms},
    watching::NotWatched,
};

/// Where a bundle's hook is from, and on which terms it runs.
pub(super) struct Origin {
    /// In the operator.
    pub name: HookName,
    pub source: HookSource,
    pub terms: Arc<Terms>,
    /// The bundle changes.
    pub changing: Arc<tokio::sync::Mutex<()>>,
}

/// Why a hook of a bundle does not run.
#[derive(Debug, thiserror::Error)]
pub enum Held {
    /// It can't be used.
    #[error(transparent)]
    Quarantine(#[from] Quarantine),
    /// The file is another one.
    #[error("its file has the digest {got}, and the bundle says {want}: pull the bundle again")]
    Digest {
        /// What the file has.
        got: String,
        /// What it should have.
        want: String,
    },
    /// It was trusted for something else.
    #[error("its document asks for something else than the bundle says: pack the bundle again")]
    Understated,
    /// It is not made for a confined bundle.
    #[error(transparent)]
    OutOfBounds(#[from] OutOfBounds),
    /// Grants lack.
    #[error("it asks for more than is granted: {}", rules(.0))]
    Ungranted(Vec<Permission>),
    /// A binding's objects are out of reach.
    #[error("binding {binding} can't watch")]
    NotWatched {
        /// The binding.
        binding: String,
        /// Why.
        #[source]
        reason: NotWatched,
    },
    /// It may not run as its ServiceAccount.
    #[error(transparent)]
    BadAccount(#[from] BadAccount),
    /// The kinds are not known.
    #[error("the API server can't be asked for kinds, so that nobody knows what it may watch")]
    Discovery(#[source] DiscoveryError),
    /// Its bundle is suspended.
    #[error("its bundle is suspended")]
    Suspended,
}

fn rules(missing: &[Permission]) -> String {
    missing.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

impl Held {
    /// For a status.
    pub(super) fn phase(&self) -> HookPhase {
        match self {
            Self::Quarantine(_) | Self::Digest { .. } | Self::Understated | Self::OutOfBounds(_) => {
                HookPhase::Quarantined
            }
            Self::Ungranted(_) => HookPhase::Ungranted,
            Self::NotWatched { reason: NotWatched::Unknown { .. }, .. } | Self::Discovery(_) => HookPhase::Pending,
            Self::BadAccount(BadAccount::Unknown { .. }) => HookPhase::Pending,
            Self::NotWatched { .. } | Self::BadAccount(_) => HookPhase::Forbidden,
            Self::Suspended => HookPhase::Suspended,
        }
    }

    /// A hook that can't be loaded now leaves behind what it registered, so that what it forbids stays forbidden. One
    /// that lost a right, or was suspended, is not to answer any more.
    pub(super) fn registrations(&self) -> Registrations {
        match self {
            Self::Quarantine(_) | Self::Digest { .. } | Self::Understated | Self::Discovery(_) => Registrations::Stay,
            Self::NotWatched { reason: NotWatched::Unknown { .. }, .. } => Registrations::Stay,
            Self::BadAccount(BadAccount::Unknown { .. }) => Registrations::Stay,
            Self::OutOfBounds(_) | Self::Ungranted(_) | Self::NotWatched { .. } => Registrations::Go,
            Self::BadAccount(_) | Self::Suspended => Registrations::Go,
        }
    }

    /// The rules that lack.
    pub(super) fn missing(&self) -> &[Permission] {
        match self {
            Self::Ungranted(missing)
            | Self::NotWatched { reason: NotWatched::Forbidden { missing, .. }, .. }
            | Self::BadAccount(BadAccount::Forbidden { missing, .. }) => missing,
            _ => &[],
        }
    }
}

/// The bytes of a component, which have the digest that they should have.
pub(super) async fn read(source: &HookSource) -> Result<Vec<u8>, Held> {
    let path = source.path.clone();
    // The digest of a large file takes its time, too.
    let work = move || std::fs::read(path).map(|bytes| (Sha256::digest(&bytes), bytes));
    let read = tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Err(error.into()));
    let (digest, bytes) = read.map_err(Quarantine::Unreadable)?;
    let Some(want) = &source.digest else { return Ok(bytes) };
    let got: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    let got = format!("sha256:{got}");
    if got == *want { Ok(bytes) } else { Err(Held::Digest { got, want: want.clone() }) }
}
