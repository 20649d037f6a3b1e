//! An upper bound of what a filter gives and does, and how bounds combine.
//!
//! Sizes are lengths of compact JSON as jq writes it (`1e3` is `1000.0`). `null` counts as 1, so that a missing field
//! is never larger than the value that it was looked up in.

/// The size of a number, as text.
pub(super) const NUMBER: u64 = 32;
/// The factor for a merge sort or a comparison of a text of at most 16 MiB.
pub(super) const LOG: u64 = 24;

/// A linear form `i·|.| + Σ v·|$x| + k`, where `|.|` is the size of a filter's input: an upper bound that grows with the
/// input and the variables in scope. It saturates, so that no program can wrap a bound around to a small number.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Form {
    /// The factor of the input's size.
    pub input: u64,
    /// The factors of the variables' sizes, by the variables' places in the scope.
    pub vars: Vec<u64>,
    pub constant: u64,
}

impl Form {
    pub fn constant(k: u64) -> Self {
        Self { constant: k, ..Self::default() }
    }

    /// `times` the size of the input.
    pub fn input(times: u64) -> Self {
        Self { input: times, ..Self::default() }
    }

    /// The size of one variable.
    pub fn var(index: usize) -> Self {
        let mut vars = vec![0; index];
        vars.push(1);
        Self { vars, ..Self::default() }
    }

    /// Whether it depends on neither the input nor the variables.
    pub fn is_constant(&self) -> bool {
        self.input == 0 && self.is_free_of_vars()
    }

    fn is_free_of_vars(&self) -> bool {
        self.vars.iter().all(|v| *v == 0)
    }

    /// The same form without the part that grows with the input.
    pub fn without_input(&self) -> Self {
        Self { input: 0, ..self.clone() }
    }

    /// `self + other`.
    pub fn plus(&self, other: &Self) -> Self {
        self.zip(other, u64::saturating_add)
    }

    /// An upper bound of the larger one.
    pub fn max(&self, other: &Self) -> Self {
        self.zip(other, Ord::max)
    }

    fn zip(&self, other: &Self, with: fn(u64, u64) -> u64) -> Self {
        let at = |vars: &[u64], index| vars.get(index).copied().unwrap_or(0);
        let width = self.vars.len().max(other.vars.len());
        Self {
            input: with(self.input, other.input),
            vars: (0..width).map(|index| with(at(&self.vars, index), at(&other.vars, index))).collect(),
            constant: with(self.constant, other.constant),
        }
    }

    /// `factor · self`.
    pub fn times(&self, factor: u64) -> Self {
        Self {
            input: self.input.saturating_mul(factor),
            vars: self.vars.iter().map(|v| v.saturating_mul(factor)).collect(),
            constant: self.constant.saturating_mul(factor),
        }
    }

    /// `self · other`, which is linear only if one of them is constant.
    pub fn product(&self, other: &Self) -> Option<Self> {
        match (self.is_constant(), other.is_constant()) {
            (true, _) => Some(other.times(self.constant)),
            (_, true) => Some(self.times(other.constant)),
            (false, false) => None,
        }
    }

    /// The sum of this bound over `count` inputs with a size of `total` together.
    pub fn over(&self, total: &Self, count: &Self) -> Option<Self> {
        Some(total.times(self.input).plus(&self.without_input().product(count)?))
    }
}

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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn only_linear_products_exist() {
        let n = Form::input(2);
        assert_eq!(n.product(&Form::constant(3)), Some(Form::input(6)));
        assert_eq!(n.product(&Form::input(1)), None);
        assert_eq!(Form::var(0).product(&n), None);
    }

    #[test]
    fn bounds_compose() {
        let right = Form::input(3).plus(&Form::constant(5));
        let total = Form::input(2).plus(&Form::constant(7));
        assert_eq!(right.over(&total, &Form::constant(1)).unwrap(), Form::input(6).plus(&Form::constant(26)));
        assert_eq!(Form::var(0).over(&total, &Form::input(1)), None);
    }

    #[test]
    fn saturates() {
        assert_eq!(Form::input(u64::MAX).times(2).plus(&Form::input(1)).input, u64::MAX);
    }
}
