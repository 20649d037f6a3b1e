//! What an operator shows of its modules: to admins, and to the program that it is a part of.

use std::{collections::BTreeMap, sync::Arc};

use boathook_modules::{
    Module, ModuleName,
    layout::Class,
    life::{Report, Subject},
};
use serde_json::Value;
use tokio::sync::watch;

use super::{super::App, Modules, shelf::Shelf};
use crate::admin::modules::{NeedView, NodeView};

/// What modules do, and in which order.
pub(in super::super) struct Seen {
    reports: watch::Receiver<Vec<Report>>,
    shelf: Arc<Shelf>,
}

impl Seen {
    /// What everything does, the global hooks first. Empty before this replica leads.
    pub fn reports(&self) -> Vec<Report> {
        self.reports.borrow().clone()
    }

    /// All modules in their order.
    pub fn graph(&self) -> Vec<NodeView> {
        let reports = self.reports();
        let states: BTreeMap<_, _> = reports.iter().map(|report| (&report.subject, (report.on, &report.why))).collect();
        let graph = self.shelf.graph(None).unwrap_or_default();
        let shelved = graph.order().iter().filter_map(|name| self.shelf.get(name));
        let node = |module: &Module| match states.get(&Subject::Module(module.name.clone())) {
            Some((on, why)) => node(module, *on, (*why).clone()),
            None => node(module, None, "no module runs before this replica leads".to_owned()),
        };
        shelved.map(|shelved| node(&shelved.module)).collect()
    }
}

/// A module in the graph.
pub fn node(module: &Module, on: Option<bool>, why: String) -> NodeView {
    let definition = &module.definition;
    let needs = definition.dependencies.iter().map(|one| NeedView {
        name: one.name.to_string(),
        optional: one.optional,
        versions: one.versions.as_ref().map(ToString::to_string),
    });
    let class = match definition.class {
        Class::Critical => "critical",
        Class::Functional => "functional",
    };
    NodeView {
        name: module.name.to_string(),
        order: module.order,
        class: class.to_owned(),
        version: definition.version.as_ref().map(ToString::to_string),
        needs: needs.collect(),
        on,
        why,
    }
}

impl Modules {
    /// What admins see.
    pub fn seen(&self) -> Seen {
        Seen { reports: self.reports.clone(), shelf: self.shelf.clone() }
    }

    /// What everything does, the global hooks first. Empty before this replica leads.
    fn reports(&self) -> Vec<Report> {
        let mut reports = self.reports.borrow().clone();
        for report in &mut reports {
            let is_silent = matches!(report.at, "Chart" | "Delete") && report.waits.is_none();
            if let (Subject::Module(name), true) = (&report.subject, is_silent) {
                report.waits = self.releases.waits(name);
            }
        }
        reports
    }
}

impl App {
    /// What modules do, the global hooks first.
    pub fn modules(&self) -> Vec<Report> {
        self.modules.as_ref().map(Modules::reports).unwrap_or_default()
    }

    /// The values that the hooks of a module and its chart see now: its own section, and `global`.
    ///
    /// # Errors
    /// There is no such module, or a change of its hooks does not fit any more.
    pub fn module_values(&self, module: &ModuleName) -> Result<Value, String> {
        let values = self.services.module_values.as_ref().ok_or("the operator runs no modules")?;
        values.values(&Subject::Module(module.clone()))
    }
}
