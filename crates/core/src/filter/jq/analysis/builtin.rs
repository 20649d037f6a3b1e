//! Bounds of the built-in filters that are known to be linear. All others count as not linear.
//!
//! A filter must not be listed here if its cost depends on a number in its input, on a regular expression, or on
//! comparisons of containers with each other.

use jaq_core::load::parse::Term;

use super::{
    super::bound::{Bound, Form, LOG, NUMBER, one},
    Scope, term, update,
};

/// How many times longer a format such as `@base64` can make a value.
pub(super) fn format_factor(name: &str) -> Option<u64> {
    Some(match name {
        "@text" | "@json" => 4,
        "@base64" => 4,
        "@uri" | "@html" | "@sh" => 8,
        _ => return None,
    })
}

/// The digits of the largest number.
const DIGITS: u64 = 310;

pub(super) fn call<'t>(name: &'t str, args: &'t [Term<&'t str>], scope: &Scope<'t>) -> Option<Bound> {
    match args {
        [] => plain_call(name, scope),
        [arg] => with_argument(name, arg, scope),
        [generator, condition] if matches!(name, "any" | "all") => {
            let generated = term(generator, scope)?;
            let tested = generated.pipe(&term(condition, &scope.with_plain(generated.plain))?)?;
            Some(tested.answering(5))
        }
        [number, inner] if matches!(name, "limit" | "nth") => {
            let number = term(number, scope).filter(|n| n.scalar && n.is_single())?;
            let inner = term(inner, scope)?;
            Some(inner.costing(&number.work))
        }
        _ => None,
    }
}

fn plain_call(name: &str, scope: &Scope<'_>) -> Option<Bound> {
    let read = |times, constant, scalar| Some(Bound::reads(times, constant, scalar));
    match name {
        "empty" | "error" => Some(Bound { count: Form::default(), out: Form::default(), ..Bound::identity(true) }),
        "null" | "true" | "false" | "not" => Some(Bound::literal(5)),
        "type" => Some(Bound::literal(10)),
        "now" | "infinite" | "nan" | "sqrt" | "fabs" => Some(Bound::literal(NUMBER)),
        // Whole numbers are written with all their digits.
        "floor" | "round" | "ceil" | "trunc" => Some(Bound::literal(DIGITS)),
        // Returns a value that is not a number as it is.
        "abs" => Some(Bound::identity(scope.plain).grown()),
        "isboolean" | "isnumber" | "isstring" | "isarray" | "isobject" | "isnan" | "isinfinite" | "isfinite"
        | "isnormal" => Some(Bound::literal(5)),
        "values" | "nulls" | "booleans" | "numbers" | "strings" | "arrays" | "objects" | "iterables" | "scalars" => {
            let scalar = matches!(name, "nulls" | "booleans" | "numbers" | "strings" | "scalars");
            Some(Bound { scalar, ..Bound::identity(scope.plain) })
        }
        "length" | "utf8bytelength" => Some(Bound { out: Form::constant(NUMBER), ..Bound::reads(1, 0, true) }),
        "tostring" | "tojson" => read(4, 2, true),
        "@text" | "@json" | "@base64" | "@uri" | "@html" | "@sh" => read(format_factor(name)?, 2, true),
        "ascii_downcase" | "ascii_upcase" | "trim" | "ltrim" | "rtrim" => read(1, 0, true),
        "keys_unsorted" => read(4, 2, false).map(|bound| Bound { plain: scope.plain, ..bound }),
        // Sorts the keys, which is cheap as long as none of them is a container.
        "keys" if scope.plain => Some(Bound::reads(4, 2, false).costing(&Form::input(LOG))),
        "to_entries" => read(6, 2, false).map(|bound| Bound { plain: scope.plain, ..bound }),
        "from_entries" => read(2, 2, false).map(|bound| Bound { plain: false, ..bound }),
        "add" => read(2, NUMBER, false).map(|bound| Bound { plain: scope.plain, ..bound }),
        "any" | "all" => Some(Bound { out: Form::constant(5), ..Bound::reads(1, 0, true) }),
        "first" | "last" => Some(Bound::identity(scope.plain)),
        "reverse" => read(1, 0, false).map(|bound| Bound { plain: scope.plain, ..bound }),
        _ => None,
    }
}

