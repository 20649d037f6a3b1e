//! Which objects a selector chooses: the document's form of selectors, and the text of a list call.
//!
//! Pure.

use crate::kube::Object;
use serde::Deserialize;
use std::collections::BTreeMap;

/// Chooses by labels; all conditions must hold.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct LabelSelector {
    match_labels: BTreeMap<String, String>,
    match_expressions: Vec<Expression>,
}

#[derive(Clone, Debug, Deserialize)]
struct Expression {
    key: String,
    operator: String,
    #[serde(default)]
    values: Vec<String>,
}

/// Chooses by fields; all conditions must hold.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct FieldSelector {
    match_expressions: Vec<Field>,
}

#[derive(Clone, Debug, Deserialize)]
struct Field {
    field: String,
    operator: String,
    value: String,
}

impl LabelSelector {
    pub fn matches(&self, object: &Object) -> bool {
        self.match_labels.iter().all(|(key, value)| object.label(key) == Some(value))
            && self.match_expressions.iter().all(|expression| expression.holds(object.label(&expression.key)))
    }

    /// `app=web,tier in (a,b),!old`
    pub fn parse(text: &str) -> Result<Self, String> {
        let terms = split(text);
        let expressions = terms.iter().map(|term| Expression::parse(term)).collect::<Result<_, _>>()?;
        Ok(Self { match_labels: BTreeMap::new(), match_expressions: expressions })
    }
}

impl Expression {
    fn holds(&self, value: Option<&str>) -> bool {
        let listed = value.is_some_and(|value| self.values.iter().any(|known| known == value));
        match self.operator.as_str() {
            "In" => listed,
            "NotIn" => !listed,
            "Exists" => value.is_some(),
            _ => value.is_none(),
        }
    }

    fn parse(term: &str) -> Result<Self, String> {
        let made = |key: &str, operator: &str, values: Vec<String>| {
            let key = key.trim();
            let valid = !key.is_empty() && !key.contains(|c: char| c.is_whitespace() || "!=()".contains(c));
            valid
                .then(|| Self { key: key.to_owned(), operator: operator.to_owned(), values })
                .ok_or_else(|| format!("the label selector has the term {term:?}, which cannot be read"))
        };
        let one = |value: &str| vec![value.trim().to_owned()];
        if let Some((head, list)) = term.strip_suffix(')').and_then(|term| term.split_once('(')) {
            let values = list.split(',').map(|value| value.trim().to_owned()).collect();
            return match head.trim().rsplit_once(char::is_whitespace) {
                Some((key, "in")) => made(key, "In", values),
                Some((key, "notin")) => made(key, "NotIn", values),
                _ => made("", "", values),
            };
        }
        if let Some((key, value)) = term.split_once("!=") {
            return made(key, "NotIn", one(value));
        }
        if let Some((key, value)) = term.split_once("==").or_else(|| term.split_once('=')) {
            return made(key, "In", one(value));
        }
        match term.strip_prefix('!') {
            Some(key) => made(key, "DoesNotExist", Vec::new()),
            None => made(term, "Exists", Vec::new()),
        }
    }
}

impl FieldSelector {
    pub fn matches(&self, object: &Object) -> bool {
        self.match_expressions.iter().all(|term| {
            let pointer = format!("/{}", term.field.replace('.', "/"));
            let text = match object.pointer(&pointer) {
                None => String::new(),
                Some(value) => value.as_str().map_or_else(|| value.to_string(), str::to_owned),
            };
            let equal = text == term.value;
            if matches!(term.operator.as_str(), "NotEquals" | "!=") { !equal } else { equal }
        })
    }

    /// `metadata.name=a,status.phase!=Failed`
    pub fn parse(text: &str) -> Result<Self, String> {
        let term = |term: &String| {
            let (field, operator, value) = match term.split_once("!=") {
                Some((field, value)) => (field, "NotEquals", value),
                None => match term.split_once("==").or_else(|| term.split_once('=')) {
                    Some((field, value)) => (field, "Equals", value),
                    None => return Err(format!("the field selector has the term {term:?}, which cannot be read")),
                },
            };
            let texts = [field, operator, value].map(|text| text.trim().to_owned());
            let [field, operator, value] = texts;
            Ok(Field { field, operator, value })
        };
        Ok(Self { match_expressions: split(text).iter().map(term).collect::<Result<_, _>>()? })
    }
}

/// The terms between commas that are not in brackets.
fn split(text: &str) -> Vec<String> {
    let (mut terms, mut depth) = (vec![String::new()], 0);
    for c in text.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        match terms.last_mut() {
            Some(last) if c != ',' || depth > 0 => last.push(c),
            _ => terms.push(String::new()),
        }
    }
    terms.iter().map(|term| term.trim().to_owned()).filter(|term| !term.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use super::*;
    use serde_json::json;

    fn pod() -> Object {
        json!({"metadata": {"name": "a", "labels": {"app": "web", "tier": "b"}}, "spec": {"nodeName": "n1", "n": 1}})
            .into()
    }

    #[test]
    fn label_selectors_are_read_as_kubectl_reads_them() {
        for (text, expected) in [
            ("", true),
            ("app=web", true),
            ("app==web,tier in (a, b)", true),
            ("tier in (a)", false),
            ("tier notin (a,c),!old,app", true),
            ("missing notin (a)", true),
            ("!app", false),
            ("app!=web", false),
        ] {
            assert_eq!(LabelSelector::parse(text).unwrap().matches(&pod()), expected, "{text}");
        }
        for wrong in ["a b", "in (x)", "=x", "tier within (a)"] {
            assert!(LabelSelector::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn field_selectors_compare_texts() {
        for (text, expected) in [
            ("metadata.name=a,spec.nodeName!=n2", true),
            ("spec.nodeName==n2", false),
            ("spec.n=1", true),
            ("status.phase=", true),
        ] {
            assert_eq!(FieldSelector::parse(text).unwrap().matches(&pod()), expected, "{text}");
        }
        assert!(FieldSelector::parse("spec.nodeName").is_err());
    }
}
