//! Evaluates expressions step by step within a budget. Nothing is kept: the same expression on the same values returns
//! the same result.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;

use kube_cel::cel::common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedEntryExpr, ListExpr, SelectExpr};
use kube_cel::cel::objects::{Key, Map};
use kube_cel::cel::parser::Expression;

use super::list::items;
use super::ops::{self, as_optional};
use super::{Budget, Error, Value, optional};

/// Variables. Each scope adds one to those of its parent.
#[derive(Default)]
pub struct Scope<'a> {
    parent: Option<&'a Scope<'a>>,
    variable: Option<(&'a str, Value)>,
}

impl<'a> Scope<'a> {
    /// These variables and one more, which hides variables with the same name.
    pub fn with(&'a self, name: &'a str, value: Value) -> Self {
        Self { parent: Some(self), variable: Some((name, value)) }
    }

    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        match &self.variable {
            Some((mine, value)) if *mine == name => Some(value),
            _ => self.parent.and_then(|parent| parent.get(name)),
        }
    }
}

pub(super) struct Eval<'b> {
    pub budget: &'b mut Budget,
}

impl<'b> Eval<'b> {
    pub(super) fn new(budget: &'b mut Budget) -> Self {
        Self { budget }
    }

    pub(super) fn value(&mut self, expression: &Expression, scope: &Scope<'_>) -> Result<Value, Error> {
        self.budget.spend(1)?;
        match &expression.expr {
            Expr::Literal(literal) => literal.to_val().as_ref().try_into().map_err(|_| Error::NoOverload),
            Expr::Ident(name) => self.variable(name, scope),
            Expr::Select(select) => self.select(select, scope),
            Expr::Call(call) => self.call(call, scope),
            Expr::List(list) => self.list(list, scope),
            Expr::Map(map) => self.map(&map.entries, scope),
            Expr::Comprehension(comprehension) => self.comprehension(comprehension, scope),
            Expr::Struct(value) => Err(Error::Other(format!("unknown type: {}", value.type_name))),
            Expr::Unspecified => Err(Error::NoOverload),
        }
    }

    fn variable(&self, name: &str, scope: &Scope<'_>) -> Result<Value, Error> {
        let found = scope.get(name).cloned().or_else(|| super::types::denoted(name));
        found.ok_or_else(|| Error::Other(format!("no such attribute(s): {name}")))
    }

    fn select(&mut self, select: &SelectExpr, scope: &Scope<'_>) -> Result<Value, Error> {
        let operand = self.value(&select.operand, scope)?;
        if let Some(inner) = as_optional(&operand) {
            let found = inner.and_then(|value| ops::select(value, &select.field).ok());
            return Ok(if select.test { Value::Bool(found.is_some()) } else { optional(found) });
        }
        if select.test {
            return ops::has(&operand, &select.field).map(Value::Bool);
        }
        ops::select(&operand, &select.field)
    }

    pub(super) fn bool(&mut self, expression: &Expression, scope: &Scope<'_>) -> Result<bool, Error> {
        match self.value(expression, scope)? {
            Value::Bool(on) => Ok(on),
            _ => Err(Error::NoOverload),
        }
    }

    fn call(&mut self, call: &CallExpr, scope: &Scope<'_>) -> Result<Value, Error> {
        match (call.func_name.as_str(), call.args.as_slice()) {
            ("_?_:_", [condition, yes, no]) => {
                let chosen = if self.bool(condition, scope)? { yes } else { no };
                self.value(chosen, scope)
            }
            ("_||_", [a, b]) => self.either(a, b, true, scope),
            ("_&&_", [a, b]) => self.either(a, b, false, scope),
            ("!_", [a]) => self.bool(a, scope).map(|on| Value::Bool(!on)),
            ("-_", [a]) => ops::negate(&self.value(a, scope)?),
            ("@not_strictly_false", [a]) => match self.bool(a, scope) {
                Err(Error::TooExpensive) => Err(Error::TooExpensive),
                other => Ok(Value::Bool(other.unwrap_or(true))),
            },
            (operator, [a, b]) if operator.contains('_') || operator == "@in" => {
                let (a, b) = (self.value(a, scope)?, self.value(b, scope)?);
                self.binary(operator, a, b)
            }
            _ => match self.macro_call(call, scope) {
                Some(result) => result,
                None => self.function(call, scope),
            },
        }
    }

