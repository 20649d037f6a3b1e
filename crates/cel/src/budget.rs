//! What evaluation may cost, for one expression and for all expressions of a request.
//!
//! Time is not measured, so the same expression on the same object always costs the same.

use std::{
    cell::OnceCell,
    panic::{AssertUnwindSafe, catch_unwind},
};

use kube_cel::{
    KubeCelExt,
    cel::{
        Context,
        common::ast::{CallExpr, Expr, IdedExpr},
    },
};

use crate::{
    Error, Value,
    values::{self, items},
};

/// The units that one expression may spend.
const CALL: u64 = 1_000_000;
/// The units that all expressions of a request may spend together.
const REQUEST: u64 = 10_000_000;

/// The units that are left.
#[derive(Debug)]
pub struct Budget {
    request: u64,
    call: u64,
    /// The functions are created once for all expressions of a request.
    pub(super) library: Library,
}

impl Default for Budget {
    fn default() -> Self {
        Self { request: REQUEST, call: CALL, library: Library::default() }
    }
}

impl Budget {
    /// For one expression that may spend less than those of the API server.
    pub fn of(units: u64) -> Self {
        Self { request: units, ..Self::default() }
    }

    pub(super) fn start_call(&mut self) {
        self.call = CALL.min(self.request);
    }

    /// Whether the request has spent everything. Nothing more is evaluated then.
    pub fn is_empty(&self) -> bool {
        self.request == 0
    }

    /// Spends `cost`, or what is left.
    pub(super) fn spend(&mut self, cost: u64) -> Result<(), Error> {
        self.request = self.request.saturating_sub(cost);
        match self.call.checked_sub(cost) {
            Some(left) => {
                self.call = left;
                Ok(())
            }
            None => {
                self.call = 0;
                Err(Error::TooExpensive)
            }
        }
    }

    /// Spends what it costs to read all of `value`.
    pub(super) fn traverse(&mut self, value: &Value) -> Result<(), Error> {
        match value {
            Value::String(text) => self.spend(text.len() as u64 / 10),
            Value::Bytes(bytes) => self.spend(bytes.len() as u64 / 10),
            Value::Map(map) => {
                self.spend(map.map.len() as u64)?;
                map.map.values().try_for_each(|v| self.traverse(v))
            }
            other => match values::items(other) {
                Some(items) => {
                    self.spend(items.len() as u64)?;
                    items.iter().try_for_each(|v| self.traverse(v))
                }
                None => Ok(()),
            },
        }
    }
}

/// The Kubernetes functions. They are created when the first one is called.
#[derive(Default)]
pub(super) struct Library(OnceCell<Context<'static>>);

impl std::fmt::Debug for Library {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Library")
    }
}

impl Library {
    pub(super) fn call(&self, name: &str, target: Option<Value>, arguments: Vec<Value>) -> Result<Value, Error> {
        let library = self.0.get_or_init(|| Context::default().with_all());
        let mut scope = library.new_inner_scope();
        let mut bind = |index: usize, value: Value| {
            let variable = format!("@{index}");
            scope.add_variable_from_value(variable.clone(), plain(value));
            IdedExpr { id: 0, expr: Expr::Ident(variable) }
        };
        let first = match arguments.first() {
            Some(Value::String(text)) => Some(text.clone()),
            _ => None,
        };
        let args: Vec<IdedExpr> = arguments.into_iter().enumerate().map(|(i, v)| bind(i + 1, v)).collect();
        let target = target.map(|value| Box::new(bind(0, value)));
        let call = CallExpr { func_name: name.to_owned(), target, args };
        let expression = IdedExpr { id: 0, expr: Expr::Call(call) };
        // A panic in the library must not end the server.
        let result = catch_unwind(AssertUnwindSafe(|| Value::resolve(&expression, &scope)));
        let value = result.map_err(|_| Error::Other(format!("{name} failed")))?;
        value.map_err(|error| unconvertible(name, first.as_deref()).unwrap_or_else(|| failure(&error)))
    }
}

/// The real API server's message for a text that a function cannot parse.
fn unconvertible(name: &str, text: Option<&String>) -> Option<Error> {
    let text = text?;
    match name {
        "quantity" => Some(Error::Other(
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'".to_owned(),
        )),
        "ip" => Some(Error::Other(format!(
            "IP Address \"{text}\" parse error during conversion from string: ParseAddr(\"{text}\"): unable to parse IP"
        ))),
        "containsIP" | "containsCIDR" => Some(Error::NoOverload),
        _ => None,
    }
}

fn failure(error: &kube_cel::cel::ExecutionError) -> Error {
    use kube_cel::cel::ExecutionError as E;
    match error {
        E::FunctionError { message, .. } => Error::Other(message.clone()),
        E::NoSuchKey(key) => Error::no_such_key(key),
        _ => Error::NoOverload,
    }
}

/// Converts lists to the one sort that the library knows.
fn plain(value: Value) -> Value {
    match items(&value) {
        Some(items) => Value::List(items.clone()),
        None => value,
    }
}
