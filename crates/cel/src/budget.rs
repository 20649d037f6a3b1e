//! What evaluation may cost, for one expression and for all expressions of a request.
//!
//! Time is not measured, so the same expression on the same object always costs the same.

use super::library::Library;
use super::{Error, Value, list};

/// The units that one expression may spend.
const CALL: u64 = 1_000_000;
/// The units that all expressions of a request may spend together.
const REQUEST: u64 = 10_000_000;

/// The units that are left.
#[derive(Debug)]
pub struct Budget {
    request: u64,
    call: u64,
    /// The functions are created once for all expressions of a request.
    pub(super) library: Library,
}

impl Default for Budget {
    fn default() -> Self {
        Self { request: REQUEST, call: CALL, library: Library::default() }
    }
}

impl Budget {
    pub(super) fn start_call(&mut self) {
        self.call = CALL.min(self.request);
    }

    /// Whether the request has spent everything. Nothing more is evaluated then.
    pub fn is_empty(&self) -> bool {
        self.request == 0
    }

    /// Spends `cost`, or what is left.
    pub(super) fn spend(&mut self, cost: u64) -> Result<(), Error> {
        self.request = self.request.saturating_sub(cost);
        match self.call.checked_sub(cost) {
            Some(left) => {
                self.call = left;
                Ok(())
            }
            None => {
                self.call = 0;
                Err(Error::TooExpensive)
            }
        }
    }

    /// Spends what it costs to read all of `value`.
    pub(super) fn traverse(&mut self, value: &Value) -> Result<(), Error> {
        match value {
            Value::String(text) => self.spend(text.len() as u64 / 10),
            Value::Bytes(bytes) => self.spend(bytes.len() as u64 / 10),
            Value::Map(map) => {
                self.spend(map.map.len() as u64)?;
                map.map.values().try_for_each(|v| self.traverse(v))
            }
            other => match list::items(other) {
                Some(items) => {
                    self.spend(items.len() as u64)?;
                    items.iter().try_for_each(|v| self.traverse(v))
                }
                None => Ok(()),
            },
        }
    }
}
