//! Builds script hooks from TypeScript and JavaScript projects: the project's own esbuild bundles one module, which is
//! checked for missing features and packed for the interpreter. It installs nothing and does not run the script.

mod lacks;

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use base64::Engine as _;
use boathook_core::model::{InterpreterRef, Script, ScriptError, ScriptFile};
use serde::Deserialize;
use serde_json::{Map, Value};

/// The bundle's name in the component. Back-traces show it where no source map applies.
const ENTRY: &str = "hook.js";
/// The prefix of esbuild's inline source map.
const INLINE: &str = "//# sourceMappingURL=data:application/json;base64,";
/// Default paths of the entry, unless `main` sets another one.
const ENTRIES: [&str; 6] = ["src/hook.ts", "src/index.ts", "hook.ts", "src/hook.js", "src/index.js", "hook.js"];
/// Extensions with which `main` is the entry, and not the output of another tool.
const SOURCES: [&str; 5] = ["ts", "mts", "tsx", "js", "mjs"];
/// Number of parent folders in which to search for esbuild.
const ABOVE: usize = 16;

/// Why a project cannot become a script.
#[derive(Debug, thiserror::Error)]
pub enum ScriptBuildError {
    /// There is no package here.
    #[error("cannot read package.json in {}", path.display())]
    Package { path: PathBuf, source: io::Error },
    /// The manifest is not JSON, or its name is missing.
    #[error("cannot use {}: it must be JSON with a `name`", path.display())]
    Manifest { path: PathBuf, source: serde_json::Error },
    /// There is no entry file.
    #[error("{} does not say which file is the hook: name it as `main` in package.json, or call it src/hook.ts", .0.display())]
    NoEntry(PathBuf),
    /// The bundler is missing.
    #[error("esbuild is not installed for {}: run `{remedy}` there", path.display())]
    NoBundler {
        path: PathBuf,
        /// The command that installs it.
        remedy: &'static str,
    },
    /// The bundler cannot be run.
    #[error("cannot run {}", program.display())]
    Run { program: PathBuf, source: io::Error },
    /// The bundler refused, and has printed why.
    #[error(
        "esbuild cannot bundle {0}: a hook can import only its own files, packages that do not need Node.js, and @boathook/sdk"
    )]
    Failed(String),
    /// The bundler's output has an unexpected form.
    #[error("cannot use esbuild's output for {name}: {what}")]
    Answer { name: String, what: String },
    /// The script uses names that the interpreter does not have.
    #[error("{}", .0.join("\n"))]
    Lacks(Vec<String>),
    /// No interpreter is installed.
    #[error(
        "no interpreter for JavaScript is installed: name the directory of js-VERSION.wasm with BOATHOOK_INTERPRETERS; in a clone, run `make interpreters`"
    )]
    NoInterpreter,
    /// The script cannot be packed.
    #[error("cannot pack {name}")]
    Pack { name: String, source: ScriptError },
    #[error("cannot write {}", path.display())]
    Write { path: PathBuf, source: io::Error },
}

impl ScriptBuildError {
    /// Whether no change of the sources can fix it.
    pub fn is_of_the_machine(&self) -> bool {
        matches!(self, Self::NoBundler { .. } | Self::Run { .. } | Self::NoInterpreter)
    }
}

/// Builds scripts for one interpreter.
#[derive(Debug, Clone, Default)]
pub struct Scripts {
    interpreter: Option<InterpreterRef>,
}

/// A package that is a hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptPackage {
    /// The package's name, without the scope.
    pub name: String,
    /// The folder of its manifest, absolute.
    pub folder: PathBuf,
    entry: PathBuf,
    bundler: PathBuf,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Manifest {
    name: String,
    main: Option<String>,
    #[serde(default)]
    dependencies: Map<String, Value>,
    #[serde(default)]
    dev_dependencies: Map<String, Value>,
}

impl Manifest {
    /// The command that installs the bundler. It may be listed and only not installed yet.
    fn installs(&self) -> &'static str {
        let listed = [&self.dependencies, &self.dev_dependencies].into_iter().any(|them| them.contains_key("esbuild"));
        if listed { "npm install" } else { "npm install --save-dev esbuild" }
    }
}

impl Scripts {
    /// Uses the newest JavaScript interpreter of the list.
    pub fn new(interpreters: &[InterpreterRef]) -> Self {
        Self { interpreter: InterpreterRef::newest(interpreters, "js") }
    }

