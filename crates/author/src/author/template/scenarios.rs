//! The scenarios of the templates, which are the same for all languages.

use super::{Source, Template};

pub(super) fn of(template: Template) -> &'static [Source] {
    match template {
        Template::LabelWatcher => &[
            (
                "scenarios/existing-namespaces.yaml",
                include_str!("../../../../../templates/scenarios/label-watcher/existing-namespaces.yaml"),
            ),
            (
                "scenarios/label-comes-and-goes.yaml",
                include_str!("../../../../../templates/scenarios/label-watcher/label-comes-and-goes.yaml"),
            ),
        ],
        Template::Schedule => {
            &[("scenarios/counts.yaml", include_str!("../../../../../templates/scenarios/schedule/counts.yaml"))]
        }
        Template::Startup => &[
            ("scenarios/existing.yaml", include_str!("../../../../../templates/scenarios/startup/existing.yaml")),
            ("scenarios/missing.yaml", include_str!("../../../../../templates/scenarios/startup/missing.yaml")),
        ],
        Template::Validating => {
            &[("scenarios/team.yaml", include_str!("../../../../../templates/scenarios/validating/team.yaml"))]
        }
    }
}
