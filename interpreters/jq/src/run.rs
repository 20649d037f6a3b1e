//! Runs a compiled program on one object, to the end, and writes the results. It never stops by itself.

use std::fmt::{self, Write as _};

use jaq_json::{Num, Val};

use super::compile::Compiled;

/// The largest result of an evaluation, in bytes of JSON.
pub const MAX_RESULT: usize = 1024 * 1024;
/// The longest text of jq's own errors.
const MAX_MESSAGE: usize = 400;

/// Why there is no result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// The program raised an error. The text is jaq's, shortened.
    Program(String),
    /// The object is not JSON that jq can read.
    Input(String),
    /// The result is larger than [`MAX_RESULT`].
    TooLarge,
    /// The result cannot be given to a hook.
    NotJson(String),
}

/// Runs the program on an object's JSON. Returns any number of values, as compact JSON with sorted keys, one in each line.
pub fn run(program: &Compiled, json: &str) -> Result<String, Failure> {
    let input = program.read(json).map_err(|error| Failure::Input(error.to_string()))?;
    let mut results = String::new();
    for output in program.run(input) {
        let value = match output {
            Ok(value) => value,
            Err(exception) => match exception.get_err().map_err(|exception| exception.get_halt()) {
                Ok(error) => return Err(Failure::Program(message(&error))),
                Err(Ok(0)) => break,
                Err(Ok(code)) => return Err(Failure::Program(format!("it halted with code {code}"))),
                Err(Err(_)) => return Err(Failure::Program("break outside of its label".into())),
            },
        };
        if !results.is_empty() {
            results.push('\n');
        }
        write(&value, &mut results, MAX_RESULT).map_err(|error| match error {
            Unwritable::TooLarge => Failure::TooLarge,
            Unwritable::TooDeep => Failure::NotJson(format!("more than {MAX_DEPTH} levels")),
            Unwritable::NotJson(what) => Failure::NotJson(what.into()),
        })?;
    }
    Ok(results)
}

/// Errors show whole values, but only their beginning is useful.
fn message(error: &jaq_json::Error) -> String {
    let mut short = Short(String::new());
    let cut = write!(short, "{error}").is_err();
    if cut {
        short.0.push('…');
    }
    short.0
}

struct Short(String);

impl fmt::Write for Short {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = MAX_MESSAGE.saturating_sub(self.0.len());
        if text.len() <= room {
            self.0.push_str(text);
            return Ok(());
        }
        self.0.push_str(text.get(..text.floor_char_boundary(room)).unwrap_or_default());
        Err(fmt::Error)
    }
}

/// The deepest value that is written.
const MAX_DEPTH: usize = 512;

/// A value that cannot be a result.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Unwritable {
    /// Longer than the bound.
    TooLarge,
    /// Deeper than [`MAX_DEPTH`].
    TooDeep,
    /// Not JSON: an object key that is not a string, or a string of bytes.
    NotJson(&'static str),
}

/// Appends the value's canonical JSON to `out`, which may grow to `max` bytes: compact, with sorted keys. The memory is
/// bounded whatever the value. jq's values share their parts, so a few bytes of memory can be exabytes of text.
fn write(value: &Val, out: &mut String, max: usize) -> Result<(), Unwritable> {
    Writer { out, max }.value(value, 0)
}

struct Writer<'a> {
    out: &'a mut String,
    max: usize,
}

