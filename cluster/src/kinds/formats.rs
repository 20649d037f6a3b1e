//! Formats of texts in schemas, for example dates, addresses and identifiers. Unknown formats match everything, as on
//! the real server.

use std::net::{Ipv4Addr, Ipv6Addr};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Whether `text` has the format.
pub(super) fn fits(format: &str, text: &str) -> bool {
    match format {
        "date-time" | "datetime" => text.parse::<jiff::Timestamp>().is_ok(),
        "date" => text.len() == 10 && text.parse::<jiff::civil::Date>().is_ok(),
        "duration" => duration(text),
        "byte" => STANDARD.decode(text).is_ok(),
        "ipv4" => text.parse::<Ipv4Addr>().is_ok(),
        "ipv6" => text.parse::<Ipv6Addr>().is_ok(),
        "cidr" => cidr(text),
        "mac" => matches(r"^([0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}$", text),
        "uuid" => uuid(text, "[0-9a-fA-F]"),
        "uuid3" => uuid(text, "3"),
        "uuid4" => uuid(text, "4"),
        "uuid5" => uuid(text, "5"),
        "uri" => text.parse::<http::Uri>().is_ok_and(|uri| uri.scheme().is_some() || text.starts_with('/')),
        "email" => text.split_once('@').is_some_and(|(name, host)| !name.is_empty() && !host.is_empty()),
        "hostname" => {
            matches(r"^[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?(\.[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?)*\.?$", text)
        }
        _ => true,
    }
}

fn matches(pattern: &str, text: &str) -> bool {
    regex::Regex::new(pattern).is_ok_and(|pattern| pattern.is_match(text))
}

fn uuid(text: &str, version: &str) -> bool {
    let any = "[0-9a-fA-F]";
    matches(&format!("^{any}{{8}}-?{any}{{4}}-?{version}{any}{{3}}-?{any}{{4}}-?{any}{{12}}$"), text)
}

fn cidr(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else {
        return false;
    };
    let bits: u8 = bits.parse().unwrap_or(u8::MAX);
    (address.parse::<Ipv4Addr>().is_ok() && bits <= 32) || (address.parse::<Ipv6Addr>().is_ok() && bits <= 128)
}

/// A duration in Go's format, or numbers with a unit word.
fn duration(text: &str) -> bool {
    let unit = "(ns|us|µs|ms|s|m|h|d|w|seconds?|minutes?|hours?|days?|weeks?|milliseconds?|microseconds?|nanoseconds?)";
    text == "0" || matches(&format!(r"^[-+]?(\d+(\.\d*)?\s*{unit}\s*)+$"), text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_fit_their_formats() {
        for (format, good, bad) in [
            ("date-time", "2024-01-01T00:00:00Z", "yesterday"),
            ("date", "2024-01-01", "2024-13-01"),
            ("duration", "1h30m", "soon"),
            ("byte", "YWJj", "%%%"),
            ("ipv4", "10.0.0.1", "10.0.0"),
            ("ipv6", "::1", ":"),
            ("cidr", "10.0.0.0/8", "10.0.0.0/64"),
            ("uuid", "123e4567-e89b-12d3-a456-426614174000", "123"),
            ("uri", "http://x/y", ":"),
            ("email", "a@b", "a"),
            ("hostname", "a.b", "a_b"),
        ] {
            assert!(fits(format, good) && !fits(format, bad), "{format}");
        }
        assert!(fits("whatever", ""));
    }
}
