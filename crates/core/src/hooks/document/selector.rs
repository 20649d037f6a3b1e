//! Checks selectors, and writes them as the API takes them in a query.

use super::fields::{Fields, quoted};
use crate::model::{AnnotationRule, AnnotationTest, is_variable};

/// `nameSelector` or `namespace.nameSelector`.
pub(super) fn names(fields: &Fields<'_, '_>) -> Vec<String> {
    let names = fields.need("matchNames", fields.strings("matchNames")).unwrap_or_default();
    check_names(fields, &names);
    fields.finish();
    names
}

/// `namespace`: the names and the labels. A namespace must match both.
pub(super) fn namespaces(fields: &Fields<'_, '_>) -> (Vec<String>, Option<String>) {
    let namespaces = fields.fields("nameSelector").map(|selector| names(&selector)).unwrap_or_default();
    let by_label = fields.fields("labelSelector").and_then(|selector| labels(&selector));
    fields.finish();
    (namespaces, by_label)
}

/// `namespaceSelector` of documents without a version.
pub(super) fn namespaces_v0(fields: &Fields<'_, '_>) -> Vec<String> {
    let names = fields.strings("matchNames").unwrap_or_default();
    check_names(fields, &names);
    let any = fields.boolean("any") == Some(true);
    if any && !names.is_empty() {
        fields.warn("matchNames", "is ignored, since `any` is true");
    }
    fields.finish_loosely();
    if any { Vec::new() } else { names }
}

/// Names become parts of paths and of field selectors.
fn check_names(fields: &Fields<'_, '_>, names: &[String]) {
    for (i, name) in names.iter().enumerate() {
        let valid = !matches!(name.as_str(), "" | "." | "..") && name.len() <= 253 && !name.contains(['/', '%']);
        fields.check(valid, &format!("matchNames[{i}]"), || {
            format!("is {}, which cannot be a name (1 to 253 bytes, without '/' and '%')", quoted(name))
        });
    }
}

pub(super) fn labels(fields: &Fields<'_, '_>) -> Option<String> {
    let terms = label_terms(fields);
    if !fields.has("matchLabels") && !fields.has("matchExpressions") {
        fields.wrong("matchLabels", "is missing; a labelSelector needs matchLabels, matchExpressions or both");
    }
    fields.finish();
    terms
}

/// `selector` of documents without a version, which may be empty.
pub(super) fn labels_v0(fields: &Fields<'_, '_>) -> Option<String> {
    let terms = label_terms(fields);
    fields.finish_loosely();
    terms
}

fn label_terms(fields: &Fields<'_, '_>) -> Option<String> {
    let mut terms = Vec::new();
    for (key, value) in fields.string_map("matchLabels").unwrap_or_default() {
        let path = format!("matchLabels.{key}");
        if check_key(fields, &path, key) & check_value(fields, &path, value) {
            terms.push(format!("{key}={value}"));
        }
    }
    for item in fields.items("matchExpressions") {
        terms.extend(label_expression(&item));
    }
    (!terms.is_empty()).then(|| terms.join(","))
}

/// `annotationSelector`. Unlike the values of labels, those of annotations are any text.
pub(super) fn annotations(fields: &Fields<'_, '_>) -> Vec<AnnotationRule> {
    let mut rules = Vec::new();
    for (key, value) in fields.string_map("matchAnnotations").unwrap_or_default() {
        if check_key(fields, &format!("matchAnnotations.{key}"), key) {
            rules.push(AnnotationRule { key: key.to_owned(), test: AnnotationTest::In(vec![value.to_owned()]) });
        }
    }
    for item in fields.items("matchExpressions") {
        rules.extend(annotation_expression(&item));
    }
    if !fields.has("matchAnnotations") && !fields.has("matchExpressions") {
        let message = "is missing; an annotationSelector needs matchAnnotations, matchExpressions or both";
        fields.wrong("matchAnnotations", message);
    }
    fields.finish();
    rules
}

fn annotation_expression(fields: &Fields<'_, '_>) -> Option<AnnotationRule> {
    let Expression { key, operator, values, valid } = expression(fields)?;
    let test = match operator {
        Operator::In => AnnotationTest::In(values),
        Operator::NotIn => AnnotationTest::NotIn(values),
        Operator::Exists => AnnotationTest::Exists,
        Operator::DoesNotExist => AnnotationTest::DoesNotExist,
    };
    valid.then(|| AnnotationRule { key: key.to_owned(), test })
}

#[derive(Clone, Copy, PartialEq)]
enum Operator {
    In,
    NotIn,
    Exists,
    DoesNotExist,
}

