//! An Event about a resource of Boathook, because its status changed.

use kube::runtime::events::{Event, EventType};

/// The API allows 1 kB.
const MAX_NOTE: usize = 1000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StatusEvent {
    pub warning: bool,
    pub reason: String,
    pub text: String,
    /// What the controller did.
    pub action: &'static str,
}

impl StatusEvent {
    pub fn normal(reason: &str, action: &'static str, text: String) -> Self {
        Self { warning: false, reason: reason.to_owned(), text, action }
    }

    pub fn warning(reason: &str, action: &'static str, text: &str) -> Self {
        Self { warning: true, reason: reason.to_owned(), text: text.to_owned(), action }
    }
}

impl From<StatusEvent> for Event {
    fn from(event: StatusEvent) -> Self {
        let mut note = event.text;
        note.truncate(note.floor_char_boundary(MAX_NOTE));
        Self {
            type_: if event.warning { EventType::Warning } else { EventType::Normal },
            reason: event.reason,
            note: Some(note),
            action: event.action.to_owned(),
            secondary: None,
        }
    }
}