    /// `||` (with `decisive` true) and `&&`. An error of one side does not count if the other side decides.
    fn either(&mut self, a: &Expression, b: &Expression, decisive: bool, scope: &Scope<'_>) -> Result<Value, Error> {
        let left = self.bool(a, scope);
        if matches!(left, Err(Error::TooExpensive)) || left == Ok(decisive) {
            return left.map(Value::Bool);
        }
        let right = self.bool(b, scope);
        if matches!(right, Err(Error::TooExpensive)) || right == Ok(decisive) {
            return right.map(Value::Bool);
        }
        left.and(right).map(Value::Bool)
    }

    fn binary(&mut self, operator: &str, a: Value, b: Value) -> Result<Value, Error> {
        let ordered = |wanted: &[Ordering]| {
            ops::compare(&a, &b).map(|order| Value::Bool(order.is_some_and(|order| wanted.contains(&order))))
        };
        match operator {
            "_<_" => ordered(&[Ordering::Less]),
            "_<=_" => ordered(&[Ordering::Less, Ordering::Equal]),
            "_>_" => ordered(&[Ordering::Greater]),
            "_>=_" => ordered(&[Ordering::Greater, Ordering::Equal]),
            "_==_" | "_!=_" => {
                self.budget.traverse(&a)?;
                self.compare_unordered(&a, &b)?;
                Ok(Value::Bool((a == b) == (operator == "_==_")))
            }
            "@in" => {
                self.budget.traverse(&b)?;
                ops::contains(&b, &a).map(Value::Bool)
            }
            "_[_]" => self.index(&a, &b),
            "_[?_]" => match as_optional(&a) {
                Some(inner) => Ok(optional(inner.and_then(|value| ops::index(value, &b).ok()))),
                None => Ok(optional(ops::index(&a, &b).ok())),
            },
            "_?._" => {
                let Value::String(field) = &b else {
                    return Err(Error::NoOverload);
                };
                let operand = as_optional(&a).unwrap_or(Some(&a));
                Ok(optional(operand.and_then(|value| ops::select(value, field).ok())))
            }
            _ => {
                self.budget.traverse(&a)?;
                self.budget.traverse(&b)?;
                ops::arithmetic(operator, a, b)
            }
        }
    }

    /// Spends the cost of comparing lists without order, where each item is compared with each other one.
    fn compare_unordered(&mut self, a: &Value, b: &Value) -> Result<(), Error> {
        match (super::list::unordered(a), items(b)) {
            (Some(list), Some(others)) => {
                self.budget.spend((list.items.len() as u64).saturating_mul(others.len() as u64))
            }
            _ => Ok(()),
        }
    }

    fn index(&mut self, value: &Value, at: &Value) -> Result<Value, Error> {
        match as_optional(value) {
            Some(inner) => Ok(optional(inner.and_then(|value| ops::index(value, at).ok()))),
            None => ops::index(value, at),
        }
    }

    fn list(&mut self, list: &ListExpr, scope: &Scope<'_>) -> Result<Value, Error> {
        let mut items = Vec::with_capacity(list.elements.len());
        for (index, element) in list.elements.iter().enumerate() {
            let value = self.value(element, scope)?;
            match as_optional(&value).filter(|_| list.optional_indices.contains(&index)) {
                Some(inner) => items.extend(inner.cloned()),
                None => items.push(value),
            }
        }
        Ok(Value::List(Arc::new(items)))
    }

