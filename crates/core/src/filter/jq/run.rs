//! Runs a compiled program on one object, in this thread, to the end.
//!
//! It never stops by itself: the caller knows that the program is linear, or can kill the process.

use std::{
    fmt::{self, Write as _},
    panic::{AssertUnwindSafe, catch_unwind},
};

use jaq_json::{Num, Val};

use super::{compile::Compiled, error::FilterError};
use crate::tasks::panic_message;

/// The largest result of an evaluation, in bytes of JSON.
pub const MAX_RESULT: usize = 1024 * 1024;
/// The longest text of jq's own errors.
const MAX_MESSAGE: usize = 400;

/// The outputs of a program for one input: any number of values, as compact JSON with sorted keys.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outputs(Vec<Box<str>>);

impl Outputs {
    /// The values in order.
    pub fn values(&self) -> impl ExactSizeIterator<Item = &str> {
        self.0.iter().map(AsRef::as_ref)
    }

    /// The outputs as a `filterResult`: no value is null, one value is itself, several are an array.
    pub fn combined(mut self) -> Box<str> {
        match self.0.len() {
            0 => "null".into(),
            1 => self.0.pop().unwrap_or_default(),
            _ => format!("[{}]", self.0.join(",")).into(),
        }
    }

    /// One value on each line. Compact JSON has no line breaks.
    pub fn to_lines(&self) -> String {
        self.0.join("\n")
    }

    /// Reads one value from each line.
    pub fn from_lines(lines: &str) -> Self {
        Self(lines.lines().map(Box::from).collect())
    }
}

/// Runs the program on an object's JSON.
pub fn run(program: &Compiled, json: &str) -> Result<Outputs, FilterError> {
    let input = program.read(json).map_err(|error| FilterError::Input(error.to_string()))?;
    catch_unwind(AssertUnwindSafe(|| collect(program, input))).unwrap_or_else(|panic| {
        Err(FilterError::Crashed(format!("jq panicked: {}", panic_message(panic.as_ref()).unwrap_or("?"))))
    })
}

fn collect(program: &Compiled, input: Val) -> Result<Outputs, FilterError> {
    let mut outputs = Vec::new();
    let mut room = MAX_RESULT;
    for output in program.run(input) {
        let value = match output {
            Ok(value) => value,
            Err(exception) => match exception.get_err().map_err(|exception| exception.get_halt()) {
                Ok(error) => return Err(FilterError::Program(message(&error))),
                Err(Ok(0)) => break,
                Err(Ok(code)) => return Err(FilterError::Program(format!("it halted with code {code}"))),
                Err(Err(_)) => return Err(FilterError::Program("break outside of its label".into())),
            },
        };
        let mut text = String::new();
        write(&value, &mut text, room).map_err(|error| match error {
            Unwritable::TooLarge => FilterError::TooLarge(MAX_RESULT),
            Unwritable::TooDeep => FilterError::NotJson(format!("more than {} levels", MAX_DEPTH)),
            Unwritable::NotJson(what) => FilterError::NotJson(what.into()),
        })?;
        room = room.saturating_sub(text.len() + 1);
        outputs.push(text.into());
    }
    Ok(Outputs(outputs))
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
