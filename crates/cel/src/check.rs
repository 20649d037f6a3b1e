//! Checks expressions against the types of their variables, before there are values.
//!
//! An expression whose type is not known is not rejected. It has the type `dyn`, and evaluation decides.

use kube_cel::cel::common::ast::{CallExpr, ComprehensionExpr, Expr, IdedExpr, LiteralValue};

use super::{
    source::Tokens,
    types::{Ty, denoted, result_of},
};
use crate::eval::{NAMESPACES, two_variables};

/// Returns the name of the expression's type, or all of its errors.
pub(super) fn check(expression: &IdedExpr, source: &str, variables: &[(&str, Ty<'_>)]) -> Result<String, String> {
    let known = variables.iter().map(|(name, ty)| ((*name).to_owned(), ty.clone())).collect();
    let mut check = Check { tokens: Tokens::of(source), variables: known, errors: Vec::new() };
    let ty = check.ty(expression);
    if check.errors.is_empty() {
        return Ok(ty.name());
    }
    check.errors.sort();
    let texts: Vec<String> = check.errors.into_iter().map(|(_, text)| text).collect();
    Err(texts.join("\n"))
}

struct Check<'s, 't> {
    tokens: Tokens<'s>,
    variables: Vec<(String, Ty<'t>)>,
    /// The errors with their places.
    errors: Vec<(Option<usize>, String)>,
}

const BOOL: Ty<'static> = Ty::Plain("bool");

impl<'t> Check<'_, 't> {
    fn error(&mut self, at: Option<usize>, why: &str) -> Ty<'t> {
        self.errors.push((at, self.tokens.error(at, why)));
        Ty::Dyn
    }

    fn ty(&mut self, expression: &IdedExpr) -> Ty<'t> {
        match &expression.expr {
            Expr::Literal(literal) => literal_type(literal),
            Expr::Ident(name) => self.variable(name),
            Expr::Select(select) => {
                let operand = self.ty(&select.operand);
                let dot = self.tokens.take(".");
                self.tokens.take(&select.field);
                let field = self.field(&operand, &select.field, dot);
                if select.test { BOOL } else { field }
            }
            Expr::Call(call) => self.call(call),
            Expr::List(list) => {
                let types: Vec<Ty<'t>> = list.elements.iter().map(|e| self.ty(e)).collect();
                let first = types.first().cloned().unwrap_or(Ty::Dyn);
                let same = types.iter().all(|ty| *ty == first);
                Ty::List(Box::new(if same { first } else { Ty::Dyn }))
            }
            Expr::Map(_) | Expr::Struct(_) => {
                super::source::parts(expression).into_iter().for_each(|part| drop(self.ty(part)));
                Ty::Map(Box::new(Ty::Dyn))
            }
            Expr::Comprehension(loop_) => self.comprehension(loop_),
            Expr::Unspecified => Ty::Dyn,
        }
    }

    fn field(&mut self, operand: &Ty<'t>, name: &str, dot: Option<usize>) -> Ty<'t> {
        match (operand.field(name), operand) {
            (Ok(ty), _) => ty,
            (Err(()), Ty::Plain(_) | Ty::List(_)) => {
                self.error(dot, &format!("type '{}' does not support field selection", operand.name()))
            }
            (Err(()), _) => self.error(dot, &format!("undefined field '{name}'")),
        }
    }

    fn variable(&mut self, name: &str) -> Ty<'t> {
        let at = self.tokens.take(name);
        let found = self.variables.iter().rev().find(|(known, _)| known == name).map(|(_, ty)| ty.clone());
        match found {
            Some(ty) => ty,
            None if denoted(name).is_some() => Ty::Plain("type"),
            None => self.error(at, &format!("undeclared reference to '{name}' (in container '')")),
        }
    }

    fn within(&mut self, variables: &[(&str, Ty<'t>)], inner: &[&IdedExpr]) -> Ty<'t> {
        let outer = self.variables.len();
        self.variables.extend(variables.iter().map(|(name, ty)| ((*name).to_owned(), ty.clone())));
        let last = inner.iter().map(|part| self.ty(part)).last();
        self.variables.truncate(outer);
        last.unwrap_or(Ty::Dyn)
    }

    /// Checks a macro that the parser has expanded. Only the parts that the author wrote are checked.
    fn comprehension(&mut self, loop_: &ComprehensionExpr) -> Ty<'t> {
        let item = item_type(&self.ty(&loop_.iter_range));
        self.tokens.take(".");
        self.tokens.take(&loop_.iter_var);
        let builds = matches!(&loop_.accu_init.expr, Expr::List(_));
        let written = written(&loop_.loop_step, &loop_.accu_var);
        let last = self.within(&[(&loop_.iter_var, item)], &written);
        if builds { Ty::List(Box::new(last)) } else { BOOL }
    }

    fn call(&mut self, call: &CallExpr) -> Ty<'t> {
        if let Some(parts) = two_variables(call) {
            let (first, second) = match self.ty(parts.range) {
                Ty::List(item) => (Ty::Plain("int"), *item),
                Ty::Map(value) => (Ty::Plain("string"), *value),
                _ => (Ty::Dyn, Ty::Dyn),
            };
            self.tokens.take(".");
            self.tokens.take(parts.first);
            self.tokens.take(parts.second);
            let rest: Vec<&IdedExpr> = parts.rest.iter().collect();
            let last = self.within(&[(parts.first, first), (parts.second, second)], &rest);
            return match call.func_name.as_str() {
                "transformList" => Ty::List(Box::new(last)),
                "transformMap" => Ty::Map(Box::new(last)),
                "transformMapEntry" => Ty::Map(Box::new(Ty::Dyn)),
                _ => BOOL,
            };
        }
        match (call.func_name.as_str(), call.args.as_slice()) {
            ("_?_:_", [condition, yes, no]) => {
                self.ty(condition);
                let (yes, no) = (self.ty(yes), self.ty(no));
                if yes == no { yes } else { Ty::Dyn }
            }
            ("_?._", [operand, _]) => {
                let operand = self.ty(operand);
                let field = match call.args.last().map(|field| &field.expr) {
                    Some(Expr::Literal(LiteralValue::String(name))) => name.inner().to_owned(),
                    _ => String::new(),
                };
                let dot = self.tokens.take(".");
                self.tokens.take(&field);
                match self.field(&operand, &field, dot) {
                    Ty::Optional(inner) => Ty::Optional(inner),
                    inner => Ty::Optional(Box::new(inner)),
                }
            }
            (name, args) if name.contains('_') && call.target.is_none() || name == "@in" => self.operator(name, args),
            _ => self.function(call),
        }
    }

    fn operator(&mut self, name: &str, args: &[IdedExpr]) -> Ty<'t> {
        let symbol = if name == "@in" { "in" } else { name.trim_matches('_') };
        let mut types = Vec::new();
        let mut at = None;
        for (index, arg) in args.iter().enumerate() {
            if index == 1 || args.len() == 1 {
                at = self.tokens.take(symbol.get(..1).filter(|_| name == "_[_]").unwrap_or(symbol));
            }
            types.push(self.ty(arg));
        }
        match operator_type(name, &types) {
            Some(ty) => ty,
            None => {
                let given: Vec<String> = types.iter().map(Ty::name).collect();
                let why = format!("found no matching overload for '{name}' applied to '({})'", given.join(", "));
                self.error(at, &why)
            }
        }
    }

    fn function(&mut self, call: &CallExpr) -> Ty<'t> {
        let mut name = call.func_name.clone();
        let mut target = None;
        match call.target.as_deref() {
            Some(IdedExpr { expr: Expr::Ident(space), .. })
                if NAMESPACES.contains(&space.as_str()) && !self.variables.iter().any(|(known, _)| known == space) =>
            {
                self.tokens.take(space);
                name = format!("{space}.{name}");
            }
            Some(value) => target = Some(self.ty(value)),
            None => {}
        }
        if call.target.is_some() {
            self.tokens.take(".");
        }
        let at = self.tokens.take(&call.func_name);
        let paren = self.tokens.take("(");
        let place = if call.target.is_some() { paren } else { at.and(paren) };
        if matches!(name.as_str(), "optMap" | "optFlatMap") {
            return Ty::Dyn;
        }
        let arguments: Vec<Ty<'t>> = call.args.iter().map(|a| self.ty(a)).collect();
        match (result_of(&name), name.as_str(), target, arguments.as_slice()) {
            (None, ..) => self.error(place, &format!("undeclared reference to '{}' (in container '')", call.func_name)),
            (_, "orValue" | "value", Some(Ty::Optional(inner)), _) => *inner,
            (_, "optional.of", _, [value]) => Ty::Optional(Box::new(value.clone())),
            (Some("dyn"), ..) => Ty::Dyn,
            (Some("list"), ..) => Ty::List(Box::new(Ty::Plain("string"))),
            (Some(plain), ..) => Ty::Plain(plain),
        }
    }
}

