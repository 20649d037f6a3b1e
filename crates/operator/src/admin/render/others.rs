//! Dead letters and the log level as text.

use super::{
    Text,
    runs::triggers,
    table::{Cell, Style, Table, Tone, clean, short},
};
use crate::admin::views::{DeadLetterView, DeadLettersView, LogLevelView};

impl Text for DeadLettersView {
    fn text(&self, style: Style) -> String {
        let mut table = Table::new(["ID", "HOOK", "BINDING", "SINCE", "TRIES", "TRIGGERS", "FAILURE"]);
        for letter in &self.dead_letters {
            table.row([
                letter.id.to_string().into(),
                letter.hook.as_str().into(),
                letter.binding.as_str().into(),
                letter.since.as_str().into(),
                letter.attempts.to_string().into(),
                short(&triggers(letter.triggers_count, &letter.triggers), 80).into(),
                failure(letter),
            ]);
        }
        if table.is_empty() { "no dead letters\n".to_owned() } else { table.text(style, "") }
    }
}

fn failure(letter: &DeadLetterView) -> Cell {
    Cell::new(format!("{}: {}", letter.kind, short(&letter.message, 100)), Tone::Bad)
}

impl Text for LogLevelView {
    fn text(&self, _style: Style) -> String {
        let level = clean(&self.level);
        match &self.until {
            Some(until) => format!("{level} until {}, then {}\n", clean(until), clean(&self.default)),
            None => format!("{level}\n"),
        }
    }
}
