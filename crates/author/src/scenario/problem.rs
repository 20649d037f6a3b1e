//! What is wrong with a scenario file, and where. Reads nothing.

use std::{cell::RefCell, fmt};

/// More problems of a file are not kept.
const MAX_PROBLEMS: usize = 100;

/// A place in a file; both numbers count from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The line.
    pub line: usize,
    /// The column, in characters.
    pub column: usize,
}

/// One thing that is wrong with a scenario file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Where it is.
    pub place: Place,
    /// `steps[0].expect.within`; empty for the file itself.
    pub path: String,
    /// What is wrong there, and what is allowed.
    pub message: String,
}

impl Problem {
    pub(super) fn new(place: Place, path: &str, message: impl Into<String>) -> Self {
        Self { place, path: path.to_owned(), message: message.into() }
    }
}

impl fmt::Display for Problem {
    /// `3:7: steps[0].wait: is "soon"; …`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = if self.path.is_empty() { "the file" } else { &self.path };
        write!(f, "{}:{}: {path}: {}", self.place.line, self.place.column, self.message)
    }
}

/// Collects what is wrong.
#[derive(Default)]
pub(super) struct Problems(RefCell<Vec<Problem>>);

impl Problems {
    pub fn add(&self, place: Place, path: &str, message: impl Into<String>) {
        let mut problems = self.0.borrow_mut();
        if problems.len() < MAX_PROBLEMS {
            problems.push(Problem::new(place, path, message));
        }
    }

    /// In the file's order.
    pub fn finish(self) -> Vec<Problem> {
        let mut problems = self.0.into_inner();
        problems.sort_by_key(|problem| problem.place);
        problems
    }
}
