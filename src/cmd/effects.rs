//! Prints the effects of writes to stdout and to the log as they happen.

use std::io::{self, IsTerminal as _, Write as _};

use boathook_core::effect::{Effect, Ending, Sink, Style, json, render};
use tracing::info;

pub(super) fn style(secrets: bool) -> Style {
    let terminal = io::stdout().is_terminal();
    let color = terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    Style { color, secrets, ..Style::default() }
}

/// Writes one effect to stdout. An error is ignored, because a reader that has gone is no reason to stop.
pub(super) fn print(effect: &Effect, style: Style) {
    let _ = io::stdout().lock().write_all(render(effect, style).as_bytes());
}

/// What a plan shows: a log record for each write, and also text on stdout, unless programs read the log.
pub(super) struct Plan {
    text: bool,
    style: Style,
}

impl Plan {
    pub fn new(text: bool) -> Self {
        Self { text, style: style(false) }
    }
}

impl Sink for Plan {
    fn effect(&self, effect: Effect) {
        let (hook, run, action) = (&effect.hook, &effect.run, effect.action().label());
        let Effect { verb, object, subresource, note, .. } = &effect;
        let error = if let Ending::Failed { message, .. } = &effect.ending { Some(message) } else { None };
        let json = json(&effect, false);
        let changes = json.get("changes").filter(|_| !self.text).map(tracing::field::display);
        info!(target: "plan", %hook, %run, verb, %object, subresource, action, note, error, changes, "planned");
        if self.text {
            print(&effect, self.style);
        }
    }
}
