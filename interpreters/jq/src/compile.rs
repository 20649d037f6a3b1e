//! Compiles a jq program: checks its shape, lets jaq parse and resolve it, and reports where it is wrong.

use std::{collections::BTreeSet, fmt};

use jaq_core::{
    Bind, Compiler, Ctx, Vars,
    load::{self, Arena, File, Loader},
    native,
};
use jaq_json::{Map, Val};
use serde::de::{Deserializer as _, IgnoredAny, MapAccess, Visitor};

use super::{
    parents::{self, Data},
    prelude, roots,
    syntax::{self, Refusal},
};

/// A program that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompileError {
    /// `line 1, column 7: `, or empty if the error concerns the whole program.
    place: String,
    message: String,
}

impl CompileError {
    fn whole(message: impl Into<String>) -> Self {
        Self { place: String::new(), message: message.into() }
    }

    /// An error at a byte of the program.
    fn at(program: &str, offset: usize, message: impl Into<String>) -> Self {
        let before = program.get(..offset).unwrap_or(program);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        Self { place: format!("line {line}, column {column}: "), message: message.into() }
    }
}

impl fmt::Display for CompileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.place, self.message)
    }
}

/// A program as jaq runs it.
pub struct Compiled {
    filter: jaq_core::Filter<Data>,
    /// The top-level fields that it can see. `None`: all of them.
    roots: Option<BTreeSet<Box<str>>>,
}

/// Compiles the program.
pub fn compile(program: &str) -> Result<Compiled, CompileError> {
    syntax::check(program).map_err(|refusal| match refusal {
        Refusal::Size => CompileError::whole(format!("the program is longer than {} bytes", syntax::MAX_PROGRAM)),
        Refusal::Nesting(at) => {
            CompileError::at(program, at, format!("more than {} brackets inside each other", syntax::MAX_NESTING))
        }
        Refusal::Chain => CompileError::whole(format!("more than {} operators in one expression", syntax::MAX_CHAIN)),
    })?;
    let filter = link(program)?;
    let term = load::parse(program, |parser| parser.term());
    let roots = term.as_ref().and_then(roots::roots);
    // The written program compiles, so the rewritten one does too. Errors of the rewritten one would name wrong places.
    let instead = term.as_ref().and_then(|term| parents::rewrite(program, term)).and_then(|text| link(&text).ok());
    Ok(Compiled { filter: instead.unwrap_or(filter), roots })
}

fn link(program: &str) -> Result<jaq_core::Filter<Data>, CompileError> {
    let arena = Arena::default();
    let (defs, names) = prelude::needed(program);
    let loader = Loader::new(defs);
    let modules =
        loader.load(&arena, File { code: program, path: () }).map_err(|errors| load_error(program, errors))?;
    Compiler::default()
        .with_funs(funs().filter(|(name, ..)| names.as_ref().is_none_or(|names| names.contains(name))))
        .with_global_vars(["$ENV"])
        .compile(modules)
        .map_err(|errors| undefined(program, errors))
}

/// jaq's native filters, without the process's environment.
fn funs() -> impl Iterator<Item = native::Fun<Data>> {
    let env: native::Filter<jaq_core::RunPtr<Data>> = ("env", native::v(0), |_| native::bome(Ok(no_env())));
    // jaq's own asks the operating system, and a module has none.
    let now: native::Filter<jaq_core::RunPtr<Data>> = ("now", native::v(0), |_| native::bome(Ok(Val::from(time()))));
    let all = jaq_core::funs().chain(jaq_std::funs()).chain(jaq_json::funs());
    all.filter(|(name, args, _): &native::Fun<Data>| !is_replaced(name, args))
        .chain([env, now].map(native::run::<Data>))
        .chain(parents::funs())
}

fn is_replaced(name: &str, args: &[Bind]) -> bool {
    ["env", "now"].contains(&name) && args.is_empty()
}

#[cfg(target_family = "wasm")]
fn time() -> f64 {
    super::exports::time()
}

#[cfg(not(target_family = "wasm"))]
fn time() -> f64 {
    std::time::UNIX_EPOCH.elapsed().unwrap_or_default().as_secs_f64()
}

fn no_env() -> Val {
    Val::obj(Map::default())
}

impl Compiled {
    /// The part of an object that the program sees.
    pub fn read(&self, json: &str) -> serde_json::Result<Val> {
        read(json, self.roots.as_ref())
    }

    /// The top-level fields that the program can see, as a list in JSON, or `null`.
    pub fn roots_as_json(&self) -> String {
        let roots = self.roots.as_ref().map(|roots| roots.iter().map(AsRef::as_ref).collect::<Vec<&str>>());
        serde_json::to_string(&roots).unwrap_or_else(|_| "null".to_owned())
    }

    /// Whether the program sees only a part of its input.
    #[cfg(test)]
    pub fn sees_a_part(&self) -> bool {
        self.roots.is_some()
    }

    /// The outputs for an input, lazily.
    pub fn run(&self, input: Val) -> impl Iterator<Item = jaq_core::ValX<'_, Val>> {
        let context = Ctx::<Data>::new(&self.filter.lut, Vars::new([no_env()]));
        self.filter.id.run((context, input))
    }
}

