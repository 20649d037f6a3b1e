//! Prints the objects: YAML with the reason of each rule above it, or one JSON list.

use std::fmt::Write as _;

use boathook_core::model::Permission;
use serde_json::{Value, json};

use super::{
    objects::{Manifest, Object},
    rules::Rule,
};

/// YAML documents for `kubectl apply`.
pub fn yaml(manifest: &Manifest) -> String {
    // Writing to a String cannot fail.
    let mut out = String::new();
    let _ = writeln!(out, "# {}.", sentence(&manifest.title));
    let _ =
        writeln!(out, "# Made by `boathook rbac`; make it again when hooks change. Namespaces must be there before.");
    for note in &manifest.notes {
        let _ = writeln!(out, "# Note: {}.", one_line(note));
    }
    for object in &manifest.objects {
        out.push_str("---\n");
        document(object, &mut out);
    }
    out
}

/// A `List` of all objects.
pub fn json(manifest: &Manifest) -> Value {
    let items: Vec<_> = manifest.objects.iter().map(whole).collect();
    json!({ "apiVersion": "v1", "kind": "List", "items": items })
}

/// The block for a hook's document.
pub fn permissions_yaml(permissions: &[Permission]) -> String {
    if permissions.is_empty() {
        return "permissions: {}\n".to_owned();
    }
    let mut out = "permissions:\n  kubernetes:\n".to_owned();
    for permission in permissions {
        let all = [
            ("apiGroups", &permission.api_groups),
            ("resources", &permission.resources),
            ("verbs", &permission.verbs),
            ("resourceNames", &permission.resource_names),
            ("namespaces", &permission.namespaces),
        ];
        let mut mark = '-';
        for (key, texts) in all.into_iter().filter(|(_, texts)| !texts.is_empty()) {
            let _ = writeln!(out, "    {mark} {key}: {}", flow(texts));
            mark = ' ';
        }
    }
    out
}

fn document(object: &Object, out: &mut String) {
    if !object.comment.is_empty() {
        let _ = writeln!(out, "# {}", one_line(&object.comment));
    }
    out.push_str(&yaml_serde::to_string(&object.head).unwrap_or_default());
    if !object.rules.is_empty() {
        out.push_str("rules:\n");
    }
    for rule in &object.rules {
        for reason in &rule.reasons {
            let _ = writeln!(out, "  # {}", one_line(&reason.to_string()));
        }
        let mut mark = '-';
        for (key, texts) in fields(rule) {
            let _ = writeln!(out, "  {mark} {key}: {}", flow(texts));
            mark = ' ';
        }
    }
}

fn whole(object: &Object) -> Value {
    let mut whole = object.head.clone();
    if let (Some(fields_of), false) = (whole.as_object_mut(), object.rules.is_empty()) {
        fields_of.insert("rules".to_owned(), object.rules.iter().map(value).collect());
    }
    whole
}

/// The rule in RBAC's format.
fn value(rule: &Rule) -> Value {
    fields(rule).map(|(key, texts)| (key.to_owned(), json!(texts))).collect::<serde_json::Map<_, _>>().into()
}

fn fields(rule: &Rule) -> impl Iterator<Item = (&'static str, &[String])> {
    let all: [(&'static str, &[String]); 4] = [
        ("apiGroups", &rule.groups),
        ("resources", &rule.resources),
        ("resourceNames", &rule.names),
        ("verbs", &rule.verbs),
    ];
    all.into_iter().filter(|(_, texts)| !texts.is_empty())
}

/// JSON is also YAML. A list in one line is easier to read.
fn flow(texts: &[String]) -> String {
    let quoted: Vec<_> = texts.iter().map(|text| Value::from(text.as_str()).to_string()).collect();
    format!("[{}]", quoted.join(", "))
}

/// Names of bindings may contain any character, but a comment ends with its line.
fn one_line(text: &str) -> String {
    text.replace(|c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}'), " ")
}

fn sentence(text: &str) -> String {
    let text = one_line(text);
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::one_line;

    #[test]
    fn no_name_can_end_a_comment() {
        assert_eq!(one_line("a\nrules: x\r\u{85}\u{2028}b"), "a rules: x   b");
    }
}
