//! Decides whether a jq program provably does work, and gives output, linear in the size of its input.
//!
//! It is a small abstract interpretation over jaq's parse tree. It never guesses: a program that it cannot bound is not
//! linear.

mod builtin;
mod update;

use jaq_core::{
    load::{
        lex::StrPart,
        parse::{BinaryOp, Pattern, Term},
    },
    ops::{Cmp, Math},
    path::Part,
};

use super::bound::{Bound, Form, LOG, NUMBER, one};

/// The deepest parse tree that is analysed. A program that runs in this process recurses as deep.
const MAX_DEPTH: usize = 48;
/// A program with a larger factor does not count as linear, because it would hardly ever fit [`BUDGET`].
const MAX_FACTOR: u64 = 4_096;
/// The most steps of one evaluation in this process. They take some tens of milliseconds at worst.
const BUDGET: u64 = 1 << 22;

/// What is known at a place in the program.
#[derive(Clone, Default)]
pub(super) struct Scope<'t> {
    vars: Vec<(&'t str, bool)>,
    /// All object keys in the input are strings.
    pub plain: bool,
    depth: usize,
}

impl Scope<'_> {
    pub fn with_plain(&self, plain: bool) -> Self {
        Self { plain, ..self.clone() }
    }
}

/// The most steps and output of a linear program: `factor · size + constant`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cost {
    factor: u64,
    constant: u64,
}

impl Cost {
    /// Whether an input of this many bytes is within the budget of this process.
    pub fn fits(self, input: usize) -> bool {
        self.at(input) <= BUDGET
    }

    /// The cost for an input of this many bytes.
    pub fn at(self, input: usize) -> u64 {
        (input as u64).saturating_mul(self.factor).saturating_add(self.constant)
    }
}

/// The most output of a linear program for an input of this many bytes. `null` counts as one.
#[cfg(test)]
pub(super) fn most_output(program: &Term<&str>, input: u64) -> Option<u64> {
    let out = term(program, &Scope { plain: true, ..Scope::default() })?.out;
    Some(out.input.saturating_mul(input).saturating_add(out.constant))
}

/// The cost of a program, if it is linear.
pub fn cost(program: &Term<&str>) -> Option<Cost> {
    let bound = term(program, &Scope { plain: true, ..Scope::default() })?;
    let whole = bound.out.plus(&bound.work);
    (whole.input <= MAX_FACTOR).then_some(Cost { factor: whole.input, constant: whole.constant })
}

pub(super) fn term<'t>(t: &'t Term<&'t str>, scope: &Scope<'t>) -> Option<Bound> {
    if scope.depth >= MAX_DEPTH {
        return None;
    }
    let scope = &Scope { depth: scope.depth + 1, ..scope.clone() };
    match t {
        Term::Id => Some(Bound::identity(scope.plain)),
        Term::Num(text) => Some(Bound::literal(text.len() as u64)),
        Term::Str(format, parts) => string(*format, parts, scope),
        Term::Arr(None) => Some(Bound { scalar: false, ..Bound::literal(2) }),
        Term::Arr(Some(inner)) => Some(term(inner, scope)?.collected()),
        Term::Obj(entries) => object(entries, scope),
        Term::Neg(inner) => Some(term(inner, scope)?.becoming(NUMBER)),
        Term::BinOp(left, op, right) => binary(left, op, right, scope),
        Term::IfThenElse(branches, otherwise) => conditional(branches, otherwise.as_deref(), scope),
        Term::TryCatch(body, catch) => try_catch(body, catch.as_deref(), scope),
        Term::Call(name, args) => builtin::call(name, args, scope),
        Term::Var(name) => variable(name, scope),
        Term::Path(head, path) => {
            path.0.iter().try_fold(term(head, scope)?, |bound, (part, _)| path_part(bound, part, scope))
        }
        Term::Recurse | Term::Label(..) | Term::Break(_) | Term::Fold(..) | Term::Def(..) => None,
    }
}

fn variable(name: &str, scope: &Scope<'_>) -> Option<Bound> {
    if let Some(index) = scope.vars.iter().rposition(|(var, _)| *var == name) {
        let plain = scope.vars.get(index).is_some_and(|(_, plain)| *plain);
        return Some(Bound { out: Form::var(index), ..Bound::identity(plain) });
    }
    (name == "$ENV").then(|| Bound { scalar: false, ..Bound::literal(2) })
}

