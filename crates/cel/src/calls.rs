//! Calls of functions: a few simple ones are implemented here, and the rest come from the Kubernetes library. What a
//! function may cost is spent before it runs.

use std::sync::Arc;

use kube_cel::cel::common::ast::{CallExpr, Expr, IdedExpr};
use kube_cel::cel::objects::OptionalValue;

use super::eval::{Eval, Scope};
use super::ops::{self, as_optional};
use super::{Error, Value, optional, types};

/// The names of all functions, with their namespace if they have one. Rules cannot use any other function.
pub(super) const FUNCTIONS: &[&str] = &[
    "add",
    "asApproximateFloat",
    "asInteger",
    "bool",
    "bytes",
    "charAt",
    "cidr",
    "compareTo",
    "contains",
    "containsCIDR",
    "containsIP",
    "distinct",
    "double",
    "duration",
    "dyn",
    "endsWith",
    "family",
    "find",
    "findAll",
    "first",
    "flatten",
    "format",
    "format.byte",
    "format.date",
    "format.datetime",
    "format.dns1035Label",
    "format.dns1035LabelPrefix",
    "format.dns1123Label",
    "format.dns1123LabelPrefix",
    "format.dns1123Subdomain",
    "format.dns1123SubdomainPrefix",
    "format.labelValue",
    "format.named",
    "format.qualifiedName",
    "format.uri",
    "format.uuid",
    "getDate",
    "getDayOfMonth",
    "getDayOfWeek",
    "getDayOfYear",
    "getEscapedPath",
    "getFullYear",
    "getHost",
    "getHostname",
    "getHours",
    "getMilliseconds",
    "getMinutes",
    "getMonth",
    "getPort",
    "getQuery",
    "getScheme",
    "getSeconds",
    "hasValue",
    "indexOf",
    "int",
    "ip",
    "ip.isCanonical",
    "isCIDR",
    "isGlobalUnicast",
    "isGreaterThan",
    "isIP",
    "isInteger",
    "isLessThan",
    "isLinkLocalMulticast",
    "isLinkLocalUnicast",
    "isLoopback",
    "isQuantity",
    "isSemver",
    "isSorted",
    "isURL",
    "isUnspecified",
    "join",
    "last",
    "lastIndexOf",
    "lowerAscii",
    "major",
    "masked",
    "matches",
    "max",
    "min",
    "minor",
    "optMap",
    "optFlatMap",
    "optional.none",
    "optional.of",
    "optional.ofNonZeroValue",
    "or",
    "orValue",
    "patch",
    "prefixLength",
    "quantity",
    "replace",
    "semver",
    "sets.contains",
    "sets.equivalent",
    "sets.intersects",
    "sign",
    "size",
    "slice",
    "sort",
    "split",
    "startsWith",
    "string",
    "sub",
    "substring",
    "sum",
    "timestamp",
    "trim",
    "type",
    "uint",
    "upperAscii",
    "url",
    "validate",
    "value",
];

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
        if !FUNCTIONS.contains(&name) {
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