fn with_argument<'t>(name: &str, arg: &'t Term<&'t str>, scope: &Scope<'t>) -> Option<Bound> {
    match name {
        "map" => Some(each(arg, scope)?.collected()),
        // Keeps the keys of objects.
        "map_values" => {
            let values = each(arg, scope)?.collected().costing(&Form::input(1));
            Some(Bound { out: values.out.plus(&Form::input(1)), plain: values.plain && scope.plain, ..values })
        }
        // The objects {key, value} cost 16 bytes around an entry of at least 5.
        "with_entries" => {
            let entries = plain_call("to_entries", scope)?;
            let mapped = entries.pipe(&each(arg, scope)?.collected())?;
            mapped.pipe(&plain_call("from_entries", scope)?)
        }
        "select" => {
            let condition = term(arg, scope)?;
            Some(Bound {
                out: Form::input(1).product(&condition.count)?,
                work: condition.work.plus(&condition.count),
                count: condition.count,
                ..Bound::identity(scope.plain)
            })
        }
        "first" | "last" => Some(Bound { count: one(), ..term(arg, scope)? }),
        "isempty" => Some(term(arg, scope)?.answering(5)),
        "error" => Some(Bound { count: Form::default(), out: Form::default(), ..term(arg, scope)? }),
        "any" | "all" => Some(each(arg, scope)?.answering(5)),
        "add" => term(arg, scope)?.collected().pipe(&Bound { plain: scope.plain, ..Bound::reads(2, NUMBER, false) }),
        "del" => update::delete(arg, scope),
        "has" | "startswith" | "endswith" | "contains" => {
            let arg = term(arg, scope).filter(|arg| arg.scalar)?;
            let tested = Bound::reads(1, 0, true).pairs(&arg)?;
            Some(tested.becoming(5))
        }
        "IN" => {
            let wanted = Bound::identity(scope.plain).pairs(&term(arg, scope)?)?;
            let comparing = wanted.out.times(2);
            Some(wanted.costing(&comparing).answering(5))
        }
        "ltrimstr" | "rtrimstr" | "trimstr" => {
            let arg = term(arg, scope).filter(|arg| arg.scalar)?;
            Some(Bound { scalar: false, ..Bound::identity(scope.plain).pairs(&arg)? })
        }
        "split" => {
            let arg = term(arg, scope).filter(|arg| arg.scalar && arg.out.is_constant())?;
            Some(Bound { scalar: false, ..Bound::reads(4, 2, false).pairs(&arg)? })
        }
        "join" => {
            let arg = term(arg, scope).filter(|arg| arg.scalar && arg.is_single() && arg.out.is_constant())?;
            Some(Bound::reads(4 + arg.out.constant, 2, true).costing(&arg.work).costing(&Form::input(4)))
        }
        "sort_by" | "group_by" | "unique_by" | "min_by" | "max_by" => ordered(name, arg, scope),
        _ => None,
    }
}

/// Runs `f` on each element.
fn each<'t>(f: &'t Term<&'t str>, scope: &Scope<'t>) -> Option<Bound> {
    Bound::iterate(scope.plain).pipe(&term(f, scope)?)
}

/// Merge sort reads each key once for each level, unless keys are containers. A large container may be compared with
/// many small ones, each time as a whole.
fn ordered<'t>(name: &str, key: &'t Term<&'t str>, scope: &Scope<'t>) -> Option<Bound> {
    let keys = term(key, scope).filter(|key| key.scalar)?;
    let keys = Bound::iterate(scope.plain).pipe(&keys)?;
    let whole = match name {
        "group_by" => Bound::reads(3, 2, false),
        _ => Bound::reads(1, 2, false),
    };
    let sorting = keys.work.plus(&keys.out.times(LOG)).plus(&Form::input(LOG));
    Some(Bound { plain: scope.plain, ..whole }.costing(&sorting))
}
