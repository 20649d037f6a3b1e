//! What can go wrong with a bundle, by the part that found it. Words only.

use super::{ContentsError, LayoutError, PackError, RegistryError, StoreError, TrustError};

/// Why a bundle can't be had, given or used.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// It is not a right bundle.
    #[error("{at} can't be used")]
    Contents {
        /// The place, as it was named.
        at: String,
        /// Why.
        #[source]
        source: ContentsError,
    },
    /// It is not trusted.
    #[error("{at} is refused")]
    Trust {
        /// The place, as it was named.
        at: String,
        /// Why.
        #[source]
        source: TrustError,
    },
    /// A registry.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// A layout.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Nothing to pack.
    #[error(transparent)]
    Pack(#[from] PackError),
    /// The process is ending.
    #[error("the work was interrupted")]
    Interrupted(#[source] Box<dyn std::error::Error + Send + Sync>),
}
