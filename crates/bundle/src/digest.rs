//! Digests of content: `sha256:HEX`. No other algorithm is accepted, because a digest that cannot be checked is
//! useless.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use sha2::{Digest as _, Sha256};

/// A text that is not a valid digest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a digest that Boathook can verify: it must be sha256: and 64 lower-case hexadecimal digits")]
pub struct InvalidDigest(String);

/// The SHA-256 of some content. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest(Arc<str>);

impl Digest {
    /// Parses `sha256:HEX`.
    pub fn parse(text: &str) -> Result<Self, InvalidDigest> {
        let lower_hex = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
        match text.strip_prefix("sha256:") {
            Some(hex) if hex.len() == 64 && hex.chars().all(lower_hex) => Ok(Self(text.into())),
            _ => Err(InvalidDigest(text.to_owned())),
        }
    }

    /// Computes the digest of bytes.
    pub fn of(bytes: &[u8]) -> Self {
        let mut sum = Sum::default();
        sum.update(bytes);
        sum.finish()
    }

    /// Returns `sha256:HEX`.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns only the 64 digits, which serve as a file name.
    pub fn hex(&self) -> &str {
        self.0.strip_prefix("sha256:").unwrap_or(&self.0)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

/// Computes a digest of content that arrives in pieces.
#[derive(Debug, Clone, Default)]
pub(super) struct Sum(Sha256);

impl Sum {
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    pub fn finish(self) -> Digest {
        use fmt::Write as _;
        let mut text = "sha256:".to_owned();
        for byte in self.0.finalize() {
            // A write to a String cannot fail.
            let _ = write!(text, "{byte:02x}");
        }
        Digest(text.into())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn of_nothing_is_the_well_known_one() {
        let text = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(Digest::of(b""), Digest::parse(text).unwrap());
        assert_eq!(Digest::of(b"").hex(), &text[7..]);
    }

    #[test]
    fn what_could_be_a_path_or_is_not_checked_is_refused() {
        let hex = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        for bad in
            ["", "sha256:", &format!("sha512:{hex}"), &format!("sha256:{}", hex.to_uppercase()), "sha256:../../etc"]
        {
            assert!(Digest::parse(bad).is_err(), "{bad}");
        }
    }
}
