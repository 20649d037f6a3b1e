//! Label and field selectors: text to predicate, and the predicate on a stored object's index. Labels and selectable
//! fields are extracted once, when an object is stored, so its JSON is not read again.

use serde_json::Value;

use crate::json;
use crate::status::Failure;
use crate::store::Stored;

/// The selection of a list, a watch or a deletecollection.
#[derive(Debug, Default)]
pub(crate) struct Selection {
    pub labels: LabelSelector,
    pub fields: FieldSelector,
}

impl Selection {
    pub(crate) fn is_everything(&self) -> bool {
        self.labels.is_everything() && self.fields.is_everything()
    }

    pub(crate) fn matches(&self, object: &Stored) -> bool {
        self.labels.matches(|key| object.label(key)) && self.fields.matches(|path| object.field(path))
    }
}

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

#[derive(Debug)]
enum Test {
    Exists,
    Absent,
    In(Vec<String>),
    NotIn(Vec<String>),
    Greater(i64),
    Less(i64),
}

/// A parsed label selector. An empty one matches everything.
#[derive(Debug, Default)]
pub(crate) struct LabelSelector(Vec<(String, Test)>);

impl LabelSelector {
    pub(crate) fn parse(text: &str) -> Result<Self, Failure> {
        let tokens = tokens(text);
        let mut rest = Tokens { list: &tokens };
        let mut terms = Vec::new();
        while let Some(next) = rest.peek() {
            if next == "," {
                return Err(Failure::bad_request("found ',', expected: !, identifier, or 'end of string'"));
            }
            terms.push(
                rest.requirement()
                    .map_err(|why| Failure::bad_request(format!("unable to parse requirement: {why}")))?,
            );
            match rest.next() {
                None => break,
                Some(",") if rest.peek().is_some() => {}
                Some(",") => {
                    return Err(Failure::bad_request("found '', expected: identifier after ','"));
                }
                Some(other) => {
                    return Err(Failure::bad_request(format!("found '{other}', expected: ',' or 'end of string'")));
                }
            }
        }
        Ok(Self(terms))
    }

    /// Reads a `LabelSelector` of the API. Invalid parts select nothing more.
    pub(crate) fn of(written: &Value) -> Self {
        let words =
            |v: &Value| json::list(v, &["values"]).iter().filter_map(Value::as_str).map(str::to_owned).collect();
        let labels = written.get("matchLabels").and_then(Value::as_object).into_iter().flatten();
        let labels = labels.map(|(k, v)| (k.clone(), Test::In(vec![v.as_str().unwrap_or_default().to_owned()])));
        let expressions = json::list(written, &["matchExpressions"]).iter().filter_map(|expression| {
            let test = match json::text(expression, &["operator"]) {
                "In" => Test::In(words(expression)),
                "NotIn" => Test::NotIn(words(expression)),
                "Exists" => Test::Exists,
                "DoesNotExist" => Test::Absent,
                _ => return None,
            };
            Some((json::text(expression, &["key"]).to_owned(), test))
        });
        Self(labels.chain(expressions).collect())
    }

    pub(crate) fn is_everything(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn matches<'a>(&self, label: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.0.iter().all(|(key, test)| holds(test, label(key)))
    }
}

fn holds(test: &Test, value: Option<&str>) -> bool {
    let number = || value.and_then(|v| v.parse::<i64>().ok());
    match test {
        Test::Exists => value.is_some(),
        Test::Absent => value.is_none(),
        Test::In(list) => value.is_some_and(|v| list.iter().any(|l| l == v)),
        Test::NotIn(list) => value.is_none_or(|v| list.iter().all(|l| l != v)),
        Test::Greater(than) => number().is_some_and(|n| n > *than),
        Test::Less(than) => number().is_some_and(|n| n < *than),
    }
}

struct Tokens<'a> {
    list: &'a [String],
}

