//! Writes values as YAML text in the layout of kube-apiserver's library: sorted keys, its quotes, its line breaks.

use serde_json::{Map, Value};

/// Lines break at the first space after this many characters.
const WIDTH: usize = 80;

pub(crate) fn text(value: &Value) -> String {
    let mut out = String::new();
    match value {
        Value::Object(map) if !map.is_empty() => object(map, 0, &mut out),
        Value::Array(items) if !items.is_empty() => list(items, 0, &mut out),
        other => scalar(other, 0, &mut out),
    }
    out
}

fn object(map: &Map<String, Value>, indent: usize, out: &mut String) {
    let mut keys: Vec<&String> = map.keys().collect();
    keys.sort();
    for (index, key) in keys.into_iter().enumerate() {
        // The first key may follow the dash of a list.
        if index > 0 || !out.ends_with("- ") {
            out.push_str(&" ".repeat(indent));
        }
        string(key, usize::MAX, out);
        out.push(':');
        match map.get(key) {
            Some(Value::Object(inner)) if !inner.is_empty() => {
                out.push('\n');
                object(inner, indent + 2, out);
            }
            Some(Value::Array(items)) if !items.is_empty() => {
                out.push('\n');
                list(items, indent, out);
            }
            other => {
                out.push(' ');
                scalar(other.unwrap_or(&Value::Null), indent + 2, out);
            }
        }
    }
}

fn list(items: &[Value], indent: usize, out: &mut String) {
    for (index, item) in items.iter().enumerate() {
        if index > 0 || !out.ends_with("- ") {
            out.push_str(&" ".repeat(indent));
        }
        out.push_str("- ");
        match item {
            Value::Object(map) if !map.is_empty() => object(map, indent + 2, out),
            Value::Array(inner) if !inner.is_empty() => list(inner, indent + 2, out),
            other => scalar(other, indent + 2, out),
        }
    }
}

/// A value on the rest of a line, and the line's end.
fn scalar(value: &Value, indent: usize, out: &mut String) {
    match value {
        Value::String(text) if text.contains('\n') && is_printable(text) => block(text, indent, out),
        Value::String(text) => string(text, indent, out),
        other => out.push_str(&other.to_string()),
    }
    if !out.ends_with('\n') {
        out.push('\n');
    }
}

fn is_printable(text: &str) -> bool {
    text.chars().all(|c| !c.is_control() || c == '\n') && !text.starts_with([' ', '\n']) && !text.contains(" \n")
}

/// A literal block of several lines.
fn block(text: &str, indent: usize, out: &mut String) {
    out.push('|');
    out.push_str(match (text.ends_with("\n\n"), text.ends_with('\n')) {
        (true, _) => "+",
        (_, true) => "",
        _ => "-",
    });
    for line in text.strip_suffix('\n').unwrap_or(text).split('\n') {
        out.push('\n');
        if !line.is_empty() {
            out.push_str(&" ".repeat(indent));
            out.push_str(line);
        }
    }
    out.push('\n');
}

/// A text in the simplest quotes that preserve it.
fn string(text: &str, indent: usize, out: &mut String) {
    if text.is_empty() || reads_as_other(text) || text.chars().any(char::is_control) {
        // JSON's escapes are valid in YAML.
        out.push_str(&Value::from(text).to_string());
    } else if is_plain(text) {
        folded(text, indent, out);
    } else {
        out.push('\'');
        folded(&text.replace('\'', "''"), indent, out);
        out.push('\'');
    }
}

/// Breaks a long text at single spaces.
fn folded(text: &str, indent: usize, out: &mut String) {
    let mut column = out.len() - out.rfind('\n').map_or(0, |at| at + 1);
    let mut before = ' ';
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let single = c == ' ' && before != ' ' && chars.peek().is_some_and(|next| *next != ' ');
        if single && column > WIDTH && indent != usize::MAX {
            out.push('\n');
            out.push_str(&" ".repeat(indent));
            column = indent;
        } else {
            out.push(c);
            column += 1;
        }
        before = c;
    }
}

fn is_plain(text: &str) -> bool {
    let first = text.chars().next().unwrap_or(' ');
    let second = text.chars().nth(1).unwrap_or(' ');
    let opens = "#,[]{}&*!|>'\"%@`".contains(first) || "-?:".contains(first) && second == ' ';
    let marks = text.starts_with("---") || text.starts_with("...");
    let inside = text.contains(": ") || text.contains(" #") || text.ends_with(':');
    !(opens || marks || inside || text.starts_with(' ') || text.ends_with(' '))
}

/// Whether a parser would read the text as a number, a date, a boolean or null.
fn reads_as_other(text: &str) -> bool {
    const WORDS: &[&str] =
        &["null", "~", "true", "false", "yes", "no", "on", "off", "y", "n", "<<", ".inf", ".nan", "="];
    let lower = text.to_ascii_lowercase();
    if WORDS.contains(&lower.trim_start_matches(['+', '-'])) {
        return true;
    }
    if !text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.')) {
        return false;
    }
    let digits = lower.replace('_', "");
    let unsigned = digits.trim_start_matches(['+', '-']);
    let based = [("0x", 16), ("0b", 2), ("0o", 8)].into_iter();
    let based = based.filter_map(|(prefix, base)| u64::from_str_radix(unsigned.strip_prefix(prefix)?, base).ok());
    let date = text.len() >= 8 && text.get(..4).is_some_and(|year| year.bytes().all(|b| b.is_ascii_digit()));
    let date = date && (text.parse::<jiff::Timestamp>().is_ok() || text.parse::<jiff::civil::Date>().is_ok());
    let sixties = unsigned.contains(':') && unsigned.chars().all(|c| c.is_ascii_digit() || matches!(c, ':' | '.'));
    date || sixties
        || based.count() > 0
        || digits.parse::<f64>().is_ok() && !lower.contains("inf") && !lower.contains("nan")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_quoted_as_little_as_can_be() {
        let value = serde_json::json!({
            "b": ["1", "true", "a: b", "a:b", "-", "x y", "", "it's", "*", "0x1f", "1.2.3.4", "2026-01-01T00:00:00Z", 7],
            "a": { "f:x": {}, ".": [], "e": null },
            "c": "one\ntwo\n",
            "d": "word ".repeat(20).trim_end(),
        });
        let expected = "a:\n  .: []\n  e: null\n  f:x: {}\nb:\n- \"1\"\n- \"true\"\n- 'a: b'\n- a:b\n- '-'\n- x y\n- \"\"\n\
            - it's\n- '*'\n- \"0x1f\"\n- 1.2.3.4\n- \"2026-01-01T00:00:00Z\"\n- 7\nc: |\n  one\n  two\nd: word word word word \
            word word word word word word word word word word word word\n  word word word word\n";
        assert_eq!(text(&value), expected);
        let back: Value = yaml_serde::from_str(&text(&value)).unwrap_or_default();
        assert_eq!(back, value);
    }
}
