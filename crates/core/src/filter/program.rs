//! A binding's compiled filter, as this stage sees it. The sandbox implements it.

use std::{fmt, sync::Arc};

use futures::future::BoxFuture;

use super::{FilterError, project};

/// A compiled jq program.
pub trait Filter: fmt::Debug + Send + Sync {
    /// Runs the program on an object's JSON.
    fn evaluate<'a>(&'a self, json: &'a Arc<str>) -> BoxFuture<'a, Result<Outputs, FilterError>>;

    /// Whether the program gives the same result for an object that has no other top-level fields than these.
    fn reads_only(&self, fields: &[&str]) -> bool;
}

impl dyn Filter + '_ {
    /// Whether the program needs no more of an object than its metadata.
    pub(super) fn reads_only_metadata(&self) -> bool {
        self.reads_only(&project::METADATA)
    }
}

/// The outputs of a program for one input: any number of values, as compact JSON with sorted keys.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outputs(Box<str>);

impl Outputs {
    /// The values in order.
    pub fn values(&self) -> impl Iterator<Item = &str> {
        self.0.lines()
    }

    /// The outputs as a `filterResult`: no value is null, one value is itself, several are an array.
    pub fn combined(self) -> Box<str> {
        if self.0.is_empty() {
            return "null".into();
        }
        if !self.0.contains('\n') {
            return self.0;
        }
        format!("[{}]", self.0.replace('\n', ",")).into()
    }

    /// Reads one value from each line. Compact JSON has no line breaks.
    pub fn from_lines(lines: impl Into<Box<str>>) -> Self {
        Self(lines.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_output_is_null_and_several_are_a_list() {
        for (lines, values, combined) in
            [("", 0, "null"), ("null", 1, "null"), ("{\"a\":\"\\n\"}", 1, "{\"a\":\"\\n\"}"), ("1\n[2]", 2, "[1,[2]]")]
        {
            let outputs = Outputs::from_lines(lines);
            assert_eq!(outputs.values().count(), values, "{lines}");
            assert_eq!(&*outputs.combined(), combined);
        }
    }
}
