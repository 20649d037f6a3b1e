//! Writes jq's values as canonical JSON: compact, with sorted keys, bounded in bytes and depth.
//!
//! The memory is bounded whatever the value. jq's values share their parts, so a few bytes of memory can be exabytes of
//! text.

use jaq_json::{Num, Val};

/// The deepest value that is written.
pub const MAX_DEPTH: usize = 512;

/// A value that cannot be a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unwritable {
    /// Longer than the bound.
    TooLarge,
    /// Deeper than [`MAX_DEPTH`].
    TooDeep,
    /// Not JSON: an object key that is not a string, or a string of bytes.
    NotJson(&'static str),
}

/// Appends the value's JSON to `out`, which may grow to `max` bytes.
pub fn write(value: &Val, out: &mut String, max: usize) -> Result<(), Unwritable> {
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
