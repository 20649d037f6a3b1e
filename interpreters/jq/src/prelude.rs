//! The part of jq's standard library that a program uses.
//!
//! A compiled program holds all definitions that it was compiled with: 100 kB for the whole library. No definition that
//! may be called is left out: only names count, and not the number of arguments.

use std::collections::HashSet;

use jaq_core::load::{
    self,
    parse::{Def, Term},
};

use super::walk::walk;

type Names<'a> = HashSet<&'a str>;

thread_local! {
    /// Parsed once: that takes longer than to compile most programs.
    static LIBRARY: Vec<Def<&'static str>> = library().collect();
}

/// The definitions that a program needs, and all names that it calls.
pub fn needed(program: &str) -> (Vec<Def<&'static str>>, Option<Names<'_>>) {
    LIBRARY.with(|all| needed_of(all, program))
}

fn needed_of<'p>(all: &[Def<&'static str>], program: &'p str) -> (Vec<Def<&'static str>>, Option<Names<'p>>) {
    // The loader explains why a program cannot be parsed.
    let Some(term) = load::parse(program, |parser| parser.term()) else { return (all.to_vec(), None) };
    let mut names = Names::new();
    collect(&term, &mut names);
    loop {
        let before = names.len();
        for def in all.iter().filter(|def| names.contains(def.name)).collect::<Vec<_>>() {
            collect(&def.body, &mut names);
        }
        if names.len() == before {
            break;
        }
    }
    let defs = all.iter().filter(|def| names.contains(def.name)).cloned().collect();
    (defs, Some(names))
}

/// All definitions: those of jaq, and those of jq that are missing in jaq.
fn library() -> impl Iterator<Item = Def<&'static str>> {
    let own = load::parse(include_str!("defs.jq"), |parser| parser.defs()).unwrap_or_default();
    jaq_core::defs().chain(jaq_std::defs()).chain(jaq_json::defs()).chain(own)
}

/// Every name that is called, and the formats of strings.
fn collect<'s>(term: &Term<&'s str>, names: &mut Names<'s>) {
    walk(term, &mut |term| match term {
        Term::Str(format, _) => names.extend(format),
        Term::Call(name, _) => drop(names.insert(name)),
        _ => {}
    });
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn names(program: &str) -> Vec<&'static str> {
        let mut names: Vec<_> = needed(program).0.iter().map(|def| def.name).collect();
        names.dedup();
        names
    }

    #[test]
    fn a_path_needs_nothing_and_a_call_what_it_calls() {
        assert!(names(".metadata.labels").is_empty());
        assert_eq!(names("@base64 \"x\""), ["tostring", "@base64"]);
        assert_eq!(names("def f: keys; f"), ["keys"]);
        for (program, call) in [
            (". as [$a, {(add): $b}] | $b", "add"),
            ("reduce .[] as $x (0; if . then flatten else . end)", "flatten"),
            (".a[first]?", "first"),
            ("try . catch (.. | [{a: -(min)}])", "min"),
            ("label $x | \"\\(unique)\"", "unique"),
        ] {
            assert!(names(program).contains(&call), "{program}");
        }
    }

    /// The compiler finds every name that is missing.
    #[test]
    fn every_definition_finds_what_it_needs() {
        assert!(library().any(|def| def.name == "toarray"));
        for def in library() {
            let args = vec!["."; def.args.len()].join("; ");
            let call = if def.args.is_empty() { def.name.to_owned() } else { format!("{}({args})", def.name) };
            let compiled = super::super::compile(&call);
            assert!(compiled.is_ok(), "{call}: {}", compiled.err().unwrap());
        }
    }
}
