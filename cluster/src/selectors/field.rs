//! Field selectors: `path=value`, `path==value`, `path!=value`, joined by commas. The caller decides which paths a kind
//! offers.

use crate::status::Failure;

#[derive(Debug)]
struct Term {
    path: String,
    value: String,
    equal: bool,
}

/// A parsed field selector. An empty one matches everything.
#[derive(Debug, Default)]
pub(crate) struct FieldSelector(Vec<Term>);

impl FieldSelector {
    /// Parses `text`. `check` returns the problem of a field that the kind does not offer.
    pub(crate) fn parse(text: &str, check: impl Fn(&str) -> Option<String>) -> Result<Self, Failure> {
        let mut terms = Vec::new();
        for part in split_unescaped(text) {
            if part.is_empty() {
                continue;
            }
            let term = term(&part).ok_or_else(|| {
                Failure::bad_request(format!("invalid selector: '{text}'; can't understand '{part}'"))
            })?;
            if let Some(why) = check(&term.path) {
                return Err(Failure::bad_request(why));
            }
            terms.push(term);
        }
        Ok(Self(terms))
    }

    pub(crate) fn is_everything(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn matches<'a>(&self, field: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.0.iter().all(|term| (field(&term.path).unwrap_or_default() == term.value) == term.equal)
    }
}

fn term(part: &str) -> Option<Term> {
    let at = part.find('=')?;
    let (left, right) = part.split_at(at);
    let right = right.strip_prefix('=')?;
    let (path, equal, value) = match left.strip_suffix('!') {
        Some(path) => (path, false, right),
        None => (left, true, right.strip_prefix('=').unwrap_or(right)),
    };
    Some(Term { path: path.trim().to_owned(), value: unescape(value), equal })
}

fn split_unescaped(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c == ',' {
            parts.push(String::new());
            continue;
        }
        if let Some(last) = parts.last_mut() {
            last.push(c);
            if c == '\\'
                && let Some(next) = chars.next()
            {
                last.push(next);
            }
        }
    }
    parts
}

fn unescape(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => out.extend(chars.next()),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn matches(selector: &str, name: &str) -> bool {
        FieldSelector::parse(selector, |_| None).unwrap().matches(|_| Some(name))
    }

    #[test]
    fn equality_and_inequality() {
        assert!(matches("metadata.name=a", "a"));
        assert!(matches("metadata.name==a", "a"));
        assert!(!matches("metadata.name!=a", "a"));
        assert!(matches("metadata.name!=a,metadata.name!=b", "c"));
        assert!(matches(r"metadata.name=a\,b", "a,b"));
    }

    #[test]
    fn unknown_fields_and_nonsense_are_refused() {
        let none = |path: &str| Some(format!("no {path}"));
        assert_eq!(FieldSelector::parse("spec.x=1", none).unwrap_err().message(), "no spec.x");
        assert_eq!(FieldSelector::parse("nonsense", none).unwrap_err().code(), 400);
    }
}
