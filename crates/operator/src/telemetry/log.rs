//! Sets up logging for the whole process, once. Its level can be changed while the process runs.
//!
//! Lines go to stderr, so that stdout stays free for the output of commands.

use std::{
    fmt::{self, Write as _},
    io::{self, IsTerminal as _},
    str::FromStr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use serde_json::{Map, Value};
use tokio::{task::AbortHandle, time::Instant};
use tracing::{
    Event, Level, Subscriber,
    field::{Field, Visit},
};
use tracing_subscriber::{
    Layer, Registry,
    filter::Targets,
    fmt::{
        FmtContext, FormatEvent, FormatFields, FormattedFields, MakeWriter,
        format::Writer,
        time::{FormatTime as _, SystemTime},
    },
    layer::{Layered, SubscriberExt as _},
    registry::LookupSpan,
    reload,
};

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
    #[error("log format {0:?} is unknown: use text or json")]
    Format(String),
    #[error("log filter {filter:?} cannot be read: use a level, or a list like info,boathook_kube::watch=debug")]
    Filter {
        filter: String,
        #[source]
        source: tracing_subscriber::filter::ParseError,
    },
    /// The writer of the lines is gone.
    #[error("the log has ended")]
    Gone,
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

/// Like [`init_with`], but writes to `to`, which shows the lines in another way. Text has no colours.
pub fn init_to<W, L>(format: LogFormat, filter: &str, to: W, more: L) -> Result<LogControl, LogError>
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
    L: Layer<Layered<LogLayer<Registry>, Registry>> + Send + Sync,
{
    let (layer, control) = layer(format, filter, false, to)?;
    set_up(Registry::default().with(layer).with(more))?;
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

/// Decides which lines are written.
type Filter = Targets;

fn parse(filter: &str) -> Result<Filter, LogError> {
    let targets: Targets = filter.parse().map_err(|source| LogError::Filter { filter: filter.to_owned(), source })?;
    // This target makes the spans of traces, which are not log lines.
    Ok(targets.with_target(super::TRACE_TARGET, tracing::level_filters::LevelFilter::OFF))
}

/// How long `debug` and `trace` stay if no time is given.
const NOISY_FOR: Duration = Duration::from_secs(30 * 60);

/// The current setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// A level, or a list of `target=level`.
    pub filter: String,
    /// For a temporary filter: how long it stays, and what follows.
    pub until: Option<(Duration, String)>,
}

/// Changes what is logged. Cheap to clone. All clones change the same log.
#[derive(Clone)]
pub struct LogControl(Arc<Inner>);

type Apply = Box<dyn Fn(Filter) -> bool + Send + Sync>;

struct Inner {
    apply: Apply,
    state: Mutex<State>,
}

struct State {
    /// The filter that applies when there is no temporary one.
    lasting: String,
    temporary: Option<Temporary>,
}

struct Temporary {
    filter: String,
    ends: Instant,
    /// Ends the temporary filter.
    timer: AbortHandle,
}

impl LogControl {
    fn new<S: 'static>(filter: &str, handle: reload::Handle<Filter, S>) -> Self {
        let apply: Apply = Box::new(move |filter| handle.reload(filter).is_ok());
        let state = Mutex::new(State { lasting: filter.to_owned(), temporary: None });
        Self(Arc::new(Inner { apply, state }))
    }

    pub fn current(&self) -> Setting {
        let state = self.0.state();
        match &state.temporary {
            None => Setting { filter: state.lasting.clone(), until: None },
            Some(temporary) => {
                let left = temporary.ends.saturating_duration_since(Instant::now());
                Setting { filter: temporary.filter.clone(), until: Some((left, state.lasting.clone())) }
            }
        }
    }

    /// Logs by this filter from now on. With a `duration`, the last permanent filter applies again after that. Without
    /// one, the filter is permanent. `debug` and `trace` for all targets are always temporary: for 30 minutes if no
    /// other time is given. Call it on a tokio runtime, which measures the time.
    pub fn set(&self, filter: &str, duration: Option<Duration>) -> Result<Setting, LogError> {
        let parsed = parse(filter)?;
        let duration = duration.or_else(|| is_noisy(&parsed).then_some(NOISY_FOR));
        let mut state = self.0.state();
        if !(self.0.apply)(parsed) {
            return Err(LogError::Gone);
        }
        if let Some(before) = state.temporary.take() {
            before.timer.abort();
        }
        match duration {
            None => filter.clone_into(&mut state.lasting),
            Some(duration) => {
                let ends = Instant::now() + duration;
                let inner = Arc::downgrade(&self.0);
                let timer = tokio::spawn(async move {
                    tokio::time::sleep_until(ends).await;
                    if let Some(inner) = inner.upgrade() {
                        inner.go_back(ends);
                    }
                });
                state.temporary = Some(Temporary { filter: filter.to_owned(), ends, timer: timer.abort_handle() });
            }
        }
        drop(state);
        Ok(self.current())
    }
}

