//! Problems of a scenario file, with their positions.

use std::{cell::RefCell, fmt};

/// Maximum number of problems of a file.
const MAX_PROBLEMS: usize = 100;

/// A position in a file. Both numbers count from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub line: usize,
    /// The column, in characters.
    pub column: usize,
}

/// One problem of a scenario file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub place: Place,
    /// For example `steps[0].expect.within`. Empty for the file itself.
    pub path: String,
    /// The problem, and what is allowed.
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

/// Collects problems.
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
