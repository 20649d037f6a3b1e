//! A hook that is a script: a component without code. Its custom sections hold the script's files and name the
//! interpreter that runs them. What takes a component therefore takes a script, too.
//!
//! ```text
//!  \0asm component │ boathook:script {"format":1, "interpreter":{…}, "entry":"hook.js", "files":[…]} │ boathook:files …
//! ```
//!
//! Pure: nothing here searches for the interpreter or interprets the files.

use std::{collections::BTreeSet, fmt};

use serde::{Deserialize, Serialize};
use wasm_encoder::{Component, CustomSection};
use wasmparser::{Parser, Payload};

/// The section that describes the script. It is the first one of the component.
const MANIFEST: &str = "boathook:script";
/// The section that holds the files, one after the other.
const FILES: &str = "boathook:files";
/// The version of these sections.
const FORMAT: u32 = 1;

/// The most bytes of the manifest.
const MAX_MANIFEST: usize = 1024 * 1024;
/// The most files of one script.
const MAX_FILES: usize = 4096;
/// The most bytes of a path.
const MAX_PATH: usize = 255;

/// A script and its interpreter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script {
    pub interpreter: InterpreterRef,
    /// The path of the file to start with. It is one of `files`.
    pub entry: String,
    /// All files of the script. Each path occurs once.
    pub files: Vec<ScriptFile>,
}

/// One file of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptFile {
    /// Relative, with `/`, without `.` and `..`.
    pub path: String,
    pub content: Vec<u8>,
}

/// What a function of a script handles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScriptFunction {
    /// All triggers of a run.
    Run,
    /// The operator's start.
    Startup,
    /// Changes of objects of this `kubernetes` binding.
    Event(String),
    /// What this `kubernetes` binding knows when it starts.
    Synchronization(String),
    /// Ticks of this `schedule` binding.
    Schedule(String),
    /// Changes of the bindings of this group.
    Group(String),
    /// Requests of this `kubernetesValidating` binding.
    Validating(String),
    /// Requests of this `kubernetesMutating` binding.
    Mutating(String),
    /// Objects of this `kubernetesCustomResourceConversion` binding.
    Conversion(String),
    /// Objects of this `reconcile` binding.
    Reconcile(String),
    /// Objects of this `reconcile` binding that are being deleted.
    Finalize(String),
}

impl fmt::Display for ScriptFunction {
    /// As an author writes it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Run => f.write_str("@on_run"),
            Self::Startup => f.write_str("@on_startup"),
            Self::Event(name) => write!(f, "@on_event({name:?})"),
            Self::Synchronization(name) => write!(f, "@on_synchronization({name:?})"),
            Self::Schedule(name) => write!(f, "@on_schedule({name:?})"),
            Self::Group(name) => write!(f, "@on_group({name:?})"),
            Self::Validating(name) => write!(f, "@on_validating({name:?})"),
            Self::Mutating(name) => write!(f, "@on_mutating({name:?})"),
            Self::Conversion(name) => write!(f, "@on_conversion({name:?})"),
            Self::Reconcile(name) => write!(f, "@on_reconcile({name:?})"),
            Self::Finalize(name) => write!(f, "@on_finalize({name:?})"),
        }
    }
}

/// Identifies the interpreter that a script was made for.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct InterpreterRef {
    /// `js`, `python`, `shell`.
    pub name: String,
    /// For people. Only the digest decides.
    pub version: String,
    /// `sha256:…` of its component.
    pub digest: String,
}

impl InterpreterRef {
    /// The newest interpreter with a name.
    pub fn newest(interpreters: &[Self], name: &str) -> Option<Self> {
        let ours = interpreters.iter().filter(|interpreter| interpreter.name == name);
        ours.max_by_key(|interpreter| release(&interpreter.version)).cloned()
    }

    /// `js 0.1.0 sha256:…`, with the whole digest.
    pub fn in_full(&self) -> String {
        format!("{} {} {}", self.name, self.version, self.digest)
    }
}

impl fmt::Display for InterpreterRef {
    /// `js 0.1.0 (sha256:0123456789ab)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let short = self.digest.get(..19).unwrap_or(&self.digest);
        write!(f, "{} {} ({short})", self.name, self.version)
    }
}

/// The numbers of a version, for comparisons.
fn release(version: &str) -> Vec<u64> {
    version.split(|c: char| !c.is_ascii_digit()).map_while(|part| part.parse().ok()).collect()
}

