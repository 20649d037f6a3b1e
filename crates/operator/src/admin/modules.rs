//! What modules do, for admins.

use serde::{Deserialize, Serialize};

use super::render::{Cell, Style, Table, Text, Tone};

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModulesView {
    /// The global hooks first, and then the modules in their order. Empty on a standby.
    pub modules: Vec<ModuleView>,
    /// What is wrong with the configuration.
    pub problems: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModuleView {
    /// `global` for the global hooks.
    pub name: String,
    /// Absent if it is not known yet.
    pub on: Option<bool>,
    /// Why it is on or off.
    pub why: String,
    /// `ready`, `off`, or the step that runs or comes next.
    pub at: String,
    /// What the step waits for.
    pub waits_for: Option<String>,
    /// Why its last try failed.
    pub error: Option<String>,
    /// How often it failed since it last succeeded.
    pub failures: u32,
}

impl Text for ModulesView {
    fn text(&self, style: Style) -> String {
        let mut table = Table::new(["NAME", "ON", "AT", "FAILURES", "WHY"]);
        for module in &self.modules {
            let on = module.on.map_or("?", |on| if on { "yes" } else { "no" });
            let tone = match (module.at.as_str(), &module.error) {
                (_, Some(_)) => Tone::Bad,
                ("ready", None) => Tone::Good,
                ("off", None) => Tone::Faint,
                _ => Tone::Warning,
            };
            let waits = module.waits_for.as_ref().map(|waits| format!("waits for {waits}"));
            let why = [module.error.clone(), waits].into_iter().flatten().collect::<Vec<_>>().join("; ");
            let why = if why.is_empty() { module.why.clone() } else { why };
            let failures = module.failures.to_string();
            table.row([(&module.name).into(), on.into(), Cell::new(&module.at, tone), failures.into(), why.into()]);
        }
        let mut text = if table.is_empty() { "no modules\n".to_owned() } else { table.text(style, "") };
        for problem in &self.problems {
            text.push_str(&style.paint(&super::render::clean(problem), Tone::Bad));
            text.push('\n');
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_module_waits_for_is_shown() {
        let module = |name: &str, at: &str| ModuleView {
            name: name.to_owned(),
            on: Some(at != "off"),
            why: "values.yaml".to_owned(),
            at: at.to_owned(),
            ..ModuleView::default()
        };
        let broken = ModuleView {
            error: Some("hook a.web: no".to_owned()),
            waits_for: Some("its next try".to_owned()),
            failures: 2,
            ..module("web", "BeforeHelm")
        };
        let view =
            ModulesView { modules: vec![module("db", "ready"), broken], problems: vec!["web.port: no".to_owned()] };
        let text = view.text(Style::Plain);
        let lines: Vec<_> = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        assert_eq!(
            lines,
            [
                "NAME ON AT FAILURES WHY",
                "db yes ready 0 values.yaml",
                "web yes BeforeHelm 2 hook a.web: no; waits for its next try",
                "web.port: no"
            ]
        );
        assert_eq!(ModulesView::default().text(Style::Plain), "no modules\n");
    }
}
