//! The four HelloApp operators: what each is made of, and how it is started.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use super::lines::{self, Language, Lines};
use crate::{Paths, backend::Backend, bound, contender, process::Process};

/// Boathook's hook.
pub const HOOK: &str = "hello-app.wasm";

/// Whose operator it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Boathook,
    Bare,
    ControllerRuntime,
    Kopf,
}

/// One of the operators.
pub struct Operator {
    pub kind: Kind,
    /// What the author wrote.
    pub lines: Lines,
    /// Bytes of what is deployed for this operator alone.
    pub bytes: u64,
    program: PathBuf,
}

/// One that runs.
pub struct Running {
    pub process: Process,
    _directory: tempfile::TempDir,
}

impl Kind {
    /// For the table.
    pub fn name(self) -> &'static str {
        match self {
            Self::Boathook => "Boathook",
            Self::Bare => "kube-rs",
            Self::ControllerRuntime => "controller-runtime",
            Self::Kopf => "kopf",
        }
    }
}

impl Operator {
    /// Those that were built, in the order of their turns. What is missing is said on stderr.
    pub fn all() -> Result<Vec<Self>> {
        let bare = std::env::current_exe()?.with_file_name("bare-operator");
        let mut all = vec![
            Self::new(Kind::Bare, bare)?,
            // Its program is Boathook's, which all hooks share.
            Self::new(Kind::Boathook, PathBuf::new())?,
        ];
        for (kind, variable) in [(Kind::ControllerRuntime, "BENCH_CONTROLLER_RUNTIME"), (Kind::Kopf, "BENCH_KOPF")] {
            match std::env::var_os(variable).filter(|path| !path.is_empty()) {
                Some(program) => all.push(Self::new(kind, program.into())?),
                None => eprintln!("bench: {} is left out: {variable} is not set", kind.name()),
            }
        }
        Ok(all)
    }

    fn new(kind: Kind, program: PathBuf) -> Result<Self> {
        use Language::{Go, Python, Rust, Yaml};
        const DEFINITION: (Language, &str) = (Yaml, "hooks-wasm/hello-app/crd.yaml");
        let (files, functions, deployed): (Vec<_>, Vec<_>, _) = match kind {
            Kind::Boathook => (
                vec![(Rust, "hooks-wasm/hello-app/src/lib.rs")],
                vec!["reconcile"],
                Path::new("hooks-wasm/dist").join(HOOK),
            ),
            Kind::Bare => {
                (vec![(Rust, "bench/src/bin/bare-operator.rs")], vec!["reconcile", "status"], program.clone())
            }
            Kind::ControllerRuntime => (
                vec![
                    (Go, "bench/operators/controller-runtime/controller/helloapp.go"),
                    (Go, "bench/operators/controller-runtime/api/v1alpha1/helloapp.go"),
                    (Go, "bench/operators/controller-runtime/main.go"),
                ],
                vec!["Reconcile", "applyDeployment", "applyService", "writeStatus"],
                program.clone(),
            ),
            Kind::Kopf => (
                vec![(Python, "bench/operators/kopf/hello_app.py"), DEFINITION],
                vec!["reconcile", "repair", "children", "apply", "holds", "status_of"],
                program.join("lib"),
            ),
        };
        Ok(Self { kind, lines: lines::count(&files, &functions)?, bytes: size(&deployed)?, program })
    }

    /// Starts it. It may still have to list what exists.
    pub async fn start(&self, paths: &Paths, backend: &Backend) -> Result<Running> {
        let directory = tempfile::tempdir()?;
        if self.kind == Kind::Boathook {
            let hooks = directory.path().join("hooks");
            std::fs::create_dir(&hooks)?;
            std::fs::write(hooks.join(HOOK), paths.guest(HOOK)?)?;
            return boathook(paths, backend, directory).await;
        }
        // Libraries read where the API server is from the environment, and `Process` clears it.
        let mut command = bound::command("/usr/bin/env")?;
        command.arg(format!("KUBECONFIG={}", backend.kubeconfig.display()));
        if self.kind == Kind::Kopf {
            command.arg(self.program.join("bin/kopf")).args(["run", "--standalone", "--all-namespaces"]);
            command.arg("bench/operators/kopf/hello_app.py");
        } else {
            command.arg(&self.program);
        }
        let process = Process::start(&mut command, &directory.path().join("log"))?;
        Ok(Running { process, _directory: directory })
    }
}

/// Starts Boathook on the directory's `hooks`.
pub async fn boathook(paths: &Paths, backend: &Backend, directory: tempfile::TempDir) -> Result<Running> {
    let contender = contender::boathook(paths, backend, &[], directory).await?;
    let (process, directory) = contender.into_parts();
    Ok(Running { process, _directory: directory })
}

/// Bytes of a file, or of all files of a folder but those of the installer.
fn size(path: &Path) -> Result<u64> {
    let metadata = path.symlink_metadata().with_context(|| format!("cannot read {}", path.display()))?;
    if !metadata.is_dir() {
        return Ok(metadata.len());
    }
    let mut bytes = 0;
    for entry in path.read_dir()? {
        let entry = entry?;
        // venv puts them there; an image does not have them.
        let installer = ["pip", "setuptools", "pkg_resources", "_distutils_hack"];
        if !installer.iter().any(|name| entry.file_name().to_string_lossy().starts_with(name)) {
            bytes += size(&entry.path())?;
        }
    }
    Ok(bytes)
}
