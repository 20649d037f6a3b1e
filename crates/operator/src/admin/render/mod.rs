//! Views as text for people: aligned tables, and blocks where a table is too narrow.
//!
//! Names and messages come from hooks, and the text goes to a terminal. The text therefore never contains control
//! characters.

mod hooks;
mod others;
mod queues;
mod runs;
mod snapshots;
mod table;

pub use hooks::hook;
pub use table::{Style, clean};

pub trait Text {
    /// The text. It ends with a line feed.
    fn text(&self, style: Style) -> String;
}

/// A size in bytes, in short form: `12 KiB`.
fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["B", "KiB", "MiB", "GiB"];
    let mut unit = UNITS.iter();
    let (mut size, mut name) = (bytes as f64, unit.next().copied().unwrap_or_default());
    while size >= 1024.0 {
        let Some(next) = unit.next() else { break };
        (size, name) = (size / 1024.0, *next);
    }
    if size < 10.0 && name != "B" { format!("{size:.1} {name}") } else { format!("{size:.0} {name}") }
}

/// Milliseconds, in short form: `0.12 ms`, `1.5 s`.
fn millis(ms: f64) -> String {
    if ms < 10.0 {
        format!("{ms:.2} ms")
    } else if ms < 1_000.0 {
        format!("{ms:.0} ms")
    } else {
        seconds(ms / 1_000.0)
    }
}

/// Seconds, in short form: `1.5 s`, `12 min`, `3 h`.
fn seconds(seconds: f64) -> String {
    if seconds < 10.0 {
        format!("{seconds:.1} s")
    } else if seconds < 120.0 {
        format!("{seconds:.0} s")
    } else if seconds < 7_200.0 {
        format!("{:.0} min", seconds / 60.0)
    } else {
        format!("{:.0} h", seconds / 3_600.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_short() {
        assert_eq!(
            [0, 1023, 1024, 15 * 1024, 3 << 30, 5 << 42].map(bytes),
            ["0 B", "1023 B", "1.0 KiB", "15 KiB", "3.0 GiB", "20480 GiB"]
        );
        assert_eq!([0.123, 12.0, 1500.0, 180_000.0].map(millis), ["0.12 ms", "12 ms", "1.5 s", "3 min"]);
        assert_eq!(seconds(7_300.0), "2 h");
    }
}
