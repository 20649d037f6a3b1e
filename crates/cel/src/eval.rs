//! Evaluates expressions step by step within a budget. Nothing is kept: the same expression on the same values returns
//! the same result.

use std::{cmp::Ordering, collections::HashMap, sync::Arc};

use kube_cel::cel::{
    common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedEntryExpr, IdedExpr, ListExpr, SelectExpr},
    objects::{Key, Map, OptionalValue},
    parser::Expression,
};

use crate::{
    Budget, Error, Value,
    ops::{self, as_optional},
    optional, types,
    values::items,
};

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
        match (super::values::unordered(a), items(b)) {
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

/// The parts of a macro with two variables.
pub(super) struct TwoVariables<'e> {
    pub range: &'e Expression,
    pub first: &'e str,
    pub second: &'e str,
    /// A filter and a transformation, or one expression.
    pub rest: &'e [Expression],
}

/// Returns the call's parts, if it is a macro with two variables.
pub(super) fn two_variables(call: &CallExpr) -> Option<TwoVariables<'_>> {
    let range = call.target.as_deref()?;
    let [first, second, rest @ ..] = call.args.as_slice() else {
        return None;
    };
    let (Expr::Ident(first), Expr::Ident(second)) = (&first.expr, &second.expr) else {
        return None;
    };
    let fits = match call.func_name.as_str() {
        "all" | "exists" | "existsOne" | "exists_one" => rest.len() == 1,
        "transformList" | "transformMap" | "transformMapEntry" => matches!(rest.len(), 1 | 2),
        _ => false,
    };
    fits.then_some(TwoVariables { range, first, second, rest })
}

impl Eval<'_> {
    /// Returns the value of a macro with two variables, or `None` if the call is something else.
    pub(super) fn macro_call(&mut self, call: &CallExpr, scope: &Scope<'_>) -> Option<Result<Value, Error>> {
        let parts = two_variables(call)?;
        Some(match call.func_name.as_str() {
            "transformList" => self.transform_list(&parts, scope),
            "transformMap" | "transformMapEntry" => self.transform_map(&call.func_name, &parts, scope),
            name => self.quantify(name, &parts, scope),
        })
    }

    /// The index and item for each item of a list, or the key and value for each entry of a map.
    fn pairs(&mut self, range: &Expression, scope: &Scope<'_>) -> Result<Vec<(Value, Value)>, Error> {
        let range = self.value(range, scope)?;
        let pairs: Vec<(Value, Value)> = match (&range, items(&range)) {
            (_, Some(items)) => (0..).map(Value::Int).zip(items.iter().cloned()).collect(),
            (Value::Map(map), _) => {
                let keys = sorted_keys(map).into_iter();
                keys.filter_map(|key| map.get(&key).cloned().map(|value| (Value::from(key.clone()), value))).collect()
            }
            _ => return Err(Error::NoOverload),
        };
        self.budget.spend(pairs.len() as u64)?;
        Ok(pairs)
    }

    fn quantify(&mut self, name: &str, parts: &TwoVariables<'_>, scope: &Scope<'_>) -> Result<Value, Error> {
        let [predicate] = parts.rest else {
            return Err(Error::NoOverload);
        };
        let decisive = name != "all";
        let (mut found, mut failed) = (0, None);
        for (a, b) in self.pairs(parts.range, scope)? {
            let outer = scope.with(parts.first, a);
            match self.bool(predicate, &outer.with(parts.second, b)) {
                Ok(on) if on == decisive => found += 1,
                Err(error) if error == Error::TooExpensive || name.starts_with("existsOne") => return Err(error),
                Err(error) => failed = Some(error),
                Ok(_) => {}
            }
            if found > 0 && matches!(name, "all" | "exists") {
                return Ok(Value::Bool(decisive));
            }
        }
        match (failed, name) {
            (Some(error), _) => Err(error),
            (None, "all") => Ok(Value::Bool(true)),
            (None, "exists") => Ok(Value::Bool(false)),
            (None, _) => Ok(Value::Bool(found == 1)),
        }
    }

    /// The transformed value of a pair, unless the filter leaves it out.
    fn transformed(
        &mut self,
        parts: &TwoVariables<'_>,
        pair: (Value, Value),
        scope: &Scope<'_>,
    ) -> Result<Option<Value>, Error> {
        let outer = scope.with(parts.first, pair.0);
        let inner = outer.with(parts.second, pair.1);
        match parts.rest {
            [filter, transform] if self.bool(filter, &inner)? => self.value(transform, &inner).map(Some),
            [transform] => self.value(transform, &inner).map(Some),
            _ => Ok(None),
        }
    }

    fn transform_list(&mut self, parts: &TwoVariables<'_>, scope: &Scope<'_>) -> Result<Value, Error> {
        let mut items = Vec::new();
        for pair in self.pairs(parts.range, scope)? {
            items.extend(self.transformed(parts, pair, scope)?);
        }
        Ok(Value::List(Arc::new(items)))
    }

    fn transform_map(&mut self, name: &str, parts: &TwoVariables<'_>, scope: &Scope<'_>) -> Result<Value, Error> {
        let mut map: HashMap<Key, Value> = HashMap::new();
        for (key, value) in self.pairs(parts.range, scope)? {
            let Some(new) = self.transformed(parts, (key.clone(), value), scope)? else {
                continue;
            };
            match new {
                Value::Map(entries) if name == "transformMapEntry" => {
                    self.budget.spend(entries.map.len() as u64)?;
                    map.extend(entries.map.iter().map(|(k, v)| (k.clone(), v.clone())));
                }
                new => {
                    map.insert(key.try_into().map_err(|_| Error::NoOverload)?, new);
                }
            }
        }
        Ok(Value::Map(Map { map: Arc::new(map) }))
    }
}

