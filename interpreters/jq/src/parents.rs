//! Makes assignments create missing parents, as jq does: `{} | .a.b = 1` is `{"a":{"b":1}}`.
//!
//! jaq refuses to index null in an update. Boathook therefore rewrites the program: between the keys of an assignment's
//! left side, it inserts a filter that updates null as if it were an empty object. `.a.b = 1` becomes
//! `(.a|__parent|.b) = 1`. In the arguments of `del`, it inserts a filter that leaves null alone. This never changes
//! what a program does to objects that exist. A form that it does not know stays as it is.

use jaq_core::{
    Native, RunPtr,
    box_iter::box_once,
    data::JustLut,
    load::{
        lex::StrPart,
        parse::{BinaryOp, Term},
    },
    native,
    path::{Opt, Part},
};
use jaq_json::Val;

use super::walk::walk;

/// The type of data for jaq's native filters.
pub(super) type Data = JustLut<Val>;

/// The filters `__parent` and `__present`.
pub(super) fn funs() -> [native::Fun<Data>; 2] {
    let run: RunPtr<Data> = |(_, value)| box_once(Ok(or_object(value)));
    let parent = Native::<Data>::new(run)
        .with_paths(|(_, (value, path))| box_once(Ok((or_object(value), path))))
        .with_update(|(_, value), update| update(or_object(value)));
    let run: RunPtr<Data> = |(_, value)| Box::new(present(value).map(Ok).into_iter());
    let present = Native::<Data>::new(run)
        .with_paths(|(_, (value, path))| Box::new(present(value).map(|value| Ok((value, path))).into_iter()))
        .with_update(|(_, value), update| match present(value) {
            Some(value) => update(value),
            // No output. This deletes the key above, which does not exist.
            None => Box::new(std::iter::empty()),
        });
    [("__parent", native::v(0), parent), ("__present", native::v(0), present)]
}

fn present(value: Val) -> Option<Val> {
    (!matches!(value, Val::Null)).then_some(value)
}

fn or_object(value: Val) -> Val {
    if matches!(value, Val::Null) { Val::obj(jaq_json::Map::default()) } else { value }
}

/// The program that runs instead. `None`: the program is not changed.
pub(super) fn rewrite(program: &str, term: &Term<&str>) -> Option<String> {
    let mut edits = Vec::new();
    walk(term, &mut |term| match term {
        Term::BinOp(left, BinaryOp::Assign | BinaryOp::Update | BinaryOp::UpdateMath(_) | BinaryOp::UpdateAlt, _) => {
            walk(left, &mut |place| edits.extend(edit(program, place, &PARENT)));
        }
        Term::Call("del", places) => {
            let mut each = |place: &Term<&str>| edits.extend(edit(program, place, &PRESENT));
            places.iter().for_each(|places| walk(places, &mut each));
        }
        _ => {}
    });
    // A left side within a left side is found twice.
    edits.sort_unstable();
    edits.dedup();
    (!edits.is_empty()).then(|| apply(program, &edits))
}

/// The text between two keys: if the second begins with a dot, and if it needs one.
const PARENT: [&str; 2] = ["|__parent|", "|__parent|."];
const PRESENT: [&str; 2] = ["|__present|", "|__present|."];

/// Texts to insert, each before the byte of the program with this number.
type Edits = Vec<(usize, &'static str)>;

/// The edits of a path such as `.a.b.c`, whatever follows it.
fn edit(program: &str, place: &Term<&str>, [before_dot, with_dot]: &[&'static str; 2]) -> Edits {
    let Term::Path(head, path) = place else { return Edits::new() };
    let keys: Vec<_> = path.0.iter().map_while(|(part, opt)| key(program, part, *opt)).collect();
    match (&**head, keys.as_slice()) {
        (Term::Id, [first, .., last]) => {
            let mut edits = vec![(first.start, "(")];
            edits.extend(keys.iter().skip(1).map(|key| (key.start, if key.dotted { *before_dot } else { *with_dot })));
            edits.push((last.end, ")"));
            edits
        }
        _ => Edits::new(),
    }
}

/// A static key with the dot, brackets and quotes that belong to it.
struct Key {
    start: usize,
    end: usize,
    dotted: bool,
}

fn key(program: &str, part: &Part<Term<&str>>, opt: Opt) -> Option<Key> {
    let (Part::Index(Term::Str(None, parts)), Opt::Essential) = (part, opt) else { return None };
    let [StrPart::Str(name)] = parts.as_slice() else { return None };
    let at = (name.as_ptr() as usize).checked_sub(program.as_ptr() as usize)?;
    let (before, rest) = program.split_at_checked(at)?;
    let after = rest.strip_prefix(*name)?;
    let forms = [("[\"", "\"]"), (".\"", "\""), (".", "")];
    let (open, close) = forms.into_iter().find(|(open, close)| before.ends_with(open) && after.starts_with(close))?;
    let start = before.len() - open.len();
    // `.["a"]` at the beginning of a path: the dot belongs to the path.
    let with_dot = open.starts_with('[') && before.get(..start)?.ends_with('.');
    let start = if with_dot { start - 1 } else { start };
    Some(Key { start, end: at + name.len() + close.len(), dotted: with_dot || open.starts_with('.') })
}

fn apply(program: &str, edits: &[(usize, &'static str)]) -> String {
    let mut out = String::with_capacity(program.len() + edits.len() * 12);
    let mut done = 0;
    for (at, text) in edits {
        out.push_str(program.get(done..*at).unwrap_or_default());
        out.push_str(text);
        done = *at;
    }
    out.push_str(program.get(done..).unwrap_or_default());
    out
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use jaq_core::load;

    use super::*;

    fn rewritten(program: &str) -> String {
        let term = load::parse(program, |parser| parser.term()).unwrap();
        rewrite(program, &term).unwrap_or_else(|| program.to_owned())
    }

    #[test]
    fn only_left_sides_are_another() {
        for (program, expected) in [
            (".a = .b.c", ".a = .b.c"),
            (".a.b = .c.d", "(.a|__parent|.b) = .c.d"),
            (".x | .a.b.c += 1", ".x | (.a|__parent|.b|__parent|.c) += 1"),
            (".[\"a\"][\"b/c\"] |= 1", "(.[\"a\"]|__parent|.[\"b/c\"]) |= 1"),
            (".a.\"b c\".d //= 1", "(.a|__parent|.\"b c\"|__parent|.d) //= 1"),
            (".a.b[] = 1", "(.a|__parent|.b)[] = 1"),
            (".a[0].b = 1", ".a[0].b = 1"),
            (".a?.b = 1", ".a?.b = 1"),
            ("(.a.b, .c.d) = 1", "((.a|__parent|.b), (.c|__parent|.d)) = 1"),
            ("map(.a.b = (.c.d = 1))", "map((.a|__parent|.b) = ((.c|__parent|.d) = 1))"),
            ("del(.a.b, .c)", "del((.a|__present|.b), .c)"),
        ] {
            assert_eq!(rewritten(program), expected);
        }
    }
}
