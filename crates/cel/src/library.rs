//! The functions of Kubernetes, as kube-cel implements them.

use std::cell::OnceCell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use kube_cel::KubeCelExt;
use kube_cel::cel::Context;
use kube_cel::cel::common::ast::{CallExpr, Expr, IdedExpr};

use super::list::items;
use super::{Error, Value};

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
