//! Why a project does not become a component, whatever its language is. Never repeats what a tool chain has said itself.

use std::{io, path::PathBuf};

use super::component::ComponentError;

/// Why there is no component.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// No language is known by what is there.
    #[error(
        "{} is no project that can be built: it has no {}; `boathook new NAME` makes one",
        .0.display(), super::Language::marks()
    )]
    NoProject(PathBuf),
    /// The tool chain is not there.
    #[error("can't run {}: {mend}", program.display())]
    NoTool {
        /// What was to be run.
        program: PathBuf,
        /// What to do.
        mend: &'static str,
        /// The system's reason.
        source: io::Error,
    },
    /// The tool chain is there, and can't do it.
    #[error("{} is {found}, and hooks need {needed} or newer: {mend}", program.display())]
    OldTool {
        /// What was run.
        program: PathBuf,
        /// What it says that it is.
        found: String,
        /// The oldest version that will do.
        needed: &'static str,
        /// What to do.
        mend: &'static str,
    },
    /// The tool chain can't read the manifest. It has said why.
    #[error("{tool} can't use {}", path.display())]
    Manifest {
        /// The project.
        path: PathBuf,
        /// Who can't.
        tool: &'static str,
    },
    /// The tool chain answers in another way than it should.
    #[error("can't read what {tool} says about {}", path.display())]
    Answer {
        /// The project.
        path: PathBuf,
        /// Who says it.
        tool: &'static str,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// What is there makes no component.
    #[error("{} makes no component: {mend}", path.display())]
    NoComponent {
        /// The manifest or the folder.
        path: PathBuf,
        /// What it needs.
        mend: String,
    },
    /// The tool chain refused. It has said why.
    #[error("{tool} did not build {name}")]
    Failed {
        /// The project.
        name: String,
        /// Who refused.
        tool: &'static str,
    },
    /// The compiler does not know the target.
    #[error("cargo did not build {name}: Rust's target {target} is not installed; run: rustup target add {target}")]
    NoTarget {
        /// The project.
        name: String,
        /// The target.
        target: &'static str,
    },
    /// The tool chain succeeded and made no component.
    #[error("{tool} built {name} and made no .wasm file of it")]
    NoFile {
        /// The project.
        name: String,
        /// Who built it.
        tool: &'static str,
    },
    /// What the tool chain made is no hook.
    #[error("{name} was built, and can't become a component")]
    Component {
        /// The project.
        name: String,
        /// Why.
        source: ComponentError,
    },
    /// It does not become a script.
    #[error(transparent)]
    Script(#[from] super::ScriptBuildError),
    /// It does not become a script.
    #[error(transparent)]
    Python(#[from] super::PythonBuildError),
    /// The system does not let it.
    #[error("can't use {}", path.display())]
    File {
        /// What could not be read or written.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
}

impl BuildError {
    /// Whether no change of a source mends it.
    pub fn is_of_the_machine(&self) -> bool {
        match self {
            Self::NoTool { .. } | Self::OldTool { .. } | Self::NoTarget { .. } => true,
            Self::Script(error) => error.is_of_the_machine(),
            Self::Python(error) => error.is_of_the_machine(),
            _ => false,
        }
    }
}