/// One of `matchExpressions`.
struct Expression<'v> {
    key: &'v str,
    operator: Operator,
    values: Vec<String>,
    /// Nothing was wrong with it so far.
    valid: bool,
}

fn expression<'v>(fields: &Fields<'v, '_>) -> Option<Expression<'v>> {
    let key = fields.required_string("key");
    let operators = [
        ("In", Operator::In),
        ("NotIn", Operator::NotIn),
        ("Exists", Operator::Exists),
        ("DoesNotExist", Operator::DoesNotExist),
    ];
    let operator = fields.required_string("operator").and_then(|_| fields.word("operator", &operators));
    let values = fields.strings("values").unwrap_or_default();
    fields.finish();
    let (key, operator) = (key?, operator?);
    let mut valid = check_key(fields, "key", key);
    let wants_values = matches!(operator, Operator::In | Operator::NotIn);
    if wants_values == values.is_empty() {
        let rule = if wants_values {
            "must not be empty with In and NotIn"
        } else {
            "must be left out with Exists and DoesNotExist"
        };
        fields.wrong("values", rule);
        valid = false;
    }
    Some(Expression { key, operator, values, valid })
}

fn label_expression(fields: &Fields<'_, '_>) -> Option<String> {
    let Expression { key, operator, values, mut valid } = expression(fields)?;
    for (i, value) in values.iter().enumerate() {
        valid &= check_value(fields, &format!("values[{i}]"), value);
    }
    let values = values.join(",");
    valid.then(|| match operator {
        Operator::In => format!("{key} in ({values})"),
        Operator::NotIn => format!("{key} notin ({values})"),
        Operator::Exists => key.to_owned(),
        Operator::DoesNotExist => format!("!{key}"),
    })
}

/// `fieldSelector`. `by_name`: there is a nameSelector, too.
pub(super) fn fields(fields: &Fields<'_, '_>, by_name: bool) -> Option<String> {
    let terms: Vec<_> = fields.items("matchExpressions").filter_map(|item| field_expression(&item, by_name)).collect();
    fields.need("matchExpressions", Some(()));
    fields.finish();
    (!terms.is_empty()).then(|| terms.join(","))
}

fn field_expression(fields: &Fields<'_, '_>, by_name: bool) -> Option<String> {
    let field = fields.required_string("field");
    let operators = [("=", "="), ("==", "="), ("Equals", "="), ("!=", "!="), ("NotEquals", "!=")];
    let operator = fields.required_string("operator").and_then(|_| fields.word("operator", &operators));
    let value = fields.need("value", fields.string("value"));
    fields.finish();
    if by_name && field == Some("metadata.name") {
        fields.wrong("field", "is metadata.name, and there is a nameSelector; use one of them");
    }
    Some(format!("{}{}{}", field?, operator?, escape(value?)))
}

/// Does the same as `fields.EscapeValue` of apimachinery.
fn escape(value: &str) -> String {
    value.replace('\\', "\\\\").replace(',', "\\,").replace('=', "\\=")
}

fn check_key(fields: &Fields<'_, '_>, path: &str, key: &str) -> bool {
    fields.check(is_label_key(key), path, || {
        format!(
            "has the key {}, which is not a label key (up to 63 letters, digits, '-', '_', '.', optionally after \
             a DNS name and '/')",
            quoted(key)
        )
    })
}

fn check_value(fields: &Fields<'_, '_>, path: &str, value: &str) -> bool {
    fields.check(is_label_text(value) || is_variable(value), path, || {
        let rule = "up to 63 letters, digits, '-', '_', '.'";
        format!("has the value {}, which is not a label value ({rule})", quoted(value))
    })
}

/// For example `app` or `example.com/app`.
pub(super) fn is_label_key(key: &str) -> bool {
    let (prefix, name) = match key.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    };
    !name.is_empty() && is_label_text(name) && prefix.is_none_or(is_subdomain)
}

pub(super) fn is_subdomain(text: &str) -> bool {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    text.len() <= 253 && text.split('.').all(|part| !part.is_empty() && is_word(part, inner))
}

fn is_label_text(text: &str) -> bool {
    text.len() <= 63 && is_word(text, |c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
}

/// Only `inner` characters, with letters or digits at both ends. Empty text is a word.
fn is_word(text: &str, inner: impl Fn(char) -> bool) -> bool {
    let end = |c: Option<char>| c.is_none_or(|c| c.is_ascii_alphanumeric());
    text.chars().all(inner) && end(text.chars().next()) && end(text.chars().last())
}
