//! The table: a column for each operator.

use std::fmt::{self, Write as _};

use super::contenders::Kind;
use crate::stats::Spread;

/// What all rounds gave, by operator.
pub struct Table<F> {
    columns: Vec<(Kind, Vec<F>)>,
    text: String,
}

impl<F> Table<F> {
    pub fn new(kinds: impl IntoIterator<Item = Kind>) -> Self {
        let columns: Vec<_> = kinds.into_iter().map(|kind| (kind, Vec::new())).collect();
        let names: Vec<_> = columns.iter().map(|(kind, _)| kind.name()).collect();
        let lines = "| --- ".repeat(columns.len() + 3);
        let text = format!("| what | {} | Boathook / kube-rs | hold |\n{lines}|\n", names.join(" | "));
        Self { columns, text }
    }

    /// Adds what a turn gave.
    pub fn add(&mut self, kind: Kind, figures: F) {
        if let Some((_, all)) = self.columns.iter_mut().find(|(of, _)| *of == kind) {
            all.push(figures);
        }
    }

    /// Adds a row. An operator of which nothing was measured has no figure.
    pub fn row(&mut self, what: &str, unit: &str, hold: &str, figure: impl Fn(&F) -> Option<f64>) {
        let all = self.columns.iter().map(|(kind, all)| {
            let figures: Vec<f64> = all.iter().filter_map(&figure).collect();
            (*kind, (!figures.is_empty()).then(|| Spread::of(figures)))
        });
        let all: Vec<_> = all.collect();
        let cells: Vec<_> =
            all.iter().map(|(_, spread)| spread.map_or("–".to_owned(), |one| cell(&one, unit))).collect();
        let of = |kind| all.iter().find(|(of, _)| *of == kind)?.1.map(|spread| spread.median);
        let ratio = match (of(Kind::Boathook), of(Kind::Bare)) {
            (Some(boathook), Some(bare)) if bare > 0.0 && boathook > 0.01 * bare => format!("{:.2} ×", boathook / bare),
            (Some(boathook), Some(bare)) if bare > 0.0 => format!("{:.4} ×", boathook / bare),
            _ => "–".to_owned(),
        };
        // Writing to a String does not fail.
        let _ = writeln!(self.text, "| {what} | {} | {ratio} | {hold} |", cells.join(" | "));
    }
}

/// Counts are the same in each round, or nearly.
fn cell(spread: &Spread, unit: &str) -> String {
    let text = if spread.least.total_cmp(&spread.most).is_eq() && spread.median.fract().abs() < f64::EPSILON {
        format!("{:.0}", spread.median)
    } else {
        spread.to_string()
    };
    format!("{text} {unit}").trim_end().to_owned()
}

impl<F> fmt::Display for Table<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
