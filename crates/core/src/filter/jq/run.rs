//! Runs a compiled program on one object, in this thread, to the end.
//!
//! It never stops by itself: the caller knows that the program is linear, or can kill the process.

use std::{
    fmt::{self, Write as _},
    panic::{AssertUnwindSafe, catch_unwind},
};

use jaq_json::Val;

use super::{
    compile::Compiled,
    error::FilterError,
    write::{self, Unwritable},
};
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
        write::write(&value, &mut text, room).map_err(|error| match error {
            Unwritable::TooLarge => FilterError::TooLarge(MAX_RESULT),
            Unwritable::TooDeep => FilterError::NotJson(format!("more than {} levels", write::MAX_DEPTH)),
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
