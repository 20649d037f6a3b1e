//! What an author of hooks needs before there is a component: a project to begin with, and the
//! language's tool chain that builds it.
//!
//! Never loads or runs a component.

mod name;
mod project;
mod rust;
mod script;
mod template;

pub use name::{InvalidProjectName, ProjectName};
pub use project::{ProjectError, write_project};
pub use rust::{BuildError, Cargo, Package};
pub use script::{ScriptBuildError, ScriptPackage, Scripts};
pub use template::{File, Sdk, Template};
