//! Finds and builds projects in any language, and reports their paths. It passes all work on to the language's own
//! toolchain.

use std::{
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Output},
    time::SystemTime,
};

use boathook_core::{hooks::is_script, model::InterpreterRef};

use super::{
    error::BuildError,
    go::{Go, GoPackage},
    language::Language,
    python::{PythonPackage, PythonScripts},
    rust::{Cargo, Package},
    script::{ScriptPackage, Scripts},
    sdk,
    shell::{ShellPackage, ShellScripts, has_hooks},
};

/// The toolchains of all languages. A toolchain is looked for only when a project needs it.
#[derive(Debug, Clone)]
pub struct Tools {
    cargo: Cargo,
    go: Go,
    scripts: Scripts,
    python: PythonScripts,
    shell: ShellScripts,
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
    Script(ScriptPackage),
    Python(PythonPackage),
    Shell(ShellPackage),
}

impl Tools {
    /// Relative paths are relative to the working directory.
    pub fn new(programs: Programs) -> Self {
        let scripts = Scripts::new(&programs.interpreters);
        let python = PythonScripts::new(&programs.interpreters);
        let shell = ShellScripts::new(&programs.interpreters);
        Self { cargo: Cargo::new(programs.cargo), go: Go::new(programs.go), scripts, python, shell }
    }

    /// The project in a folder, or of a manifest or a shell script.
    pub fn project(&self, path: &Path) -> Result<Project, BuildError> {
        let language = if path.is_dir() { Language::of(path) } else { Language::of_manifest(path) };
        let folder = || if path.is_dir() { path } else { path.parent().unwrap_or(path) };
        let kind = match language {
            _ if !path.exists() => return Err(BuildError::NoProject(path.to_owned())),
            Some(Language::Rust) => Kind::Rust(self.cargo.package(path)?),
            Some(Language::Go) => Kind::Go(self.go.package(folder())?),
            Some(Language::TypeScript | Language::JavaScript) => Kind::Script(self.scripts.package(folder())?),
            Some(Language::Python) => Kind::Python(self.python.package(folder())?),
            Some(Language::Shell) => Kind::Shell(self.shell.package(path)?),
            None if is_script(path) || has_hooks(path) => Kind::Shell(self.shell.package(path)?),
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
            Kind::Script(package) => Some(self.scripts.building(package)),
            Kind::Python(_) | Kind::Shell(_) => None,
        }
    }

    /// The result of [`Tools::building`].
    pub fn built(&self, project: &Project, output: io::Result<Output>) -> Result<PathBuf, BuildError> {
        match &project.kind {
            Kind::Rust(package) => self.cargo.built(package, output),
            Kind::Go(package) => self.go.built(package, output),
            Kind::Script(package) => Ok(self.scripts.built(package, output)?),
            Kind::Python(package) => Ok(self.python.build(package)?),
            Kind::Shell(package) => Ok(self.shell.build(package)?),
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
            Kind::Script(package) => &package.name,
            Kind::Python(package) => &package.name,
            Kind::Shell(package) => &package.name,
        }
    }

    /// The folder of its sources: a change in it changes the component.
    pub fn sources(&self) -> &Path {
        match &self.kind {
            Kind::Rust(package) => package.folder(),
            Kind::Go(package) => &package.module,
            Kind::Script(package) => &package.folder,
            Kind::Python(package) => &package.folder,
            Kind::Shell(package) => &package.folder,
        }
    }

    /// The folder of the hook itself. In Go, a module may have several.
    pub fn folder(&self) -> &Path {
        match &self.kind {
            Kind::Go(package) => &package.folder,
            _ => self.sources(),
        }
    }

    /// The default folder of the component.
    pub fn output(&self) -> PathBuf {
        match &self.kind {
            // Cargo's own target folder may be shared by all projects of the machine.
            Kind::Rust(package) => package.folder().join("target/boathook"),
            Kind::Go(package) => package.output(),
            Kind::Script(package) => package.output(),
            Kind::Python(package) => package.output(),
            Kind::Shell(package) => package.output(),
        }
    }

