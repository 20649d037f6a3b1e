//! Expressions in CEL: parsed, checked against a schema, and evaluated within a budget.
//!
//! Never decides what a result means: rules, match conditions and policies do.

mod ast;
mod budget;
mod calls;
mod check;
mod cost;
mod eval;
mod list;
mod macros;
mod ops;
mod source;
mod types;
mod values;

use kube_cel::cel::parser::Expression;

pub(crate) use budget::Budget;
pub(crate) use cost::{bound, fitting};
pub(crate) use eval::Scope;
pub(crate) use kube_cel::cel::Value;
pub(crate) use types::Ty;
pub(crate) use values::{optional, to_cel};

/// Why an expression has no value, in the words of the real server's library.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Error {
    #[error("no such overload")]
    NoOverload,
    #[error("operation cancelled: actual cost limit exceeded")]
    TooExpensive,
    #[error("{0}")]
    Other(String),
}

impl Error {
    pub(crate) fn no_such_key(key: &str) -> Self {
        Self::Other(format!("no such key: {key}"))
    }
}

/// A parsed expression.
#[derive(Debug)]
pub(crate) struct Program {
    expression: Expression,
    source: String,
}

impl Program {
    /// Parses `source`.
    ///
    /// # Errors
    /// Everything that is wrong with it, each with its place, as the real server shows it.
    pub(crate) fn parse(source: &str) -> Result<Self, String> {
        let expression = source::parse(source)?;
        Ok(Self { expression, source: source.to_owned() })
    }

    /// The type of the expression's value, given the types of its variables.
    ///
    /// # Errors
    /// Unknown fields, variables and functions, and operators on values they do not take.
    pub(crate) fn check(&self, variables: &[(&str, Ty<'_>)]) -> Result<String, String> {
        check::check(&self.expression, &self.source, variables)
    }

    /// What the expression costs at least on the largest `self` of this schema.
    pub(crate) fn worst_cost(&self, schema: &serde_json::Value) -> f64 {
        let mut known = vec![("self".to_owned(), schema), ("oldSelf".to_owned(), schema)];
        cost::worst(&self.expression, &mut known)
    }

    /// Whether the expression speaks of the variable.
    pub(crate) fn uses(&self, variable: &str) -> bool {
        ast::uses(&self.expression, variable)
    }

    /// Evaluates within what is left of `budget`.
    pub(crate) fn run(&self, scope: &Scope<'_>, budget: &mut Budget) -> Result<Value, Error> {
        budget.start_call();
        eval::Eval::new(budget).value(&self.expression, scope)
    }
}

#[cfg(test)]
mod tests;
