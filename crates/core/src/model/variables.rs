//! Variables that documents name in selectors, as `$(NAME)`, and whose values the operator's admin gives. Pure.

use std::collections::BTreeMap;

use super::{HookSpec, KubernetesBinding, ReconcileBinding};

/// The variables with their values.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Variables(BTreeMap<String, String>);

/// A variable that has no value here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("binding {binding}: $({name}) has no value: start the operator with --var {name}=VALUE")]
pub struct UnknownVariable {
    binding: String,
    name: String,
}

/// The longest value: the longest name of an object.
const MAX_VALUE: usize = 253;

impl Variables {
    /// Adds a variable. The text says what is wrong with it.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        if !is_name(name) {
            return Err(format!("{name:?} is not the name of a variable: write capital letters, digits and '_'"));
        }
        // Such a value needs no escapes, in whatever selector it stands.
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if value.is_empty() || value.len() > MAX_VALUE || !value.chars().all(plain) {
            return Err(format!(
                "the value of {name} is {value:?}: write up to {MAX_VALUE} letters, digits, '-', '_' and '.', as names of \
                 objects have them"
            ));
        }
        self.0.insert(name.to_owned(), value.to_owned());
        Ok(())
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// The text with the values of its variables, or the name of one that has none.
    fn expand(&self, text: &str) -> Result<String, String> {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((name, before, after)) = next(rest) {
            out.push_str(before);
            out.push_str(self.get(name).ok_or_else(|| name.to_owned())?);
            rest = after;
        }
        out.push_str(rest);
        Ok(out)
    }
}

/// The name of the first variable in a text, and what is before and after it.
fn next(text: &str) -> Option<(&str, &str, &str)> {
    text.match_indices("$(").find_map(|(at, _)| {
        let (before, rest) = text.split_at(at);
        let (name, after) = rest.strip_prefix("$(")?.split_once(')')?;
        is_name(name).then_some((name, before, after))
    })
}

/// Whether a text has a variable in it.
pub fn has_variable(text: &str) -> bool {
    next(text).is_some()
}

/// Whether the whole text is a variable.
pub fn is_variable(text: &str) -> bool {
    next(text).is_some_and(|(_, before, after)| before.is_empty() && after.is_empty())
}

fn is_name(text: &str) -> bool {
    let inner = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    text.chars().all(inner) && text.chars().next().is_some_and(|first| !first.is_ascii_digit())
}

impl HookSpec {
    /// The same document with the values of its variables.
    pub fn with_variables(mut self, variables: &Variables) -> Result<Self, UnknownVariable> {
        for binding in &mut self.kubernetes {
            let KubernetesBinding { name, names, namespaces, namespace_labels, label_selector, field_selector, .. } =
                binding;
            let texts = names.iter_mut().chain(namespaces).chain(namespace_labels).chain(label_selector);
            expand(variables, name.as_str(), texts.chain(field_selector))?;
        }
        for ReconcileBinding { name, namespaces, label_selector, .. } in &mut self.reconcilers {
            expand(variables, name.as_str(), namespaces.iter_mut().chain(label_selector))?;
        }
        Ok(self)
    }
}

fn expand<'t>(
    variables: &Variables,
    binding: &str,
    texts: impl Iterator<Item = &'t mut String>,
) -> Result<(), UnknownVariable> {
    for text in texts {
        let unknown = |name| UnknownVariable { binding: binding.to_owned(), name };
        *text = variables.expand(text).map_err(unknown)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn variables() -> Variables {
        let mut variables = Variables::default();
        variables.set("NODE_NAME", "node-1.a").unwrap();
        variables.set("B", "b").unwrap();
        variables
    }

    #[test]
    fn values_stand_where_the_names_were() {
        let expanded = |text: &str| variables().expand(text);
        for (text, out) in [
            ("spec.nodeName=$(NODE_NAME)", "spec.nodeName=node-1.a"),
            ("a in ($(B),c,$(NODE_NAME)),d=$(B)", "a in (b,c,node-1.a),d=b"),
            ("plain", "plain"),
            ("$(lower) $() $( $(1) a$", "$(lower) $() $( $(1) a$"),
            ("$($(B)", "$(b"),
        ] {
            assert_eq!(expanded(text), Ok(out.to_owned()));
        }
        assert_eq!(expanded("a=$(B),b=$(OTHER)"), Err("OTHER".to_owned()));
        assert!(is_variable("$(NODE_NAME)"));
        for text in ["$(NODE_NAME)x", "x$(B)", "$(b)", "$()", "NODE_NAME", "$(B)$(B)"] {
            assert!(!is_variable(text), "{text}");
        }
    }

    #[test]
    fn a_value_is_one_word_of_any_selector() {
        let mut variables = Variables::default();
        for (name, value) in [("a", "b"), ("", "b"), ("1A", "b"), ("A B", "b")] {
            assert!(variables.set(name, value).unwrap_err().contains("is not the name of a variable"), "{name}");
        }
        for value in ["", "a,b", "a=b", "a b", "a)", "$(B)", "a/b", "\u{e9}", &"a".repeat(254)] {
            assert!(variables.set("A", value).unwrap_err().contains("the value of A is"), "{value}");
        }
        assert_eq!(variables, Variables::default());
    }
}
