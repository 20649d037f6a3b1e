//! Creates projects for hooks, and builds components with the language's toolchain. Nothing here loads or runs a
//! component.

mod about;
mod component;
mod error;
mod go;
mod language;
mod name;
mod python;
mod rust;
mod script;
mod sdk;
mod shell;
mod template;
mod tools;

pub use self::template::{ProjectError, write_project};
pub use self::tools::{is_project, is_shell_project, newer_source, output};
pub use about::about;
pub use component::{ComponentError, VERSION as WIT_VERSION, component_of, wit_package};
pub use error::BuildError;
pub use language::Language;
pub use name::{InvalidProjectName, ProjectName};
pub use python::{PythonBuildError, PythonPackage, PythonScripts};
pub use script::{ScriptBuildError, ScriptPackage, Scripts};
pub use sdk::FOLDER as SDK_FOLDER;
pub use shell::{ShellBuildError, ShellPackage, ShellScripts};
pub use template::{File, Sdk, Template};
pub use tools::{Programs, Project, Tools, nothing};
