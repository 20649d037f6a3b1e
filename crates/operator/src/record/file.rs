//! Records as files: their names, and how they are read. `writer.rs` writes them.

use std::{
    fs::File,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use super::{
    Record,
    format::{FormatError, MAX_UNPACKED, decode},
};

/// The suffix of the files of records.
pub const SUFFIX: &str = ".record";

/// Why a record cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file cannot be read.
    #[error("can't read {path}")]
    File {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// The content cannot be used.
    #[error("can't use {path}")]
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
    #![allow(clippy::unwrap_used)]
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
