//! The format of a log line: the same fields in the same order, as text and as JSON.
//!
//! A hook can add fields to a line with the field `fields`, which contains a JSON object. Its members become fields of
//! the line, and none of them can pretend to be one of the operator's.

use std::fmt::{self, Write as _};

use serde_json::{Map, Value};
use tracing::{
    Event, Level, Subscriber,
    field::{Field, Visit},
};
use tracing_subscriber::{
    fmt::{
        FmtContext, FormatEvent, FormatFields, FormattedFields,
        format::Writer,
        time::{FormatTime as _, SystemTime},
    },
    registry::LookupSpan,
};

use super::LogFormat;

/// Writes lines in this format.
pub(super) struct Lines(pub LogFormat);

impl<S, N> FormatEvent<S, N> for Lines
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(&self, context: &FmtContext<'_, S, N>, mut out: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        let mut collected = Collected::default();
        event.record(&mut collected);
        let span = span_text(context);
        let (meta, fields) = (event.metadata(), collected.fields(span));
        match self.0 {
            LogFormat::Text => text(&mut out, *meta.level(), meta.target(), &collected.message, &fields),
            LogFormat::Json => json(&mut out, *meta.level(), meta.target(), collected.message, fields),
        }
    }
}

/// The spans around an event, in the format of the client library.
fn span_text<S, N>(context: &FmtContext<'_, S, N>) -> Option<String>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    let mut spans = String::new();
    for span in context.event_scope()?.from_root() {
        let extensions = span.extensions();
        let fields = extensions.get::<FormattedFields<N>>().map_or("", |fields| fields.fields.as_str());
        let between = if spans.is_empty() { "" } else { ":" };
        // Writing to a String cannot fail.
        let _ = write!(spans, "{between}{}{{{fields}}}", span.name());
    }
    Some(spans).filter(|spans| !spans.is_empty())
}

#[derive(Default)]
struct Collected {
    message: String,
    own: Map<String, Value>,
    of_hook: Map<String, Value>,
}

impl Collected {
    fn fields(&mut self, span: Option<String>) -> Map<String, Value> {
        let mut fields = std::mem::take(&mut self.own);
        if let Some(span) = span {
            fields.insert("span".to_owned(), span.into());
        }
        for (name, value) in std::mem::take(&mut self.of_hook) {
            let taken = RESERVED.contains(&name.as_str()) || fields.contains_key(&name);
            fields.insert(if taken { format!("fields.{name}") } else { name }, value);
        }
        fields
    }

    fn insert(&mut self, field: &Field, value: impl Into<Value>) {
        self.own.insert(field.name().to_owned(), value.into());
    }
}

/// The fields of every line.
const RESERVED: [&str; 4] = ["timestamp", "level", "message", "target"];

impl Visit for Collected {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.record_str(field, &format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "message" => value.clone_into(&mut self.message),
            "fields" => match serde_json::from_str(value) {
                Ok(Value::Object(object)) => self.of_hook = object,
                _ => self.insert(field, value),
            },
            _ => self.insert(field, value),
        }
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.insert(field, value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.insert(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.insert(field, value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.insert(field, value);
    }
}

fn json(out: &mut Writer<'_>, level: Level, target: &str, message: String, fields: Map<String, Value>) -> fmt::Result {
    let mut line = Map::with_capacity(4 + fields.len());
    line.insert("timestamp".to_owned(), now().into());
    line.insert("level".to_owned(), level.as_str().into());
    line.insert("message".to_owned(), message.into());
    line.insert("target".to_owned(), target.into());
    line.extend(fields);
    writeln!(out, "{}", Value::Object(line))
}

fn now() -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = SystemTime.format_time(&mut Writer::new(&mut text));
    text
}

fn text(out: &mut Writer<'_>, level: Level, target: &str, message: &str, fields: &Map<String, Value>) -> fmt::Result {
    let coloured = out.has_ansi_escapes();
    let (dim, plain) = if coloured { ("\u{1b}[2m", "\u{1b}[0m") } else { ("", "") };
    let colour = if coloured { colour(level) } else { "" };
    write!(out, "{dim}{}{plain} {colour}{level:>5}{plain} {dim}{target}:{plain} ", now())?;
    write_escaped(out, message)?;
    for (name, value) in fields {
        write!(out, " {dim}")?;
        write_word(out, name)?;
        write!(out, "={plain}")?;
        match value {
            Value::String(text) => write_word(out, text)?,
            other => write!(out, "{other}")?,
        }
    }
    writeln!(out)
}

fn colour(level: Level) -> &'static str {
    match level {
        Level::ERROR => "\u{1b}[31m",
        Level::WARN => "\u{1b}[33m",
        Level::INFO => "\u{1b}[32m",
        Level::DEBUG => "\u{1b}[34m",
        Level::TRACE => "\u{1b}[35m",
    }
}

/// Writes quotes if the word could be misread without them.
fn write_word(out: &mut Writer<'_>, word: &str) -> fmt::Result {
    let clear = |c: char| !c.is_whitespace() && !c.is_control() && !matches!(c, '"' | '=' | '{');
    if !word.is_empty() && word.chars().all(clear) { out.write_str(word) } else { write!(out, "{word:?}") }
}

/// Writes any text on one line.
fn write_escaped(out: &mut Writer<'_>, text: &str) -> fmt::Result {
    for c in text.chars() {
        if c.is_control() && c != '\t' {
            write!(out, "{}", c.escape_default())?;
        } else {
            out.write_char(c)?;
        }
    }
    Ok(())
}