impl<'a> Tokens<'a> {
    fn peek(&self) -> Option<&'a str> {
        self.list.first().map(String::as_str)
    }

    fn next(&mut self) -> Option<&'a str> {
        let (first, rest) = self.list.split_first()?;
        self.list = rest;
        Some(first)
    }

    fn requirement(&mut self) -> Result<(String, Test), String> {
        let absent = self.peek() == Some("!");
        if absent {
            self.next();
        }
        let key = self.next().filter(|t| is_word(t)).ok_or("found '', expected: !, identifier, or 'end of string'")?;
        check_key(key)?;
        let key = key.to_owned();
        if absent {
            return Ok((key, Test::Absent));
        }
        let test = match self.peek() {
            None | Some(",") => return Ok((key, Test::Exists)),
            Some("=" | "==") => Test::In(vec![self.after_operator()]),
            Some("!=") => Test::NotIn(vec![self.after_operator()]),
            Some("in") => Test::In(self.set()?),
            Some("notin") => Test::NotIn(self.set()?),
            Some(">") => Test::Greater(self.number()?),
            Some("<") => Test::Less(self.number()?),
            Some(other) => {
                return Err(format!("found '{other}', expected: in, notin, =, ==, !=, gt, lt"));
            }
        };
        if let Test::In(values) | Test::NotIn(values) = &test {
            values.iter().try_for_each(|v| check_value(v))?;
        }
        Ok((key, test))
    }

    /// Consumes the operator and the value after it, which may be empty.
    fn after_operator(&mut self) -> String {
        self.next();
        match self.peek() {
            Some(word) if is_word(word) => self.next().unwrap_or_default().to_owned(),
            _ => String::new(),
        }
    }

    fn number(&mut self) -> Result<i64, String> {
        let text = self.after_operator();
        text.parse().map_err(|_| format!("for 'Gt', 'Lt' operators, the value must be an integer: '{text}'"))
    }

    fn set(&mut self) -> Result<Vec<String>, String> {
        self.next();
        match self.next() {
            Some("(") => {}
            other => {
                return Err(format!("found '{}' expected: '('", other.unwrap_or_default()));
            }
        }
        let mut values = Vec::new();
        loop {
            match self.next() {
                Some(")") if values.is_empty() => return Ok(vec![String::new()]),
                Some(",") => values.push(String::new()),
                Some(word) if is_word(word) => {
                    values.push(word.to_owned());
                    match self.next() {
                        Some(",") => {}
                        Some(")") => return Ok(values),
                        other => {
                            return Err(format!("found '{}', expected: ',' or ')'", other.unwrap_or_default()));
                        }
                    }
                }
                other if values.is_empty() => {
                    return Err(format!("found '{}', expected: ',', ')' or identifier", other.unwrap_or_default()));
                }
                other => {
                    return Err(format!("found '{}', expected: ',', or identifier", other.unwrap_or_default()));
                }
            }
        }
    }
}

fn is_word(token: &str) -> bool {
    !matches!(token, "!" | "," | "(" | ")" | "=" | "==" | "!=" | ">" | "<")
}

fn tokens(text: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut word = String::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let special = matches!(c, '!' | ',' | '(' | ')' | '=' | '>' | '<');
        if !special && !c.is_whitespace() {
            word.push(c);
            continue;
        }
        if !word.is_empty() {
            out.push(std::mem::take(&mut word));
        }
        if special {
            let mut token = c.to_string();
            if matches!(c, '!' | '=') && chars.peek() == Some(&'=') {
                chars.next();
                token.push('=');
            }
            out.push(token);
        }
    }
    if !word.is_empty() {
        out.push(word);
    }
    out
}

fn check_key(key: &str) -> Result<(), String> {
    match crate::names::qualified_name(key).as_slice() {
        [] => Ok(()),
        problems => Err(format!("<nil>: Invalid value: \"{key}\": {}", problems.join("; "))),
    }
}

fn check_value(value: &str) -> Result<(), String> {
    match crate::names::label_value(value) {
        None => Ok(()),
        Some(why) => Err(format!("values[0][]: Invalid value: \"{value}\": {why}")),
    }
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

    fn selects(selector: &str, labels: &[(&str, &str)]) -> bool {
        let labels = labels.to_vec();
        LabelSelector::parse(selector).unwrap().matches(|key| labels.iter().find(|(k, _)| *k == key).map(|(_, v)| *v))
    }

    #[test]
    fn equality_sets_and_existence() {
        let labels = [("app", "web"), ("tier", "front"), ("n", "5")];
        for yes in [
            "",
            "app=web",
            "app==web",
            "app!=db",
            "other!=x",
            "app in (web, db)",
            "app notin (db)",
            "tier",
            "!missing",
            "app=web,tier=front",
            "n>4",
            "n<6",
            "missing notin (a,b)",
            "app in (web),!x",
        ] {
            assert!(selects(yes, &labels), "{yes}");
        }
        for no in
            ["app=db", "app!=web", "!app", "missing", "app in (db)", "app notin (web)", "n>5", "missing=", "x in ()"]
        {
            assert!(!selects(no, &labels), "{no}");
        }
    }

    #[test]
    fn empty_value_means_an_empty_label() {
        assert!(selects("app=", &[("app", "")]));
        assert!(selects("app in ()", &[("app", "")]));
    }

    #[test]
    fn nonsense_is_refused() {
        for bad in ["=x", "a b", "a in", "a in (", "a in (b", "a>x", "a,,b", "a,", "()", "-a=b", "a=b c"] {
            assert_eq!(LabelSelector::parse(bad).unwrap_err().code(), 400, "{bad}");
        }
    }
}