    pub fn package(&self, folder: &Path) -> Result<ScriptPackage, ScriptBuildError> {
        let package = |source| ScriptBuildError::Package { path: folder.to_owned(), source };
        let folder = folder.canonicalize().map_err(package)?;
        let path = folder.join("package.json");
        let text = fs::read(&path).map_err(package)?;
        let manifest: Manifest =
            serde_json::from_slice(&text).map_err(|source| ScriptBuildError::Manifest { path, source })?;
        let name = manifest.name.rsplit('/').next().unwrap_or_default().to_owned();
        let remedy = manifest.installs();
        let named = manifest.main.filter(|main| is_source(Path::new(main)));
        let entry = named.into_iter().chain(ENTRIES.map(str::to_owned)).find(|file| folder.join(file).is_file());
        let entry = entry.ok_or_else(|| ScriptBuildError::NoEntry(folder.clone()))?.into();
        let bundler = bundler(&folder).ok_or_else(|| ScriptBuildError::NoBundler { path: folder.clone(), remedy })?;
        Ok(ScriptPackage { name, folder, entry, bundler })
    }

    /// Builds the component and returns its path. Messages of the bundler go to stderr.
    pub fn build(&self, package: &ScriptPackage) -> Result<PathBuf, ScriptBuildError> {
        let output = self.building(package).output();
        self.built(package, output)
    }

    /// The command that bundles the script. [`Scripts::built`] reads its output.
    pub fn building(&self, package: &ScriptPackage) -> Command {
        let mut command = Command::new(&package.bundler);
        command.arg(&package.entry).current_dir(&package.folder);
        command.args(["--bundle", "--format=esm", "--platform=neutral", "--main-fields=module,main"]);
        command.args(["--target=es2023", "--external:boathook:*", "--charset=utf8", "--log-level=warning"]);
        command.args(["--sourcemap=inline", "--sources-content=false", "--minify-syntax", "--minify-whitespace"]);
        command.args(lacks::definitions());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        command
    }

    /// The result of [`Scripts::building`].
    pub fn built(&self, package: &ScriptPackage, output: io::Result<Output>) -> Result<PathBuf, ScriptBuildError> {
        let run = |source| ScriptBuildError::Run { program: package.bundler.clone(), source };
        let output = output.map_err(run)?;
        if !output.status.success() {
            return Err(ScriptBuildError::Failed(package.name.clone()));
        }
        let component = self.pack(package, output.stdout)?;
        let path = package.output().join(format!("{}.wasm", package.name));
        let folder = fs::create_dir_all(package.output());
        folder.and_then(|()| fs::write(&path, component)).map_err(|source| {
            let path = path.clone();
            ScriptBuildError::Write { path, source }
        })?;
        Ok(path)
    }

    fn pack(&self, package: &ScriptPackage, bundle: Vec<u8>) -> Result<Vec<u8>, ScriptBuildError> {
        let name = || package.name.clone();
        let wrong = |what: &str| ScriptBuildError::Answer { name: name(), what: what.to_owned() };
        let text = String::from_utf8(bundle).map_err(|_| wrong("it is not UTF-8"))?;
        let (code, map) = text.rsplit_once(INLINE).ok_or_else(|| wrong("it has no source map"))?;
        let map =
            base64::prelude::BASE64_STANDARD.decode(map.trim()).map_err(|_| wrong("its source map is cut off"))?;
        let places = SourceMap::read(&map).ok_or_else(|| wrong("its source map cannot be read"))?;
        let code = lacks::checked(code, &places).map_err(ScriptBuildError::Lacks)?;
        let interpreter = self.interpreter.clone().ok_or(ScriptBuildError::NoInterpreter)?;
        let file = |path: &str, content: Vec<u8>| ScriptFile { path: path.to_owned(), content };
        let files = vec![file(ENTRY, code.into_bytes()), file(&format!("{ENTRY}.map"), map)];
        let script = Script { interpreter, entry: ENTRY.to_owned(), files };
        script.pack().map_err(|source| ScriptBuildError::Pack { name: name(), source })
    }
}

impl ScriptPackage {
    /// The folder for components.
    pub fn output(&self) -> PathBuf {
        self.folder.join("target/boathook")
    }
}

fn is_source(path: &Path) -> bool {
    path.extension().and_then(|extension| extension.to_str()).is_some_and(|extension| SOURCES.contains(&extension))
}

/// The bundler that the project, or its workspace, has installed. If its native program is installed, use that one,
/// because it does not need Node.js.
fn bundler(folder: &Path) -> Option<PathBuf> {
    let mut modules = folder.ancestors().take(ABOVE).map(|folder| folder.join("node_modules"));
    let found = modules.find(|modules| modules.join(".bin/esbuild").exists())?;
    let program = found.join("@esbuild").join(platform()).join("bin/esbuild");
    Some(if program.is_file() { program } else { found.join(".bin/esbuild") })
}

/// The name that Node.js has for this platform.
fn platform() -> String {
    let system = if cfg!(target_os = "macos") { "darwin" } else { std::env::consts::OS };
    let processor = match std::env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        other => other,
    };
    format!("{system}-{processor}")
}

/// A parsed map.
#[derive(Deserialize)]
struct SourceMap {
    sources: Vec<String>,
    mappings: String,
}

/// A position in a source, for error texts. Lines and columns count from 1.
#[derive(Debug, PartialEq, Eq)]
struct Place<'a> {
    file: &'a str,
    line: i64,
    column: i64,
}

