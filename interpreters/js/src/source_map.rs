//! Places of a trace, found again in the files that the author wrote.
//!
//! Reads `NAME.map` next to a bundle `NAME`, and only when something failed.

use rquickjs::{Ctx, Object};

use crate::{boathook::interpreter::source, host::http};

/// The maximum number of places that a trace reports.
const PLACES: usize = 6;

/// The places of an error's trace, innermost first: `run src/hook.ts:12:5`.
pub fn trace<'js>(ctx: &Ctx<'js>, error: &Object<'js>) -> Vec<String> {
    let stack: String = error.get("stack").unwrap_or_default();
    let mut maps = Maps::default();
    stack.lines().filter_map(|line| place(ctx, &mut maps, line.trim())).take(PLACES).collect()
}

/// `at run (hook.js:3:7)` or `at hook.js:3:7`.
fn place<'js>(ctx: &Ctx<'js>, maps: &mut Maps, line: &str) -> Option<String> {
    let rest = line.strip_prefix("at ")?;
    let (function, place) = match rest.rsplit_once(" (") {
        Some((function, place)) => (function, place.strip_suffix(')')?),
        None => ("", rest),
    };
    let mut parts = place.rsplitn(3, ':');
    let column: usize = parts.next()?.parse().ok()?;
    let row: usize = parts.next()?.parse().ok()?;
    let file = parts.next().filter(|file| *file != http::FILE)?;
    let shown = match maps.find(ctx, file, row, column) {
        Some(found) => found,
        None => format!("{file}:{row}:{column}"),
    };
    Some(match function {
        "" | "<anonymous>" => shown,
        function => format!("{function} {shown}"),
    })
}

/// The maps that were read.
#[derive(Default)]
struct Maps(Vec<(String, Option<Map>)>);

struct Map {
    sources: Vec<String>,
    mappings: String,
}

impl Maps {
    fn find(&mut self, ctx: &Ctx<'_>, file: &str, row: usize, column: usize) -> Option<String> {
        if !self.0.iter().any(|(name, _)| name == file) {
            self.0.push((file.to_owned(), Map::read(ctx, file)));
        }
        let (_, map) = self.0.iter().find(|(name, _)| name == file)?;
        map.as_ref()?.find(row, column)
    }
}

impl Map {
    fn read(ctx: &Ctx<'_>, file: &str) -> Option<Self> {
        let text = source::read(&format!("{file}.map"))?;
        let map = ctx.json_parse(text).ok()?.into_object()?;
        Some(Self { sources: map.get("sources").ok()?, mappings: map.get("mappings").ok()? })
    }

    /// The place that a column of a trace comes from. Rows and columns count from 1.
    fn find(&self, row: usize, column: usize) -> Option<String> {
        let (mut source, mut line, mut from) = (0i64, 0i64, 0i64);
        let mut found = None;
        for (index, segments) in self.mappings.split(';').enumerate().take(row) {
            let mut at = 0i64;
            for segment in segments.split(',') {
                let Some([ahead, rest @ ..]) = numbers(segment) else { continue };
                at += ahead;
                let [in_source, in_line, in_column] = rest;
                source += in_source;
                line += in_line;
                from += in_column;
                // QuickJS names the character before a call: the next one is of what is called.
                if index + 1 == row && at <= column as i64 {
                    found = Some((source, line, from));
                }
            }
        }
        let (source, line, from) = found?;
        let file = self.sources.get(usize::try_from(source).ok()?)?;
        Some(format!("{file}:{}:{}", line + 1, from + 1))
    }
}

/// The first four numbers of a segment; one that has fewer comes from nowhere.
fn numbers(segment: &str) -> Option<[i64; 4]> {
    let mut numbers = [0i64; 4];
    let (mut count, mut value, mut shift) = (0, 0i64, 0);
    for byte in segment.bytes() {
        let digit = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        value |= i64::from(digit & 31).checked_shl(shift)?;
        shift += 5;
        if digit & 32 == 0 {
            if let Some(place) = numbers.get_mut(count) {
                *place = if value & 1 == 1 { -(value >> 1) } else { value >> 1 };
            }
            (count, value, shift) = (count + 1, 0, 0);
        }
    }
    (count >= 4).then_some(numbers)
}