fn path_part<'t>(bound: Bound, part: &'t Part<Term<&'t str>>, scope: &Scope<'t>) -> Option<Bound> {
    let scalar = |t: &'t Term<&'t str>| term(t, scope).filter(|b| b.scalar);
    let with = |bound: Bound, index: &Bound| {
        Some(Bound {
            out: bound.out.product(&index.count)?,
            work: bound.work.plus(&index.work.plus(&index.out).product(&bound.count)?),
            count: bound.count.product(&index.count)?,
            scalar: false,
            plain: bound.plain,
        })
    };
    match part {
        // An array that is indexed by an array is searched, which is not linear. A scalar index needs no search.
        Part::Index(index) => with(bound, &scalar(index)?),
        Part::Range(None, None) => {
            Some(Bound { work: bound.work.plus(&bound.out), count: bound.out.clone(), scalar: false, ..bound })
        }
        Part::Range(from, to) => {
            let work = bound.work.plus(&bound.out);
            [from, to].into_iter().flatten().try_fold(Bound { work, ..bound }, |bound, end| with(bound, &scalar(end)?))
        }
    }
}

fn string<'t>(
    format: Option<&'t str>,
    parts: &'t [StrPart<&'t str, Term<&'t str>>],
    scope: &Scope<'t>,
) -> Option<Bound> {
    let factor = builtin::format_factor(format.unwrap_or("@text"))?;
    let mut whole = Bound::literal(2);
    for part in parts {
        let part = match part {
            StrPart::Str(text) => Bound::literal(escaped(text)),
            StrPart::Char(_) => Bound::literal(6),
            StrPart::Term(inner) => term(inner, scope)?.pipe(&Bound::reads(factor, 2, true))?,
        };
        whole = whole.pairs(&part)?;
    }
    Some(whole)
}

fn object<'t>(entries: &'t [(Term<&'t str>, Option<Term<&'t str>>)], scope: &Scope<'t>) -> Option<Bound> {
    let mut whole = Bound { scalar: false, ..Bound::literal(2) };
    for (key, value) in entries {
        let key_bound = match key {
            Term::Var(name) if value.is_none() => Bound::literal(escaped(name)),
            key => term(key, scope)?,
        };
        let value_bound = match (key, value) {
            (_, Some(value)) => term(value, scope)?,
            (Term::Var(name), None) => variable(name, scope)?,
            (_, None) => Bound::identity(scope.plain),
        };
        let plain = whole.plain && value_bound.plain && key_bound.scalar;
        whole = Bound { plain, ..whole.pairs(&key_bound)?.pairs(&value_bound)? };
        whole.out = whole.out.plus(&whole.count.times(2));
    }
    Some(Bound { scalar: false, ..whole })
}

fn binary<'t>(
    left: &'t Term<&'t str>,
    op: &'t BinaryOp<&'t str>,
    right: &'t Term<&'t str>,
    scope: &Scope<'t>,
) -> Option<Bound> {
    match op {
        BinaryOp::Pipe(None) => {
            let l = term(left, scope)?;
            l.pipe(&term(right, &scope.with_plain(l.plain))?)
        }
        BinaryOp::Pipe(Some(pattern)) => bind(left, pattern, right, scope),
        BinaryOp::Assign => update::assign(left, &term(right, scope)?, scope),
        BinaryOp::Update => update::update(left, right, scope),
        BinaryOp::UpdateMath(Math::Add) => update::assign(left, &term(right, scope)?.grown(), scope),
        BinaryOp::UpdateMath(_) | BinaryOp::UpdateAlt => None,
        _ => operation(&term(left, scope)?, op, &term(right, scope)?),
    }
}

fn operation(l: &Bound, op: &BinaryOp<&str>, r: &Bound) -> Option<Bound> {
    match op {
        BinaryOp::Comma => Some(l.then(r)),
        BinaryOp::Alt => Some(Bound { work: l.work.plus(&r.work), ..l.either(r) }),
        // If the left side decides, that is an output, whether the right side has any or not.
        BinaryOp::Or | BinaryOp::And => {
            let right = Bound { count: r.count.max(&one()), ..r.clone() };
            Some(l.pairs(&right)?.becoming(5))
        }
        BinaryOp::Cmp(cmp) => compare(l, *cmp, r),
        BinaryOp::Math(Math::Add) => Some(l.pairs(r)?.grown()),
        // Arrays: each element is looked up among all elements of the other array, by comparing containers.
        BinaryOp::Math(Math::Sub) if !l.scalar && !r.scalar => None,
        BinaryOp::Math(Math::Sub) => Some(l.pairs(r)?.grown()),
        // Splits a text into texts: one byte becomes three.
        BinaryOp::Math(Math::Div) => {
            let pairs = l.pairs(r)?.grown();
            Some(Bound { out: pairs.out.times(4), work: pairs.work.times(4), scalar: false, ..pairs })
        }
        BinaryOp::Math(Math::Rem) => Some(l.pairs(r)?.becoming(NUMBER)),
        // A text times a number repeats the text.
        _ => None,
    }
}

