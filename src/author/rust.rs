//! Components out of Rust projects: Cargo builds them, and says where they are.
//!
//! Never interprets what the compiler says: that goes to stderr as it is.

use std::{
    ffi::{OsStr, OsString},
    io,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use serde::Deserialize;

const TARGET: &str = "wasm32-wasip2";

/// Why there is no component.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// No language is known by what is there.
    #[error("{} is no project that can be built: it has no Cargo.toml; `boathook new NAME` makes one", .0.display())]
    NoProject(PathBuf),
    /// The tool chain is not there.
    #[error("can't run {}: install Rust, https://rustup.rs", program.display())]
    NoCargo {
        /// What was to be run.
        program: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// Cargo can't read the manifest. It has said why.
    #[error("cargo can't use {}", .0.display())]
    Manifest(PathBuf),
    /// Cargo answers in another way than it should.
    #[error("can't read what cargo says about {}", path.display())]
    Answer {
        /// The manifest.
        path: PathBuf,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// A workspace without a package of its own, or one that makes no component.
    #[error(
        "{} makes no component: {}", path.display(),
        if packages.is_empty() { "it needs `crate-type = [\"cdylib\"]` under [lib]".to_owned() }
        else { format!("it is a workspace; build one of its packages: {}", packages.join(", ")) }
    )]
    NoComponent {
        /// The manifest.
        path: PathBuf,
        /// Folders of the packages that do, in a workspace.
        packages: Vec<String>,
    },
    /// Cargo or the compiler refused. They have said why.
    #[error("cargo did not build {0}")]
    Failed(String),
    /// The compiler does not know the target.
    #[error("cargo did not build {0}: Rust's target {TARGET} is not installed; run: rustup target add {TARGET}")]
    NoTarget(String),
    /// Cargo succeeded and made no component.
    #[error("cargo built {0} and made no .wasm file of it")]
    NoFile(String),
}

/// Cargo, or what stands in for it.
#[derive(Debug, Clone)]
pub struct Cargo {
    program: PathBuf,
}

/// A package that makes a component.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Package {
    /// Its name in the manifest.
    pub name: String,
    /// Where Cargo puts what it builds.
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
    /// By this program; a relative path is one from where we are.
    pub fn new(program: Option<OsString>) -> Self {
        let program = PathBuf::from(program.filter(|program| !program.is_empty()).unwrap_or_else(|| "cargo".into()));
        // A name alone is looked up in PATH.
        let named = program.components().count() == 1;
        let absolute = if named { None } else { std::path::absolute(&program).ok() };
        Self { program: absolute.unwrap_or(program) }
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
            return Err(BuildError::Manifest(path.to_owned()));
        }
        let metadata = serde_json::from_slice(&output.stdout);
        choose(metadata.map_err(|source| BuildError::Answer { path: path.to_owned(), source })?, &manifest)
    }

    /// Builds it, and says where the component is. What is said on the way goes to stderr.
    pub fn build(&self, package: &Package) -> Result<PathBuf, BuildError> {
        let output = self.building(package).output();
        self.built(package, output)
    }

    /// The command that builds it, for those who run it themselves; [`Cargo::built`] reads its output.
    pub fn building(&self, package: &Package) -> Command {
        let mut command = self.command(&package.manifest);
        command.args(["build", "--release", "--target", TARGET, "--lib", "--package", &package.id]);
        command.args(["--message-format", "json-render-diagnostics"]).stdout(Stdio::piped());
        command
    }

    /// What came of [`Cargo::building`].
    pub fn built(&self, package: &Package, output: io::Result<Output>) -> Result<PathBuf, BuildError> {
        let output = output.map_err(|source| self.missing(source))?;
        if output.status.success() {
            let name = || package.name.clone();
            return component(&output.stdout, &package.manifest).ok_or_else(|| BuildError::NoFile(name()));
        }
        let name = package.name.clone();
        Err(if self.lacks_target(&package.manifest) { BuildError::NoTarget(name) } else { BuildError::Failed(name) })
    }

    /// In the package's folder, where its own settings and tool chain count.
    fn command(&self, manifest: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command.current_dir(folder(manifest)).stdin(Stdio::null()).stderr(Stdio::inherit());
        command
    }

    fn missing(&self, source: io::Error) -> BuildError {
        BuildError::NoCargo { program: self.program.clone(), source }
    }

    /// What stands in for Cargo may know the target in another way.
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

/// The package of this manifest, if it makes a component.
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
            Err(BuildError::NoComponent { path: manifest.to_owned(), packages })
        }
    }
}

/// The file that Cargo made of this package, out of its messages, one JSON document a line.
fn component(messages: &[u8], manifest: &Path) -> Option<PathBuf> {
    let lines = messages.split(|byte| *byte == b'\n');
    // Build scripts may write other lines.
    let messages = lines.filter_map(|line| serde_json::from_slice::<Message>(line).ok());
    let mut own = messages.filter(|message| {
        message.reason == "compiler-artifact"
            && message.manifest_path.as_ref().is_some_and(|path| same(path, manifest))
            && message.target.as_ref().is_some_and(Target::is_component)
    });
    own.find_map(|message| message.filenames.into_iter().find(|file| file.extension() == Some(OsStr::new("wasm"))))
}

/// Cargo's paths go through links as they were typed.
fn same(path: &Path, canonical: &Path) -> bool {
    path == canonical || path.canonicalize().is_ok_and(|path| path == canonical)
}
