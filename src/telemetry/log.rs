//! Sets up logging for the whole process, once. Never logs anything itself.
//!
//! Lines go to stderr, so that stdout stays free for what a command prints.

use std::{
    fmt,
    io::{self, IsTerminal as _},
    str::FromStr,
};

use tracing::Subscriber;
use tracing_subscriber::{
    Layer, Registry,
    filter::Targets,
    fmt::{MakeWriter, format::JsonFields},
    layer::SubscriberExt as _,
};

/// How log lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogFormat {
    /// For people: time, level, target, message, fields.
    #[default]
    Text,
    /// One JSON object a line: `timestamp`, `level`, `message`, `target`, the fields beside them, and
    /// the fields of the surrounding span under `span`.
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

/// Logging that can't be set up.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// An unknown format.
    #[error("log format {0:?} is unknown: use text or json")]
    Format(String),
    /// A filter that can't be read.
    #[error("log filter {filter:?} can't be read: use a level, or a list like info,boathook::watch=debug")]
    Filter {
        /// The filter.
        filter: String,
        /// What is wrong.
        #[source]
        source: tracing_subscriber::filter::ParseError,
    },
    /// It was set up before.
    #[error("logging is set up already")]
    Twice(#[source] tracing::subscriber::SetGlobalDefaultError),
}

/// Sets up logging of the process to stderr. `filter` is a level (`off`, `error`, `warn`, `info`,
/// `debug`, `trace`) or a list of `target=level`, as in `info,boathook::watch=debug`. Text is coloured
/// when stderr is a terminal and `NO_COLOR` is not set.
pub fn init(format: LogFormat, filter: &str) -> Result<(), LogError> {
    let colours = io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let subscriber = subscriber(format, filter, colours, io::stderr)?;
    tracing::subscriber::set_global_default(subscriber).map_err(LogError::Twice)
}

fn subscriber<W>(format: LogFormat, filter: &str, colours: bool, to: W) -> Result<impl Subscriber + use<W>, LogError>
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let targets: Targets = filter.parse().map_err(|source| LogError::Filter { filter: filter.to_owned(), source })?;
    let lines = tracing_subscriber::fmt::layer().with_writer(to);
    let lines: Box<dyn Layer<Registry> + Send + Sync> = match format {
        LogFormat::Text => Box::new(lines.with_ansi(colours)),
        LogFormat::Json => Box::new(
            lines
                .fmt_fields(JsonFields::new())
                .json()
                .flatten_event(true)
                .with_current_span(true)
                .with_span_list(false),
        ),
    };
    Ok(Registry::default().with(lines.with_filter(targets)))
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
        tracing::subscriber::with_default(subscriber(format, filter, colours, move || to.clone()).unwrap(), log);
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
        assert_eq!(line["target"], "boathook::telemetry::log::tests");
        assert_eq!(line["attempt"], 3);
        assert_eq!(line["binding"], "pods");
        assert_eq!(line["span"]["hook"], "copy");
        let stamp: jiff::Timestamp = line["timestamp"].as_str().unwrap().parse().unwrap();
        assert!(line["timestamp"].as_str().unwrap().ends_with('Z'));
        assert!((jiff::Timestamp::now().as_second() - stamp.as_second()).abs() < 3_600);
    }

    #[test]
    fn filters_by_level_and_target() {
        let all = || {
            tracing::info!(target: "boathook::watch", "1");
            tracing::debug!(target: "boathook::watch", "2");
            tracing::debug!(target: "boathook::queue", "3");
            tracing::warn!(target: "kube", "4");
        };
        let messages = |filter| {
            let lines = lines(LogFormat::Json, filter, false, all).into_iter();
            lines.map(|line| serde_json::from_str::<Value>(&line).unwrap()["message"].to_string()).collect::<String>()
        };
        assert_eq!(messages("info"), r#""1""4""#);
        assert_eq!(messages("info,boathook::watch=debug"), r#""1""2""4""#);
        assert_eq!(messages("off,kube=warn"), r#""4""#);
    }

    #[test]
    fn text_has_colours_only_when_asked() {
        let log = || tracing::info!(hook = "copy", "ready");
        let plain = lines(LogFormat::Text, "info", false, log);
        assert!(plain[0].contains("ready") && plain[0].contains("hook=\"copy\""), "{plain:?}");
        assert!(!plain[0].contains('\u{1b}'));
        assert!(lines(LogFormat::Text, "info", true, log)[0].contains('\u{1b}'));
    }

    #[test]
    fn bad_settings_are_errors() {
        let error = subscriber(LogFormat::Text, "boathook=loud", false, io::stderr).err().unwrap();
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
