//! Macros with two variables, which the parser leaves as calls. It expands macros with one variable.

use std::collections::HashMap;
use std::sync::Arc;

use kube_cel::cel::common::ast::{CallExpr, Expr};
use kube_cel::cel::objects::{Key, Map};
use kube_cel::cel::parser::Expression;

use super::eval::{Eval, Scope, sorted_keys};
use super::list::items;
use super::{Error, Value};

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