/// Why a script cannot be used or packed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScriptError {
    /// The sections cannot be read.
    #[error("the component's sections cannot be read: {0}")]
    Sections(String),
    /// The component has code, too.
    #[error("it holds both a script and code; only one of them is allowed")]
    Code,
    /// A section that must occur once is missing, or occurs more than once.
    #[error("the section {name} occurs {count} times; it must occur once")]
    Section {
        name: &'static str,
        /// How often it occurs.
        count: usize,
    },
    /// The manifest is too large to be one.
    #[error("the section {MANIFEST} has {0} bytes; at most {MAX_MANIFEST} are read")]
    ManifestSize(usize),
    /// The manifest is not valid.
    #[error("the section {MANIFEST} cannot be read: {0}")]
    Manifest(String),
    /// A newer Boathook packed the script.
    #[error("the script is packed in format {0}, this boathook reads format {FORMAT}; update boathook")]
    Format(u32),
    /// The reference to the interpreter is not valid.
    #[error("the interpreter's {0}")]
    Interpreter(String),
    #[error("the script has {0} files; at most {MAX_FILES} are allowed")]
    Files(usize),
    /// A path that could mean something else elsewhere.
    #[error(
        "{0:?} cannot be a file of a script: paths are relative, with `/`, without `.` and `..`, and at most {MAX_PATH} bytes long"
    )]
    Path(String),
    /// Two files have the same path.
    #[error("the file {0:?} occurs twice")]
    Twice(String),
    /// The files are cut off, or there are more bytes than those of the files.
    #[error("the files of the script have {reported} bytes, its section {FILES} has {found}")]
    Size {
        /// What the manifest says.
        reported: u64,
        /// What there is.
        found: usize,
    },
    /// The file to start with is not one of the files.
    #[error("the script begins with {0:?}, which is not one of its files")]
    Entry(String),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Manifest {
    format: u32,
    interpreter: InterpreterRef,
    entry: String,
    files: Vec<Listed>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Listed {
    path: String,
    bytes: u64,
}

/// Read before the rest, which may be different in another format.
#[derive(Deserialize)]
struct Format {
    format: u32,
}

impl Script {
    /// The script in a component. `None` for a component that is a program of its own.
    pub fn read(component: &[u8]) -> Result<Option<Self>, ScriptError> {
        let (mut manifests, mut files, mut first) = (Vec::new(), Vec::new(), true);
        for payload in Parser::new(0).parse_all(component) {
            let payload = match payload {
                Ok(payload) => payload,
                // The compiler reports what is wrong with it.
                Err(_) if first => return Ok(None),
                Err(error) => return Err(ScriptError::Sections(error.message().to_owned())),
            };
            match payload {
                Payload::Version { .. } | Payload::End(_) => continue,
                Payload::CustomSection(section) if section.name() == MANIFEST => manifests.push(section.data()),
                // The manifest comes first, so that nobody has to search a program for it.
                _ if first => return Ok(None),
                Payload::CustomSection(section) if section.name() == FILES => files.push(section.data()),
                Payload::CustomSection(_) => {}
                _ => return Err(ScriptError::Code),
            }
            first = false;
        }
        if first {
            return Ok(None);
        }
        unpack(once(MANIFEST, &manifests)?, once(FILES, &files)?).map(Some)
    }

    /// The component that holds the script.
    pub fn pack(&self) -> Result<Vec<u8>, ScriptError> {
        self.check()?;
        let listed = |file: &ScriptFile| Listed { path: file.path.clone(), bytes: file.content.len() as u64 };
        let manifest = Manifest {
            format: FORMAT,
            interpreter: self.interpreter.clone(),
            entry: self.entry.clone(),
            files: self.files.iter().map(listed).collect(),
        };
        let manifest = serde_json::to_vec(&manifest).map_err(|error| ScriptError::Manifest(error.to_string()))?;
        if manifest.len() > MAX_MANIFEST {
            return Err(ScriptError::ManifestSize(manifest.len()));
        }
        let files: Vec<u8> = self.files.iter().flat_map(|file| file.content.iter().copied()).collect();
        let mut component = Component::new();
        component.section(&CustomSection { name: MANIFEST.into(), data: manifest.into() });
        component.section(&CustomSection { name: FILES.into(), data: files.into() });
        Ok(component.finish())
    }

    pub fn file(&self, path: &str) -> Option<&[u8]> {
        self.files.iter().find(|file| file.path == path).map(|file| file.content.as_slice())
    }

    fn check(&self) -> Result<(), ScriptError> {
        self.interpreter.check()?;
        if self.files.len() > MAX_FILES {
            return Err(ScriptError::Files(self.files.len()));
        }
        let mut seen = BTreeSet::new();
        for ScriptFile { path, .. } in &self.files {
            if !is_plain(path) {
                return Err(ScriptError::Path(path.clone()));
            }
            if !seen.insert(path) {
                return Err(ScriptError::Twice(path.clone()));
            }
        }
        if seen.contains(&self.entry) { Ok(()) } else { Err(ScriptError::Entry(self.entry.clone())) }
    }
}

impl InterpreterRef {
    fn check(&self) -> Result<(), ScriptError> {
        let is = |text: &str, takes: fn(char) -> bool| (1..=63).contains(&text.len()) && text.chars().all(takes);
        if !is(&self.name, |c| c.is_ascii_lowercase() || c.is_ascii_digit()) {
            return Err(ScriptError::Interpreter(format!("name {:?} is not one of lower-case letters", self.name)));
        }
        if !is(&self.version, |c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+')) {
            return Err(ScriptError::Interpreter(format!("version {:?} is none", self.version)));
        }
        let hex = self.digest.strip_prefix("sha256:").unwrap_or_default();
        if hex.len() != 64 || !hex.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b)) {
            return Err(ScriptError::Interpreter(format!("digest {:?} is not sha256: and 64 digits", self.digest)));
        }
        Ok(())
    }
}

