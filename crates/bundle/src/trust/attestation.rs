//! What attestations are about: the software in a bundle, or how the bundle was built. Policies name the kinds.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Digest, evidence::STATEMENT};

const CYCLONEDX: &str = "https://cyclonedx.org/bom";
const SPDX: &str = "https://spdx.dev/Document";
const SLSA: &str = "https://slsa.dev/provenance";
const SLSA_1: &str = "https://slsa.dev/provenance/v1";
const SLSA_02: &str = "https://slsa.dev/provenance/v0.2";
const IN_TOTO: &str = "https://in-toto.io/Statement/v1";

/// A kind of attestation that a policy can require.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Attestation {
    /// The list of what is in the bundle: CycloneDX or SPDX.
    Sbom,
    /// How the bundle was built: SLSA.
    Provenance,
}

impl Attestation {
    /// The kind with this predicate type, of any version.
    pub(super) fn of(predicate_type: &str) -> Option<Self> {
        let is =
            |uri: &str| predicate_type.strip_prefix(uri).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        match () {
            () if is(CYCLONEDX) || is(SPDX) => Some(Self::Sbom),
            () if is(SLSA) => Some(Self::Provenance),
            () => None,
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Sbom => "sbom",
            Self::Provenance => "provenance",
        }
    }
}

impl std::fmt::Display for Attestation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::str::FromStr for Attestation {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = [Self::Sbom, Self::Provenance].into_iter().find(|kind| kind.as_str() == text);
        known.ok_or_else(|| format!("{text:?} is not a kind of attestation: write sbom or provenance"))
    }
}

/// Why a document cannot be attached.
#[derive(Debug, thiserror::Error)]
pub enum AttachError {
    /// The document is not JSON.
    #[error("it is not JSON: SBOMs are CycloneDX or SPDX in JSON, and provenance is SLSA in JSON")]
    Json(#[from] serde_json::Error),
    /// The document is of another kind.
    #[error("it is not {0}")]
    Kind(&'static str),
    /// The statement is about something else.
    #[error("its statement is for {found}, but the bundle is {digest}: make it for this bundle")]
    Other {
        /// The first digest that the statement is about.
        found: String,
        digest: Digest,
    },
}

/// A document that somebody attaches to a bundle.
#[derive(Debug, Clone)]
pub struct Document {
    pub kind: Attestation,
    /// The bytes of the file.
    pub bytes: Vec<u8>,
}

/// A statement that is ready to be signed.
pub(crate) struct Statement {
    pub predicate_type: String,
    pub payload: Vec<u8>,
}

impl Document {
    /// Makes a statement about a bundle of the document. A file that is a statement already must be about the bundle.
    pub(crate) fn statement(&self, source: &str, digest: &Digest) -> Result<Statement, AttachError> {
        let document: Value = serde_json::from_slice(&self.bytes)?;
        let text = |key: &str| document.get(key).and_then(Value::as_str);
        if let Some(predicate_type) = text("predicateType") {
            if Attestation::of(predicate_type) != Some(self.kind) {
                return Err(AttachError::Kind(self.wanted()));
            }
            let subjects = document.get("subject").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
            let digests: Vec<_> = subjects.iter().filter_map(|one| one.pointer("/digest/sha256")?.as_str()).collect();
            if !digests.contains(&digest.hex()) {
                let found = digests.first().map_or("nothing with a SHA-256".to_owned(), |hex| format!("sha256:{hex}"));
                return Err(AttachError::Other { found, digest: digest.clone() });
            }
            return Ok(Statement { predicate_type: predicate_type.to_owned(), payload: self.bytes.clone() });
        }
        let has = |keys: [&str; 2]| keys.iter().all(|key| document.get(key).is_some());
        let predicate_type = match self.kind {
            Attestation::Sbom if text("bomFormat") == Some("CycloneDX") => CYCLONEDX,
            Attestation::Sbom if text("spdxVersion").is_some() => SPDX,
            Attestation::Provenance if has(["buildDefinition", "runDetails"]) => SLSA_1,
            Attestation::Provenance if has(["builder", "buildType"]) => SLSA_02,
            _ => return Err(AttachError::Kind(self.wanted())),
        };
        let statement = json!({
            "_type": IN_TOTO,
            "subject": [{"name": source, "digest": {"sha256": digest.hex()}}],
            "predicateType": predicate_type,
            "predicate": document,
        });
        Ok(Statement { predicate_type: predicate_type.to_owned(), payload: serde_json::to_vec(&statement)? })
    }

    fn wanted(&self) -> &'static str {
        match self.kind {
            Attestation::Sbom => "an SBOM: write CycloneDX (with bomFormat) or SPDX (with spdxVersion) in JSON",
            Attestation::Provenance => {
                "provenance: write an in-toto statement or a predicate of SLSA, with buildDefinition and runDetails"
            }
        }
    }
}

impl Statement {
    pub const TYPE: &'static str = STATEMENT;
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn kinds_are_those_of_a_predicate_type_in_any_version() {
        for (uri, kind) in [
            ("https://cyclonedx.org/bom", Some(Attestation::Sbom)),
            ("https://cyclonedx.org/bom/v1.6", Some(Attestation::Sbom)),
            ("https://spdx.dev/Document/v2.3", Some(Attestation::Sbom)),
            ("https://slsa.dev/provenance/v1", Some(Attestation::Provenance)),
            ("https://cyclonedx.org/bomb", None),
            ("https://sigstore.dev/cosign/sign/v1", None),
            ("", None),
        ] {
            assert_eq!(Attestation::of(uri), kind, "{uri}");
        }
    }

    #[test]
    fn a_document_says_what_it_is() {
        let digest = Digest::of(b"bundle");
        let made = |kind, value: Value| {
            let bytes = value.to_string().into_bytes();
            Document { kind, bytes }.statement("r.io/a", &digest).map(|statement| statement.predicate_type)
        };
        let (sbom, provenance) = (Attestation::Sbom, Attestation::Provenance);
        assert_eq!(made(sbom, json!({"bomFormat": "CycloneDX"})).unwrap(), CYCLONEDX);
        assert_eq!(made(sbom, json!({"spdxVersion": "SPDX-2.3"})).unwrap(), SPDX);
        assert_eq!(made(provenance, json!({"buildDefinition": {}, "runDetails": {}})).unwrap(), SLSA_1);
        assert_eq!(made(provenance, json!({"builder": {}, "buildType": ""})).unwrap(), SLSA_02);
        let error = |kind, value| made(kind, value).unwrap_err().to_string();
        assert!(error(sbom, json!({"buildDefinition": {}, "runDetails": {}})).contains("is not an SBOM"));
        assert!(error(provenance, json!({"bomFormat": "CycloneDX"})).contains("is not provenance"));
        let about = |hex: &str| json!({"predicateType": SLSA_1, "subject": [{"digest": {"sha256": hex}}]});
        assert_eq!(made(provenance, about(digest.hex())).unwrap(), SLSA_1);
        assert!(error(provenance, about("00")).contains("is for sha256:00"));
        assert!(error(sbom, about(digest.hex())).contains("is not an SBOM"));
    }
}