/// What every call of the library costs.
const CALL: u64 = 10;
/// The namespaces of these functions.
pub(super) const NAMESPACES: &[&str] = &["format", "ip", "optional", "sets"];

impl Eval<'_> {
    pub(super) fn function(&mut self, call: &CallExpr, scope: &Scope<'_>) -> Result<Value, Error> {
        let mut name = call.func_name.clone();
        let mut target = call.target.as_deref();
        if let Some(Expr::Ident(space)) = target.map(|t| &t.expr)
            && scope.get(space).is_none()
            && NAMESPACES.contains(&space.as_str())
        {
            name = format!("{space}.{name}");
            target = None;
        }
        if matches!(name.as_str(), "optMap" | "optFlatMap") {
            return self.map_optional(&name, target, &call.args, scope);
        }
        let target = target.map(|t| self.value(t, scope)).transpose()?;
        if matches!(name.as_str(), "or" | "orValue") && call.args.len() == 1 {
            return match (target.as_ref().and_then(as_optional), call.args.first()) {
                (Some(Some(value)), _) => Ok(if name == "or" { optional(Some(value.clone())) } else { value.clone() }),
                (Some(None), Some(other)) => self.value(other, scope),
                _ => Err(Error::NoOverload),
            };
        }
        let arguments: Result<Vec<Value>, Error> = call.args.iter().map(|a| self.value(a, scope)).collect();
        self.apply(&name, target, arguments?)
    }

    fn apply(&mut self, name: &str, target: Option<Value>, arguments: Vec<Value>) -> Result<Value, Error> {
        let all: Vec<&Value> = target.iter().chain(&arguments).collect();
        match (name, all.as_slice()) {
            ("size", [value]) => {
                let size = ops::size(value).ok_or(Error::NoOverload)?;
                return Ok(Value::Int(i64::try_from(size).unwrap_or(i64::MAX)));
            }
            ("type", [value]) => return Ok(types::of(value)),
            ("dyn", [value]) => return Ok((*value).clone()),
            ("bool", [Value::Bool(on)]) => return Ok(Value::Bool(*on)),
            ("bool", [Value::String(text)]) => {
                let parsed =
                    text.parse().map_err(|_| Error::Other(format!("type conversion error from '{text}' to 'bool'")));
                return parsed.map(Value::Bool);
            }
            ("hasValue", [value]) if as_optional(value).is_some() => {
                return Ok(Value::Bool(as_optional(value).is_some_and(|v| v.is_some())));
            }
            ("value", [value]) if as_optional(value).is_some() => {
                let inner = as_optional(value).flatten().cloned();
                return inner.ok_or_else(|| Error::Other("optional.none() dereference".to_owned()));
            }
            ("optional.none", []) => return Ok(Value::Opaque(Arc::new(OptionalValue::none()))),
            ("optional.of", [value]) => return Ok(optional(Some((*value).clone()))),
            _ => {}
        }
        for value in &all {
            self.budget.traverse(value)?;
        }
        self.budget.spend(growth(name, &all))?;
        if types::result_of(name).is_none() {
            return Err(Error::NoOverload);
        }
        self.budget.library.call(name, target, arguments)
    }

    fn map_optional(
        &mut self,
        name: &str,
        target: Option<&IdedExpr>,
        arguments: &[IdedExpr],
        scope: &Scope<'_>,
    ) -> Result<Value, Error> {
        let (Some(target), [IdedExpr { expr: Expr::Ident(variable), .. }, body]) = (target, arguments) else {
            return Err(Error::NoOverload);
        };
        let target = self.value(target, scope)?;
        let Some(inner) = as_optional(&target) else {
            return Err(Error::NoOverload);
        };
        let Some(inner) = inner.cloned() else {
            return Ok(optional(None));
        };
        let value = self.value(body, &scope.with(variable, inner))?;
        Ok(if name == "optMap" { optional(Some(value)) } else { value })
    }
}

/// What a function may cost in addition to reading its arguments: the size of what it creates, or the work on patterns.
fn growth(name: &str, values: &[&Value]) -> u64 {
    let length = |index: usize| match values.get(index) {
        Some(Value::String(text)) => text.len() as u64,
        Some(other) => ops::size(other).unwrap_or(1),
        None => 1,
    };
    let product = || (length(0) + 1).saturating_mul(length(1) + 1);
    match name {
        "replace" => (length(0) + 1).saturating_mul(length(2) + 1) / 10,
        "matches" | "find" | "findAll" | "indexOf" | "lastIndexOf" | "contains" => product() / 40,
        "sets.contains" | "sets.equivalent" | "sets.intersects" => product(),
        "join" | "distinct" => length(0).saturating_mul(length(0).max(length(1))),
        "format" => match values.first() {
            Some(Value::String(text)) => digits(text),
            _ => 1,
        },
        _ => 1,
    }
    .saturating_add(CALL)
}

/// The sum of the numbers in a format. They are widths, so they say how much is written.
fn digits(format: &str) -> u64 {
    let numbers = format.split(|c: char| !c.is_ascii_digit()).filter(|n| !n.is_empty());
    numbers.map(|n| n.parse().unwrap_or(u64::MAX)).fold(0, u64::saturating_add)
}
