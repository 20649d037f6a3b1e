//! Builds components from Rust projects: Cargo builds them and reports their paths. The compiler's messages go to
//! stderr unchanged.

use std::{
    ffi::{OsStr, OsString},
    io,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use serde::Deserialize;

use super::{error::BuildError, go::absolute};

const TARGET: &str = "wasm32-wasip2";

/// Cargo, or the program that replaces it.
#[derive(Debug, Clone)]
pub struct Cargo {
    program: PathBuf,
}

/// A package that builds a component.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Package {
    /// The name in its manifest.
    pub name: String,
    /// The target directory of Cargo.
    pub target_directory: PathBuf,
    id: String,
    manifest: PathBuf,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Member>,
    target_directory: PathBuf,
}

#[derive(Deserialize)]
struct Member {
    name: String,
    id: String,
    manifest_path: PathBuf,
    targets: Vec<Target>,
}

#[derive(Deserialize)]
struct Target {
    crate_types: Vec<String>,
}

#[derive(Deserialize)]
struct Message {
    reason: String,
    manifest_path: Option<PathBuf>,
    target: Option<Target>,
    #[serde(default)]
    filenames: Vec<PathBuf>,
}

impl Cargo {
    /// A relative path is relative to the working directory.
    pub fn new(program: Option<OsString>) -> Self {
        Self { program: absolute(program, "cargo") }
    }

    /// The package in a folder, or of a manifest.
    pub fn package(&self, path: &Path) -> Result<Package, BuildError> {
        let manifest = if path.is_dir() { path.join("Cargo.toml") } else { path.to_owned() };
        let no_project = || BuildError::NoProject(path.to_owned());
        if manifest.file_name() != Some(OsStr::new("Cargo.toml")) || !manifest.is_file() {
            return Err(no_project());
        }
        let manifest = manifest.canonicalize().map_err(|_| no_project())?;
        let mut command = self.command(&manifest);
        let output = command.args(["metadata", "--no-deps", "--format-version", "1"]).output();
        let output = output.map_err(|source| self.missing(source))?;
        if !output.status.success() {
            return Err(BuildError::Manifest { path: path.to_owned(), tool: "cargo" });
        }
        let metadata = serde_json::from_slice(&output.stdout);
        choose(
            metadata.map_err(|source| BuildError::Answer { path: path.to_owned(), tool: "cargo", source })?,
            &manifest,
        )
    }

    /// The command that builds the package, for callers that run it themselves. [`Cargo::built`] reads its output.
    pub fn building(&self, package: &Package) -> Command {
        let mut command = self.command(&package.manifest);
        command.args(["build", "--release", "--target", TARGET, "--lib", "--package", &package.id]);
        command.args(["--message-format", "json-render-diagnostics"]).stdout(Stdio::piped());
        command
    }

    /// The result of [`Cargo::building`].
    pub fn built(&self, package: &Package, output: io::Result<Output>) -> Result<PathBuf, BuildError> {
        let output = output.map_err(|source| self.missing(source))?;
        if output.status.success() {
            let name = || package.name.clone();
            return component(&output.stdout, &package.manifest)
                .ok_or_else(|| BuildError::NoFile { name: name(), tool: "cargo" });
        }
        let name = package.name.clone();
        Err(if self.lacks_target(&package.manifest) {
            BuildError::NoTarget { name, target: TARGET }
        } else {
            BuildError::Failed { name, tool: "cargo" }
        })
    }

    /// Runs in the package's folder, so that its own settings and toolchain apply.
    fn command(&self, manifest: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command.current_dir(folder(manifest)).stdin(Stdio::null()).stderr(Stdio::inherit());
        command
    }

    fn missing(&self, source: io::Error) -> BuildError {
        BuildError::NoTool { program: self.program.clone(), remedy: "install Rust, https://rustup.rs", source }
    }

    /// Asks rustc, because a program that replaces Cargo may provide the target in another way.
    fn lacks_target(&self, manifest: &Path) -> bool {
        let asked = || {
            let mut rustc = Command::new("rustc");
            rustc.args(["--print", "target-libdir", "--target", TARGET]).current_dir(folder(manifest));
            let output = rustc.stdin(Stdio::null()).output().ok()?;
            let directory = String::from_utf8(output.stdout).ok()?;
            Some(output.status.success() && !Path::new(directory.trim()).is_dir())
        };
        self.program.file_name() == Some(OsStr::new("cargo")) && asked().unwrap_or(false)
    }
}

impl Package {
    /// The folder of its manifest.
    pub fn folder(&self) -> &Path {
        folder(&self.manifest)
    }
}

fn folder(manifest: &Path) -> &Path {
    manifest.parent().unwrap_or(manifest)
}

impl Target {
    fn is_component(&self) -> bool {
        self.crate_types.iter().any(|kind| kind == "cdylib")
    }
}

/// The package of this manifest, if it builds a component.
fn choose(metadata: Metadata, manifest: &Path) -> Result<Package, BuildError> {
    let Metadata { packages, target_directory } = metadata;
    let own = |member: &Member| same(&member.manifest_path, manifest);
    let able = |member: &Member| member.targets.iter().any(Target::is_component);
    let is_package = packages.iter().any(own);
    let (own, others): (Vec<_>, Vec<_>) = packages.into_iter().filter(able).partition(own);
    match own.into_iter().next() {
        Some(Member { name, id, .. }) => Ok(Package { name, id, target_directory, manifest: manifest.to_owned() }),
        None => {
            let folders = others.iter().map(|member| folder(&member.manifest_path).display().to_string());
            let packages = if is_package { Vec::new() } else { folders.collect() };
            Err(BuildError::NoComponent { path: manifest.to_owned(), remedy: remedy(&packages) })
        }
    }
}

fn remedy(packages: &[String]) -> String {
    match packages {
        [] => "it needs `crate-type = [\"cdylib\"]` under [lib]".to_owned(),
        packages => format!("it is a workspace; build one of its packages: {}", packages.join(", ")),
    }
}

/// The file that Cargo built for this package, according to its messages, which are one JSON document per line.
fn component(messages: &[u8], manifest: &Path) -> Option<PathBuf> {
    let lines = messages.split(|byte| *byte == b'\n');
    // Build scripts may print other lines.
    let messages = lines.filter_map(|line| serde_json::from_slice::<Message>(line).ok());
    let mut own = messages.filter(|message| {
        message.reason == "compiler-artifact"
            && message.manifest_path.as_ref().is_some_and(|path| same(path, manifest))
            && message.target.as_ref().is_some_and(Target::is_component)
    });
    own.find_map(|message| message.filenames.into_iter().find(|file| file.extension() == Some(OsStr::new("wasm"))))
}

/// Cargo's paths may contain symbolic links, as they were typed.
fn same(path: &Path, canonical: &Path) -> bool {
    path == canonical || path.canonicalize().is_ok_and(|path| path == canonical)
}
