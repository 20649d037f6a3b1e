//! Reads amounts of bytes in Kubernetes' notation: `64Mi`, `1G`, `4096`.

use serde_json::Value;

use super::reader::{describe, whole};

const UNITS: [(&str, u64); 9] = [
    ("Ki", 1 << 10),
    ("Mi", 1 << 20),
    ("Gi", 1 << 30),
    ("Ti", 1 << 40),
    ("k", 1_000),
    ("M", 1_000_000),
    ("G", 1_000_000_000),
    ("T", 1_000_000_000_000),
    ("", 1),
];

/// Reads an amount, written as a number or as text.
pub(super) fn bytes(value: &Value) -> Result<u64, String> {
    let amount = match value {
        Value::Number(_) => value.as_u64().or_else(|| whole(value).and_then(|number| u64::try_from(number).ok())),
        Value::String(text) => UNITS.iter().find_map(|unit| in_unit(text, unit)),
        _ => None,
    };
    amount.ok_or_else(|| format!("is {}; bytes are needed, such as \"64Mi\" or 1048576", describe(value)))
}

fn in_unit(text: &str, (suffix, unit): &(&str, u64)) -> Option<u64> {
    let digits = text.strip_suffix(suffix).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))?;
    digits.parse::<u64>().ok()?.checked_mul(*unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_kubernetes_quantities() {
        for (text, expected) in [("64Mi", 64 << 20), ("1k", 1_000), ("4096", 4096), ("0", 0), ("2Gi", 2 << 30)] {
            assert_eq!(bytes(&Value::from(text)), Ok(expected), "{text}");
        }
        assert_eq!(bytes(&Value::from(7)), Ok(7));
        assert_eq!(bytes(&Value::from(7.0)), Ok(7));
        assert_eq!(bytes(&Value::from(u64::MAX)), Ok(u64::MAX));
    }

    #[test]
    fn refuses_the_rest() {
        for text in ["", "Mi", "-1", "1.5Gi", "64 Mi", "64mb", "+1", "99999999999Ti"] {
            assert!(bytes(&Value::from(text)).is_err(), "{text}");
        }
        assert!(bytes(&Value::Bool(true)).is_err());
        assert!(bytes(&Value::from(-1)).is_err());
        assert!(bytes(&Value::from(1.5)).is_err());
    }
}
