//! Bundles: sets of hooks as one OCI artifact. This crate packs, pushes, pulls and verifies them.
//!
//! It never runs a hook and never talks to a cluster. It returns files whose bytes were checked.
//!
//! | modules | content |
//! | --- | --- |
//! | `reference`, `digest`, `place` | where a bundle is: in a registry, in a layout on disk, or in one file |
//! | `registry` | the client of registries: logins, allowed addresses, transfers that resume |
//! | `layout` | OCI layouts, as a directory and as a tar file |
//! | `manifest`, `annotations`, `contents`, `wasm_config` | what a manifest says, and which hooks a bundle has |
//! | `pack`, `push`, `pull`, `unpack` | the ways between files, layouts and registries |
//! | `module` | the files of a module, as a layer |
//! | `image` | the files of a folder of a container image |
//! | `store` | layers on the operator's disk, in shares of the namespaces |
//! | `trust` | signatures, keys, identities and the policy |

mod annotations;
mod contents;
mod digest;
mod image;
mod layout;
mod manifest;
mod module;
mod pack;
mod place;
mod pull;
mod push;
mod reference;
mod registry;
mod store;
mod trust;
mod unpack;
mod wasm_config;

use std::sync::atomic::{AtomicU64, Ordering};

pub use annotations::{Annotations, InvalidAnnotation, TITLE};
pub use contents::{BundledDefinition, BundledHook, BundledModule, Contents, ContentsError};
pub use digest::{Digest, InvalidDigest};
pub use image::{ImageError, Taken, is_saved, take_folder, take_folder_of_saved};
pub use layout::{Layout, LayoutError};
pub use manifest::{
    BUNDLE_TYPE, CNCF_CONFIG_TYPE, CONFIG_TYPE, DEFINITION_TYPE, DOCS_TYPE, Descriptor, MAX_LAYER, MAX_LAYERS,
    MAX_TOTAL, MODULE_TYPE, Manifest, SCHEMA_TYPE, WASM_TYPE,
};
pub use module::{ModuleError, ModuleFile, ModuleInput, module_files, unpack_module};
pub use pack::{FileInput, HookInput, Input, PackError, Packed, pack, pack_wasm, single};
pub use place::{Place, archive, save};
pub use pull::{
    MAX_SETTINGS_SCHEMA, ModuleSource, Pulled, PulledHook, Ready, SETTINGS_SCHEMA, Seen, SeenAttestation, check,
    inspect, look, pull, verify,
};
pub use push::{Attached, Pushed, Signed, attach, copy, push, sign};
pub use reference::{InvalidReference, Reference};
pub use registry::{Allowed, Connect, Credentials, CredentialsError, Helper, Reach, RegistryError, RegistryProblem};
pub use store::{ModuleDirectory, Store, StoreError};
pub use trust::{
    AttachError, Attestation, Demand, Document, Identity, IdentityError, IdentityParts, KeyError, NamedKey, Policy,
    PolicyError, PrivateKey, PublicKey, Signer, TrustError, Verified,
};
pub use unpack::{UnpackError, Unpacked, unpack};
pub use wasm_config::InvalidComponent;

/// The folder of a bundle's directory with CustomResourceDefinitions.
pub const DEFINITIONS: &str = "crds";

/// The bytes that are done and the bytes in all. It is shared during the transfer.
#[derive(Debug, Default)]
pub struct Progress {
    done: AtomicU64,
    total: AtomicU64,
}

impl Progress {
    /// Returns the bytes that are done and the bytes in all. Both are zero until the sizes are known.
    pub fn get(&self) -> (u64, u64) {
        (self.done.load(Ordering::Relaxed), self.total.load(Ordering::Relaxed))
    }

    fn expect(&self, bytes: u64) {
        self.total.fetch_add(bytes, Ordering::Relaxed);
    }

    fn add(&self, bytes: u64) {
        self.done.fetch_add(bytes, Ordering::Relaxed);
    }

    fn take(&self, bytes: u64) {
        self.done.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// Why a bundle cannot be pulled, pushed or used.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// It is not a valid bundle.
    #[error("{at} cannot be used")]
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
    /// A document cannot be attached.
    #[error("{file} cannot be attached")]
    Attach {
        file: String,
        #[source]
        source: AttachError,
    },
    /// There is nothing to pack.
    #[error(transparent)]
    Pack(#[from] PackError),
    /// The process is ending.
    #[error("the work was interrupted")]
    Interrupted(#[source] Box<dyn std::error::Error + Send + Sync>),
}
