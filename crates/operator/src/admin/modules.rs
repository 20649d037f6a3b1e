//! What modules do, for admins.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    render::{Cell, Style, Table, Text, Tone, clean},
    views::HIDDEN,
};

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
            text.push_str(&style.paint(&clean(problem), Tone::Bad));
            text.push('\n');
        }
        text
    }
}

/// Which data of a module is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// What its hooks and its chart see.
    Values,
    /// What users configured of that.
    Config,
    /// What hooks changed, in order.
    Patches,
}

impl Part {
    /// Its name in paths.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Values => "values",
            Self::Config => "config",
            Self::Patches => "patches",
        }
    }

    pub fn parse(name: &str) -> Option<Self> {
        [Self::Values, Self::Config, Self::Patches].into_iter().find(|part| part.as_str() == name)
    }

    /// Hides what may be secret: each text and each number of values. Keys and paths stay, and so do hooks, `true` and `false`.
    pub fn hide(self, data: &mut Value) {
        match self {
            Self::Values | Self::Config => hide(data),
            Self::Patches => {
                let changes = data.get_mut("changes").and_then(Value::as_array_mut).into_iter().flatten();
                let operations = changes.filter_map(|change| change.get_mut("operations")?.as_array_mut()).flatten();
                operations.filter_map(|operation| operation.get_mut("value")).for_each(hide);
            }
        }
    }
}

fn hide(value: &mut Value) {
    match value {
        Value::Object(fields) => fields.values_mut().for_each(hide),
        Value::Array(items) => items.iter_mut().for_each(hide),
        Value::String(_) | Value::Number(_) => *value = HIDDEN.into(),
        Value::Bool(_) | Value::Null => {}
    }
}

/// Modules in their order.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GraphView {
    pub modules: Vec<NodeView>,
}

/// A module and what it needs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeView {
    pub name: String,
    /// Its number.
    pub order: u32,
    /// `critical` or `functional`.
    pub class: String,
    pub version: Option<String>,
    pub needs: Vec<NeedView>,
    /// Absent if it is not known.
    pub on: Option<bool>,
    /// Why it is on or off.
    pub why: String,
}

/// A module that another one needs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NeedView {
    pub name: String,
    pub optional: bool,
    pub versions: Option<String>,
}

impl NeedView {
    fn text(&self) -> String {
        let optional = if self.optional { "?" } else { "" };
        let versions = self.versions.as_ref().map_or_else(String::new, |range| format!(" {range}"));
        format!("{}{optional}{versions}", self.name)
    }
}

impl GraphView {
    /// The graph in the DOT language: an arrow leads from a module to what it needs.
    pub fn dot(&self) -> String {
        let mut text = "digraph modules {\n".to_owned();
        for NodeView { name, order, needs, on, .. } in &self.modules {
            let style = match on {
                Some(true) => "solid",
                Some(false) => "dotted",
                None => "dashed",
            };
            // Writing to a String cannot fail.
            let _ = writeln!(text, "  \"{name}\" [label=\"{name}\\n{order}\", style={style}];");
            for need in needs {
                let style = if need.optional { " [style=dashed]" } else { "" };
                let _ = writeln!(text, "  \"{name}\" -> \"{}\"{style};", need.name);
            }
        }
        text.push_str("}\n");
        text
    }
}

impl Text for GraphView {
    fn text(&self, style: Style) -> String {
        let mut table = Table::new(["ORDER", "NAME", "VERSION", "CLASS", "NEEDS", "ON", "WHY"]);
        for module in &self.modules {
            let needs: Vec<_> = module.needs.iter().map(NeedView::text).collect();
            let needs = if needs.is_empty() { "-".to_owned() } else { needs.join(", ") };
            let on = module.on.map_or("?", |on| if on { "yes" } else { "no" });
            table.row([
                module.order.to_string().into(),
                (&module.name).into(),
                module.version.as_deref().unwrap_or("-").into(),
                (&module.class).into(),
                needs.into(),
                on.into(),
                (&module.why).into(),
            ]);
        }
        table.text(style, "")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn texts_and_numbers_are_hidden_and_what_they_belong_to_is_not() {
        let mut values = json!({"global": {}, "web": {"password": "hunter2", "pin": 1234, "on": true, "none": null, "all": ["x", {"y": 1.5}]}});
        Part::Values.hide(&mut values);
        let web = json!({"password": HIDDEN, "pin": HIDDEN, "on": true, "none": null, "all": [HIDDEN, {"y": HIDDEN}]});
        assert_eq!(values, json!({"global": {}, "web": web}));
        let operations =
            json!([{"op": "add", "path": "/web/password", "value": "hunter2"}, {"op": "remove", "path": "/web/a"}]);
        let enabled = json!([{"module": "web", "hook": "a", "on": true}]);
        let mut patches = json!({"changes": [{"hook": "a", "operations": operations}], "enabled": enabled});
        Part::Patches.hide(&mut patches);
        let operations =
            json!([{"op": "add", "path": "/web/password", "value": HIDDEN}, {"op": "remove", "path": "/web/a"}]);
        assert_eq!(patches, json!({"changes": [{"hook": "a", "operations": operations}], "enabled": enabled}));
        assert_eq!(Part::parse("snapshots"), None);
    }

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
