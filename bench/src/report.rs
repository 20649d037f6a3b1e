//! The table that the bench prints, as Markdown: the median of all rounds, and their spread.

use std::fmt;

use crate::{contender::Kind, stats::Spread};

/// Figures of all rounds, by contender.
pub struct Rounds<T> {
    boathook: Vec<T>,
    bare: Vec<T>,
}

impl<T> Default for Rounds<T> {
    fn default() -> Self {
        Self { boathook: Vec::new(), bare: Vec::new() }
    }
}

impl<T> Rounds<T> {
    /// One figure of a contender, from all rounds.
    pub fn of(&self, kind: Kind, figure: impl Fn(&T) -> f64) -> Spread {
        let all = match kind {
            Kind::Boathook => &self.boathook,
            Kind::Bare => &self.bare,
        };
        Spread::of(all.iter().map(figure))
    }

    /// Adds what a round gave for one contender.
    pub fn add(&mut self, kind: Kind, figures: T) {
        match kind {
            Kind::Boathook => self.boathook.push(figures),
            Kind::Bare => self.bare.push(figures),
        }
    }
}

struct Row {
    what: String,
    unit: &'static str,
    hold: &'static str,
    boathook: Spread,
    bare: Option<Spread>,
}

/// All figures of one run.
#[derive(Default)]
pub struct Report {
    rows: Vec<Row>,
}

impl Report {
    /// Adds a row of what was measured of both contenders.
    pub fn compare<T>(
        &mut self,
        what: &'static str,
        unit: &'static str,
        hold: &'static str,
        rounds: &Rounds<T>,
        figure: impl Fn(&T) -> f64,
    ) {
        let [boathook, bare] = [Kind::Boathook, Kind::Bare].map(|kind| rounds.of(kind, &figure));
        self.row(what, unit, hold, boathook, Some(bare));
    }

    /// Adds a row; not everything can be compared.
    pub fn row(
        &mut self,
        what: impl Into<String>,
        unit: &'static str,
        hold: &'static str,
        boathook: Spread,
        bare: Option<Spread>,
    ) {
        self.rows.push(Row { what: what.into(), unit, hold, boathook, bare });
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| what | Boathook | bare | ratio | hold |\n| --- | --- | --- | --- | --- |")?;
        for Row { what, unit, hold, boathook, bare } in &self.rows {
            write!(f, "| {what} | {boathook} {unit} | ")?;
            match bare {
                Some(bare) => write!(f, "{bare} {unit} | {:.2} ×", boathook.median / bare.median)?,
                None => write!(f, "– | –")?,
            }
            writeln!(f, " | {hold} |")?;
        }
        Ok(())
    }
}
