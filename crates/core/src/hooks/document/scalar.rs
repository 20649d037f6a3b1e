//! The meaning of a plain YAML scalar, without quotes: null, a boolean, a number or a text.

use std::borrow::Cow;

use serde_json::{Number, Value};

/// Follows YAML 1.2's core schema. Digits with leading zeros stay a text, because readers of YAML disagree about them.
/// Numbers that JSON does not have stay a text, too.
pub fn plain(text: Cow<'_, str>) -> Value {
    match text.as_ref() {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        other => number(other).map_or_else(|| Value::String(text.into_owned()), Value::Number),
    }
}

fn number(text: &str) -> Option<Number> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if let Some(hex) = digits.strip_prefix("0x").filter(|_| digits == text) {
        return radix(hex, 16);
    }
    if let Some(octal) = digits.strip_prefix("0o").filter(|_| digits == text) {
        return radix(octal, 8);
    }
    let decimal = digits.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    let padded = digits.len() > 1 && digits.starts_with('0') && digits.bytes().all(|byte| byte.is_ascii_digit());
    if !decimal || padded {
        return None;
    }
    let text = text.strip_prefix('+').unwrap_or(text);
    let whole = text.parse::<i64>().map(Number::from).or_else(|_| text.parse::<u64>().map(Number::from));
    whole.ok().or_else(|| text.parse().ok().and_then(Number::from_f64))
}

fn radix(digits: &str, radix: u32) -> Option<Number> {
    let plain = digits.bytes().all(|byte| byte.is_ascii_alphanumeric());
    plain.then(|| u64::from_str_radix(digits, radix).ok()).flatten().map(Number::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_core_schema() {
        for (text, expected) in [
            ("", json!(null)),
            ("~", json!(null)),
            ("true", json!(true)),
            ("FALSE", json!(false)),
            ("7", json!(7)),
            ("-7", json!(-7)),
            ("+7", json!(7)),
            ("0", json!(0)),
            ("18446744073709551615", json!(u64::MAX)),
            ("0x1F", json!(31)),
            ("0o17", json!(15)),
            ("1.5", json!(1.5)),
            ("-.5e1", json!(-5.0)),
            ("1e3", json!(1000.0)),
        ] {
            assert_eq!(plain(text.into()), expected, "{text:?}");
        }
        for text in [
            "007", "1_000", "12e4567", ".", "-", "+", "1.2.3", "0x", "0x+1", "-0x1", "e1", ".inf", "inf", "nan", "yes",
            "on", "v1", "1s",
        ] {
            assert_eq!(plain(text.into()), json!(text), "{text:?}");
        }
    }
}
