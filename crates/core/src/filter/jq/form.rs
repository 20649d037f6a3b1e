//! Linear forms: `i·|.| + Σ v·|$x| + k`, where `|.|` is the size of a filter's input.
//!
//! They saturate, so that no program can wrap a bound around to a small number.

/// An upper bound that grows linearly with the input and the variables in scope.
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