/// Whether the filter logs every target in such detail that it could fill a disk.
fn is_noisy(filter: &Filter) -> bool {
    filter.would_enable("any", &tracing::Level::DEBUG)
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the temporary filter that was to end now, unless another was set in the meantime.
    fn go_back(&self, ends: Instant) {
        let mut state = self.state();
        if state.temporary.as_ref().is_some_and(|temporary| temporary.ends == ends) {
            state.temporary = None;
            // The filter was already parsed once.
            if let Ok(filter) = parse(&state.lasting) {
                (self.apply)(filter);
            }
        }
    }
}

/// Writes lines in this format: the same fields in the same order, as text and as JSON. A hook can add fields to a line
/// with the field `fields`, which contains a JSON object. Its members become fields of the line, and none of them can
/// pretend to be one of the operator's.
struct Lines(pub LogFormat);

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

#[cfg(test)]
mod tests {
    use std::{
        io,
        sync::{Arc, Mutex},
    };

    use serde_json::Value;
    use tracing::subscriber::DefaultGuard;
    use tracing_subscriber::{Registry, layer::SubscriberExt as _};

    use super::{LogFormat, layer, *};

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

    const MINUTE: Duration = Duration::from_secs(60);

    fn log(filter: &str) -> (LogControl, DefaultGuard) {
        let (layer, control) = layer(LogFormat::Text, filter, false, io::sink).unwrap();
        (control, tracing::subscriber::set_default(Registry::default().with(layer)))
    }

    fn debug_is_on() -> (bool, bool) {
        (
            tracing::enabled!(target: "one", tracing::Level::DEBUG),
            tracing::enabled!(target: "two", tracing::Level::DEBUG),
        )
    }

    #[tokio::test(start_paused = true)]
    async fn a_temporary_filter_goes_back() {
        let (control, _guard) = log("info");
        let setting = control.set("info,one=debug", Some(MINUTE)).unwrap();
        assert_eq!(setting, Setting { filter: "info,one=debug".into(), until: Some((MINUTE, "info".into())) });
        assert_eq!(debug_is_on(), (true, false));
        tokio::time::sleep(MINUTE / 2).await;
        assert_eq!(control.current().until.unwrap().0, MINUTE / 2);
        tokio::time::sleep(MINUTE / 2 + Duration::from_millis(1)).await;
        assert_eq!(control.current(), Setting { filter: "info".into(), until: None });
        assert_eq!(debug_is_on(), (false, false));
    }

    #[tokio::test(start_paused = true)]
    async fn a_new_filter_takes_the_place_of_a_temporary_one() {
        let (control, _guard) = log("info");
        control.set("debug", Some(MINUTE)).unwrap();
        control.set("warn,two=debug", None).unwrap();
        tokio::time::sleep(2 * MINUTE).await;
        assert_eq!(control.current(), Setting { filter: "warn,two=debug".into(), until: None });
        assert_eq!(debug_is_on(), (false, true));
        control.set("info,one=debug", Some(MINUTE)).unwrap();
        control.set("info", Some(3 * MINUTE)).unwrap();
        tokio::time::sleep(2 * MINUTE).await;
        assert_eq!(debug_is_on(), (false, false));
        tokio::time::sleep(2 * MINUTE).await;
        assert_eq!(debug_is_on(), (false, true));
    }

    #[tokio::test(start_paused = true)]
    async fn debug_for_everything_does_not_stay() {
        let (control, _guard) = log("info");
        for noisy in ["debug", "trace", "debug,kube_client=off"] {
            assert_eq!(control.set(noisy, None).unwrap().until, Some((NOISY_FOR, "info".into())), "{noisy}");
        }
        assert_eq!(control.set("info,one=trace", None).unwrap().until, None);
    }

    #[tokio::test]
    async fn a_bad_filter_changes_nothing() {
        let (control, _guard) = log("info");
        let error = control.set("one=loud", None).unwrap_err();
        assert!(error.to_string().contains("one=loud"), "{error}");
        assert_eq!(control.current(), Setting { filter: "info".into(), until: None });
    }
}
