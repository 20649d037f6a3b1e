//! Finds the source position of a position in a bundle. It implements the part of source maps, version 3, that this
//! needs.

use serde::Deserialize;

/// A parsed map.
#[derive(Deserialize)]
pub(super) struct SourceMap {
    sources: Vec<String>,
    mappings: String,
}

/// A position in a source, for error texts. Lines and columns count from 1.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Place<'a> {
    pub(super) file: &'a str,
    pub(super) line: i64,
    pub(super) column: i64,
}

impl SourceMap {
    pub(super) fn read(map: &[u8]) -> Option<Self> {
        serde_json::from_slice(map).ok()
    }

    /// The segment at or before a position in the bundle. Row and column count from 0, in UTF-16 units.
    pub(super) fn find(&self, row: usize, column: usize) -> Option<Place<'_>> {
        let (mut source, mut line, mut from, mut found) = (0i64, 0i64, 0i64, None);
        for (index, segments) in self.mappings.split(';').enumerate().take(row.saturating_add(1)) {
            let mut at = 0i64;
            for segment in segments.split(',') {
                let Some([ahead, in_source, in_line, in_column]) = numbers(segment) else { continue };
                at += ahead;
                source += in_source;
                line += in_line;
                from += in_column;
                if index == row && usize::try_from(at).is_ok_and(|at| at <= column) {
                    found = Some((source, line, from));
                }
            }
        }
        let (source, line, from) = found?;
        let file = self.sources.get(usize::try_from(source).ok()?)?;
        Some(Place { file, line: line + 1, column: from + 1 })
    }
}

/// The first four numbers of a segment. None if it has fewer: it then has no source.
fn numbers(segment: &str) -> Option<[i64; 4]> {
    let (mut numbers, mut count, mut value, mut shift) = ([0i64; 4], 0usize, 0i64, 0u32);
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use super::*;

    #[test]
    fn places_are_found_in_their_sources() {
        // Row 0: column 0 is a.ts 1:1, column 4 is b.ts 3:2. Row 1: column 2 is b.ts 2:2.
        let map = br#"{"version":3,"sources":["a.ts","b.ts"],"mappings":"AAAA,ICEC;EADA"}"#;
        let map = SourceMap::read(map).unwrap();
        let place = |file, line, column| Some(Place { file, line, column });
        assert_eq!(map.find(0, 0), place("a.ts", 1, 1));
        assert_eq!(map.find(0, 3), place("a.ts", 1, 1));
        assert_eq!(map.find(0, 9), place("b.ts", 3, 2));
        assert_eq!(map.find(1, 1), None);
        assert_eq!(map.find(1, 2), place("b.ts", 2, 2));
        assert_eq!(map.find(7, 0), None);
        assert!(SourceMap::read(b"{}").is_none());
    }

    #[test]
    fn segments_that_are_none_are_passed_over() {
        assert_eq!(numbers("A"), None);
        assert_eq!(numbers("A?AA"), None);
        assert_eq!(numbers(&"g".repeat(40)), None);
        assert_eq!(numbers("gBDAAQ"), Some([16, -1, 0, 0]));
    }
}
