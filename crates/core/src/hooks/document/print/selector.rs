//! Converts selectors from the API's notation to the document's. Boathook wrote the text, so its form is known and not
//! checked.

use serde_json::{Map, Value, json};

/// `a=b,c in (d,e),!f` as matchLabels and matchExpressions.
pub(in crate::hooks::document) fn labels(selector: &str) -> Value {
    let (mut labels, mut expressions) = (Map::new(), Vec::new());
    for term in split(selector) {
        match term.split_once('=') {
            Some((key, value)) => drop(labels.insert(key.to_owned(), json!(value))),
            None => expressions.push(label_expression(term)),
        }
    }
    let mut printed = Map::new();
    if !labels.is_empty() {
        printed.insert("matchLabels".to_owned(), labels.into());
    }
    if !expressions.is_empty() {
        printed.insert("matchExpressions".to_owned(), expressions.into());
    }
    printed.into()
}

/// The terms of a label selector. Commas within parentheses separate values, and variables have parentheses, too.
fn split(selector: &str) -> Vec<&str> {
    let mut terms = Vec::new();
    let mut rest = selector;
    while !rest.is_empty() {
        let mut depth = 0_usize;
        let ends = |c: char| {
            match c {
                '(' => depth += 1,
                ')' => depth = depth.saturating_sub(1),
                _ => {}
            }
            c == ',' && depth == 0
        };
        let end = rest.find(ends).unwrap_or(rest.len());
        let (term, after) = rest.split_at(end);
        terms.push(term);
        rest = after.strip_prefix(',').unwrap_or(after);
    }
    terms
}

fn label_expression(term: &str) -> Value {
    let set = |key: &str, operator: &str, values: &str| {
        let values: Vec<_> = values.strip_suffix(')').unwrap_or(values).split(',').collect();
        json!({ "key": key, "operator": operator, "values": values })
    };
    if let Some((key, values)) = term.split_once(" in (") {
        set(key, "In", values)
    } else if let Some((key, values)) = term.split_once(" notin (") {
        set(key, "NotIn", values)
    } else if let Some(key) = term.strip_prefix('!') {
        json!({ "key": key, "operator": "DoesNotExist" })
    } else {
        json!({ "key": term, "operator": "Exists" })
    }
}

/// `a=b,c!=d\,e` as matchExpressions.
pub(super) fn fields(selector: &str) -> Value {
    let mut terms = vec![String::new()];
    let mut escaped = false;
    for c in selector.chars() {
        if c == ',' && !escaped {
            terms.push(String::new());
        } else if let Some(term) = terms.last_mut() {
            term.push(c);
        }
        escaped = c == '\\' && !escaped;
    }
    let terms: Vec<_> = terms.iter().map(|term| field_term(term)).collect();
    json!({ "matchExpressions": terms })
}

fn field_term(term: &str) -> Value {
    let (field, value) = term.split_once('=').unwrap_or((term, ""));
    let (field, operator) = field.strip_suffix('!').map_or((field, "="), |field| (field, "!="));
    let mut plain = String::new();
    let mut characters = value.chars();
    while let Some(c) = characters.next() {
        plain.extend(if c == '\\' { characters.next() } else { Some(c) });
    }
    json!({ "field": field, "operator": operator, "value": plain })
}
