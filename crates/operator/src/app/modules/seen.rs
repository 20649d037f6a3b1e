//! What an operator shows of its modules to the program that it is a part of.

use boathook_modules::{
    ModuleName,
    life::{Report, Subject},
};
use serde_json::Value;

use super::{super::App, Modules};

impl Modules {
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