impl Writer<'_> {
    fn value(&mut self, value: &Val, depth: usize) -> Result<(), Unwritable> {
        if depth > MAX_DEPTH {
            return Err(Unwritable::TooDeep);
        }
        match value {
            Val::Null => self.push("null"),
            Val::Bool(true) => self.push("true"),
            Val::Bool(false) => self.push("false"),
            Val::Num(number) => self.number(number),
            Val::TStr(bytes) => self.string(bytes),
            Val::BStr(_) => Err(Unwritable::NotJson("a string of bytes")),
            Val::Arr(items) => self.sequence('[', items.iter(), ']', |writer, item| writer.value(item, depth + 1)),
            Val::Obj(map) => {
                let mut entries: Vec<_> = map.iter().collect();
                entries.sort_by_key(|(key, _)| *key);
                self.sequence('{', entries.into_iter(), '}', |writer, (key, value)| {
                    let Val::TStr(key) = key else {
                        return Err(Unwritable::NotJson("an object key that is not a string"));
                    };
                    writer.string(key)?;
                    writer.push(":")?;
                    writer.value(value, depth + 1)
                })
            }
        }
    }

    fn sequence<T>(
        &mut self,
        open: char,
        items: impl Iterator<Item = T>,
        close: char,
        each: impl Fn(&mut Self, T) -> Result<(), Unwritable>,
    ) -> Result<(), Unwritable> {
        self.out.push(open);
        for (index, item) in items.enumerate() {
            if index > 0 {
                self.push(",")?;
            }
            each(self, item)?;
        }
        self.out.push(close);
        Ok(())
    }

    /// Writes a number as jq does: what JSON cannot express is `null` or the largest number.
    fn number(&mut self, number: &Num) -> Result<(), Unwritable> {
        match number {
            Num::Int(i) => self.push(&i.to_string()),
            Num::Float(f) => self.float(*f, || number.to_string()),
            // The text of a long number may exceed the bound, because it is made before the check.
            Num::BigInt(_) | Num::Dec(_) => self.literal(&number.to_string()),
        }
    }

    /// Writes a number with its digits. `tonumber` accepts more forms than JSON has (`+1.5`, `01.5`), and numbers that
    /// no reader accepts (`1e999`). A hook that received one could not read its context, and would be retried forever.
    fn literal(&mut self, text: &str) -> Result<(), Unwritable> {
        if serde_json::from_str::<f64>(text).is_ok() {
            return self.push(text);
        }
        let float = text.parse().unwrap_or(f64::NAN);
        self.float(float, || Num::Float(float).to_string())
    }

    fn float(&mut self, float: f64, text: impl FnOnce() -> String) -> Result<(), Unwritable> {
        if float.is_nan() {
            self.push("null")
        } else if float.is_infinite() {
            self.push(&format!("{:e}", f64::MAX.copysign(float)))
        } else {
            self.push(&text())
        }
    }

    fn string(&mut self, bytes: &[u8]) -> Result<(), Unwritable> {
        if bytes.len() > self.max {
            return Err(Unwritable::TooLarge);
        }
        let text = String::from_utf8_lossy(bytes);
        let json = serde_json::to_string(&text).map_err(|_| Unwritable::NotJson("a string"))?;
        self.push(&json)
    }

    fn push(&mut self, text: &str) -> Result<(), Unwritable> {
        if self.out.len() + text.len() > self.max {
            return Err(Unwritable::TooLarge);
        }
        self.out.push_str(text);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::{super::compile, *};

    // mutant: interpreters/jq/src/run.rs: `if serde_json::from_str::<f64>(text).is_ok() {` => `if true {`
    #[test]
    fn every_number_is_one_that_a_reader_accepts() {
        let program = compile(".[] | tonumber").unwrap();
        let results = run(&program, r#"["1e999","-1e999","+1.5","01.5","1.50","1e3"]"#).unwrap();
        for line in results.lines() {
            assert!(serde_json::from_str::<f64>(line).is_ok(), "{line}");
        }
        assert!(results.starts_with("1.7976931348623157e308\n-1.7976931348623157e308\n1.5\n1.5\n1.50\n"), "{results}");
    }

    #[test]
    fn results_are_lines_and_bounded() {
        let run = |program: &str, json| run(&compile(program).unwrap(), json);
        assert_eq!(run("empty", "{}").unwrap(), "");
        assert_eq!(run(".[]", r#"["a\nb",{"b":1,"a":2}]"#).unwrap(), "\"a\\nb\"\n{\"a\":2,\"b\":1}");
        assert_eq!(run("\"x\" * 2000000", "{}"), Err(Failure::TooLarge));
        assert_eq!(run("range(1000000)", "{}"), Err(Failure::TooLarge));
        assert!(matches!(run("{(1, 2 | [.]): 1}", "{}"), Err(Failure::NotJson(_))));
    }
}
