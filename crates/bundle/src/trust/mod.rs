//! Whether a bundle is trusted: policies, keys, signatures, and what a signer may ask for. Believes nothing that it did
//! not check, and runs nothing.

mod evidence;
mod key;
mod policy;
mod verify;

use super::{BundledHook, Contents, Digest};

pub use key::{KeyError, PrivateKey, PublicKey};
pub use policy::{Demand, NamedKey, Policy, PolicyError};
pub use verify::Verified;
pub(super) use verify::verify;

/// Why a bundle is refused. Each says what to do.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// No rule for where it is.
    #[error("no source of the policy matches {0}: add one to `sources`")]
    NoRule(String),
    /// A digest that is not on the list.
    #[error(
        "its digest {digest} is not among the {listed} that are allowed: add it, or point the tag at an allowed one again"
    )]
    NotListed {
        /// The digest.
        digest: Digest,
        /// Digests on the list.
        listed: usize,
    },
    /// No signature at all.
    #[error(
        "{digest} has no signature, and one by {wanted} is needed: was the tag moved to something else? Sign it with `boathook bundle sign --key`"
    )]
    Unsigned {
        /// The digest.
        digest: Digest,
        /// What is wanted.
        wanted: String,
    },
    /// Signatures by others.
    #[error(
        "{digest} has {found} signatures, and none is by {wanted}: it was signed with another key, or the signature was changed"
    )]
    WrongKey {
        /// The digest.
        digest: Digest,
        /// What was found.
        found: usize,
        /// What is wanted.
        wanted: String,
    },
    /// A good signature for something else.
    #[error("the signature by key {key:?} is for {signed}, not for {digest}: it was copied from another bundle")]
    OtherDigest {
        /// The key's name.
        key: String,
        /// What was signed instead.
        signed: String,
        /// The digest.
        digest: Digest,
    },
    /// A good signature for another tag.
    #[error(
        "{digest} was signed by key {key:?} as tag {signed:?}, and the tag {tag:?} points to it: the tag was moved; push and sign it as {tag:?}"
    )]
    OtherTag {
        /// The key's name.
        key: String,
        /// What was signed instead.
        signed: String,
        /// The tag.
        tag: String,
        /// The digest.
        digest: Digest,
    },
    /// Not enough signers.
    #[error("{digest} is signed by {}, and {minimum} keys are needed: sign it with more of {wanted}", .got.join(", "))]
    TooFew {
        /// The digest.
        digest: Digest,
        /// What there is.
        got: Vec<String>,
        /// Keys that are needed.
        minimum: usize,
        /// What is wanted.
        wanted: String,
    },
    /// More than a signer may ask for, or than is looked at.
    #[error("hook {hook:?} asks {beyond}")]
    TooMuch {
        /// The hook.
        hook: String,
        /// What it asks for, beyond what, and what to do.
        beyond: String,
    },
    /// A ceiling, and nothing to hold against it.
    #[error(
        "hook {hook:?} does not say what it asks for, and {who} may not ask for everything: pack it with `boathook bundle pack`"
    )]
    Silent {
        /// The hook.
        hook: String,
        /// Who it is about.
        who: String,
    },
    /// A summary that is not what the hook asks for.
    #[error("hook {hook:?} asks for something else than the bundle says: pack it again")]
    Understated {
        /// The hook.
        hook: String,
    },
    /// A document that is no signature.
    #[error("it has a signature that can't be read: sign it again")]
    Unreadable(#[source] serde_json::Error),
    /// A key that can't be used.
    #[error("the key can't be used")]
    Key(#[from] KeyError),
}
