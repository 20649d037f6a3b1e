//! An upper bound of what a filter gives and does, and how bounds combine.
//!
//! Sizes are lengths of compact JSON as jq writes it (`1e3` is `1000.0`). `null` counts as 1, so that a missing field
//! is never larger than the value that it was looked up in.

use super::form::Form;

/// The size of a number, as text.
pub(super) const NUMBER: u64 = 32;
/// The factor for a merge sort or a comparison of a text of at most 16 MiB.
pub(super) const LOG: u64 = 24;

/// What a filter may give and do for an input, summed over all its outputs.
#[derive(Debug, Clone)]
pub(super) struct Bound {
    /// The size of all outputs together.
    pub out: Form,
    /// The number of steps.
    pub work: Form,
    /// The number of outputs.
    pub count: Form,
    /// No output is an array or an object.
    pub scalar: bool,
    /// All object keys in the outputs are strings.
    pub plain: bool,
}

impl Bound {
    /// One output of constant size that is not a container.
    pub fn literal(size: u64) -> Self {
        Self { out: Form::constant(size), work: one(), count: one(), scalar: true, plain: true }
    }

    /// Exactly the input.
    pub fn identity(plain: bool) -> Self {
        Self { out: Form::input(1), work: one(), count: one(), scalar: false, plain }
    }

    /// One output of at most `times` the input plus a constant, at the cost of reading it.
    pub fn reads(times: u64, constant: u64, scalar: bool) -> Self {
        Self {
            out: Form::input(times).plus(&Form::constant(constant)),
            work: Form::input(times.max(1)).plus(&one()),
            count: one(),
            scalar,
            plain: true,
        }
    }

    /// The values of an array or object.
    pub fn iterate(plain: bool) -> Self {
        Self { count: Form::input(1), work: Form::input(1).plus(&one()), ..Self::identity(plain) }
    }

    pub fn is_single(&self) -> bool {
        self.count.is_constant() && self.count.constant <= 1
    }

    /// All outputs in one array.
    pub fn collected(self) -> Self {
        Self {
            out: self.out.plus(&self.count).plus(&Form::constant(2)),
            work: self.work.plus(&self.count),
            count: one(),
            scalar: false,
            plain: self.plain,
        }
    }

    /// `self | right`.
    pub fn pipe(&self, right: &Self) -> Option<Self> {
        Some(Self {
            out: right.out.over(&self.out, &self.count)?,
            work: self.work.plus(&right.work.over(&self.out, &self.count)?),
            count: right.count.over(&self.out, &self.count)?,
            scalar: right.scalar,
            plain: right.plain,
        })
    }

    /// Every output of one with every output of the other. Each resulting output is as large as both.
    pub fn pairs(&self, right: &Self) -> Option<Self> {
        let out = self.out.product(&right.count)?.plus(&right.out.product(&self.count)?);
        Some(Self {
            work: self.work.plus(&right.work.product(&self.count)?).plus(&out),
            count: self.count.product(&right.count)?,
            out,
            scalar: self.scalar && right.scalar,
            plain: self.plain && right.plain,
        })
    }

    /// One or the other.
    pub fn either(&self, other: &Self) -> Self {
        self.and(other, Form::max)
    }

    /// First all of one, then all of the other.
    pub fn then(&self, other: &Self) -> Self {
        self.and(other, Form::plus)
    }

    fn and(&self, other: &Self, with: fn(&Form, &Form) -> Form) -> Self {
        Self {
            out: with(&self.out, &other.out),
            work: with(&self.work, &other.work),
            count: with(&self.count, &other.count),
            scalar: self.scalar && other.scalar,
            plain: self.plain && other.plain,
        }
    }

    /// With an output of constant size in place of each output.
    pub fn becoming(self, size: u64) -> Self {
        Self { out: self.count.times(size), scalar: true, plain: true, ..self }
    }

    /// One output of constant size about all outputs, or about there being none.
    pub fn answering(self, size: u64) -> Self {
        Self { count: one(), out: Form::constant(size), scalar: true, plain: true, ..self }
    }

    /// With numbers that may be longer than what they were computed from.
    pub fn grown(self) -> Self {
        Self { out: self.out.plus(&self.count.times(NUMBER)), ..self }
    }

    /// With more steps.
    pub fn costing(self, work: &Form) -> Self {
        Self { work: self.work.plus(work), ..self }
    }
}

pub(super) fn one() -> Form {
    Form::constant(1)
}
