//! The errors of bundles, by the part that found them.

use super::{ContentsError, LayoutError, PackError, RegistryError, StoreError, TrustError};

/// Why a bundle cannot be pulled, pushed or used.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// It is not a valid bundle.
    #[error("{at} can't be used")]
    Contents {
        /// The place, as the user named it.
        at: String,
        #[source]
        source: ContentsError,
    },
    /// It is not trusted.
    #[error("{at} is refused")]
    Trust {
        /// The place, as the user named it.
        at: String,
        #[source]
        source: TrustError,
    },
    #[error(transparent)]
    Registry(#[from] RegistryError),
    #[error(transparent)]
    Layout(#[from] LayoutError),
    #[error(transparent)]
    Store(#[from] StoreError),
    /// There is nothing to pack.
    #[error(transparent)]
    Pack(#[from] PackError),
    /// The process is ending.
    #[error("the work was interrupted")]
    Interrupted(#[source] Box<dyn std::error::Error + Send + Sync>),
}
