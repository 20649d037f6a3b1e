//! Bounded reading of an admin's files: no link leads out of the directory, and YAML means what it means to Go.

use std::{
    borrow::Cow,
    fs::File,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use boathook_core::hooks::{Duplicates, plain_scalar, read_yaml};
use serde_json::{Number, Value};

/// The longest file that is read.
const MAX_BYTES: usize = 1024 * 1024;
/// The deepest nesting of values that addon-operator merges.
pub const MAX_DEPTH: usize = 32;

/// A directory or a file that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error("{} cannot be read", .0.display())]
    Unreadable(PathBuf, #[source] io::Error),
    #[error("the link {} leads out of {}: replace it with a copy", .0.display(), .1.display())]
    Outside(PathBuf, PathBuf),
    #[error("{} is larger than {MAX_BYTES} bytes: make it smaller", .0.display())]
    TooLarge(PathBuf),
    #[error("{} {why}", .0.display(), why = .1)]
    Invalid(PathBuf, String),
}

/// A directory that its files may not leave.
#[derive(Debug)]
pub struct Root {
    path: PathBuf,
    real: PathBuf,
}

impl Root {
    pub fn new(path: &Path) -> Result<Self, FileError> {
        let real = path.canonicalize().map_err(|error| FileError::Unreadable(path.to_owned(), error))?;
        Ok(Self { path: path.to_owned(), real })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Checks that a path that exists is in the directory. Returns false for a path that does not exist.
    pub fn holds(&self, path: &Path) -> Result<bool, FileError> {
        match path.canonicalize() {
            Ok(real) if real.starts_with(&self.real) => Ok(true),
            Ok(_) => Err(FileError::Outside(path.to_owned(), self.path.clone())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(FileError::Unreadable(path.to_owned(), error)),
        }
    }

    /// Reads a YAML file below the directory. `None` if there is none.
    pub fn yaml(&self, below: &str) -> Result<Option<Value>, FileError> {
        let path = self.path.join(below);
        if !self.holds(&path)? {
            return Ok(None);
        }
        yaml(&path, &text(&path)?).map(Some)
    }
}

/// The text of a file.
fn text(path: &Path) -> Result<String, FileError> {
    let unreadable = |error| FileError::Unreadable(path.to_owned(), error);
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(unreadable)?;
    if !file.metadata().map_err(unreadable)?.is_file() {
        return Err(FileError::Invalid(path.to_owned(), "is not a file: put a file in its place".to_owned()));
    }
    file.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() > MAX_BYTES {
        return Err(FileError::TooLarge(path.to_owned()));
    }
    String::from_utf8(bytes).map_err(|_| FileError::Invalid(path.to_owned(), "is not UTF-8 text".to_owned()))
}

fn yaml(path: &Path, text: &str) -> Result<Value, FileError> {
    parse(text).map_err(|why| FileError::Invalid(path.to_owned(), why))
}

/// Reads YAML or JSON as addon-operator does, and no deeper than it merges.
pub fn parse(text: &str) -> Result<Value, String> {
    let value = read_yaml(text, as_go, Duplicates::Refused)?;
    if depth(&value) > MAX_DEPTH {
        return Err(format!("is nested deeper than {MAX_DEPTH} levels: make it flatter"));
    }
    Ok(value)
}

/// How deep a value is nested. The reader has bounded it.
pub fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

/// A plain scalar as the YAML library of addon-operator and Helm reads it, which follows YAML 1.1 where 1.2 differs:
/// `yes` and `on` are booleans, and `010` is 8.
pub fn as_go(text: Cow<'_, str>) -> Value {
    match text.as_ref() {
        "y" | "Y" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" => return Value::Bool(true),
        "n" | "N" | "no" | "No" | "NO" | "off" | "Off" | "OFF" => return Value::Bool(false),
        _ => {}
    }
    match plain_scalar(text) {
        Value::String(text) => number(&text).map_or(Value::String(text), Value::Number),
        value => value,
    }
}

/// The forms of numbers that YAML 1.2 does not have.
fn number(text: &str) -> Option<Number> {
    let plain = text.replace('_', "");
    let (sign, digits) = match plain.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, plain.strip_prefix('+').unwrap_or(&plain)),
    };
    // An underscore does not begin a number.
    if !text.trim_start_matches(['-', '+']).starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let radix = |prefix: &[&str], radix| {
        let digits = prefix.iter().find_map(|prefix| digits.strip_prefix(prefix))?;
        let plain = digits.bytes().all(|byte| byte.is_ascii_alphanumeric());
        plain.then(|| i64::from_str_radix(digits, radix).ok()).flatten()
    };
    let whole = radix(&["0x", "0X"], 16).or_else(|| radix(&["0b"], 2)).or_else(|| radix(&["0o", "0"], 8));
    let whole = whole.or_else(|| digits.parse().ok().filter(|_| !digits.starts_with('0')));
    if let Some(whole) = whole {
        return Some(Number::from(sign * whole));
    }
    // Go's own test before it parses a float.
    let float = digits.bytes().all(|byte| byte.is_ascii_digit() || b".eE+-".contains(&byte));
    float.then(|| plain.parse().ok().and_then(Number::from_f64)).flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn scalars_are_what_gos_library_reads() {
        for (text, value) in [
            ("yes", json!(true)),
            ("Off", json!(false)),
            ("\"yes\"", json!("yes")),
            ("010", json!(8)),
            ("-010", json!(-8)),
            ("089", json!(89.0)),
            ("0x1F", json!(31)),
            ("0b11", json!(3)),
            ("1_000", json!(1000)),
            ("_1", json!("_1")),
            ("+5", json!(5)),
            ("1.20", json!(1.2)),
            ("1e3", json!(1000.0)),
            ("1.2.3", json!("1.2.3")),
            ("2001-01-01", json!("2001-01-01")),
            ("10Mi", json!("10Mi")),
            ("~", json!(null)),
            ("", json!(null)),
        ] {
            assert_eq!(parse(text).unwrap(), value, "{text}");
        }
    }

    #[test]
    fn what_is_too_deep_is_refused() {
        let nested = |levels| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert!(parse(&nested(32)).is_ok());
        assert!(parse(&nested(33)).unwrap_err().contains("deeper than 32 levels"));
    }
}
