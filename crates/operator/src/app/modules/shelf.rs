//! The modules that there are: those of directories, and those that Modules bring from registries.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use boathook_core::model::HookSource;
use boathook_modules::{
    Module, ModuleName,
    graph::{Graph, GraphError},
    life::Parts,
};

use super::super::scope::Terms;
use crate::module::Fetched;

/// A module, and where it is from.
#[derive(Debug)]
pub(crate) struct Shelved {
    pub module: Module,
    /// Absent for a module of a directory, which is the admin's.
    pub source: Option<Sourced>,
}

/// What a module from a registry has in addition.
#[derive(Debug)]
pub(crate) struct Sourced {
    /// Whose rights its hooks and its chart have.
    pub terms: Arc<Terms>,
    /// Its files live as long as this.
    pub fetched: Fetched,
}

impl Shelved {
    pub fn parts(&self) -> Parts {
        // Definitions are applied with the chart.
        let chart = self.module.chart.is_some() || !self.module.crds.is_empty();
        Parts { chart, script: self.module.enabled.is_some() }
    }

    /// Its hooks, if they are not the files of its directory.
    pub fn hooks(&self) -> Option<(&Arc<Terms>, &[HookSource])> {
        self.source.as_ref().map(|source| (&source.terms, source.fetched.hooks.as_slice()))
    }
}

/// All modules, by name.
#[derive(Debug, Default)]
pub(super) struct Shelf(Mutex<BTreeMap<ModuleName, Arc<Shelved>>>);

impl Shelf {
    pub fn of_directories(modules: Vec<Module>) -> Self {
        let shelved = |module: Module| (module.name.clone(), Arc::new(Shelved { module, source: None }));
        Self(Mutex::new(modules.into_iter().map(shelved).collect()))
    }

    fn all(&self) -> MutexGuard<'_, BTreeMap<ModuleName, Arc<Shelved>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn get(&self, name: &ModuleName) -> Option<Arc<Shelved>> {
        self.all().get(name).cloned()
    }

    pub fn names(&self) -> Vec<ModuleName> {
        self.all().keys().cloned().collect()
    }

    pub fn put(&self, shelved: Arc<Shelved>) {
        self.all().insert(shelved.module.name.clone(), shelved);
    }

    pub fn remove(&self, name: &ModuleName) {
        self.all().remove(name);
    }

    /// Whether the module is from a registry.
    pub fn is_sourced(&self, name: &ModuleName) -> bool {
        self.all().get(name).is_some_and(|shelved| shelved.source.is_some())
    }

    /// The order of all modules, with another version of one.
    pub fn graph(&self, with: Option<&Module>) -> Result<Graph, GraphError> {
        let all = self.all();
        let others = all.values().map(|shelved| &shelved.module);
        Graph::of_modules(others.filter(|module| with.is_none_or(|with| with.name != module.name)).chain(with))
    }

    pub fn parts(&self, name: &ModuleName) -> Parts {
        self.get(name).map_or_else(Parts::default, |shelved| shelved.parts())
    }
}
