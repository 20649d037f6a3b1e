//! Sets up logging for the whole process, once. Its level can be changed while the process runs.
//!
//! Lines go to stderr, so that stdout stays free for the output of commands.

mod control;
mod lines;

use std::{
    fmt,
    io::{self, IsTerminal as _},
    str::FromStr,
};

use tracing::Subscriber;
use tracing_subscriber::{
    Layer, Registry,
    fmt::MakeWriter,
    layer::{Layered, SubscriberExt as _},
    registry::LookupSpan,
    reload,
};

use control::{Filter, parse};
pub use control::{LogControl, Setting};
use lines::Lines;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogFormat {
    /// For people: time, level, target, message, fields.
    #[default]
    Text,
    /// One JSON object in each line: `timestamp`, `level`, `message`, `target`, and the same fields as text.
    Json,
}

impl FromStr for LogFormat {
    type Err = LogError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "text" => Ok(Self::Text),
            "json" => Ok(Self::Json),
            _ => Err(LogError::Format(text.to_owned())),
        }
    }
}

impl fmt::Display for LogFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Text => "text",
            Self::Json => "json",
        })
    }
}

/// Why logging cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The format is unknown.
    #[error("log format {0:?} is unknown: use text or json")]
    Format(String),
    /// The filter is invalid.
    #[error("log filter {filter:?} can't be read: use a level, or a list like info,boathook_kube::watch=debug")]
    Filter {
        filter: String,
        #[source]
        source: tracing_subscriber::filter::ParseError,
    },
    /// The writer of the lines is gone.
    #[error("the log has ended")]
    Gone,
    /// Logging was already set up.
    #[error("logging is set up already")]
    Twice(#[source] tracing::subscriber::SetGlobalDefaultError),
}

/// The lines as the operator writes them, with a filter that the control can change.
pub type LogLayer<S> = Box<dyn Layer<S> + Send + Sync>;

/// Sets up logging of the process to stderr. `filter` is a level (`off`, `error`, `warn`, `info`, `debug`, `trace`) or
/// a list of `target=level`, as in `info,boathook_kube::watch=debug`. Text is coloured if stderr is a terminal and
/// `NO_COLOR` is not set.
pub fn init(format: LogFormat, filter: &str) -> Result<LogControl, LogError> {
    let (layer, control) = layer(format, filter, colours(), io::stderr)?;
    set_up(Registry::default().with(layer))?;
    Ok(control)
}

/// Like [`init`], with one more layer, which receives everything that it requests.
pub fn init_with<L>(format: LogFormat, filter: &str, more: L) -> Result<LogControl, LogError>
where
    L: Layer<Layered<LogLayer<Registry>, Registry>> + Send + Sync,
{
    let (layer, control) = layer(format, filter, colours(), io::stderr)?;
    set_up(Registry::default().with(layer).with(more))?;
    Ok(control)
}

/// Like [`init`], but writes to `to`, which shows the lines in another way. Text has no colours.
pub fn init_to<W>(format: LogFormat, filter: &str, to: W) -> Result<LogControl, LogError>
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let (layer, control) = layer(format, filter, false, to)?;
    set_up(Registry::default().with(layer))?;
    Ok(control)
}

fn set_up(subscriber: impl Subscriber + Send + Sync) -> Result<(), LogError> {
    tracing::subscriber::set_global_default(subscriber).map_err(LogError::Twice)
}

