//! Paths to texts in an object: `.spec.secretName`, `.spec.volumes[].secret`.

use std::{collections::BTreeSet, fmt};

use serde_json::Value;

/// The longest path, in fields.
const MAX_FIELDS: usize = 20;
/// How many texts of one object are read.
const MAX_TEXTS: usize = 256;
/// No object has a longer name.
const MAX_NAME: usize = 253;

/// A path leads to too many texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("more than {MAX_TEXTS} names")]
pub struct TooManyTexts;

/// A path of fields. A field with `[]` stands for all items of its list.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FieldPath {
    fields: Vec<Field>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Field {
    name: String,
    /// It is a list, and the path continues in each item.
    each: bool,
}

impl FieldPath {
    /// Reads a path. The error says what a path looks like.
    pub fn parse(text: &str) -> Result<Self, String> {
        let form = || "a path looks like \".spec.secretName\" or \".spec.volumes[].secret\"".to_owned();
        let rest = text.strip_prefix('.').ok_or_else(form)?;
        let field = |text: &str| {
            let (name, each) = text.strip_suffix("[]").map_or((text, false), |name| (name, true));
            let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
            (!name.is_empty() && name.chars().all(plain)).then(|| Field { name: name.to_owned(), each })
        };
        let fields = rest.split('.').map(field).collect::<Option<Vec<_>>>().ok_or_else(form)?;
        if fields.len() > MAX_FIELDS {
            return Err(format!("a path has at most {MAX_FIELDS} fields"));
        }
        Ok(Self { fields })
    }

    /// The texts at the path that can be names, without duplicates. What is not there, or is not a text, is left out.
    pub fn texts<'v>(&self, object: &'v Value) -> Result<BTreeSet<&'v str>, TooManyTexts> {
        let mut found = vec![object];
        for Field { name, each } in &self.fields {
            let values = found.into_iter().filter_map(|value| value.get(name));
            found = match each {
                true => values.filter_map(Value::as_array).flatten().collect(),
                false => values.collect(),
            };
        }
        let mut texts = BTreeSet::new();
        for text in found.into_iter().filter_map(Value::as_str).filter(|text| (1..=MAX_NAME).contains(&text.len())) {
            texts.insert(text);
            if texts.len() > MAX_TEXTS {
                return Err(TooManyTexts);
            }
        }
        Ok(texts)
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fields.iter().try_for_each(|Field { name, each }| write!(f, ".{name}{}", if *each { "[]" } else { "" }))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;

    fn texts(path: &str, object: &Value) -> Vec<String> {
        FieldPath::parse(path).unwrap().texts(object).unwrap().into_iter().map(str::to_owned).collect()
    }

    #[test]
    fn a_path_leads_to_one_text_or_to_those_of_a_list() {
        let object = json!({"spec": {"secret": "a", "none": null, "empty": "", "names": ["c", 1, "b", "c"],
            "volumes": [{"secret": "x"}, {}, {"secret": ["no"]}, "no", {"secret": "y", "keys": [{"of": ["z"]}]}]}});
        assert_eq!(texts(".spec.secret", &object), ["a"]);
        assert_eq!(texts(".spec.names[]", &object), ["b", "c"]);
        assert_eq!(texts(".spec.volumes[].secret", &object), ["x", "y"]);
        assert_eq!(texts(".spec.volumes[].keys[].of[]", &object), ["z"]);
        for path in [".spec.none", ".spec.empty", ".spec.names", ".spec.secret.more", ".spec.secret[]", ".absent.x"] {
            assert_eq!(texts(path, &object), [""; 0], "{path}");
        }
    }

    #[test]
    fn what_is_no_path_is_refused() {
        for path in ["", ".", "spec", ".spec..a", ".spec[0]", ".spec[]a", ".[]", ".spec.a b", ".spec[\"a\"]"] {
            assert!(FieldPath::parse(path).unwrap_err().contains("looks like"), "{path}");
        }
        assert!(FieldPath::parse(&".a".repeat(21)).is_err());
        assert_eq!(FieldPath::parse(".spec.a-b[].c_d").unwrap().to_string(), ".spec.a-b[].c_d");
    }

    #[test]
    fn a_parent_refers_to_so_many_objects() {
        let mut names: Vec<_> = (0..MAX_TEXTS).map(|n| n.to_string()).collect();
        names.extend(names.clone());
        names.push("x".repeat(254));
        assert_eq!(texts(".spec[]", &json!({"spec": names})).len(), MAX_TEXTS);
        names.push("y".repeat(253));
        assert_eq!(FieldPath::parse(".spec[]").unwrap().texts(&json!({"spec": names})), Err(TooManyTexts));
    }
}
