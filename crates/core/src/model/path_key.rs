//! The secret part of a webhook's path. It proves that a request comes from the API server.
//!
//! The API server can prove its identity only if its own admin configures a client certificate. Every cluster has the
//! path in the registration. Each path therefore gets a secret part of its own, made from a key and the path itself, so
//! that one path reveals nothing about the others.

use std::fmt;

use ring::hmac;

/// The key from which the secret parts of all paths are made.
#[derive(Clone, PartialEq, Eq)]
pub struct PathKey([u8; Self::BYTES]);

impl fmt::Debug for PathKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PathKey(..)")
    }
}

impl PathKey {
    /// The key's length.
    pub const BYTES: usize = 32;

    /// Takes the key's bytes, which nobody else may know.
    pub fn new(bytes: [u8; Self::BYTES]) -> Self {
        Self(bytes)
    }

    /// Reads what [`Self::to_hex`] wrote. `None` if the text is something else.
    pub fn from_hex(text: &str) -> Option<Self> {
        unhex(text).map(Self)
    }

    /// The key as text, for the Secret that stores it.
    pub fn to_hex(&self) -> String {
        hex(&self.0)
    }

    /// The path with its secret part: `/validate/HOOK/BINDING/SECRET`.
    pub fn sign(&self, path: &str) -> String {
        format!("{path}/{}", hex(hmac::sign(&self.key(), path.as_bytes()).as_ref()))
    }

    /// Whether this is the secret part of the path. The comparison takes the same time for every wrong one.
    pub fn knows(&self, path: &str, secret: &str) -> bool {
        unhex::<{ Self::BYTES }>(secret).is_some_and(|tag| hmac::verify(&self.key(), path.as_bytes(), &tag).is_ok())
    }

    fn key(&self) -> hmac::Key {
        hmac::Key::new(hmac::HMAC_SHA256, &self.0)
    }
}

/// A path or a URL without its secret part, if it has one.
pub fn without_secret(path: &str) -> &str {
    match path.rsplit_once('/') {
        Some((plain, secret)) if unhex::<{ PathKey::BYTES }>(secret).is_some() => plain,
        _ => path,
    }
}

/// A text for people, with the secret parts of paths removed. They occur because the API server quotes what it refuses.
pub fn hide_secrets(text: &str) -> String {
    let parts = text.split_inclusive(|c: char| !c.is_ascii_hexdigit());
    let hidden = parts.map(|part| {
        let (word, end) = part.split_at(part.trim_end_matches(|c: char| !c.is_ascii_hexdigit()).len());
        if unhex::<{ PathKey::BYTES }>(word).is_some() { format!("...{end}") } else { part.to_owned() }
    });
    hidden.collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Accepts only lower case, because only that is written.
fn unhex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digits = text.bytes().all(|digit| digit.is_ascii_digit() || (b'a'..=b'f').contains(&digit));
    if !digits || text.len() != 2 * N {
        return None;
    }
    let mut bytes = [0; N];
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn each_path_has_a_secret_of_its_own() {
        let (key, other) = (PathKey::new([1; 32]), PathKey::new([2; 32]));
        let (one, two) = (key.sign("/validate/a/b"), key.sign("/validate/a/c"));
        let secret = one.strip_prefix("/validate/a/b/").unwrap();
        assert_eq!(secret.len(), 64);
        assert!(key.knows("/validate/a/b", secret));
        assert!(!key.knows("/validate/a/c", secret) && !two.ends_with(secret) && !other.knows("/validate/a/b", secret));
        for wrong in ["", "x", &secret.to_uppercase(), &secret.replace(|_: char| true, "0"), &secret[..62]] {
            assert!(!key.knows("/validate/a/b", wrong), "{wrong}");
        }
        assert_eq!(without_secret(&one), "/validate/a/b");
        assert_eq!(without_secret("/validate/a/b"), "/validate/a/b");
        let text = format!("Invalid value: \"{one}\": no; nor {two}");
        assert_eq!(hide_secrets(&text), "Invalid value: \"/validate/a/b/...\": no; nor /validate/a/c/...");
        assert_eq!(hide_secrets("an ordinary text: dead beef"), "an ordinary text: dead beef");
    }

    #[test]
    fn is_read_as_it_was_written_and_never_shown() {
        let key = PathKey::new([7; 32]);
        assert_eq!(PathKey::from_hex(&key.to_hex()), Some(key.clone()));
        assert_eq!(PathKey::from_hex("07"), None);
        assert!(!format!("{key:?}").contains("07"));
    }
}
