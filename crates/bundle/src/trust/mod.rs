//! Whether a bundle is trusted: policies, keys, signatures, and what a signer may request.

mod attestation;
mod evidence;
mod identity;
mod key;
mod policy;
mod verify;

use super::{BundledHook, Contents, Digest};

pub(super) use attestation::Statement;
pub use attestation::{AttachError, Attestation, Document};
pub(super) use evidence::{Search, pre_authentication};
pub use identity::{Identity, IdentityError, IdentityParts};
pub use key::{KeyError, PrivateKey, PublicKey};
pub use policy::{Demand, NamedKey, Policy, PolicyError, Signer};
pub use verify::Verified;
pub(super) use verify::verify;

/// Why a bundle is refused. Each message names the remedy.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// There is no rule for the bundle's source.
    #[error("no source of the policy matches {0}: add one to `sources`")]
    NoRule(String),
    /// The digest is not on the list.
    #[error(
        "its digest {digest} is not among the {listed} that are allowed: add it, or point the tag at an allowed one again"
    )]
    NotListed {
        digest: Digest,
        /// The number of digests on the list.
        listed: usize,
    },
    /// There is no signature.
    #[error(
        "{digest} has no signature, and one by {wanted} is needed: was the tag moved to something else? Sign it with `boathook bundle sign --key`"
    )]
    Unsigned {
        digest: Digest,
        /// The names of the keys that are needed.
        wanted: String,
    },
    /// All signatures are by other keys.
    #[error(
        "{digest} has {found} signatures, and none is by {wanted}: it was signed with another key, or the signature was changed"
    )]
    WrongKey {
        digest: Digest,
        /// The number of signatures.
        found: usize,
        /// The names of the keys that are needed.
        wanted: String,
    },
    /// A signature came with a certificate, and does not count.
    #[error("{digest} is not signed by {wanted}")]
    NotIdentity {
        digest: Digest,
        /// The names of the signers that are needed.
        wanted: String,
        #[source]
        source: Box<IdentityError>,
    },
    /// The signature is valid, but for something else.
    #[error("the signature by key {key:?} is for {signed}, not for {digest}: it was copied from another bundle")]
    OtherDigest {
        /// The key's name.
        key: String,
        /// What was signed instead.
        signed: String,
        digest: Digest,
    },
    /// The signature is valid, but for another tag.
    #[error(
        "{digest} was signed by key {key:?} as tag {signed:?}, and the tag {tag:?} points to it: the tag was moved; push and sign it as {tag:?}"
    )]
    OtherTag {
        /// The key's name.
        key: String,
        /// The tag that was signed.
        signed: String,
        /// The tag that points to the bundle.
        tag: String,
        digest: Digest,
    },
    /// There are not enough signers.
    #[error("{digest} is signed by {}, and {minimum} keys are needed: sign it with more of {wanted}", .got.join(", "))]
    TooFew {
        digest: Digest,
        /// The names of the keys that signed.
        got: Vec<String>,
        /// How many keys are needed.
        minimum: usize,
        /// The names of the keys that may sign.
        wanted: String,
    },
    /// A required attestation is missing, or does not count.
    #[error(
        "{digest} needs {kind} that {wanted} attests, and {why}: attach it with `boathook bundle attach --{kind} --key`"
    )]
    Unattested {
        digest: Digest,
        kind: Attestation,
        /// The names of the keys that may attest.
        wanted: String,
        /// What there is instead.
        why: String,
    },
    /// A hook requests more than a signer may request, or more than is checked.
    #[error("hook {hook:?} requests {beyond}")]
    TooMuch {
        hook: String,
        /// What it requests, what that exceeds, and what to do.
        beyond: String,
    },
    /// The bundle's CustomResourceDefinitions need more than a signer may request.
    #[error("its CustomResourceDefinitions request {0}")]
    Defines(String),
    /// There is a limit on requests, and the bundle does not state what a hook requests.
    #[error(
        "hook {hook:?} does not state what it requests, and {who} may not request everything: pack it with `boathook bundle pack`"
    )]
    Silent {
        hook: String,
        /// Whose limit it is.
        who: String,
    },
    /// A hook requests something else than the bundle states.
    #[error("hook {hook:?} requests other permissions than the bundle states: pack it again")]
    Understated { hook: String },
    /// A signature's document cannot be parsed.
    #[error("it has a signature that cannot be read: sign it again")]
    Unreadable(#[source] serde_json::Error),
    #[error("the key cannot be used")]
    Key(#[from] KeyError),
}