    fn map(&mut self, entries: &[IdedEntryExpr], scope: &Scope<'_>) -> Result<Value, Error> {
        let mut map = HashMap::with_capacity(entries.len());
        for entry in entries {
            let EntryExpr::MapEntry(entry) = &entry.expr else {
                return Err(Error::NoOverload);
            };
            let key: Key = self.value(&entry.key, scope)?.try_into().map_err(|_| Error::NoOverload)?;
            let value = self.value(&entry.value, scope)?;
            match as_optional(&value).filter(|_| entry.optional) {
                Some(inner) => inner.cloned().into_iter().for_each(|v| drop(map.insert(key.clone(), v))),
                None => drop(map.insert(key, value)),
            }
        }
        Ok(Value::Map(Map { map: Arc::new(map) }))
    }

    /// What a macro iterates over: the items of a list, or the keys of a map.
    pub(super) fn range(&mut self, value: &Value) -> Result<Vec<Value>, Error> {
        let range = match (value, items(value)) {
            (_, Some(items)) => items.to_vec(),
            (Value::Map(map), _) => sorted_keys(map).into_iter().map(Value::from).collect(),
            _ => return Err(Error::NoOverload),
        };
        self.budget.spend(range.len() as u64)?;
        Ok(range)
    }

    /// The macros `all`, `exists`, `exists_one`, `map` and `filter`, as the parser expands them.
    fn comprehension(&mut self, loop_: &ComprehensionExpr, scope: &Scope<'_>) -> Result<Value, Error> {
        let range = self.value(&loop_.iter_range, scope)?;
        let range = self.range(&range)?;
        if matches!(&loop_.accu_init.expr, Expr::List(list) if list.elements.is_empty()) {
            let mut items = Vec::new();
            for item in range {
                self.collect(&loop_.loop_step, &scope.with(&loop_.iter_var, item), &mut items)?;
            }
            return Ok(Value::List(Arc::new(items)));
        }
        // An error of the step is kept as the value so far, because a later item may still decide.
        let mut so_far = self.value(&loop_.accu_init, scope);
        for item in range {
            if let Ok(value) = &so_far {
                let inner = scope.with(&loop_.accu_var, value.clone());
                if !self.bool(&loop_.loop_cond, &inner)? {
                    break;
                }
            }
            so_far = self.step(loop_, so_far, item, scope);
            if so_far == Err(Error::TooExpensive) {
                break;
            }
        }
        let value = so_far?;
        self.value(&loop_.result, &scope.with(&loop_.accu_var, value))
    }

    fn step(
        &mut self,
        loop_: &ComprehensionExpr,
        so_far: Result<Value, Error>,
        item: Value,
        scope: &Scope<'_>,
    ) -> Result<Value, Error> {
        let inner = scope.with(&loop_.iter_var, item);
        let failed = match so_far {
            Ok(value) => return self.value(&loop_.loop_step, &inner.with(&loop_.accu_var, value)),
            Err(failed) => failed,
        };
        let Expr::Call(CallExpr { func_name, args, .. }) = &loop_.loop_step.expr else {
            return Err(failed);
        };
        match (func_name.as_str(), args.as_slice()) {
            ("_||_", [_, predicate]) if self.bool(predicate, &inner)? => Ok(Value::Bool(true)),
            ("_&&_", [_, predicate]) if !self.bool(predicate, &inner)? => Ok(Value::Bool(false)),
            _ => Err(failed),
        }
    }

    /// The step of a macro that builds a list: `@result + [item]`, possibly with a condition.
    fn collect(&mut self, step: &Expression, scope: &Scope<'_>, items: &mut Vec<Value>) -> Result<(), Error> {
        let Expr::Call(call) = &step.expr else {
            return Ok(());
        };
        match (call.func_name.as_str(), call.args.as_slice()) {
            ("_?_:_", [condition, yes, _]) => {
                if self.bool(condition, scope)? {
                    self.collect(yes, scope, items)?;
                }
                Ok(())
            }
            ("_+_", [_, added]) => {
                if let Value::List(added) = self.value(added, scope)? {
                    items.extend(added.iter().cloned());
                }
                Ok(())
            }
            _ => Err(Error::NoOverload),
        }
    }
}

/// The keys of a map, in an order that is the same in every run.
pub(super) fn sorted_keys(map: &Map) -> Vec<Key> {
    let mut keys: Vec<Key> = map.map.keys().cloned().collect();
    keys.sort();
    keys
}
