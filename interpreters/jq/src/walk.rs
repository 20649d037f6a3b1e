//! Visits all terms of a parsed jq program.

use jaq_core::{
    load::{
        lex::StrPart,
        parse::{BinaryOp, Pattern, Term},
    },
    path::Part,
};

/// Calls `visit` with the term and with all terms inside it, outer ones first.
pub(super) fn walk<'s>(term: &Term<&'s str>, visit: &mut impl FnMut(&Term<&'s str>)) {
    visit(term);
    match term {
        Term::Id | Term::Recurse | Term::Num(_) | Term::Var(_) | Term::Break(_) | Term::Arr(None) => {}
        Term::Arr(Some(inner)) | Term::Neg(inner) | Term::Label(_, inner) => walk(inner, visit),
        Term::Str(_, parts) => {
            for part in parts {
                if let StrPart::Term(inner) = part {
                    walk(inner, visit);
                }
            }
        }
        Term::Obj(entries) => {
            for (key, value) in entries {
                walk(key, visit);
                value.iter().for_each(|value| walk(value, visit));
            }
        }
        Term::BinOp(left, op, right) => {
            walk(left, visit);
            walk(right, visit);
            if let BinaryOp::Pipe(Some(pattern)) = op {
                walk_pattern(pattern, visit);
            }
        }
        Term::Fold(_, source, pattern, args) => {
            walk(source, visit);
            walk_pattern(pattern, visit);
            args.iter().for_each(|arg| walk(arg, visit));
        }
        Term::TryCatch(body, catch) => {
            walk(body, visit);
            catch.iter().for_each(|catch| walk(catch, visit));
        }
        Term::IfThenElse(branches, otherwise) => {
            for (condition, body) in branches {
                walk(condition, visit);
                walk(body, visit);
            }
            otherwise.iter().for_each(|otherwise| walk(otherwise, visit));
        }
        Term::Def(defs, body) => {
            defs.iter().for_each(|def| walk(&def.body, visit));
            walk(body, visit);
        }
        Term::Call(_, args) => args.iter().for_each(|arg| walk(arg, visit)),
        Term::Path(head, path) => {
            walk(head, visit);
            for (part, _) in &path.0 {
                match part {
                    Part::Index(index) => walk(index, visit),
                    Part::Range(from, to) => [from, to].into_iter().flatten().for_each(|end| walk(end, visit)),
                }
            }
        }
    }
}

fn walk_pattern<'s>(pattern: &Pattern<&'s str>, visit: &mut impl FnMut(&Term<&'s str>)) {
    match pattern {
        Pattern::Var(_) => {}
        Pattern::Arr(parts) => parts.iter().for_each(|part| walk_pattern(part, visit)),
        Pattern::Obj(entries) => {
            for (key, value) in entries {
                walk(key, visit);
                walk_pattern(value, visit);
            }
        }
    }
}