fn literal_type<'t>(literal: &LiteralValue) -> Ty<'t> {
    Ty::Plain(match literal {
        LiteralValue::Boolean(_) => "bool",
        LiteralValue::Bytes(_) => "bytes",
        LiteralValue::Double(_) => "double",
        LiteralValue::Int(_) => "int",
        LiteralValue::Null => return Ty::Dyn,
        LiteralValue::String(_) => "string",
        LiteralValue::UInt(_) => "uint",
    })
}

fn item_type<'t>(range: &Ty<'t>) -> Ty<'t> {
    match range {
        Ty::List(item) => (**item).clone(),
        Ty::Map(_) => Ty::Plain("string"),
        _ => Ty::Dyn,
    }
}

/// The parts of a macro's step that the author wrote, in their order.
fn written<'e>(step: &'e IdedExpr, accumulator: &str) -> Vec<&'e IdedExpr> {
    let Expr::Call(call) = &step.expr else {
        return Vec::new();
    };
    match (call.func_name.as_str(), call.args.as_slice()) {
        ("_?_:_", [condition, yes, _]) => {
            let mut parts = vec![condition];
            parts.extend(written(yes, accumulator));
            parts
        }
        (_, [IdedExpr { expr: Expr::Ident(name), .. }, added]) if name == accumulator => match &added.expr {
            Expr::List(list) => list.elements.iter().collect(),
            Expr::Literal(_) => Vec::new(),
            _ => vec![added],
        },
        _ => Vec::new(),
    }
}

