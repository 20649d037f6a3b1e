//! Bounds of assignments and deletions at paths that do not depend on the data.
//!
//! An update that names a place twice (`(.a, .a) |= f`) has no bound, because each could double what the other made.

use jaq_core::{
    load::parse::{BinaryOp, Term},
    path::Part,
};

use super::{
    super::bound::{Bound, Form, one},
    Scope, term,
};

/// The places that a path names: parts of the input that do not overlap.
struct Places {
    count: Form,
    /// The cost of copying the containers on the way.
    work: Form,
    /// The size of the keys that may have to be created, for each place.
    keys: u64,
}

fn places<'t>(path: &'t Term<&'t str>, scope: &Scope<'t>) -> Option<Places> {
    match path {
        Term::Id => Some(Places { count: one(), work: one(), keys: 0 }),
        Term::Path(head, parts) => parts.0.iter().try_fold(places(head, scope)?, |mut places, (part, _)| {
            places.work = places.work.plus(&Form::input(1));
            match part {
                Part::Index(index) => {
                    let key = term(index, scope).filter(|i| i.scalar && i.is_single() && i.out.is_constant())?;
                    places.keys = places.keys.saturating_add(key.out.constant).saturating_add(4);
                }
                Part::Range(None, None) => places.count = Form::input(1),
                Part::Range(..) => return None,
            }
            Some(places)
        }),
        Term::BinOp(left, BinaryOp::Pipe(None), right) => {
            let (left, right) = (places(left, scope)?, places(right, scope)?);
            let many = !left.count.is_constant() || !right.count.is_constant();
            Some(Places {
                count: if many { Form::input(1) } else { one() },
                work: left.work.plus(&right.work),
                keys: left.keys.saturating_add(right.keys),
            })
        }
        _ => None,
    }
}

impl Places {
    fn with(&self, out: &Form, work: &Form, plain: bool) -> Bound {
        let created = self.count.times(self.keys);
        Bound {
            out: Form::input(1).plus(out).plus(&created),
            work: self.work.plus(work).plus(&created),
            count: one(),
            scalar: false,
            plain,
        }
    }
}

/// `path |= f`: the sum of `f` over the places. Missing places are null.
pub(super) fn update<'t>(path: &'t Term<&'t str>, f: &'t Term<&'t str>, scope: &Scope<'t>) -> Option<Bound> {
    let places = places(path, scope)?;
    let f = term(f, scope)?;
    let total = Form::input(1).plus(&places.count);
    let out = f.out.over(&total, &places.count)?;
    Some(places.with(&out, &f.work.over(&total, &places.count)?, scope.plain && f.plain))
}

/// `path = value` and `path += value`: the value, computed once, at each place.
pub(super) fn assign<'t>(path: &'t Term<&'t str>, value: &Bound, scope: &Scope<'t>) -> Option<Bound> {
    if !value.is_single() {
        return None;
    }
    let places = places(path, scope)?;
    let out = value.out.product(&places.count)?;
    let work = value.work.plus(&out).plus(&Form::input(1));
    Some(places.with(&out, &work, scope.plain && value.plain))
}

/// `del(a, b)`: the first deletion cannot enlarge what the next one deletes.
pub(super) fn delete<'t>(path: &'t Term<&'t str>, scope: &Scope<'t>) -> Option<Bound> {
    match path {
        Term::BinOp(left, BinaryOp::Comma, right) => {
            let (left, right) = (delete(left, scope)?, delete(right, scope)?);
            Some(Bound { work: left.work.plus(&right.work), ..left })
        }
        path => {
            let places = places(path, scope)?;
            Some(Bound { out: Form::input(1), ..places.with(&Form::default(), &Form::default(), scope.plain) })
        }
    }
}