/// Converts an object's JSON into jq's value. With `roots`, other fields are left out. Text that is not JSON is an error,
/// even in fields that are skipped.
fn read(json: &str, roots: Option<&BTreeSet<Box<str>>>) -> serde_json::Result<Val> {
    let Some(roots) = roots.filter(|_| json.trim_start().starts_with('{')) else {
        return serde_json::from_str(json);
    };
    let mut reader = serde_json::Deserializer::from_str(json);
    let value = reader.deserialize_map(Fields(roots))?;
    reader.end()?;
    Ok(value)
}

struct Fields<'a>(&'a BTreeSet<Box<str>>);

impl<'de> Visitor<'de> for Fields<'_> {
    type Value = Val;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Val, A::Error> {
        let mut fields = Map::default();
        while let Some(key) = map.next_key::<Val>()? {
            if let Val::TStr(name) = &key
                && std::str::from_utf8(name).is_ok_and(|name| self.0.contains(name))
            {
                fields.insert(key, map.next_value()?);
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(Val::obj(fields))
    }
}

fn load_error(program: &str, errors: load::Errors<&str, ()>) -> CompileError {
    let first = errors.into_iter().next().map(|(_, error)| error);
    match first {
        Some(load::Error::Lex(errors)) => match errors.into_iter().next() {
            Some((load::lex::Expect::Delim(open), _)) => CompileError::whole(format!("{open} is never closed")),
            Some((expected, rest)) => {
                CompileError::at(program, offset(program, rest), format!("expected {}", expected.as_str()))
            }
            None => CompileError::whole("not jq"),
        },
        Some(load::Error::Parse(errors)) => match errors.into_iter().next() {
            Some((expected, found)) => {
                let found_text = if found.is_empty() { "the end".to_owned() } else { format!("{:?}", shorten(found)) };
                let message = format!("expected {}, found {found_text}", expected.as_str());
                CompileError::at(program, offset(program, found), message)
            }
            None => CompileError::whole("not jq"),
        },
        Some(load::Error::Io(errors)) => match errors.into_iter().next() {
            Some((path, _)) => {
                CompileError::at(program, offset(program, path), "a filter cannot import or include other files")
            }
            None => CompileError::whole("a filter cannot import or include other files"),
        },
        None => CompileError::whole("not jq"),
    }
}

fn undefined(program: &str, errors: jaq_core::compile::Errors<&str, ()>) -> CompileError {
    let first = errors.into_iter().flat_map(|(_, errors)| errors).next();
    let Some((name, kind)) = first else { return CompileError::whole("not jq") };
    let arity = match &kind {
        jaq_core::compile::Undefined::Filter(arity) => format!(" with {arity} arguments"),
        _ => String::new(),
    };
    CompileError::at(program, offset(program, name), format!("there is no {} {name}{arity}", kind.as_str()))
}

/// Where a part of the program starts.
fn offset(program: &str, part: &str) -> usize {
    (part.as_ptr() as usize)
        .checked_sub(program.as_ptr() as usize)
        .filter(|at| *at <= program.len())
        .unwrap_or_default()
}

fn shorten(text: &str) -> String {
    text.chars().take(20).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use super::*;

    fn error(program: &str) -> String {
        match compile(program) {
            Ok(_) => panic!("{program} compiles"),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn errors_say_where() {
        assert_eq!(error(".a |\n  foo(1)"), "line 2, column 3: there is no filter foo with 1 arguments");
        assert_eq!(error(".a | $x"), "line 1, column 6: there is no variable $x");
        assert_eq!(error("if . then"), "line 1, column 10: expected term, found the end");
        assert_eq!(error(".a ]"), "line 1, column 4: expected token");
        assert_eq!(error("{a: .b"), "{ is never closed");
        assert_eq!(error(""), "line 1, column 1: expected term, found the end");
        assert_eq!(error("input"), "line 1, column 1: there is no filter input with 0 arguments");
        assert_eq!(error("import \"a\" as a; ."), "line 1, column 9: a filter cannot import or include other files");
    }

    /// In a module, the stack has a size for this. A test's thread has less, and unoptimised frames are larger.
    #[test]
    fn the_deepest_programs_compile_or_are_refused() {
        let deep = std::thread::Builder::new().stack_size(64 * 1024 * 1024).spawn(the_deepest_programs);
        deep.unwrap().join().unwrap();
    }

    fn the_deepest_programs() {
        assert!(compile(&format!("{}.{}", "[".repeat(99), "]".repeat(99))).is_ok());
        assert!(compile(&["."; 990].join("|")).is_ok());
        assert!(compile(&["."; 990].join("+")).is_ok());
        assert!(compile(&format!("{}.", "try ".repeat(990))).is_ok());
        assert!(compile(&format!("{}.", "- ".repeat(990))).is_ok());
        assert!(compile(&". as $x | ".repeat(600)).is_err());
        assert_eq!(error(&"[".repeat(60_000)), "line 1, column 101: more than 100 brackets inside each other");
    }

    #[test]
    fn only_the_roots_of_objects_are_read() {
        let roots = BTreeSet::from(["a".into()]);
        let read = |json| read(json, Some(&roots)).map(|value| value.to_string());
        assert_eq!(read(r#"{"b":[1],"a":{"b":2},"c":3}"#).unwrap(), r#"{"a":{"b":2}}"#);
        assert_eq!(read(r#"{"\u0061":1,"a":2}"#).unwrap(), r#"{"a":2}"#);
        assert_eq!(read("[1]").unwrap(), "[1]");
        for bad in [r#"{"b":nul,"a":1}"#, r#"{"a":1}}"#, "{", r#"{"b":"#] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