/// Comparing with a scalar reads no more than the scalar.
fn compare(l: &Bound, cmp: Cmp, r: &Bound) -> Option<Bound> {
    let pairs = l.pairs(r)?;
    let cost = match (l.scalar, r.scalar) {
        (true, _) => l.out.product(&r.count)?,
        (_, true) => r.out.product(&l.count)?,
        (false, false) if matches!(cmp, Cmp::Eq | Cmp::Ne) => pairs.out.times(2),
        (false, false) => pairs.out.times(LOG),
    };
    let work = l.work.plus(&r.work.product(&l.count)?).plus(&pairs.count).plus(&cost);
    Some(Bound { work, ..pairs.becoming(5) })
}

fn conditional<'t>(
    branches: &'t [(Term<&'t str>, Term<&'t str>)],
    otherwise: Option<&'t Term<&'t str>>,
    scope: &Scope<'t>,
) -> Option<Bound> {
    let last = match otherwise {
        Some(otherwise) => term(otherwise, scope)?,
        None => Bound::identity(scope.plain),
    };
    branches.iter().rev().try_fold(last, |otherwise, (condition, then)| {
        let condition = term(condition, scope)?;
        let body = term(then, scope)?.either(&otherwise);
        Some(Bound {
            out: body.out.product(&condition.count)?,
            work: condition.work.plus(&body.work.product(&condition.count)?),
            count: body.count.product(&condition.count)?,
            ..body
        })
    })
}

/// A handler that uses the error is not bounded, because errors show the values that caused them.
fn try_catch<'t>(body: &'t Term<&'t str>, catch: Option<&'t Term<&'t str>>, scope: &Scope<'t>) -> Option<Bound> {
    let body = term(body, scope)?;
    let Some(catch) = catch else { return Some(body) };
    let catch = term(catch, scope)?;
    let uses_error = catch.out.input > 0 || catch.work.input > 0 || catch.count.input > 0;
    (!uses_error).then(|| body.then(&catch))
}

/// `left as pattern | right`: the body runs once for each output of `left`, on the same input.
fn bind<'t>(
    left: &'t Term<&'t str>,
    pattern: &'t Pattern<&'t str>,
    right: &'t Term<&'t str>,
    scope: &Scope<'t>,
) -> Option<Bound> {
    let source = term(left, scope)?;
    let first = scope.vars.len();
    let mut inner = scope.clone();
    pattern_vars(pattern, source.plain, &mut inner.vars)?;
    let body = term(right, &inner)?;
    let each = |form: &Form| {
        let mut own = form.clone();
        own.vars.truncate(first);
        let factor = form.vars.iter().skip(first).fold(0, |sum: u64, v| sum.saturating_add(*v));
        Some(own.product(&source.count)?.plus(&source.out.times(factor)))
    };
    let taking_apart = source.out.times(inner.vars.len() as u64 + 1);
    Some(Bound {
        out: each(&body.out)?,
        work: source.work.plus(&taking_apart).plus(&each(&body.work)?),
        count: each(&body.count)?,
        ..body
    })
}

fn pattern_vars<'t>(pattern: &'t Pattern<&'t str>, plain: bool, vars: &mut Vec<(&'t str, bool)>) -> Option<()> {
    match pattern {
        Pattern::Var(name) => vars.push((name, plain)),
        Pattern::Arr(parts) => {
            for part in parts {
                pattern_vars(part, plain, vars)?;
            }
        }
        Pattern::Obj(entries) => {
            for (key, part) in entries {
                is_constant_text(key).then_some(())?;
                pattern_vars(part, plain, vars)?;
            }
        }
    }
    Some(())
}

/// A string without interpolation.
pub(super) fn is_constant_text(t: &Term<&str>) -> bool {
    matches!(t, Term::Str(None, parts) if parts.iter().all(|part| !matches!(part, StrPart::Term(_))))
}

/// The length of a text in JSON, without its quotes.
fn escaped(text: &str) -> u64 {
    text.bytes()
        .map(|byte| match byte {
            0..=0x1f => 6,
            b'"' | b'\\' => 2,
            _ => 1,
        })
        .sum()
}
