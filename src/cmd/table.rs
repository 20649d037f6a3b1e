//! Results for people: tables, and differences of objects.

use std::fmt::Write as _;

use boathook_core::model::ObjectRef;
use boathook_operator::app::ModuleChange;
use serde_json::Value;
use similar::TextDiff;

/// Lines around a change.
const CONTEXT: usize = 3;

/// Rows with their columns below each other.
pub(super) fn aligned<const N: usize>(rows: &[[String; N]]) -> String {
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            let width = rows.iter().filter_map(|row| row.get(column)).map(String::len).max().unwrap_or(0);
            let _ = write!(line, "{cell:width$}  ");
        }
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}

/// The difference as `kubectl diff` shows it, with names of both sides.
pub(super) fn unified(changed: &ModuleChange, sides: [&str; 2]) -> String {
    let ObjectRef { api_version, kind, namespace, name } = &changed.object;
    let namespace = namespace.as_deref().unwrap_or_default();
    let file = format!("{}.{kind}.{namespace}.{name}", api_version.replace('/', "."));
    let yaml = |object: &Option<Value>| {
        object.as_ref().map_or_else(String::new, |object| yaml_serde::to_string(object).unwrap_or_default())
    };
    let (before, after) = (yaml(&changed.before), yaml(&changed.after));
    let [old, new] = sides.map(|side| format!("{side}/{file}"));
    let diff = TextDiff::from_lines(&before, &after);
    let hunks = diff.unified_diff().context_radius(CONTEXT).header(&old, &new).to_string();
    format!("diff -u -N {old} {new}\n{hunks}")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;

    #[test]
    fn a_difference_looks_like_that_of_kubectl() {
        let map = |value: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web"}, "data": {"a": value}});
        let object = ObjectRef {
            api_version: "v1".to_owned(),
            kind: "ConfigMap".to_owned(),
            namespace: Some("shop".to_owned()),
            name: "web".to_owned(),
        };
        let changed = ModuleChange { object, before: Some(map("1")), after: Some(map("2")) };
        let expected = "diff -u -N APPLIED/v1.ConfigMap.shop.web PLANNED/v1.ConfigMap.shop.web\n\
                        --- APPLIED/v1.ConfigMap.shop.web\n+++ PLANNED/v1.ConfigMap.shop.web\n@@ -3,4 +3,4 @@\n metadata:\n   \
                        name: web\n data:\n-  a: '1'\n+  a: '2'\n";
        assert_eq!(unified(&changed, ["APPLIED", "PLANNED"]), expected);
    }
}
