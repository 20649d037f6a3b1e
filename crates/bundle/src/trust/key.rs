//! The keys of signers: ECDSA on P-256, which cosign makes, and Ed25519, both in PEM. A private key is never written.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use ring::{
    rand::SystemRandom,
    signature::{self, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey},
};

/// Why a key cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// There is no PEM block.
    #[error("there is no PEM block in it: a key begins with -----BEGIN")]
    NoPem,
    /// The PEM block is of another kind.
    #[error("a {found:?} is not a {wanted:?}: {remedy}")]
    Label {
        /// The label in the file.
        found: String,
        /// The label that is needed.
        wanted: &'static str,
        remedy: &'static str,
    },
    /// The algorithm is not supported.
    #[error("its algorithm is not known: use ECDSA on P-256, as cosign does, or Ed25519")]
    Algorithm,
    /// The key is damaged.
    #[error("it is damaged, or its algorithm is not known: use ECDSA on P-256, as cosign does, or Ed25519")]
    Broken,
    /// An identity has no issuer or no subject, or a pattern that covers others.
    #[error(
        "an identity needs an `issuer` and a `subject`, and only the end of the subject may be `/*`: https://git.example.com/TEAM/*"
    )]
    Identity,
    /// There is no usable root.
    #[error(
        "its certificate authority cannot be used: write its certificates in PEM, with BEGIN CERTIFICATE, including the self-signed root"
    )]
    Authority,
    /// The system provides no random numbers.
    #[error("cannot sign: the system has no random numbers")]
    Random,
}

/// The SubjectPublicKeyInfo of P-256 up to the uncompressed point, which is 65 bytes.
const P256: &[u8] = &[
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce,
    0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];
/// The SubjectPublicKeyInfo of Ed25519 up to the key, which is 32 bytes.
const ED25519: &[u8] = &[0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Algorithm {
    P256,
    Ed25519,
}

/// A key that checks signatures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicKey {
    algorithm: Algorithm,
    key: Vec<u8>,
}

impl PublicKey {
    /// Parses a `PUBLIC KEY` in PEM.
    pub fn from_pem(text: &str) -> Result<Self, KeyError> {
        Self::from_der(&pem(
            text,
            "PUBLIC KEY",
            "name the public key, as `openssl pkey -pubout` prints it, or cosign.pub",
        )?)
    }

    /// Parses a SubjectPublicKeyInfo in DER.
    pub(crate) fn from_der(der: &[u8]) -> Result<Self, KeyError> {
        let of = |algorithm, prefix, length| {
            let key: Option<&[u8]> = der.strip_prefix(prefix);
            key.filter(|key| key.len() == length).map(|key| Self { algorithm, key: key.to_vec() })
        };
        of(Algorithm::P256, P256, 65).or_else(|| of(Algorithm::Ed25519, ED25519, 32)).ok_or(KeyError::Algorithm)
    }

    /// The SubjectPublicKeyInfo in DER.
    pub(crate) fn to_der(&self) -> Vec<u8> {
        let prefix = match self.algorithm {
            Algorithm::P256 => P256,
            Algorithm::Ed25519 => ED25519,
        };
        [prefix, &self.key].concat()
    }

    /// Formats the key in PEM.
    pub fn to_pem(&self) -> String {
        let text = STANDARD.encode(self.to_der());
        let (first, rest) = text.split_at_checked(64).unwrap_or((&text, ""));
        let rest = if rest.is_empty() { String::new() } else { format!("{rest}\n") };
        format!("-----BEGIN PUBLIC KEY-----\n{first}\n{rest}-----END PUBLIC KEY-----\n")
    }

    /// Whether the signature of the message was made with the matching private key.
    pub fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        let algorithm: &dyn signature::VerificationAlgorithm = match self.algorithm {
            Algorithm::P256 => &signature::ECDSA_P256_SHA256_ASN1,
            Algorithm::Ed25519 => &signature::ED25519,
        };
        UnparsedPublicKey::new(algorithm, &self.key).verify(message, signature).is_ok()
    }
}

/// A key that signs.
pub struct PrivateKey(Pair);

enum Pair {
    P256(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
}

impl std::fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("PrivateKey").field(&self.public()).finish()
    }
}

