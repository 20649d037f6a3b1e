//! The placeholder for the value of a Secret: letters of the same length, and the same letters for the same value. It
//! cannot be reversed: it is a keyed hash, of which each byte becomes one of 36 letters.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use sha2::{Digest as _, Sha256};

const LETTERS: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";

/// The key that makes placeholders differ from those of other records.
#[derive(Clone, PartialEq, Eq)]
pub struct Key([u8; 32]);

impl Key {
    /// The length of a key in bytes.
    pub const LEN: usize = 32;

    /// A key that was stored.
    pub fn new(bytes: [u8; Self::LEN]) -> Self {
        Self(bytes)
    }

    /// A new key.
    pub fn random() -> Self {
        Self(rand::random())
    }

    /// The bytes to store.
    pub fn bytes(&self) -> &[u8; Self::LEN] {
        &self.0
    }

    /// The placeholder for a value of `data`: letters in base64, which decode to the same number of bytes as before. A
    /// value that is not base64 is replaced as text.
    pub(super) fn data(&self, value: &str) -> String {
        match STANDARD.decode(value) {
            Ok(bytes) => STANDARD.encode(self.letters(&bytes)),
            Err(_) => self.text(value),
        }
    }

    /// The placeholder for a value of `stringData`.
    pub(super) fn text(&self, value: &str) -> String {
        self.letters(value.as_bytes())
    }

    fn letters(&self, value: &[u8]) -> String {
        let mut letters = String::with_capacity(value.len());
        let mut block: u64 = 0;
        while letters.len() < value.len() {
            let hash =
                Sha256::new().chain_update(self.0).chain_update(block.to_le_bytes()).chain_update(value).finalize();
            let letter = |byte: &u8| LETTERS.get(usize::from(*byte) % LETTERS.len()).copied().unwrap_or(b'x');
            letters.extend(hash.iter().map(letter).map(char::from).take(value.len() - letters.len()));
            block += 1;
        }
        letters
    }
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key(…)")
    }
}

/// Decodes a value of `data`, if it is text.
pub(super) fn decoded(value: &str) -> Option<String> {
    String::from_utf8(STANDARD.decode(value).ok()?).ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_placeholder_has_the_shape_of_the_value_and_decodes_alike() {
        let key = Key::new([7; 32]);
        for value in ["", "a", "hunter2", "correct horse battery staple, and much more than one block of it"] {
            let encoded = STANDARD.encode(value);
            let placeholder = key.data(&encoded);
            assert_eq!(placeholder.len(), encoded.len());
            assert_eq!(decoded(&placeholder).unwrap(), key.text(value));
            assert_eq!(key.text(value).len(), value.len());
        }
        assert_eq!(key.text("a value"), key.text("a value"));
        assert_ne!(key.text("a value"), key.text("b value"));
        assert_ne!(key.text("a value"), Key::new([8; 32]).text("a value"));
        assert_eq!(key.data("no base64!").len(), 10);
    }
}
