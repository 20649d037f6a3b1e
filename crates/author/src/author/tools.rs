//! Finds and builds projects in any language, and reports their paths. It passes all work on to the language's own
//! toolchain.

use std::{
    ffi::OsString,
    io,
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Output},
};

use boathook_core::model::InterpreterRef;

use super::{
    error::BuildError,
    go::{Go, GoPackage},
    language::Language,
    python::{PythonPackage, PythonScripts},
    rust::{Cargo, Package},
    script::{ScriptPackage, Scripts},
};

/// The toolchains of all languages. A toolchain is looked for only when a project needs it.
#[derive(Debug, Clone)]
pub struct Tools {
    cargo: Cargo,
    go: Go,
    scripts: Scripts,
    python: PythonScripts,
}

/// Programs that replace the usual ones. `None` is the usual one.
#[derive(Debug, Clone, Default)]
pub struct Programs {
    pub cargo: Option<OsString>,
    pub go: Option<OsString>,
    /// The installed interpreters, which scripts can be built for.
    pub interpreters: Vec<InterpreterRef>,
}

/// Sources that a toolchain builds into one component.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    kind: Kind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    Rust(Package),
    Go(GoPackage),
    Script(ScriptPackage, Language),
    Python(PythonPackage),
}

impl Tools {
    /// Relative paths are relative to the working directory.
    pub fn new(programs: Programs) -> Self {
        let scripts = Scripts::new(&programs.interpreters);
        let python = PythonScripts::new(&programs.interpreters);
        Self { cargo: Cargo::new(programs.cargo), go: Go::new(programs.go), scripts, python }
    }

    /// The project in a folder, or of a manifest.
    pub fn project(&self, path: &Path) -> Result<Project, BuildError> {
        let language = if path.is_dir() { Language::of(path) } else { Language::of_manifest(path) };
        let folder = || if path.is_dir() { path } else { path.parent().unwrap_or(path) };
        let kind = match language {
            _ if !path.exists() => return Err(BuildError::NoProject(path.to_owned())),
            Some(Language::Rust) => Kind::Rust(self.cargo.package(path)?),
            Some(Language::Go) => Kind::Go(self.go.package(folder())?),
            Some(language @ (Language::TypeScript | Language::JavaScript)) => {
                Kind::Script(self.scripts.package(folder())?, language)
            }
            Some(Language::Python) => Kind::Python(self.python.package(folder())?),
            None => return Err(BuildError::NoProject(path.to_owned())),
        };
        Ok(Project { kind })
    }

    /// Builds the component and returns its path. Messages of the toolchain go to stderr.
    pub fn build(&self, project: &Project) -> Result<PathBuf, BuildError> {
        let output = self.building(project).map_or_else(|| Ok(nothing()), |mut command| command.output());
        self.built(project, output)
    }

    /// The command that builds the project, for callers that run it themselves. [`Tools::built`] reads its output. If
    /// there is no command, [`nothing`] takes its place.
    pub fn building(&self, project: &Project) -> Option<Command> {
        match &project.kind {
            Kind::Rust(package) => Some(self.cargo.building(package)),
            Kind::Go(package) => Some(self.go.building(package)),
            Kind::Script(package, _) => Some(self.scripts.building(package)),
            Kind::Python(_) => None,
        }
    }

    /// The result of [`Tools::building`].
    pub fn built(&self, project: &Project, output: io::Result<Output>) -> Result<PathBuf, BuildError> {
        match &project.kind {
            Kind::Rust(package) => self.cargo.built(package, output),
            Kind::Go(package) => self.go.built(package, output),
            Kind::Script(package, _) => Ok(self.scripts.built(package, output)?),
            Kind::Python(package) => Ok(self.python.build(package)?),
        }
    }
}

/// The output for projects without a command.
pub fn nothing() -> Output {
    Output { status: ExitStatus::default(), stdout: Vec::new(), stderr: Vec::new() }
}

impl Project {
    /// The name of the project and of its hook.
    pub fn name(&self) -> &str {
        match &self.kind {
            Kind::Rust(package) => &package.name,
            Kind::Go(package) => &package.name,
            Kind::Script(package, _) => &package.name,
            Kind::Python(package) => &package.name,
        }
    }

    pub fn language(&self) -> Language {
        match &self.kind {
            Kind::Rust(_) => Language::Rust,
            Kind::Go(_) => Language::Go,
            Kind::Script(_, language) => *language,
            Kind::Python(_) => Language::Python,
        }
    }

    /// The folder of its sources: a change in it changes the component.
    pub fn sources(&self) -> &Path {
        match &self.kind {
            Kind::Rust(package) => package.folder(),
            Kind::Go(package) => &package.module,
            Kind::Script(package, _) => &package.folder,
            Kind::Python(package) => &package.folder,
        }
    }

    /// The default folder of the component.
    pub fn output(&self) -> PathBuf {
        match &self.kind {
            // Cargo's own target folder may be shared by all projects of the machine.
            Kind::Rust(package) => package.folder().join("target/boathook"),
            Kind::Go(package) => package.output(),
            Kind::Script(package, _) => package.output(),
            Kind::Python(package) => package.output(),
        }
    }

    /// Folders that the toolchain writes to, absolute.
    pub fn written(&self) -> Vec<PathBuf> {
        match &self.kind {
            Kind::Rust(package) => vec![package.target_directory.clone(), package.folder().join("target")],
            Kind::Go(package) => vec![package.output()],
            // All of `target`, because its creation is not a change of a source.
            Kind::Script(package, _) => ["target", "node_modules"].map(|name| package.folder.join(name)).into(),
            // Editors, type checkers and tests write these.
            Kind::Python(package) => {
                let beside = ["__pycache__", ".mypy_cache", ".pytest_cache", ".venv"];
                beside.iter().map(|name| package.folder.join(name)).chain([package.output()]).collect()
            }
        }
    }

    /// Names of files that the toolchain writes next to the sources during a build.
    pub fn locks(&self) -> &'static [&'static str] {
        match &self.kind {
            Kind::Rust(_) => &["Cargo.lock"],
            Kind::Go(_) | Kind::Script(..) | Kind::Python(_) => &[],
        }
    }
}
