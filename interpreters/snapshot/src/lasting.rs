//! Makes the objects immortal that Python says are there for good (`lasting.py`): their counts are written into the
//! memory that the component begins with.

use std::ops::Range;

use anyhow::{Context as _, Result, bail, ensure};
use wasmparser::{DataKind, Operator, Parser, Payload};

/// What stands before the address of the list and its length.
const MARK: &[u8] = b"boathook lasting";
/// The count of an immortal object: `_Py_IMMORTAL_INITIAL_REFCNT` of CPython where an address has 32 bits.
const IMMORTAL: u32 = 5 << 28;
/// Counts of this and more are of immortal objects.
const LEAST_IMMORTAL: u32 = 1 << 30;
/// Where in a list its length is, and the address of its items: after the count and the type.
const LENGTH: u32 = 8;
const ITEMS: u32 = 12;

/// Changes the component.
pub fn make_immortal(component: &mut [u8]) -> Result<()> {
    let memory = Memory::of(component)?;
    let (items, length) = memory.list(component)?;
    for item in 0..length {
        let object = memory.word(component, items + 4 * item);
        let count = memory.word(component, object);
        ensure!(count > 0, "the object at {object:#x} is not there any more");
        if count < LEAST_IMMORTAL {
            memory.set(component, object, IMMORTAL)?;
        }
    }
    Ok(())
}

/// Where in the component the bytes of its first memory are.
struct Memory {
    /// Addresses, in order, and the places of their bytes.
    segments: Vec<(u32, Range<usize>)>,
}

impl Memory {
    fn of(component: &[u8]) -> Result<Self> {
        let mut segments = Vec::new();
        for payload in Parser::new(0).parse_all(component) {
            let Payload::DataSection(section) = payload? else { continue };
            for data in section {
                let data = data?;
                let DataKind::Active { memory_index: 0, offset_expr } = data.kind else { continue };
                if let Operator::I32Const { value } = offset_expr.get_operators_reader().read()? {
                    let end = data.range.end as usize;
                    segments.push((value.cast_unsigned(), end - data.data.len()..end));
                }
            }
        }
        segments.sort_by_key(|(address, _)| *address);
        Ok(Self { segments })
    }

    /// The address of the first item, and how many there are. The mark is in the program, too, with no list behind it.
    fn list(&self, component: &[u8]) -> Result<(u32, u32)> {
        for (address, range) in &self.segments {
            let bytes = component.get(range.clone()).unwrap_or_default();
            for at in places_of(bytes, MARK) {
                let after = address + (at + MARK.len()) as u32;
                let (list, length) = (self.word(component, after), self.word(component, after + 4));
                if list > 0 && length > 0 && self.word(component, list + LENGTH) == length {
                    return Ok((self.word(component, list + ITEMS), length));
                }
            }
        }
        bail!("there is no list of objects that are there for good")
    }

    fn place(&self, address: u32) -> Option<usize> {
        let after = self.segments.partition_point(|(start, _)| *start <= address);
        let (start, range) = self.segments.get(after.checked_sub(1)?)?;
        let place = range.start + (address - start) as usize;
        (place < range.end).then_some(place)
    }

    /// Of what no segment has, the bytes are zero.
    fn word(&self, component: &[u8], address: u32) -> u32 {
        let byte = |address| self.place(address).and_then(|place| component.get(place).copied()).unwrap_or(0);
        u32::from_le_bytes([0, 1, 2, 3].map(|offset| byte(address.wrapping_add(offset))))
    }

    fn set(&self, component: &mut [u8], address: u32, word: u32) -> Result<()> {
        for (i, value) in word.to_le_bytes().into_iter().enumerate() {
            let place = self.place(address + i as u32).with_context(|| format!("no byte at {address:#x}"))?;
            *component.get_mut(place).context("no such byte")? = value;
        }
        Ok(())
    }
}

/// Where the wanted bytes are.
fn places_of<'a>(bytes: &'a [u8], wanted: &'a [u8]) -> impl Iterator<Item = usize> + 'a {
    bytes.windows(wanted.len()).enumerate().filter(move |(_, window)| *window == wanted).map(|(at, _)| at)
}
