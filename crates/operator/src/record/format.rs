//! Records as bytes: a header with version, lengths and checksum, then compressed JSON.
//!
//! ```text
//!   0  8 bytes   BHRECORD
//!   8  u32 LE    version of the format
//!  12  u64 LE    bytes of the body
//!  20  u64 LE    bytes of the body when it is unpacked
//!  28  32 bytes  SHA-256 of bytes 8 to 28 and the body
//!  60  body      zlib: one JSON document
//! ```

use miniz_oxide::{deflate::compress_to_vec_zlib, inflate::decompress_to_vec_zlib_with_limit};
use sha2::{Digest as _, Sha256};

use super::content::Record;

/// The version that is written. Since version 2 there are records of answers, too.
pub const VERSION: u32 = 2;

/// The oldest version that can be read.
pub const OLDEST: u32 = 1;

/// The maximum size of a body when it is unpacked. Records that Boathook writes are far smaller.
pub const MAX_UNPACKED: u64 = 256 * 1024 * 1024;

const MAGIC: &[u8; 8] = b"BHRECORD";
const HEAD: usize = 60;

/// This level is fast, and the result is only a few percent larger than the smallest for such text.
const LEVEL: u8 = 4;

/// Why bytes are not a complete record of a run.
#[derive(Debug, thiserror::Error)]
pub enum FormatError {
    /// The bytes are something else.
    #[error("it is no record of a run")]
    NoRecord,
    /// Another version of Boathook made the record.
    #[error(
        "it is of version {0}; this boathook reads {OLDEST} to {VERSION}: use the boathook that wrote it, or record again"
    )]
    Version(u32),
    /// The end of the record is missing.
    #[error("it is cut short after {found} of {whole} bytes")]
    CutShort {
        /// The number of bytes in the file.
        found: u64,
        /// The number of bytes that there should be.
        whole: u64,
    },
    /// More bytes follow the record.
    #[error("{0} bytes follow the record: it was changed after it was written")]
    TooLong(u64),
    /// Bytes were changed.
    #[error("it is damaged: its checksum is another than its content's")]
    Damaged,
    /// The record is larger than any that Boathook writes.
    #[error("it would take {0} bytes of memory; {MAX_UNPACKED} are allowed")]
    TooLarge(u64),
    /// The record is complete, but its content is not understood.
    #[error("its content is not understood")]
    Content(#[source] serde_json::Error),
    /// The record is complete, but it contradicts itself.
    #[error("its content is contradictory: {0}")]
    Contradiction(String),
}

/// Encodes a record.
pub fn encode(record: &Record) -> Result<Vec<u8>, serde_json::Error> {
    let json = serde_json::to_vec(record)?;
    let body = compress_to_vec_zlib(&json, LEVEL);
    let mut bytes = Vec::with_capacity(HEAD + body.len());
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    bytes.extend_from_slice(&(body.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&(json.len() as u64).to_le_bytes());
    let checksum = Sha256::new().chain_update(bytes.get(MAGIC.len()..).unwrap_or_default()).chain_update(&body);
    bytes.extend_from_slice(&checksum.finalize());
    bytes.extend_from_slice(&body);
    Ok(bytes)
}

/// Decodes a record.
pub fn decode(bytes: &[u8]) -> Result<Record, FormatError> {
    let head = Head::read(bytes)?;
    let rest = bytes.get(HEAD..).unwrap_or_default();
    let (found, whole) = (bytes.len() as u64, head.body.saturating_add(HEAD as u64));
    if found < whole {
        return Err(FormatError::CutShort { found, whole });
    }
    if found > whole {
        return Err(FormatError::TooLong(found - whole));
    }
    let checksum = Sha256::new().chain_update(bytes.get(8..28).unwrap_or_default()).chain_update(rest).finalize();
    if Some(checksum.as_slice()) != bytes.get(28..HEAD) {
        return Err(FormatError::Damaged);
    }
    if head.unpacked > MAX_UNPACKED {
        return Err(FormatError::TooLarge(head.unpacked));
    }
    let limit = usize::try_from(head.unpacked).unwrap_or(usize::MAX);
    let json = decompress_to_vec_zlib_with_limit(rest, limit).map_err(|_| FormatError::Damaged)?;
    let record = serde_json::from_slice(&json).map_err(FormatError::Content)?;
    check(&record)?;
    Ok(record)
}

struct Head {
    body: u64,
    unpacked: u64,
}

impl Head {
    fn read(bytes: &[u8]) -> Result<Self, FormatError> {
        let known = bytes.len().min(MAGIC.len());
        if bytes.is_empty() || bytes.get(..known) != MAGIC.get(..known) {
            return Err(FormatError::NoRecord);
        }
        let cut = || FormatError::CutShort { found: bytes.len() as u64, whole: HEAD as u64 };
        let version = u32::from_le_bytes(*array(bytes, 8).ok_or_else(cut)?);
        if !(OLDEST..=VERSION).contains(&version) {
            return Err(FormatError::Version(version));
        }
        let body = u64::from_le_bytes(*array(bytes, 12).ok_or_else(cut)?);
        let unpacked = u64::from_le_bytes(*array(bytes, 20).ok_or_else(cut)?);
        if bytes.len() < HEAD {
            return Err(cut());
        }
        Ok(Self { body, unpacked })
    }
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<&[u8; N]> {
    bytes.get(at..)?.first_chunk()
}

/// Checks what a writer that is not ours may have done wrong.
fn check(record: &Record) -> Result<(), FormatError> {
    if record.triggers.is_empty() == record.question.is_none() {
        let what =
            if record.triggers.is_empty() { "neither triggers nor a question" } else { "triggers and a question" };
        return Err(FormatError::Contradiction(what.to_owned()));
    }
    let misfit = |call: &super::Call| call.answer.as_ref().is_some_and(|answer| !answer.fits(&call.request));
    match record.calls.iter().position(misfit) {
        Some(index) => Err(FormatError::Contradiction(format!("the answer of call {} is another call's", index + 1))),
        None => Ok(()),
    }
}
