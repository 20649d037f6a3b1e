//! Records as files: their names, and their bytes: a header with version, lengths and checksum, then compressed JSON.
//!
//! ```text
//!   0  8 bytes   BHRECORD
//!   8  u32 LE    version of the format
//!  12  u64 LE    bytes of the body
//!  20  u64 LE    bytes of the body when it is unpacked
//!  28  32 bytes  SHA-256 of bytes 8 to 28 and the body
//!  60  body      zlib: one JSON document
//! ```

use std::{
    fs::File,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use miniz_oxide::{deflate::compress_to_vec_zlib, inflate::decompress_to_vec_zlib_with_limit};
use sha2::{Digest as _, Sha256};

use super::content::Record;

/// The version that is written. Since version 2 there are records of answers, since version 3 HTTP requests, and since
/// version 4 the questions and answers of `reconcile` bindings.
pub const VERSION: u32 = 4;

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
    #[error("it is not a record of a run")]
    NoRecord,
    #[error(
        "it has version {0}; this boathook reads {OLDEST} to {VERSION}: use the boathook that wrote it, or record again"
    )]
    Version(u32),
    #[error("it is truncated: it has {found} of {whole} bytes")]
    CutShort {
        /// The number of bytes in the file.
        found: u64,
        /// The number of bytes that there should be.
        whole: u64,
    },
    #[error("it has {0} more bytes than a record: it was changed after it was written")]
    TooLong(u64),
    #[error("it is damaged: its checksum does not match its content")]
    Damaged,
    /// The record is larger than any that Boathook writes.
    #[error("it takes {0} bytes of memory; at most {MAX_UNPACKED} are allowed")]
    TooLarge(u64),
    #[error("its content cannot be read")]
    Content(#[source] serde_json::Error),
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

/// The suffix of the files of records.
pub const SUFFIX: &str = ".record";

/// Why a record cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("cannot read {path}")]
    File {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("cannot use {path}")]
    Format {
        path: PathBuf,
        #[source]
        source: FormatError,
    },
}

/// Reads the record in a file.
pub fn read(path: &Path) -> Result<Record, ReadError> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MAX_UNPACKED).read_to_end(&mut bytes));
    read.map_err(|source| ReadError::File { path: path.to_owned(), source })?;
    decode(&bytes).map_err(|source| ReadError::Format { path: path.to_owned(), source })
}

/// The name of a record's file. Names sort by time. Only the hook's part may contain an `_`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileName {
    /// When the run began: `20260105T100211.403Z`.
    pub started: String,
    pub hook: String,
    pub run: String,
    /// Whether the run failed.
    pub failed: bool,
}

impl FileName {
    /// The name for a run that began at `started` milliseconds since the Unix epoch.
    pub fn new(started: u64, hook: &str, run: &str, failed: bool) -> Self {
        Self { started: timestamp(started), hook: hook.to_owned(), run: run.to_owned(), failed }
    }

    /// Parses the name of a file. Returns `None` if it is not the name of a record.
    pub fn parse(name: &str) -> Option<Self> {
        let (rest, result) = name.strip_suffix(SUFFIX)?.rsplit_once('.')?;
        let (started, rest) = rest.split_once('_')?;
        let (hook, run) = rest.rsplit_once('_')?;
        let failed = match result {
            "ok" => false,
            "failed" => true,
            _ => return None,
        };
        Some(Self { started: started.to_owned(), hook: hook.to_owned(), run: run.to_owned(), failed })
    }
}

impl std::fmt::Display for FileName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let result = if self.failed { "failed" } else { "ok" };
        write!(f, "{}_{}_{}.{result}{SUFFIX}", self.started, self.hook, self.run)
    }
}

fn timestamp(millis: u64) -> String {
    let time = i64::try_from(millis).ok().and_then(|millis| jiff::Timestamp::from_millisecond(millis).ok());
    time.unwrap_or_default().strftime("%Y%m%dT%H%M%S.%3fZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_sort_by_time_and_tell_what_is_in_them() {
        let name = FileName::new(1_767_607_331_403, "my_hook.v1", "0a1b2c3d-17", true);
        assert_eq!(name.to_string(), "20260105T100211.403Z_my_hook.v1_0a1b2c3d-17.failed.record");
        assert_eq!(FileName::parse(&name.to_string()), Some(name.clone()));
        let later = FileName::new(1_767_607_331_404, "a", "0-1", false).to_string();
        assert!(name.to_string() < later);
        for other in ["components", "redaction.key", "x.record", "a_b_c.maybe.record", "a_b.ok.record"] {
            assert_eq!(FileName::parse(other), None, "{other}");
        }
    }
}