fn once<'a>(name: &'static str, sections: &[&'a [u8]]) -> Result<&'a [u8], ScriptError> {
    match sections {
        [section] => Ok(section),
        sections => Err(ScriptError::Section { name, count: sections.len() }),
    }
}

fn unpack(manifest: &[u8], mut files: &[u8]) -> Result<Script, ScriptError> {
    if manifest.len() > MAX_MANIFEST {
        return Err(ScriptError::ManifestSize(manifest.len()));
    }
    let unreadable = |error: serde_json::Error| ScriptError::Manifest(error.to_string());
    let Format { format } = serde_json::from_slice(manifest).map_err(unreadable)?;
    if format != FORMAT {
        return Err(ScriptError::Format(format));
    }
    let Manifest { interpreter, entry, files: listed, .. } = serde_json::from_slice(manifest).map_err(unreadable)?;
    let reported = listed.iter().fold(0u64, |sum, file| sum.saturating_add(file.bytes));
    if reported != files.len() as u64 {
        return Err(ScriptError::Size { reported, found: files.len() });
    }
    let mut script = Script { interpreter, entry, files: Vec::new() };
    for Listed { path, bytes } in listed {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        let (content, rest) =
            files.split_at_checked(bytes).ok_or(ScriptError::Size { reported, found: files.len() })?;
        script.files.push(ScriptFile { path, content: content.to_vec() });
        files = rest;
    }
    script.check()?;
    Ok(script)
}

fn is_plain(path: &str) -> bool {
    let plain = |part: &str| !matches!(part, "" | "." | "..");
    path.len() <= MAX_PATH && path.split('/').all(plain) && !path.contains(|c: char| c.is_control() || c == '\\')
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use super::*;

    fn script() -> Script {
        let file = |path: &str, content: &str| ScriptFile { path: path.into(), content: content.into() };
        let digest = format!("sha256:{}", "0123456789abcdef".repeat(4));
        Script {
            interpreter: InterpreterRef { name: "js".into(), version: "0.1.0".into(), digest },
            entry: "hook.js".into(),
            files: vec![file("hook.js", "export default 1"), file("lib/empty.js", ""), file("hook.js.map", "{}")],
        }
    }

    fn sections(sections: &[(&str, &[u8])]) -> Vec<u8> {
        let mut component = Component::new();
        for (name, data) in sections {
            component.section(&CustomSection { name: (*name).into(), data: (*data).into() });
        }
        component.finish()
    }

    fn manifest(change: impl FnOnce(&mut serde_json::Value)) -> Vec<u8> {
        let mut manifest = serde_json::json!({
            "format": 1, "interpreter": script().interpreter, "entry": "a", "files": [{"path": "a", "bytes": 2}],
        });
        change(&mut manifest);
        manifest.to_string().into_bytes()
    }

    fn read(manifest: &[u8], files: &[u8]) -> Result<Script, ScriptError> {
        Script::read(&sections(&[(MANIFEST, manifest), (FILES, files)])).map(Option::unwrap)
    }

    #[test]
    fn what_is_packed_is_read_again() {
        let packed = script().pack().unwrap();
        assert_eq!(Script::read(&packed).unwrap(), Some(script()));
        assert_eq!(script().file("hook.js.map"), Some("{}".as_bytes()));
        assert!(wasmparser::Validator::new().validate_all(&packed).is_ok());
    }

    #[test]
    fn a_program_is_no_script() {
        for text in ["(component)", "(component (core module))", "(module)"] {
            assert_eq!(Script::read(&wat::parse_str(text).unwrap()), Ok(None), "{text}");
        }
        assert_eq!(Script::read(b"#!/bin/bash"), Ok(None));
        assert_eq!(Script::read(&sections(&[("name", b""), (MANIFEST, b"{}")])), Ok(None));
    }

    #[test]
    fn each_way_of_being_broken_is_reported() {
        let good = manifest(|_| {});
        assert!(read(&good, b"ab").is_ok());
        let with = |change: fn(&mut serde_json::Value)| read(&manifest(change), b"ab").unwrap_err();
        assert_eq!(with(|m| m["format"] = 2.into()), ScriptError::Format(2));
        assert_eq!(with(|m| m["entry"] = "b".into()), ScriptError::Entry("b".into()));
        assert!(matches!(with(|m| m["more"] = 1.into()), ScriptError::Manifest(text) if text.contains("more")));
        assert!(matches!(with(|m| m["interpreter"]["digest"] = "sha256:x".into()), ScriptError::Interpreter(_)));
        assert!(matches!(with(|m| m["interpreter"]["name"] = "../js".into()), ScriptError::Interpreter(_)));
        assert!(matches!(with(|m| m["interpreter"]["version"] = "a/b".into()), ScriptError::Interpreter(_)));
        assert_eq!(with(|m| m["files"][0]["bytes"] = 3.into()), ScriptError::Size { reported: 3, found: 2 });
        assert!(matches!(with(|m| m["files"][0]["bytes"] = u64::MAX.into()), ScriptError::Size { .. }));
        for path in ["", "/a", "../a", "a//b", "a/./b", "a\\b", "a\nb", &"x".repeat(256)] {
            let manifest = manifest(|m| m["files"][0]["path"] = path.into());
            assert_eq!(read(&manifest, b"ab"), Err(ScriptError::Path(path.into())));
        }
        let twice =
            manifest(|m| m["files"] = serde_json::json!([{"path": "a", "bytes": 1}, {"path": "a", "bytes": 1}]));
        assert_eq!(read(&twice, b"ab"), Err(ScriptError::Twice("a".into())));
        assert!(matches!(read(b"{", b""), Err(ScriptError::Manifest(_))));
        assert!(matches!(read(&vec![b' '; MAX_MANIFEST + 1], b""), Err(ScriptError::ManifestSize(_))));
    }

    #[test]
    fn sections_come_once_and_alone() {
        let good = manifest(|_| {});
        let of = |all: &[(&str, &[u8])]| Script::read(&sections(all)).unwrap_err();
        assert_eq!(of(&[(MANIFEST, &good)]), ScriptError::Section { name: FILES, count: 0 });
        let twice = of(&[(MANIFEST, &good), (MANIFEST, &good), (FILES, b"ab")]);
        assert_eq!(twice, ScriptError::Section { name: MANIFEST, count: 2 });
        assert!(Script::read(&sections(&[(MANIFEST, &good), ("other", b"x"), (FILES, b"ab")])).is_ok());
        let mut with_code = script().pack().unwrap();
        with_code.extend_from_slice(&wat::parse_str("(component (core module))").unwrap()[8..]);
        assert_eq!(Script::read(&with_code), Err(ScriptError::Code));
    }

    #[test]
    fn every_cut_is_noticed() {
        let packed = script().pack().unwrap();
        for cut in 9..packed.len() {
            assert!(!matches!(Script::read(&packed[..cut]), Ok(Some(_))), "{cut}");
        }
    }
}