/// The type of an operator's value. `None` if it does not accept these operands.
fn operator_type<'t>(name: &str, types: &[Ty<'t>]) -> Option<Ty<'t>> {
    let scalar = |ty: &Ty<'t>| matches!(ty, Ty::Plain(_));
    let number = |ty: &Ty<'t>| matches!(ty, Ty::Plain("int" | "uint" | "double"));
    match (name, types) {
        ("_||_" | "_&&_", [a, b]) => [a, b].iter().all(|ty| **ty == BOOL || **ty == Ty::Dyn).then_some(BOOL),
        ("!_", [a]) => (*a == BOOL || *a == Ty::Dyn).then_some(BOOL),
        ("_==_" | "_!=_", [a, b]) => a.comparable(b).then_some(BOOL),
        ("_<_" | "_<=_" | "_>_" | "_>=_", [a, b]) => {
            let fits = !scalar(a) || !scalar(b) || a == b || (number(a) && number(b));
            fits.then_some(BOOL)
        }
        ("@in", [_, Ty::Plain(_)]) => None,
        ("@in", _) => Some(BOOL),
        ("_[_]", [Ty::List(item), _]) => Some((**item).clone()),
        ("_[_]", [Ty::Map(value), _]) => Some((**value).clone()),
        ("_[_]" | "_[?_]", _) => Some(Ty::Dyn),
        (_, [a, b]) if scalar(a) && scalar(b) => sum_type(name, a, b),
        ("_+_", [a, b]) if a == b => Some(a.clone()),
        _ => Some(Ty::Dyn),
    }
}

fn sum_type<'t>(name: &str, a: &Ty<'t>, b: &Ty<'t>) -> Option<Ty<'t>> {
    match (name, a, b) {
        ("_+_", Ty::Plain("timestamp"), Ty::Plain("duration")) => Some(a.clone()),
        ("_+_", Ty::Plain("duration"), Ty::Plain("timestamp")) => Some(b.clone()),
        ("_-_", Ty::Plain("timestamp"), Ty::Plain("duration")) => Some(a.clone()),
        ("_-_", Ty::Plain("timestamp"), Ty::Plain("timestamp")) => Some(Ty::Plain("duration")),
        ("_+_", Ty::Plain("string" | "bytes" | "duration"), _) if a == b => Some(a.clone()),
        ("_-_", Ty::Plain("duration"), _) if a == b => Some(a.clone()),
        (_, Ty::Plain("int" | "uint"), _) if a == b => Some(a.clone()),
        ("_%_", ..) => None,
        (_, Ty::Plain("double"), _) if a == b => Some(a.clone()),
        _ => None,
    }
}
