//! The seam between the life of modules and what their charts are in the cluster.

use std::sync::Arc;

use boathook_modules::{Module, ModuleName};
use futures::future::BoxFuture;

use super::super::{module_values::Given, scope::Terms};

/// Why a module's chart is not in the cluster as it should be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ReleaseError {
    /// Another try fails, too, until the module, its values or the operator change.
    #[error("{0}")]
    Refused(String),
    /// Another try may succeed.
    #[error("{0}")]
    Failed(String),
}

/// What the charts of modules are in the cluster.
pub(crate) trait Releases: Send + Sync + 'static {
    /// There are these modules. Call it before anything else.
    fn announce(&self, modules: &[ModuleName]);

    /// Says whose rights the chart of a module has. Without terms, it has those of the operator.
    fn act_as(&self, module: &ModuleName, terms: Option<Arc<Terms>>);

    /// The revision that is in the cluster, or is being applied, if it is known.
    fn revision(&self, module: &ModuleName) -> Option<u64>;

    /// What the module's chart waits for, if it is applied as far as possible now.
    fn waits(&self, module: &ModuleName) -> Option<String>;

    /// Renders the module's chart, or takes the manifests of the revision that an admin asked for, applies them, and waits until
    /// they are ready. Dropping the future ends the wait.
    fn apply<'a>(&'a self, module: &'a Module, given: &'a Given) -> BoxFuture<'a, Result<(), ReleaseError>>;

    /// Deletes the module's objects, in order, and returns when they are gone. Succeeds if there are none.
    fn delete<'a>(&'a self, module: &'a ModuleName) -> BoxFuture<'a, Result<(), ReleaseError>>;

    /// The modules that have a release in the cluster, also those that are gone from disk.
    fn installed<'a>(&'a self) -> BoxFuture<'a, Result<Vec<ModuleName>, ReleaseError>>;

    /// The next module whose release needs another `apply`: it is no longer as it was applied, or an admin asked for something. Dropping the future loses
    /// nothing: the next one returns the same module.
    fn drifted<'a>(&'a self) -> BoxFuture<'a, ModuleName>;
}