impl SourceMap {
    fn read(map: &[u8]) -> Option<Self> {
        serde_json::from_slice(map).ok()
    }

    /// The segment at or before a position in the bundle. Row and column count from 0, in UTF-16 units.
    fn find(&self, row: usize, column: usize) -> Option<Place<'_>> {
        let (mut source, mut line, mut from, mut found) = (0i64, 0i64, 0i64, None);
        for (index, segments) in self.mappings.split(';').enumerate().take(row.saturating_add(1)) {
            let mut at = 0i64;
            for segment in segments.split(',') {
                let Some([ahead, in_source, in_line, in_column]) = numbers(segment) else { continue };
                at += ahead;
                source += in_source;
                line += in_line;
                from += in_column;
                if index == row && usize::try_from(at).is_ok_and(|at| at <= column) {
                    found = Some((source, line, from));
                }
            }
        }
        let (source, line, from) = found?;
        let file = self.sources.get(usize::try_from(source).ok()?)?;
        Some(Place { file, line: line + 1, column: from + 1 })
    }
}

/// The first four numbers of a segment. None if it has fewer: it then has no source.
fn numbers(segment: &str) -> Option<[i64; 4]> {
    let (mut numbers, mut count, mut value, mut shift) = ([0i64; 4], 0usize, 0i64, 0u32);
    for byte in segment.bytes() {
        let digit = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        value |= i64::from(digit & 31).checked_shl(shift)?;
        shift += 5;
        if digit & 32 == 0 {
            if let Some(place) = numbers.get_mut(count) {
                *place = if value & 1 == 1 { -(value >> 1) } else { value >> 1 };
            }
            (count, value, shift) = (count + 1, 0, 0);
        }
    }
    (count >= 4).then_some(numbers)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use super::*;

    #[test]
    fn scripts_are_made_for_the_newest_interpreter() {
        let of = |name: &str, version: &str| InterpreterRef {
            name: name.into(),
            version: version.into(),
            digest: String::new(),
        };
        let all = [of("js", "0.9.0"), of("py", "3.0.0"), of("js", "0.10.0"), of("js", "0.2.1")];
        assert_eq!(Scripts::new(&all).interpreter.unwrap().version, "0.10.0");
        assert!(Scripts::new(&all[1..2]).interpreter.is_none());
    }

    #[test]
    fn what_a_package_lacks_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        let package = || Scripts::default().package(folder.path());
        assert!(matches!(package(), Err(ScriptBuildError::Package { .. })));
        fs::write(folder.path().join("package.json"), "{}").unwrap();
        assert!(matches!(package(), Err(ScriptBuildError::Manifest { .. })));
        fs::write(folder.path().join("package.json"), r#"{"name": "@a/my-hook", "main": "dist/hook.cjs"}"#).unwrap();
        assert!(matches!(package(), Err(ScriptBuildError::NoEntry(_))));
        fs::write(folder.path().join("hook.js"), "").unwrap();
        let remedy = || match package() {
            Err(ScriptBuildError::NoBundler { remedy, .. }) => remedy,
            other => panic!("{other:?}"),
        };
        assert_eq!(remedy(), "npm install --save-dev esbuild");
        let listed = r#"{"name": "@a/my-hook", "devDependencies": {"esbuild": "1"}}"#;
        fs::write(folder.path().join("package.json"), listed).unwrap();
        assert_eq!(remedy(), "npm install");
        fs::create_dir_all(folder.path().join("node_modules/.bin")).unwrap();
        fs::write(folder.path().join("node_modules/.bin/esbuild"), "").unwrap();
        let package = package().unwrap();
        assert_eq!((package.name.as_str(), package.entry.to_str()), ("my-hook", Some("hook.js")));
    }

    #[test]
    fn places_are_found_in_their_sources() {
        // Row 0: column 0 is a.ts 1:1, column 4 is b.ts 3:2. Row 1: column 2 is b.ts 2:2.
        let map = br#"{"version":3,"sources":["a.ts","b.ts"],"mappings":"AAAA,ICEC;EADA"}"#;
        let map = SourceMap::read(map).unwrap();
        let place = |file, line, column| Some(Place { file, line, column });
        assert_eq!(map.find(0, 0), place("a.ts", 1, 1));
        assert_eq!(map.find(0, 3), place("a.ts", 1, 1));
        assert_eq!(map.find(0, 9), place("b.ts", 3, 2));
        assert_eq!(map.find(1, 1), None);
        assert_eq!(map.find(1, 2), place("b.ts", 2, 2));
        assert_eq!(map.find(7, 0), None);
        assert!(SourceMap::read(b"{}").is_none());
    }

    #[test]
    fn segments_that_are_none_are_passed_over() {
        assert_eq!(numbers("A"), None);
        assert_eq!(numbers("A?AA"), None);
        assert_eq!(numbers(&"g".repeat(40)), None);
        assert_eq!(numbers("gBDAAQ"), Some([16, -1, 0, 0]));
    }
}
