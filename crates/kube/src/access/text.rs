//! Texts that a hook chose and that become part of a URL, a message or a log line. Pure.

use std::borrow::Cow;

use boathook_core::model::{CallError, percent_encode};

use super::errors;

/// The longest name in Kubernetes.
const MAX: usize = 253;

/// Rejects a value that is empty, too long or contains control characters.
pub(super) fn check(what: &str, value: &str) -> Result<(), CallError> {
    if value.is_empty() {
        return Err(errors::invalid(format!("{what} is empty")));
    }
    if value.len() > MAX || value.chars().any(char::is_control) {
        return Err(errors::invalid(format!(
            "{what} {} is not valid: use 1 to {MAX} bytes without control characters",
            quoted(&clipped(value))
        )));
    }
    Ok(())
}

/// Also rejects a value that cannot be one segment of a path.
pub(super) fn check_segment(what: &str, value: &str) -> Result<(), CallError> {
    check(what, value)?;
    if matches!(value, "." | "..") || value.contains(['/', '%']) {
        return Err(errors::invalid(format!("{what} {value:?} is not valid: it may not be . or .. or hold / or %")));
    }
    Ok(())
}

/// Shortens a value for a message to the length of the longest name.
pub(super) fn clipped(value: &str) -> Cow<'_, str> {
    if value.len() <= MAX {
        return Cow::Borrowed(value);
    }
    let end = value.floor_char_boundary(MAX);
    Cow::Owned(format!("{}…", value.get(..end).unwrap_or_default()))
}

/// The value as YAML on one line. It is plain if that cannot be misread.
pub(super) fn quoted(value: &str) -> Cow<'_, str> {
    const WORDS: [&str; 7] = ["true", "false", "null", "yes", "no", "on", "off"];
    let plain = value.starts_with(|c: char| c.is_ascii_lowercase())
        && value.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '.' | '/' | '_'))
        && !WORDS.contains(&value);
    if plain { Cow::Borrowed(value) } else { Cow::Owned(serde_json::Value::from(value).to_string()) }
}

/// A query string from keys and values.
pub(super) fn encoded<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let mut query = String::new();
    for (key, value) in pairs {
        if !query.is_empty() {
            query.push('&');
        }
        query.push_str(key);
        query.push('=');
        percent_encode(&mut query, value);
    }
    query
}

/// The one name that a field selector allows, as the API server reads it. All terms must hold, so one exact term is
/// enough. Values that contain escapes or operators are ignored.
pub(super) fn selected_name(field_selector: &str) -> Option<&str> {
    if field_selector.contains('\\') {
        return None;
    }
    field_selector.split(',').find_map(|term| {
        let (key, value) = term.split_once('=')?;
        let value = value.strip_prefix('=').unwrap_or(value);
        (key == "metadata.name" && !value.is_empty() && !value.contains(['=', '!'])).then_some(value)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_could_reach_elsewhere_are_refused() {
        for bad in ["", ".", "..", "a/b", "a%2fb", "a\nb", "a\0", &"x".repeat(254)] {
            assert!(check_segment("name", bad).is_err(), "{bad:?}");
        }
        for good in ["a", "a.b-c", "system:node:x", "UPPER_case", "ü"] {
            assert!(check_segment("name", good).is_ok(), "{good:?}");
        }
    }

    #[test]
    fn yaml_is_plain_only_where_it_stays_the_same_text() {
        for plain in ["a", "kube-system", "pods/eviction", "networking.k8s.io"] {
            assert_eq!(quoted(plain), plain);
        }
        for other in ["", "1", "1e3", "no", "null", "true", "a: b", "a, b", "]", "*", "~", "\"", "A"] {
            let text = quoted(other);
            assert!(text.starts_with('"'), "{other:?}");
            assert_eq!(yaml_serde::from_str::<String>(&text).ok().as_deref(), Some(other));
        }
    }

    #[test]
    fn queries_are_encoded() {
        assert_eq!(
            encoded([("labelSelector", "a=b,c in (d)"), ("limit", "5")]),
            "labelSelector=a%3Db%2Cc%20in%20%28d%29&limit=5"
        );
        assert_eq!(encoded([]), "");
    }

    #[test]
    fn long_texts_are_clipped_between_characters() {
        let long = "ü".repeat(200);
        assert_eq!(clipped(&long).chars().count(), 127);
        assert_eq!(clipped("short"), "short");
    }

    #[test]
    fn a_field_selector_names_an_object_only_when_it_is_exact() {
        assert_eq!(selected_name("metadata.name=a"), Some("a"));
        assert_eq!(selected_name("metadata.name==a"), Some("a"));
        assert_eq!(selected_name("status.phase=Running,metadata.name=a"), Some("a"));
        for other in [
            "",
            "metadata.name!=a",
            "metadata.name=",
            "metadata.namespace=a",
            " metadata.name=a",
            "x\\,metadata.name=a",
            "metadata.name=a!=b",
        ] {
            assert_eq!(selected_name(other), None, "{other}");
        }
    }
}
