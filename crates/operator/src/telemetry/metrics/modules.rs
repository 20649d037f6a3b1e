//! The metrics of modules. Those that addon-operator has, too, have its names.

use std::time::Duration;

use super::{Metrics, NONE};

/// How a module can be kept.
const MAINTENANCE: [&str; 3] = ["Managed", "NoResourceReconciliation", "Paused"];

/// A module, as its metrics show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModuleInfo<'a> {
    pub name: &'a str,
    /// Absent before it is decided.
    pub enabled: Option<bool>,
    pub critical: bool,
    pub ready: bool,
    /// How it is kept, such as `Managed`.
    pub maintenance: &'static str,
}

impl Metrics {
    /// A step of a module ended. `deletion`: the step is one of its deletion.
    pub fn module_step(&self, module: &str, step: &'static str, took: Duration, failed: bool, deletion: bool) {
        let seconds = took.as_secs_f64();
        self.vecs.module_step.with_label_values(&[module, step]).observe(seconds);
        if step == "Chart" {
            self.vecs.module_helm.with_label_values(&[module]).observe(seconds);
        }
        let errors = if deletion { &self.vecs.module_delete_errors } else { &self.vecs.module_run_errors };
        errors.with_label_values(&[module]).inc_by(u64::from(failed));
    }

    /// Objects of a module no longer are as they were applied.
    pub fn module_drifted(&self, module: &str) {
        self.vecs.modules_drifted.with_label_values(&[module]).inc();
    }

    /// Shows a module.
    pub fn set_module(&self, module: ModuleInfo<'_>) {
        let ModuleInfo { name, enabled, critical, ready, maintenance } = module;
        let enabled = match enabled {
            Some(true) => "true",
            Some(false) => "false",
            None => "unknown",
        };
        let critical = if critical { "true" } else { "false" };
        for one in ["true", "false", "unknown"] {
            for other in ["true", "false"] {
                if (one, other) != (enabled, critical) {
                    // It may not be there.
                    let _ = self.vecs.module_info.remove_label_values(&[name, one, other]);
                }
            }
        }
        self.vecs.module_info.with_label_values(&[name, enabled, critical]).set(1);
        self.vecs.module_ready.with_label_values(&[name]).set(i64::from(ready));
        for other in MAINTENANCE.into_iter().filter(|other| *other != maintenance) {
            let _ = self.vecs.module_maintenance.remove_label_values(&[name, other]);
        }
        self.vecs.module_maintenance.with_label_values(&[name, maintenance]).set(1);
    }

    /// Forgets a module that is gone.
    pub fn forget_module(&self, module: &str) {
        self.vecs.forget_module(module);
    }

    /// Each module was tried.
    pub fn converged(&self, took: Duration) {
        self.vecs.convergences.with_label_values(NONE).inc();
        self.vecs.convergence_seconds.with_label_values(NONE).inc_by(took.as_secs_f64());
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_module_has_one_series_of_each_and_none_when_it_is_gone() {
        let metrics = Metrics::new("x_").unwrap();
        let web = ModuleInfo { name: "web", enabled: None, critical: true, ready: false, maintenance: "Managed" };
        metrics.set_module(web);
        metrics.set_module(ModuleInfo { maintenance: "NoResourceReconciliation", ..web });
        metrics.set_module(ModuleInfo { enabled: Some(true), ready: true, maintenance: "Paused", ..web });
        metrics.module_step("web", "Chart", Duration::from_secs(1), true, false);
        metrics.module_step("web", "Delete", Duration::from_secs(1), true, true);
        metrics.module_drifted("web");
        let lines = |metrics: &Metrics| {
            let text = metrics.text().unwrap();
            let of_module = text.lines().filter(|line| line.contains("module=\"web\"") && !line.contains("_bucket"));
            of_module.map(str::to_owned).collect::<Vec<_>>()
        };
        let shown = lines(&metrics);
        for line in [
            r#"x_mm_module_info{critical="true",enabled="true",module="web"} 1"#,
            r#"x_mm_module_maintenance{module="web",state="Paused"} 1"#,
            r#"x_module_ready{module="web"} 1"#,
            r#"x_module_run_errors_total{module="web"} 1"#,
            r#"x_module_delete_errors_total{module="web"} 1"#,
            r#"x_modules_drifted_total{module="web"} 1"#,
            r#"x_module_helm_seconds_count{module="web"} 1"#,
            r#"x_module_step_seconds_count{module="web",step="Delete"} 1"#,
        ] {
            assert!(shown.iter().any(|one| one == line), "{line} is not in {shown:#?}");
        }
        for one in ["mm_module_info", "mm_module_maintenance"] {
            assert_eq!(shown.iter().filter(|line| line.contains(one)).count(), 1, "{one}");
        }
        metrics.forget_module("web");
        assert_eq!(lines(&metrics), [""; 0]);
    }
}
