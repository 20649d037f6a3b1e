//! Builds components from Go projects: `go build` makes a module for WASI preview 1, and this crate makes a component
//! of it. The compiler's messages go to stderr unchanged.

use std::{
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use serde::Deserialize;

use super::{component::component_of, error::BuildError};

/// The oldest version that can export functions to a WebAssembly host.
const OLDEST: (u32, u32) = (1, 24);
const NEEDED: &str = "go1.24";
const INSTALL: &str = "install Go 1.24 or newer, https://go.dev/dl";
/// The output folder, in the package's folder.
const OUTPUT: &str = "target/boathook";

/// Go, or the program that replaces it.
#[derive(Debug, Clone)]
pub struct Go {
    program: PathBuf,
}

/// A package that builds a component.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GoPackage {
    /// The last part of its path that is not a version.
    pub name: String,
    /// The folder of the package, absolute.
    pub folder: PathBuf,
    /// The folder of its module, which may contain packages that it uses.
    pub module: PathBuf,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Listed {
    #[serde(default)]
    name: String,
    #[serde(default)]
    import_path: String,
    module: Option<Module>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Module {
    dir: Option<PathBuf>,
}

impl Go {
    /// A relative path is relative to the working directory.
    pub fn new(program: Option<OsString>) -> Self {
        Self { program: absolute(program, "go") }
    }

    pub fn package(&self, folder: &Path) -> Result<GoPackage, BuildError> {
        let own = folder.canonicalize().map_err(|source| BuildError::File { path: folder.to_owned(), source })?;
        self.is_new_enough(&own)?;
        let mut asked = self.command(&own);
        asked.arg("list").args(looked_up(&own)).args(["-e", "-json=Name,ImportPath,Module", "."]);
        let output = asked.output().map_err(|source| self.missing(source))?;
        if !output.status.success() {
            return Err(BuildError::Manifest { path: folder.to_owned(), tool: "go" });
        }
        let answer = |source| BuildError::Answer { path: folder.to_owned(), tool: "go", source };
        let listed: Listed = serde_json::from_slice(&output.stdout).map_err(answer)?;
        if listed.name != "main" {
            let found =
                if listed.name.is_empty() { "no package".to_owned() } else { format!("package {}", listed.name) };
            let remedy = format!("a hook is `package main`, and here is {found}");
            return Err(BuildError::NoComponent { path: folder.to_owned(), remedy });
        }
        let module = listed.module.and_then(|module| module.dir).unwrap_or_else(|| own.clone());
        Ok(GoPackage { name: last_name(&listed.import_path), folder: own, module })
    }

    /// The command that builds the package. [`Go::built`] reads its result.
    pub fn building(&self, package: &GoPackage) -> Command {
        let mut command = self.command(&package.folder);
        command.arg("build").args(looked_up(&package.folder));
        command.args(["-buildmode=c-shared", "-trimpath", "-buildvcs=false"]);
        // Function names are kept for back-traces. `-checklinkname=0` lets the SDK call `runtime.sbrk`, from which it
        // takes the memory for data that the host passes in, because Go's heap cannot provide memory at that time.
        command.args(["-ldflags=-w -checklinkname=0", "-o"]).arg(package.core()).arg(".");
        command
    }

    /// The result of [`Go::building`].
    pub fn built(&self, package: &GoPackage, output: io::Result<Output>) -> Result<PathBuf, BuildError> {
        let output = output.map_err(|source| self.missing(source))?;
        if !output.status.success() {
            return Err(BuildError::Failed { name: package.name.clone(), tool: "go" });
        }
        let file = |path: &Path, source| BuildError::File { path: path.to_owned(), source };
        let core = package.core();
        let module = fs::read(&core).map_err(|source| file(&core, source))?;
        let made = component_of(&module);
        let component = made.map_err(|source| BuildError::Component { name: package.name.clone(), source })?;
        let to = core.with_file_name(format!("{}.wasm", package.name));
        fs::write(&to, component).map_err(|source| file(&to, source))?;
        Ok(to)
    }

    fn is_new_enough(&self, folder: &Path) -> Result<(), BuildError> {
        let output = self.command(folder).args(["env", "GOVERSION"]).output();
        let output = output.map_err(|source| self.missing(source))?;
        let found = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        if version(&found).is_some_and(|version| version < OLDEST) {
            return Err(BuildError::OldTool { program: self.program.clone(), found, needed: NEEDED, remedy: INSTALL });
        }
        Ok(())
    }

    /// Runs in the package's folder, for the target that becomes a component.
    fn command(&self, folder: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command.current_dir(folder).stdin(Stdio::null()).stderr(Stdio::inherit());
        command.envs([("GOOS", "wasip1"), ("GOARCH", "wasm")]);
        command
    }

    fn missing(&self, source: io::Error) -> BuildError {
        BuildError::NoTool { program: self.program.clone(), remedy: INSTALL, source }
    }
}

impl GoPackage {
    /// The default folder of the component.
    pub fn output(&self) -> PathBuf {
        self.folder.join(OUTPUT)
    }

    fn core(&self) -> PathBuf {
        self.output().join("go").join("module.wasm")
    }
}

/// A new project has no `go.sum` yet. With `-mod=mod`, Go resolves the sums and writes the file.
fn looked_up(folder: &Path) -> Option<&'static str> {
    let module = folder.ancestors().find(|folder| folder.join("go.mod").is_file())?;
    let known = module.join("go.sum").exists() || module.join("vendor").exists();
    (!known).then_some("-mod=mod")
}

/// A program, which may be in PATH.
pub(super) fn absolute(program: Option<OsString>, default: &str) -> PathBuf {
    let program = PathBuf::from(program.filter(|program| !program.is_empty()).unwrap_or_else(|| default.into()));
    // A plain name is looked up in PATH.
    let named = program.components().count() == 1;
    let absolute = if named { None } else { std::path::absolute(&program).ok() };
    absolute.unwrap_or(program)
}

/// Parses `go1.26.8`, `go1.24rc1` or `go1.25-custom`. A development build has no version.
fn version(text: &str) -> Option<(u32, u32)> {
    let mut parts = text.strip_prefix("go")?.split('.');
    let major = parts.next()?.parse().ok()?;
    let minor = parts.next()?;
    let digits = minor.find(|c: char| !c.is_ascii_digit()).unwrap_or(minor.len());
    Some((major, minor.get(..digits)?.parse().ok()?))
}

/// The name of `example.com/hooks/web/v2` is `web`.
fn last_name(path: &str) -> String {
    let is_version =
        |part: &&str| part.strip_prefix('v').is_some_and(|it| !it.is_empty() && it.bytes().all(|c| c.is_ascii_digit()));
    let mut parts = path.rsplit('/').skip_while(|part| path.contains('/') && is_version(part));
    parts.next().unwrap_or(path).to_owned()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use super::*;

    #[test]
    fn versions_as_go_says_them() {
        for (text, expected) in [
            ("go1.26.8", Some((1, 26))),
            ("go1.24rc1", Some((1, 24))),
            ("go1.9", Some((1, 9))),
            ("go2.0", Some((2, 0))),
            ("devel go1.27-0a1b2c", None),
            ("", None),
        ] {
            assert_eq!(version(text), expected, "{text:?}");
        }
        assert!(version("go1.9").unwrap() < OLDEST && version("go1.24.0").unwrap() >= OLDEST);
    }

    #[test]
    fn a_hook_is_named_by_its_package() {
        for (path, name) in
            [("web", "web"), ("example.com/hooks/web", "web"), ("example.com/web/v2", "web"), ("v2", "v2")]
        {
            assert_eq!(last_name(path), name);
        }
    }
}