    /// Folders that the toolchain writes to, absolute.
    pub fn written(&self) -> Vec<PathBuf> {
        match &self.kind {
            Kind::Rust(package) => vec![package.target_directory.clone(), package.folder().join("target")],
            Kind::Go(package) => vec![package.output()],
            // All of `target`, because its creation is not a change of a source.
            Kind::Script(package) => ["target", "node_modules"].map(|name| package.folder.join(name)).into(),
            Kind::Shell(package) => vec![package.folder.join("target")],
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
            Kind::Go(_) | Kind::Script(_) | Kind::Python(_) | Kind::Shell(_) => &[],
        }
    }
}

/// The folder of components, in a project.
const OUTPUT: &str = "target/boathook";
/// Extensions of the files that a component is built from.
const SOURCES: [&str; 11] = ["rs", "toml", "go", "mod", "ts", "mts", "js", "mjs", "json", "py", "sh"];
/// Folders without sources.
const OTHERS: [&str; 6] = ["target", "node_modules", "scenarios", "tests", "__pycache__", sdk::FOLDER];
/// Maximum depth of the search.
const DEPTH: usize = 8;

/// Whether a folder is the sources of one shell hook, with its scenarios.
pub fn is_shell_project(folder: &Path) -> bool {
    Language::of(folder).is_none() && folder.join("scenarios").is_dir() && has_hooks(folder)
}

/// Whether a folder is the sources of a component.
pub fn is_project(folder: &Path) -> bool {
    Language::of(folder).is_some() || has_hooks(folder)
}

/// The folder of a project's components, if this folder contains a project that was built. Shell hooks need no build.
pub fn output(folder: &Path) -> Option<PathBuf> {
    let output = folder.join(OUTPUT);
    (Language::of(folder).is_some() && output.is_dir()).then_some(output)
}

/// A source of the project that is newer than its component, if the component is where `boathook build` puts it.
pub fn newer_source(component: &Path) -> Option<PathBuf> {
    let (output, project) = (component.parent()?, component.ancestors().nth(3)?);
    // A component that is named in its project: target/boathook/NAME.wasm.
    let project = if project.as_os_str().is_empty() { Path::new(".") } else { project };
    if !output.ends_with(OUTPUT) || !is_project(project) {
        return None;
    }
    newer(project, fs::metadata(component).ok()?.modified().ok()?, DEPTH)
}

fn newer(folder: &Path, than: SystemTime, depth: usize) -> Option<PathBuf> {
    let entries = fs::read_dir(folder).ok()?.filter_map(Result::ok);
    let mut paths: Vec<_> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths.into_iter().find_map(|path| {
        let name = path.file_name()?.to_str()?;
        let hidden = name.starts_with('.') || OTHERS.contains(&name);
        let meta = path.symlink_metadata().ok().filter(|_| !hidden)?;
        if meta.is_dir() {
            return newer(&path, than, depth.checked_sub(1)?);
        }
        let source = path.extension().and_then(|it| it.to_str()).is_some_and(|it| SOURCES.contains(&it));
        (source && meta.modified().ok()? > than).then_some(path)
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_component_is_stale_when_a_source_is_newer() {
        let folder = tempfile::tempdir().unwrap();
        let now = SystemTime::now();
        let write = |file: &str, ago: u64| {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, "").unwrap();
            fs::File::options().write(true).open(&path).unwrap().set_modified(now - Duration::from_secs(ago)).unwrap();
            path
        };
        let component = write("target/boathook/web.wasm", 50);
        // Does not belong to a project.
        write("main.py", 10);
        assert_eq!((newer_source(&component), output(folder.path())), (None, None));
        fs::remove_file(folder.path().join("main.py")).unwrap();
        for (file, ago) in
            [("pyproject.toml", 90), ("src/hook.py", 60), ("README.md", 1), (".x.py", 1), ("tests/a.py", 1)]
        {
            write(file, ago);
        }
        write("boathook-sdk/src/boathook/hook.py", 1);
        assert_eq!(newer_source(&component), None);
        assert_eq!(output(folder.path()), Some(folder.path().join(OUTPUT)));
        let changed = write("src/deep/part.py", 40);
        assert_eq!(newer_source(&component), Some(changed));
        // For a component in another folder, the time of its build is unknown.
        assert_eq!(newer_source(&write("web.wasm", 90)), None);
    }
}
