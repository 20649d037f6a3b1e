//! Collects what is wrong with a document, and what should be changed.

use std::{cell::RefCell, fmt};

/// Further problems are only counted.
const MAX_PROBLEMS: usize = 100;
const MAX_PATH: usize = 200;
const MAX_MESSAGE: usize = 2000;

/// One thing that is wrong with a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// For example `kubernetes[0].jqFilter`. Empty for the document itself.
    pub path: String,
    /// What is wrong there, and what is allowed.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = if self.path.is_empty() { "the document" } else { &self.path };
        write!(f, "{path}: {}", self.message)
    }
}

/// Everything that is wrong with a document.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct DocumentError {
    /// The first hundred problems, in the document's order. There is at least one.
    pub problems: Vec<Problem>,
    /// How many more problems there are.
    pub more: usize,
}

impl fmt::Display for DocumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.problems.len() + self.more;
        write!(f, "the configuration document has {count} error{}", if count == 1 { "" } else { "s" })?;
        self.problems.iter().try_for_each(|problem| write!(f, "\n  {problem}"))?;
        if self.more > 0 { write!(f, "\n  and {} more", self.more) } else { Ok(()) }
    }
}

/// Collects problems and warnings, and knows how to check a filter.
pub(super) struct Problems<'c> {
    problems: RefCell<Vec<Problem>>,
    more: std::cell::Cell<usize>,
    warnings: RefCell<Vec<String>>,
    pub check_filter: &'c dyn Fn(&str) -> Result<(), String>,
}

impl<'c> Problems<'c> {
    pub fn new(check_filter: &'c dyn Fn(&str) -> Result<(), String>) -> Self {
        Self { problems: RefCell::default(), more: Default::default(), warnings: RefCell::default(), check_filter }
    }

    /// Returns the warnings, if nothing is wrong.
    pub fn finish(self) -> Result<Vec<String>, DocumentError> {
        let problems = self.problems.into_inner();
        if problems.is_empty() {
            return Ok(self.warnings.into_inner());
        }
        Err(DocumentError { problems, more: self.more.get() })
    }

    pub fn is_clean(&self) -> bool {
        self.problems.borrow().is_empty()
    }

    pub fn wrong(&self, path: &str, message: impl Into<String>) {
        let message = &message.into();
        let mut problems = self.problems.borrow_mut();
        if problems.len() == MAX_PROBLEMS {
            self.more.set(self.more.get() + 1);
        } else {
            problems.push(Problem { path: short(path, MAX_PATH), message: short(message, MAX_MESSAGE) });
        }
    }

    /// Records something that was accepted but should be changed.
    pub fn warn(&self, path: &str, message: impl fmt::Display) {
        let mut warnings = self.warnings.borrow_mut();
        if warnings.len() < MAX_PROBLEMS {
            let place = if path.is_empty() { "the document" } else { path };
            warnings.push(format!("{}: {}", short(place, MAX_PATH), short(&message.to_string(), MAX_MESSAGE)));
        }
    }
}

/// At most this many characters of a text.
pub(super) fn short(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
