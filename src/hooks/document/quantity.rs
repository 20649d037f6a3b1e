//! Amounts of bytes in Kubernetes' notation: `64Mi`, `1G`, `4096`.

use serde_json::Value;

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
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let read = |(suffix, unit): &(&str, u64)| {
        let number: u64 = text.strip_suffix(suffix)?.parse().ok()?;
        number.checked_mul(*unit)
    };
    UNITS.iter().find_map(read).ok_or_else(|| {
        format!("is {}; bytes are needed, such as \"64Mi\" or \"1048576\"", super::reader::describe(value))
    })
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
    }

    #[test]
    fn refuses_the_rest() {
        for text in ["", "Mi", "-1", "1.5Gi", "64 Mi", "64mb", "99999999999Ti"] {
            assert!(bytes(&Value::from(text)).is_err(), "{text}");
        }
        assert!(bytes(&Value::Bool(true)).is_err());
    }
}
