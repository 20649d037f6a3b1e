//! Bundles: sets of hooks as one OCI artifact. This crate packs, pushes, pulls and verifies them.
//!
//! It never runs a hook and never talks to a cluster. It returns files whose bytes were checked.

mod contents;
mod digest;
mod error;
mod last;
mod layout;
mod manifest;
mod pack;
mod payload;
mod place;
mod progress;
mod pull;
mod push;
mod reference;
mod registry;
mod sign;
mod store;
mod trust;
mod unpack;

pub use contents::{BundledHook, Contents, ContentsError};
pub use digest::{Digest, InvalidDigest};
pub use error::BundleError;
pub use last::{MAX_SETTINGS_SCHEMA, Ready, SETTINGS_SCHEMA};
pub use layout::{Layout, LayoutError};
pub use manifest::{
    BUNDLE_TYPE, CNCF_CONFIG_TYPE, CONFIG_TYPE, DOCS_TYPE, Descriptor, MAX_LAYER, MAX_LAYERS, MAX_TOTAL, Manifest,
    SCHEMA_TYPE, TITLE, WASM_TYPE,
};
pub use pack::{FileInput, HookInput, Input, PackError, Packed, pack, single};
pub use place::{Place, save};
pub use progress::Progress;
pub use pull::{Pulled, PulledHook, Seen, inspect, look, pull, verify};
pub use push::{Pushed, copy, push};
pub use reference::{InvalidReference, Reference};
pub use registry::{Allowed, Connect, Credentials, CredentialsError, Reach, RegistryError, RegistryProblem};
pub use sign::{Signed, sign};
pub use store::{Store, StoreError};
pub use trust::{Demand, KeyError, NamedKey, Policy, PolicyError, PrivateKey, PublicKey, TrustError, Verified};
pub use unpack::{UnpackError, Unpacked, unpack};
