//! CEL as the API server has it: expressions are parsed, checked against a schema, and evaluated within a budget.
//!
//! The parser and the library are those of kube-cel. We rejected its `validation` engine: it limits nothing, and its
//! messages about wrong expressions differ from the API server's.
//!
//! | modules | content |
//! | --- | --- |
//! | `source`, `types`, `check` | expressions and their types against a schema |
//! | `cost`, `budget` | the estimate before an evaluation, and the limit during it |
//! | `eval`, `ops`, `values` | the evaluation, and values from and to JSON |

mod budget;
mod check;
mod cost;
mod eval;
mod ops;
mod source;
mod types;
mod values;

use kube_cel::cel::parser::Expression;

pub use budget::Budget;
pub use cost::{bound, fitting};
pub use eval::Scope;
pub use kube_cel::cel::Value;
pub use types::Ty;
pub use values::{optional, to_cel};

/// Why an expression has no value, in the words of the real API server's library.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("no such overload")]
    NoOverload,
    #[error("operation cancelled: actual cost limit exceeded")]
    TooExpensive,
    #[error("{0}")]
    Other(String),
}

impl Error {
    pub fn no_such_key(key: &str) -> Self {
        Self::Other(format!("no such key: {key}"))
    }
}

/// A parsed expression.
#[derive(Debug)]
pub struct Program {
    expression: Expression,
    source: String,
}

impl Program {
    /// Parses `source`.
    ///
    /// # Errors
    /// Returns all errors in the source with their places, in the form of the real API server.
    pub fn parse(source: &str) -> Result<Self, String> {
        let expression = source::parse(source)?;
        Ok(Self { expression, source: source.to_owned() })
    }

    /// Returns the type of the expression's value, given the types of its variables.
    ///
    /// # Errors
    /// Unknown fields, variables and functions, and operators on values that they do not accept.
    pub fn check(&self, variables: &[(&str, Ty<'_>)]) -> Result<String, String> {
        check::check(&self.expression, &self.source, variables)
    }

    /// What the expression costs at least on the largest `self` of this schema.
    pub fn worst_cost(&self, schema: &serde_json::Value) -> f64 {
        let mut known = vec![("self".to_owned(), schema), ("oldSelf".to_owned(), schema)];
        cost::worst(&self.expression, &mut known)
    }

    /// Whether the expression uses the variable.
    pub fn uses(&self, variable: &str) -> bool {
        source::uses(&self.expression, variable)
    }

    /// Evaluates the expression within what is left of `budget`.
    pub fn run(&self, scope: &Scope<'_>, budget: &mut Budget) -> Result<Value, Error> {
        budget.start_call();
        eval::Eval::new(budget).value(&self.expression, scope)
    }
}

/// Checks that a match condition of a webhook compiles, as the API server does when the webhook is registered.
///
/// # Errors
/// Returns the errors in the condition with their places.
pub fn match_condition(expression: &str) -> Result<(), String> {
    let failed = |why: String| format!("compilation failed: {why}");
    let variables = ["object", "oldObject", "request", "authorizer"].map(|name| (name, Ty::Dyn));
    let found = Program::parse(expression).and_then(|program| program.check(&variables)).map_err(failed)?;
    if matches!(found.as_str(), "bool" | "dyn") {
        Ok(())
    } else {
        Err(format!("must evaluate to bool but got {found}"))
    }
}

#[cfg(test)]
mod tests;
