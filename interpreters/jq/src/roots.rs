//! Finds the top-level fields of an object that a program can see. The others need not be converted for jq: most
//! filters read the metadata of objects that are mostly spec and status.
//!
//! No field that could be seen is left out: a term that is not understood sees everything.

use std::collections::BTreeSet;

use jaq_core::{
    load::{
        lex::StrPart,
        parse::{BinaryOp, Pattern, Term},
    },
    path::Part,
};

/// Names of fields; `None` stands for all of them.
type Roots = Option<BTreeSet<Box<str>>>;

/// The top-level fields that a program reads, if this is known.
pub fn roots(term: &Term<&str>) -> Roots {
    match term {
        Term::Num(_) | Term::Var(_) | Term::Arr(None) => Some(BTreeSet::new()),
        Term::Arr(Some(inner)) | Term::Neg(inner) => roots(inner),
        Term::Str(_, parts) => union(parts.iter().filter_map(|part| match part {
            StrPart::Term(inner) => Some(inner),
            StrPart::Str(_) | StrPart::Char(_) => None,
        })),
        Term::Obj(entries) => entries.iter().try_fold(BTreeSet::new(), |all, (key, value)| match value {
            Some(value) => Some(&(&all | &roots(key)?) | &roots(value)?),
            None if matches!(key, Term::Var(_)) => Some(all),
            None => Some(&all | &BTreeSet::from([constant(key)?])),
        }),
        // The right side sees only what the left side gives.
        Term::BinOp(left, BinaryOp::Pipe(None), _) => roots(left),
        Term::BinOp(left, BinaryOp::Pipe(Some(Pattern::Var(_))), right) => union([&**left, &**right]),
        Term::BinOp(
            left,
            BinaryOp::Comma | BinaryOp::Alt | BinaryOp::Or | BinaryOp::And | BinaryOp::Math(_) | BinaryOp::Cmp(_),
            right,
        ) => union([&**left, &**right]),
        // Without an `else`, the input itself is an output.
        Term::IfThenElse(branches, Some(otherwise)) => {
            union(branches.iter().flat_map(|(condition, then)| [condition, then]).chain([&**otherwise]))
        }
        Term::TryCatch(body, None) => roots(body),
        Term::Call(name, args) => call(name, args),
        Term::Path(head, path) => {
            let indices = path.0.iter().flat_map(|(part, _)| match part {
                Part::Index(index) => [Some(index), None],
                Part::Range(from, to) => [from.as_ref(), to.as_ref()],
            });
            let indices = union(indices.flatten())?;
            let head = match (&**head, path.0.first()) {
                (Term::Id, Some((Part::Index(first), _))) => BTreeSet::from([constant(first)?]),
                (head, _) => roots(head)?,
            };
            Some(&indices | &head)
        }
        _ => None,
    }
}

fn union<'t>(terms: impl IntoIterator<Item = &'t Term<&'t str>>) -> Roots {
    terms.into_iter().try_fold(BTreeSet::new(), |all, term| Some(&all | &roots(term)?))
}

/// Filters that run their arguments on the input, and use it in no other way.
fn call(name: &str, args: &[Term<&str>]) -> Roots {
    match (name, args) {
        ("empty" | "null" | "true" | "false" | "now", []) => Some(BTreeSet::new()),
        ("first" | "last" | "isempty" | "error" | "add", [arg]) => roots(arg),
        ("any" | "all", [generator, _]) => roots(generator),
        ("limit", [number, inner]) => union([number, inner]),
        _ => None,
    }
}

fn constant(term: &Term<&str>) -> Option<Box<str>> {
    match term {
        Term::Str(None, parts) => match parts.as_slice() {
            [StrPart::Str(text)] => Some((*text).into()),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn of(program: &str) -> Option<String> {
        let term = jaq_core::load::parse(program, |parser| parser.term()).unwrap();
        roots(&term).map(|names| names.into_iter().collect::<Vec<_>>().join(","))
    }

    #[test]
    fn fields_are_told_or_all_are_seen() {
        for (program, expected) in [
            (".metadata.labels", Some("metadata")),
            (".metadata[\"labels\"]?", Some("metadata")),
            ("{name: .metadata.name, r: .spec.replicas}", Some("metadata,spec")),
            ("{kind, x: 1}", Some("kind")),
            ("[.spec.containers[] | {name, all: .}]", Some("spec")),
            ("\"\\(.kind)/\\(.metadata.name)\"", Some("kind,metadata")),
            (".a as $x | .b + $x", Some("a,b")),
            ("if .a then .b else .c end", Some("a,b,c")),
            (".spec // {} | keys", Some("spec")),
            (".a[.b]", Some("a,b")),
            (".spec.x == .status.x", Some("spec,status")),
            ("any(.a[]; . == 1)", Some("a")),
            ("1", Some("")),
            (".", None),
            (".[\"a\", \"b\"]", None),
            (".[]", None),
            (".[.a]", None),
            ("if .a then .b end", None),
            (". as {a: $x} | $x", None),
            ("select(.a)", None),
            ("{a: .}", None),
            ("keys", None),
            ("def f: .a; f", None),
            (".a = 1", None),
            ("del(.a)", None),
            ("..", None),
            ("try .a catch .", None),
            ("has(\"a\")", None),
            ("reduce .a[] as $x (.b; .)", None),
        ] {
            assert_eq!(of(program).as_deref(), expected, "{program}");
        }
    }
}
