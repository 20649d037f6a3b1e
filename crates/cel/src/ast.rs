//! Queries about parsed expressions. Nothing is evaluated here.

use kube_cel::cel::common::ast::{EntryExpr, Expr, IdedExpr};

/// The direct parts of an expression, in the order of the source.
pub(super) fn parts(expression: &IdedExpr) -> Vec<&IdedExpr> {
    match &expression.expr {
        Expr::Call(call) => call.target.as_deref().into_iter().chain(&call.args).collect(),
        Expr::Comprehension(c) => vec![&c.iter_range, &c.accu_init, &c.loop_cond, &c.loop_step, &c.result],
        Expr::List(list) => list.elements.iter().collect(),
        Expr::Select(select) => vec![&select.operand],
        Expr::Map(map) => map.entries.iter().flat_map(|entry| entry_parts(&entry.expr)).collect(),
        Expr::Struct(value) => value.entries.iter().flat_map(|entry| entry_parts(&entry.expr)).collect(),
        Expr::Ident(_) | Expr::Literal(_) | Expr::Unspecified => Vec::new(),
    }
}

fn entry_parts(entry: &EntryExpr) -> Vec<&IdedExpr> {
    match entry {
        EntryExpr::MapEntry(entry) => vec![&entry.key, &entry.value],
        EntryExpr::StructField(field) => vec![&field.value],
    }
}

/// Whether any part of the expression is the variable.
pub(super) fn uses(expression: &IdedExpr, variable: &str) -> bool {
    matches!(&expression.expr, Expr::Ident(name) if name == variable)
        || parts(expression).into_iter().any(|part| uses(part, variable))
}

/// Whether no part is nested deeper than `levels`.
pub(super) fn fits(expression: &IdedExpr, levels: usize) -> bool {
    let Some(below) = levels.checked_sub(1) else {
        return false;
    };
    parts(expression).into_iter().all(|part| fits(part, below))
}
