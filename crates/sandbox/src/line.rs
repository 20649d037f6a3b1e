//! Parses a line of a hook's stdout or stderr: text, or a JSON object with a level, a message and fields. Pure.

use serde_json::{Map, Value};
use tracing::Level;

/// A line in the form that the log takes.
#[derive(Debug, PartialEq)]
pub(super) struct Line<'a> {
    pub level: Level,
    pub message: std::borrow::Cow<'a, str>,
    /// A JSON object, or empty.
    pub fields: String,
    /// Whether the line was a JSON object.
    pub proxied: bool,
}

/// Parses a line that a logging library may have written. If it has no known level, it gets `level`.
pub(super) fn read(text: &str, level: Level) -> Line<'_> {
    let object = if text.starts_with('{') { serde_json::from_str::<Map<String, Value>>(text).ok() } else { None };
    match object {
        None => Line { level, message: text.into(), fields: String::new(), proxied: false },
        Some(object) => merged(object, level),
    }
}

fn merged(mut object: Map<String, Value>, mut level: Level) -> Line<'static> {
    if let Some(known) = object.get("level").and_then(Value::as_str).and_then(level_of) {
        level = known;
        object.shift_remove("level");
    }
    // The operator's own line has a time.
    for time in ["time", "ts", "timestamp"] {
        object.shift_remove(time);
    }
    let mut message = String::new();
    for name in ["message", "msg"] {
        if let Some(Value::String(text)) = object.get(name) {
            message.clone_from(text);
            object.shift_remove(name);
        }
    }
    let fields = if object.is_empty() { String::new() } else { Value::Object(object).to_string() };
    Line { level, message: message.into(), fields, proxied: true }
}

fn level_of(word: &str) -> Option<Level> {
    Some(match word.to_ascii_lowercase().as_str() {
        "trace" | "debug" => Level::DEBUG,
        "info" | "notice" => Level::INFO,
        "warn" | "warning" => Level::WARN,
        "error" | "err" | "critical" | "fatal" | "panic" => Level::ERROR,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_object_is_text() {
        for text in ["plain", "", "[1]", "7", "{not json}", r#"{"a":1} and more"#] {
            let line = Line { level: Level::WARN, message: text.into(), fields: String::new(), proxied: false };
            assert_eq!(read(text, Level::WARN), line);
        }
    }

    #[test]
    fn objects_are_taken_apart() {
        let table = [
            (r#"{"level":"error","msg":"no","n":1}"#, Level::ERROR, "no", r#"{"n":1}"#),
            (r#"{"level":"Warning","message":"m","time":"now","ts":1}"#, Level::WARN, "m", ""),
            (r#"{"level":"trace","msg":"a","message":"b"}"#, Level::DEBUG, "a", ""),
            (r#"{"level":30,"msg":["x"]}"#, Level::INFO, "", r#"{"level":30,"msg":["x"]}"#),
            (
                r#"{"level":"loud","b":{"c":null},"a":"x"}"#,
                Level::INFO,
                "",
                r#"{"level":"loud","b":{"c":null},"a":"x"}"#,
            ),
        ];
        for (text, level, message, fields) in table {
            let expected = Line { level, message: message.into(), fields: fields.into(), proxied: true };
            assert_eq!(read(text, Level::INFO), expected, "{text}");
        }
    }
}
