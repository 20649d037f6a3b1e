//! Why a project cannot be built, in any language. Errors do not repeat what a toolchain has already printed.

use std::{io, path::PathBuf};

use super::component::ComponentError;

#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The folder contains no file that identifies a language.
    #[error(
        "{} is not a project that Boathook can build: it has no {} and no executable NAME.sh; `boathook new NAME` makes one",
        .0.display(), super::Language::marks()
    )]
    NoProject(PathBuf),
    /// The toolchain is missing.
    #[error("cannot run {}: {remedy}", program.display())]
    NoTool { program: PathBuf, remedy: &'static str, source: io::Error },
    /// The toolchain is too old.
    #[error("{} is {found}, and hooks need {needed} or newer: {remedy}", program.display())]
    OldTool { program: PathBuf, found: String, needed: &'static str, remedy: &'static str },
    /// The toolchain cannot read the manifest, and has printed why.
    #[error("{tool} cannot use {}", path.display())]
    Manifest { path: PathBuf, tool: &'static str },
    /// The toolchain's output has an unexpected form.
    #[error("cannot read what {tool} says about {}", path.display())]
    Answer { path: PathBuf, tool: &'static str, source: serde_json::Error },
    /// The project does not produce a component.
    #[error("{} makes no component: {remedy}", path.display())]
    NoComponent {
        /// The manifest or the folder.
        path: PathBuf,
        remedy: String,
    },
    /// The toolchain refused, and has printed why.
    #[error("{tool} did not build {name}")]
    Failed { name: String, tool: &'static str },
    /// The compiler does not know the target.
    #[error("cargo did not build {name}: Rust's target {target} is not installed; run: rustup target add {target}")]
    NoTarget { name: String, target: &'static str },
    /// The toolchain succeeded but made no component.
    #[error("{tool} built {name}, but wrote no .wasm file")]
    NoFile { name: String, tool: &'static str },
    /// The built module is not a hook.
    #[error("{name} was built, but cannot become a component")]
    Component { name: String, source: ComponentError },
    /// A TypeScript or JavaScript project cannot become a script.
    #[error(transparent)]
    Script(#[from] super::ScriptBuildError),
    /// A Python project cannot become a script.
    #[error(transparent)]
    Python(#[from] super::PythonBuildError),
    /// A shell script cannot be packed.
    #[error(transparent)]
    Shell(#[from] super::ShellBuildError),
    #[error("cannot use {}", path.display())]
    File { path: PathBuf, source: io::Error },
}

impl BuildError {
    /// Whether no change of the sources can fix it.
    pub fn is_of_the_machine(&self) -> bool {
        match self {
            Self::NoTool { .. } | Self::OldTool { .. } | Self::NoTarget { .. } => true,
            Self::Script(error) => error.is_of_the_machine(),
            Self::Python(error) => error.is_of_the_machine(),
            Self::Shell(error) => error.is_of_the_machine(),
            _ => false,
        }
    }
}