fn colours() -> bool {
    io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// The layer that writes lines, for a subscriber of the caller.
pub fn layer<S, W>(format: LogFormat, filter: &str, colours: bool, to: W) -> Result<(LogLayer<S>, LogControl), LogError>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let (targets, handle) = reload::Layer::<Filter, S>::new(parse(filter)?);
    let lines = tracing_subscriber::fmt::layer()
        .with_ansi(colours && format == LogFormat::Text)
        .event_format(Lines(format))
        .with_writer(to);
    Ok((Box::new(lines.with_filter(targets)), LogControl::new(filter, handle)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use std::sync::{Arc, Mutex};

    use serde_json::Value;

    use super::*;

    #[derive(Clone, Default)]
    struct Buffer(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Buffer {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn lines(format: LogFormat, filter: &str, colours: bool, log: impl FnOnce()) -> Vec<String> {
        let buffer = Buffer::default();
        let to = buffer.clone();
        let (layer, _) = layer(format, filter, colours, move || to.clone()).unwrap();
        tracing::subscriber::with_default(Registry::default().with(layer), log);
        let bytes = buffer.0.lock().unwrap().clone();
        String::from_utf8(bytes).unwrap().lines().map(str::to_owned).collect()
    }

    #[test]
    fn json_lines_are_flat() {
        let lines = lines(LogFormat::Json, "info", true, || {
            let _span = tracing::info_span!("run", hook = "copy").entered();
            tracing::warn!(attempt = 3, binding = "pods", "the run \"failed\"\nbadly");
        });
        assert_eq!(lines.len(), 1);
        let line: Value = serde_json::from_str(&lines[0]).unwrap();
        assert_eq!(line["level"], "WARN");
        assert_eq!(line["message"], "the run \"failed\"\nbadly");
        assert_eq!(line["target"], "boathook_operator::telemetry::log::tests");
        assert_eq!(line["attempt"], 3);
        assert_eq!(line["binding"], "pods");
        assert_eq!(line["span"], "run{hook=\"copy\"}");
        let stamp: jiff::Timestamp = line["timestamp"].as_str().unwrap().parse().unwrap();
        assert!(line["timestamp"].as_str().unwrap().ends_with('Z'));
        assert!((jiff::Timestamp::now().as_second() - stamp.as_second()).abs() < 3_600);
    }

    #[test]
    fn filters_by_level_and_target() {
        let all = || {
            tracing::info!(target: "boathook_kube::watch", "1");
            tracing::debug!(target: "boathook_kube::watch", "2");
            tracing::debug!(target: "boathook_kube::queue", "3");
            tracing::warn!(target: "kube", "4");
        };
        let messages = |filter| {
            let lines = lines(LogFormat::Json, filter, false, all).into_iter();
            lines.map(|line| serde_json::from_str::<Value>(&line).unwrap()["message"].to_string()).collect::<String>()
        };
        assert_eq!(messages("info"), r#""1""4""#);
        assert_eq!(messages("info,boathook_kube::watch=debug"), r#""1""2""4""#);
        assert_eq!(messages("off,kube=warn"), r#""4""#);
    }

    #[test]
    fn text_has_colours_only_when_asked() {
        let log = || tracing::info!(hook = "copy", "ready");
        let plain = lines(LogFormat::Text, "info", false, log);
        assert!(plain[0].contains("ready") && plain[0].contains(" hook=copy"), "{plain:?}");
        assert!(!plain[0].contains('\u{1b}'));
        assert!(lines(LogFormat::Text, "info", true, log)[0].contains('\u{1b}'));
    }

    #[test]
    fn text_and_json_have_the_same_fields() {
        let log = || {
            let none: Option<&str> = None;
            tracing::warn!(
                target: "hook", hook = "copy", attempt = 2, ms = 0.5, ok = true, none, object = %"v1 Secret a/b",
                fields = r#"{"n":1,"deep":{"a":[1,"x y"]},"hook":"forged","level":"x","bad key":"a\nb"}"#,
                "a\nb"
            );
        };
        let json = lines(LogFormat::Json, "info", false, log);
        let json: Value = serde_json::from_str(&json[0]).unwrap();
        let text = lines(LogFormat::Text, "info", false, log);
        assert_eq!(text.len(), 1, "{text:?}");
        let table = [
            ("hook", Value::from("copy"), "hook=copy"),
            ("attempt", 2.into(), "attempt=2"),
            ("ms", 0.5.into(), "ms=0.5"),
            ("ok", true.into(), "ok=true"),
            ("object", "v1 Secret a/b".into(), "object=\"v1 Secret a/b\""),
            ("n", 1.into(), "n=1"),
            ("deep", serde_json::json!({"a": [1, "x y"]}), r#"deep={"a":[1,"x y"]}"#),
            ("fields.hook", "forged".into(), "fields.hook=forged"),
            ("fields.level", "x".into(), "fields.level=x"),
            ("bad key", "a\nb".into(), r#""bad key"="a\nb""#),
        ];
        let mut at = 0;
        for (name, value, shown) in table {
            assert_eq!(json[name], value, "{name}");
            at += text[0][at..].find(shown).unwrap_or_else(|| panic!("{shown} is not in its place in {text:?}"));
        }
        assert_eq!(json.as_object().unwrap().len(), 4 + 10, "{json}");
        assert!(text[0].contains("WARN hook: a\\nb hook=copy"), "{text:?}");
    }

    #[test]
    fn bad_settings_are_errors() {
        let error = layer::<Registry, _>(LogFormat::Text, "boathook=loud", false, io::stderr).err().unwrap();
        assert!(error.to_string().contains("boathook=loud"), "{error}");
        assert!("yaml".parse::<LogFormat>().unwrap_err().to_string().contains("yaml"));
        for format in [LogFormat::Text, LogFormat::Json] {
            assert_eq!(format.to_string().parse::<LogFormat>().unwrap(), format);
        }
    }

    #[test]
    fn a_second_set_up_is_an_error() {
        // Another test of this process may have been first.
        let _ = init(LogFormat::Json, "off");
        assert!(matches!(init(LogFormat::Text, "off"), Err(LogError::Twice(_))));
    }
}
