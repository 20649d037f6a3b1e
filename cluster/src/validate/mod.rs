//! Checks of names, labels and required fields, in the real server's words.

pub(crate) mod data;
mod events;
pub(crate) mod metadata;
mod network;
pub(crate) mod objects;
mod pods;
pub(crate) mod quantity;
pub(crate) mod typed;
mod webhooks;

use std::net::IpAddr;

use serde_json::Value;

use crate::json::{at, int, list, text};
use crate::names;
use crate::status::Cause;

const NOT_NEGATIVE: &str = "must be greater than or equal to 0";
const PERCENT: &str = "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', \
    regex used for validation is '[0-9]+%')";
const IP: &str = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
const CIDR: &str = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";

/// Checks numbers of `object` that are counts.
fn counts(object: Option<&Value>, shown: &str, keys: &[&str]) -> Vec<Cause> {
    let Some(object) = object else { return Vec::new() };
    let negative = keys.iter().filter_map(|key| Some((key, int(object, &[key]).filter(|n| *n < 0)?)));
    negative.map(|(key, number)| Cause::invalid(format!("{shown}.{key}"), &number.into(), NOT_NEGATIVE)).collect()
}

/// Checks a number of objects, or a percentage of them.
fn share(value: Option<&Value>, field: &str) -> Option<Cause> {
    let value = value?;
    if let Some(number) = value.as_i64() {
        return (number < 0).then(|| Cause::invalid(field, value, NOT_NEGATIVE));
    }
    let digits = value.as_str()?.strip_suffix('%').unwrap_or_default();
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Some(Cause::invalid(field, value, PERCENT));
    }
    let above = digits.parse::<u64>().is_ok_and(|n| n > 100);
    above.then(|| Cause::invalid(field, value, "must not be greater than 100%"))
}

/// Checks a label selector.
fn selector(selector: Option<&Value>, field: &str) -> Vec<Cause> {
    let Some(selector) = selector else { return Vec::new() };
    let mut causes = Vec::new();
    for (key, value) in at(selector, &["matchLabels"]).and_then(Value::as_object).into_iter().flatten() {
        let field = format!("{field}.matchLabels");
        let wrong = names::qualified_name(key).into_iter();
        causes.extend(wrong.map(|why| Cause::invalid(&field, &key.as_str().into(), why)));
        let wrong = names::label_value(value.as_str().unwrap_or_default());
        causes.extend(wrong.map(|why| Cause::invalid(&field, value, why)));
    }
    for (index, expression) in list(selector, &["matchExpressions"]).iter().enumerate() {
        let field = format!("{field}.matchExpressions[{index}]");
        let none = list(expression, &["values"]).is_empty();
        match text(expression, &["operator"]) {
            "In" | "NotIn" if none => {
                let why = "must be specified when `operator` is 'In' or 'NotIn'";
                causes.push(Cause::required(format!("{field}.values"), why));
            }
            "Exists" | "DoesNotExist" if !none => {
                let why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                causes.push(Cause::forbidden(format!("{field}.values"), why));
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            other => {
                let field = format!("{field}.operator");
                causes.push(Cause::invalid(field, &other.into(), "not a valid selector operator"));
            }
        }
        let key = text(expression, &["key"]);
        let wrong = names::qualified_name(key).into_iter();
        causes.extend(wrong.map(|why| Cause::invalid(format!("{field}.key"), &key.into(), why)));
    }
    causes
}

fn address(text: &str, field: &str) -> Option<Cause> {
    let valid = text.parse::<IpAddr>().is_ok();
    (!valid).then(|| Cause::invalid(field, &text.into(), IP))
}

/// A range of addresses: its prefix, and the prefix length.
#[derive(Clone, Copy)]
struct Range {
    bits: u128,
    length: u32,
    v4: bool,
}

impl Range {
    fn parse(text: &str) -> Option<Self> {
        let (address, length) = text.split_once('/')?;
        let (bits, v4) = match address.parse().ok()? {
            IpAddr::V4(address) => (u128::from(u32::from(address)) << 96, true),
            IpAddr::V6(address) => (u128::from(address), false),
        };
        let length: u32 = length.parse().ok()?;
        (length <= if v4 { 32 } else { 128 }).then_some(Self { bits, length, v4 })
    }

    /// Whether this is a proper part of `whole`.
    fn is_part_of(self, whole: Self) -> bool {
        let shift = 128_u32.saturating_sub(whole.length);
        let same = self.bits.checked_shr(shift) == whole.bits.checked_shr(shift);
        self.v4 == whole.v4 && self.length > whole.length && (whole.length == 0 || same)
    }
}

fn range(text: &str, field: &str) -> Option<Cause> {
    Range::parse(text).is_none().then(|| Cause::invalid(field, &text.into(), CIDR))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_range_is_a_strict_part_of_a_wider_one() {
        let part = |inner: &str, outer: &str| Range::parse(inner).unwrap().is_part_of(Range::parse(outer).unwrap());
        assert!(part("192.0.2.8/29", "192.0.2.0/24"));
        assert!(part("2001:db8:1::/48", "2001:db8::/32"));
        assert!(part("10.0.0.0/8", "0.0.0.0/0"));
        assert!(!part("192.0.2.0/24", "192.0.2.0/24"));
        assert!(!part("198.51.100.0/25", "192.0.2.0/24"));
        assert!(!part("::/64", "0.0.0.0/0"));
        assert!(["10.0.0.1", "10.0.0.0/33", "x/8", "10.0.0.0/"].iter().all(|text| Range::parse(text).is_none()));
    }

    #[test]
    fn a_share_is_a_number_or_a_percentage() {
        let problem = |value: Value| share(Some(&value), "spec.x").map(|cause| cause.message);
        assert_eq!(problem(5.into()), None);
        assert_eq!(problem("100%".into()), None);
        assert!(problem((-1).into()).is_some_and(|why| why.contains("greater than or equal")));
        assert!(problem("101%".into()).is_some_and(|why| why.contains("greater than 100%")));
        assert!(problem("%".into()).is_some_and(|why| why.contains("percent string")));
    }
}
