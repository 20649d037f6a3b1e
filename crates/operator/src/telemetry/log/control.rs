//! Changes the log filter of a running process, permanently or for a while.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{task::AbortHandle, time::Instant};
use tracing_subscriber::{filter::Targets, reload};

use super::LogError;

/// Decides which lines are written.
pub(super) type Filter = Targets;

pub(super) fn parse(filter: &str) -> Result<Filter, LogError> {
    let targets: Targets = filter.parse().map_err(|source| LogError::Filter { filter: filter.to_owned(), source })?;
    // This target makes the spans of traces, which are not log lines.
    Ok(targets.with_target(crate::telemetry::TRACE_TARGET, tracing::level_filters::LevelFilter::OFF))
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
    pub(super) fn new<S: 'static>(filter: &str, handle: reload::Handle<Filter, S>) -> Self {
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use std::io;

    use tracing::subscriber::DefaultGuard;
    use tracing_subscriber::{Registry, layer::SubscriberExt as _};

    use super::*;
    use crate::telemetry::log::{LogFormat, layer};

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