impl PrivateKey {
    /// Parses an unencrypted `PRIVATE KEY` (PKCS #8) in PEM.
    pub fn from_pem(text: &str) -> Result<Self, KeyError> {
        let remedy = "encrypted keys are not read: sign with cosign, whose signatures are checked here as well, or make a key \
                    with `openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256`; `openssl pkcs8 -topk8 -nocrypt` \
                    converts an EC PRIVATE KEY";
        let der = pem(text, "PRIVATE KEY", remedy)?;
        if let Ok(pair) = Ed25519KeyPair::from_pkcs8_maybe_unchecked(&der) {
            return Ok(Self(Pair::Ed25519(pair)));
        }
        let algorithm = &signature::ECDSA_P256_SHA256_ASN1_SIGNING;
        let pair = EcdsaKeyPair::from_pkcs8(algorithm, &der, &SystemRandom::new()).map_err(|_| KeyError::Broken)?;
        Ok(Self(Pair::P256(pair)))
    }

    /// The public key that checks this key's signatures.
    pub fn public(&self) -> PublicKey {
        match &self.0 {
            Pair::P256(pair) => PublicKey { algorithm: Algorithm::P256, key: pair.public_key().as_ref().to_vec() },
            Pair::Ed25519(pair) => {
                PublicKey { algorithm: Algorithm::Ed25519, key: pair.public_key().as_ref().to_vec() }
            }
        }
    }

    pub(crate) fn sign(&self, message: &[u8]) -> Result<Vec<u8>, KeyError> {
        match &self.0 {
            Pair::P256(pair) => {
                let signature = pair.sign(&SystemRandom::new(), message).map_err(|_| KeyError::Random)?;
                Ok(signature.as_ref().to_vec())
            }
            Pair::Ed25519(pair) => Ok(pair.sign(message).as_ref().to_vec()),
        }
    }
}

/// The bytes of the first PEM block, which must have the label.
fn pem(text: &str, wanted: &'static str, remedy: &'static str) -> Result<Vec<u8>, KeyError> {
    let (_, rest) = text.split_once("-----BEGIN ").ok_or(KeyError::NoPem)?;
    let (label, rest) = rest.split_once("-----").ok_or(KeyError::NoPem)?;
    if label != wanted {
        return Err(KeyError::Label { found: label.chars().take(60).collect(), wanted, remedy });
    }
    let (body, _) = rest.split_once("-----END ").ok_or(KeyError::NoPem)?;
    let body: String = body.chars().filter(|c| !c.is_whitespace()).collect();
    STANDARD.decode(body).map_err(|_| KeyError::Broken)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    // Made and signed with openssl: `openssl dgst -sha256 -sign`, `openssl pkeyutl -sign -rawin`.
    const MESSAGE: &[u8] = b"boathook\n";

    fn openssl(name: &str) -> (String, Vec<u8>) {
        let at = |file: String| {
            std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join("tests/fixtures/keys").join(file)
        };
        let key = std::fs::read_to_string(at(format!("{name}.pub"))).unwrap();
        (key, STANDARD.decode(std::fs::read_to_string(at(format!("{name}.sig"))).unwrap().trim()).unwrap())
    }

    #[test]
    fn checks_what_openssl_signed() {
        for name in ["p256", "ed25519"] {
            let (key, signature) = openssl(name);
            let key = PublicKey::from_pem(&key).unwrap();
            assert!(key.verifies(MESSAGE, &signature), "{name}");
            assert!(!key.verifies(b"boathook", &signature), "{name}");
        }
    }

    #[test]
    fn reads_and_writes_the_same_pem() {
        for name in ["p256", "ed25519"] {
            let (key, _) = openssl(name);
            assert_eq!(PublicKey::from_pem(&key).unwrap().to_pem(), key);
        }
    }

    #[test]
    fn says_what_a_wrong_key_is() {
        let encrypted =
            "-----BEGIN ENCRYPTED SIGSTORE PRIVATE KEY-----\nAA==\n-----END ENCRYPTED SIGSTORE PRIVATE KEY-----";
        let error = PrivateKey::from_pem(encrypted).unwrap_err().to_string();
        assert!(error.contains("ENCRYPTED SIGSTORE") && error.contains("openssl genpkey"), "{error}");
        assert_eq!(PublicKey::from_pem("x"), Err(KeyError::NoPem));
        let empty = "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----";
        assert_eq!(PublicKey::from_pem(empty), Err(KeyError::Algorithm));
        let broken = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----";
        assert_eq!(PrivateKey::from_pem(broken).unwrap_err(), KeyError::Broken);
    }
}
