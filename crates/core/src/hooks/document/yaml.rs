//! Reads text into a tree of values: YAML, and therefore JSON. It does not interpret the values.
//!
//! Work and memory are bounded whatever the text is. Deep nesting ends the reading early. The tree's cost counts what
//! it holds, because a few YAML aliases can stand for millions of values.

use std::{borrow::Cow, collections::HashMap};

use saphyr_parser::{Event, Parser, ScalarStyle, Span, StrInput, Tag};
use serde_json::{Map, Number, Value};

/// The longest document.
pub(super) const MAX_BYTES: usize = 1024 * 1024;
/// The deepest nesting of values.
const MAX_DEPTH: usize = 64;
/// The most bytes of a tree's keys and texts, plus `VALUE` for each value.
const MAX_COST: usize = 8 * MAX_BYTES;
const VALUE: usize = 64;

/// Reads a document. The error says what is wrong with it.
pub(super) fn load(text: &str) -> Result<Value, String> {
    match read_yaml(text, plain, Duplicates::Refused)? {
        Value::Null => Err("is empty; `config` must return at least configVersion and one binding".to_owned()),
        value => Ok(value),
    }
}

/// What happens to keys that stand twice in one mapping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Duplicates {
    /// The document is refused.
    Refused,
    /// The last one counts, as for Go's reader.
    LastWins,
}

/// Reads one YAML or JSON document within the bounds of hooks' documents. Without a value, it is null. `plain` gives a
/// scalar without quotes its meaning, because the versions of YAML disagree about it.
///
/// # Errors
/// Says what is wrong with the text, as the end of a sentence that begins with its name.
pub fn read_yaml(text: &str, plain: fn(Cow<'_, str>) -> Value, duplicates: Duplicates) -> Result<Value, String> {
    if text.len() > MAX_BYTES {
        return Err(format!("is {} bytes long; at most {MAX_BYTES} are read", text.len()));
    }
    let parser = Parser::new_from_str(text);
    let (anchors, cost, depth, unreadable) = (HashMap::new(), 0, 0, false);
    let mut loader = Loader { parser, plain, duplicates, anchors, cost, depth, unreadable };
    let read = loader.document();
    let value = match read {
        Err(_) if loader.unreadable && text.contains("\\ud") => serde_json::from_str(text).or(read),
        _ => read,
    };
    value.map_err(|error| format!("is neither YAML nor JSON that can be used: {error}"))
}

struct Loader<'t> {
    parser: Parser<'t, StrInput<'t>>,
    plain: fn(Cow<'_, str>) -> Value,
    duplicates: Duplicates,
    /// What each alias stands for, and what that costs.
    anchors: HashMap<usize, (Value, usize)>,
    cost: usize,
    depth: usize,
    /// The parser gave up. The text may still be JSON, which writes a character above U+FFFF as two escapes. That is
    /// not valid YAML.
    unreadable: bool,
}

impl<'t> Loader<'t> {
    fn next(&mut self) -> Result<(Event<'t>, Span), String> {
        match self.parser.next_event() {
            Some(Ok(event)) => Ok(event),
            Some(Err(error)) => {
                self.unreadable = true;
                Err(error.to_string())
            }
            None => Err("it ends too early".to_owned()),
        }
    }

    fn document(&mut self) -> Result<Value, String> {
        let mut root = None;
        loop {
            let (event, span) = self.next()?;
            match event {
                Event::StreamStart | Event::DocumentEnd | Event::Nothing => {}
                Event::DocumentStart(_) if root.is_some() => return Err(at(span, "a second document begins")),
                Event::DocumentStart(_) => {
                    let (event, span) = self.next()?;
                    root = Some(self.value(event, span)?);
                }
                Event::StreamEnd => return Ok(root.unwrap_or_default()),
                _ => return Err(at(span, "it has text after its end")),
            }
        }
    }

    fn value(&mut self, event: Event<'t>, span: Span) -> Result<Value, String> {
        let before = self.cost;
        self.pay(VALUE, span)?;
        let (anchor, value) = match event {
            Event::Alias(anchor) => return self.alias(anchor, span),
            Event::Scalar(text, style, anchor, tag) => (anchor, self.scalar(text, style, tag.as_deref(), span)?),
            Event::SequenceStart(anchor, tag) => (anchor, self.nested(tag.as_deref(), span, Self::list)?),
            Event::MappingStart(anchor, tag) => (anchor, self.nested(tag.as_deref(), span, Self::mapping)?),
            _ => return Err(at(span, "a value is missing")),
        };
        if anchor != 0 {
            let cost = self.cost - before;
            self.pay(cost, span)?;
            self.anchors.insert(anchor, (value.clone(), cost));
        }
        Ok(value)
    }

    fn pay(&mut self, cost: usize, span: Span) -> Result<(), String> {
        self.cost += cost;
        if self.cost <= MAX_COST { Ok(()) } else { Err(at(span, "it stands for too many values (YAML aliases?)")) }
    }

    fn alias(&mut self, anchor: usize, span: Span) -> Result<Value, String> {
        let Some((value, cost)) = self.anchors.get(&anchor) else {
            return Err(at(span, "an alias stands within what it stands for"));
        };
        let (value, cost) = (value, *cost);
        self.cost += cost;
        if self.cost > MAX_COST {
            return self.pay(0, span).map(|()| Value::Null);
        }
        Ok(value.clone())
    }

    fn scalar(
        &mut self,
        text: Cow<'t, str>,
        style: ScalarStyle,
        tag: Option<&Tag>,
        span: Span,
    ) -> Result<Value, String> {
        self.pay(text.len(), span)?;
        let is_text = known_tag(tag, span)? == Some("str") || style != ScalarStyle::Plain;
        Ok(if is_text { Value::String(text.into_owned()) } else { (self.plain)(text) })
    }

    fn nested(
        &mut self,
        tag: Option<&Tag>,
        span: Span,
        read: impl Fn(&mut Self) -> Result<Value, String>,
    ) -> Result<Value, String> {
        known_tag(tag, span)?;
        if self.depth == MAX_DEPTH {
            return Err(at(span, &format!("it is nested deeper than {MAX_DEPTH} levels")));
        }
        self.depth += 1;
        let value = read(self);
        self.depth -= 1;
        value
    }

    fn list(&mut self) -> Result<Value, String> {
        let mut list = Vec::new();
        loop {
            match self.next()? {
                (Event::SequenceEnd, _) => return Ok(Value::Array(list)),
                (event, span) => list.push(self.value(event, span)?),
            }
        }
    }

    fn mapping(&mut self) -> Result<Value, String> {
        let mut map = Map::new();
        let mut merged = Vec::new();
        loop {
            let (key, style, start) = match self.next()? {
                (Event::MappingEnd, _) => break,
                (Event::Scalar(key, style, _, _), span) => (key.into_owned(), style, span),
                (_, span) => return Err(at(span, "a key is not a string")),
            };
            self.pay(key.len(), start)?;
            let (event, span) = self.next()?;
            let value = self.value(event, span)?;
            if key == "<<" && style == ScalarStyle::Plain {
                merged.extend(mappings(value, span)?);
            } else if self.duplicates == Duplicates::Refused && map.contains_key(&key) {
                let beginning: String = key.chars().take(80).collect();
                return Err(at(start, &format!("the key {beginning:?} stands twice in one mapping")));
            } else {
                map.insert(key, value);
            }
        }
        for (key, value) in merged.into_iter().flatten() {
            map.entry(key).or_insert(value);
        }
        Ok(Value::Object(map))
    }
}

/// The short name of a tag that changes nothing, or that makes a value a text.
fn known_tag(tag: Option<&Tag>, span: Span) -> Result<Option<&str>, String> {
    match tag {
        None => Ok(None),
        Some(tag) if tag.is_yaml_core_schema() => Ok(Some(tag.suffix.as_str())),
        Some(tag) => {
            Err(at(span, &format!("the tag {:?} is not known", tag.suffix.chars().take(80).collect::<String>())))
        }
    }
}

/// The value of YAML's merge key: a mapping, or a list of mappings.
fn mappings(value: Value, span: Span) -> Result<Vec<Map<String, Value>>, String> {
    let items = match value {
        Value::Array(items) => items,
        value => vec![value],
    };
    let mapping = |item| match item {
        Value::Object(map) => Ok(map),
        _ => Err(at(span, "the merge key << needs a mapping or a list of mappings")),
    };
    items.into_iter().map(mapping).collect()
}

fn at(span: Span, message: &str) -> String {
    format!("{message} at line {} column {}", span.start.line(), span.start.col() + 1)
}

/// The meaning of a plain YAML scalar, without quotes: null, a boolean, a number or a text. Follows YAML 1.2's core schema. Digits with leading zeros stay a text, because readers of YAML disagree about them.
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
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn reads_yaml_and_json() {
        let yaml = "a: &a {x: 1, y: [true, ~, 1.5, text, \"1\"]}\nb: {<<: *a, x: -2}\n1: c\nd: {<<: [{q: 1}, *a]}\n\"<<\": 1\ne: !!str 7\nf: |\n  a\n  b\n";
        let list = json!([true, null, 1.5, "text", "1"]);
        let expected = json!({
            "a": {"x": 1, "y": list}, "b": {"x": -2, "y": list}, "1": "c", "d": {"q": 1, "x": 1, "y": list},
            "<<": 1, "e": "7", "f": "a\nb\n",
        });
        assert_eq!(load(yaml).unwrap(), expected);
        assert_eq!(load(r#"{"a": "\ud83d\udea2 \/ \t"}"#).unwrap(), json!({"a": "🚢 / \t"}));
        let float = json!({"a": 0.9488783808307665, "b": "\\ud"});
        assert_eq!(load(&float.to_string()).unwrap(), float);
        assert_eq!(load("\u{feff}--- {a: 1}\n...\n").unwrap(), json!({"a": 1}));
    }

    #[test]
    fn refuses_what_is_no_tree_of_values() {
        for (text, reason) in [
            ("", "is empty"),
            ("# nothing\n", "is empty"),
            ("a: [", "neither YAML nor JSON"),
            ("a: 1\nb: 2\na: 3", "\"a\" stands twice in one mapping at line 3 column 1"),
            (r#"{"a": 1, "a": 1}"#, "stands twice"),
            (r#"{"a": 1, "a": "\\ud"}"#, "stands twice"),
            (r#"{"a": "\ud83d"}"#, "neither YAML nor JSON"),
            ("a: !secret b", "tag \"secret\" is not known"),
            ("<<: 1", "merge key"),
            ("? [a, b]\n: c", "a key is not a string"),
            ("a: *nobody", "neither YAML nor JSON"),
            ("a: &a [*a]", "within what it stands for"),
            ("a: 1\n---\nb: 2", "a second document"),
            ("a: b: c", "neither YAML nor JSON"),
        ] {
            let error = load(text).unwrap_err();
            assert!(error.contains(reason), "{text:?}: {error}");
        }
    }

    /// Each of these is at most a megabyte, and without bounds would take far more work or memory than that.
    #[test]
    fn hostile_texts_end_at_once() {
        let many = |text: &str| text.repeat(MAX_BYTES / text.len());
        let wide = format!("a: &a [{}]\nb: [{}]", "x,".repeat(200_000), "*a,".repeat(100_000));
        let text = format!("a: &a {}\nb: [{}]", "x".repeat(500_000), "*a,".repeat(100_000));
        let merges = format!("a: &a {{x: 1}}\nb: [{}]", "{<<: [*a,*a,*a]},".repeat(50_000));
        let nested = (0..60).map(|n| format!("{}k: &a{n}\n", " ".repeat(n))).collect::<String>();
        let nested = format!("{nested}{}z: [{}]", " ".repeat(60), "x,".repeat(100_000));
        for (text, reason) in [
            (many("["), "recursion limit"),
            (many("{"), "recursion limit"),
            (many("{a: "), "recursion limit"),
            (many("- "), "nested deeper"),
            (many("? "), "a key is not a string"),
            (many("&a "), "neither YAML nor JSON"),
            (many("!a "), "neither YAML nor JSON"),
            (many("\""), "neither YAML nor JSON"),
            (many(":"), "neither YAML nor JSON"),
            (many(","), "neither YAML nor JSON"),
            (many("#\n"), "is empty"),
            (many(" "), "is empty"),
            (many("[]\n"), "neither YAML nor JSON"),
            (format!("[{}]", many("x,")), "at most"),
            (wide, "too many values"),
            (text, "too many values"),
            (merges, "too many values"),
            (nested, "too many values"),
        ] {
            let error = load(&text).unwrap_err();
            assert!(error.contains(reason), "{:?}…: {error}", text.chars().take(20).collect::<String>());
        }
        let keys: String = (0..90_000).map(|n| format!("k{n}: 1\n")).collect();
        assert_eq!(load(&keys).unwrap().as_object().unwrap().len(), 90_000);
    }

    fn tree() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            (-1e9..1e9_f64).prop_map(Value::from),
            // Line breaks of YAML 1.1 and a byte order mark are written unquoted, and are read differently.
            "[^\u{85}\u{2028}\u{2029}\u{feff}]*".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                proptest::collection::hash_map("[a-z\\n\"é ]{0,4}", inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn json_reads_as_itself(value in tree()) {
            let wrapped = json!({ "a": value });
            prop_assert_eq!(load(&wrapped.to_string()).unwrap(), wrapped.clone());
            let yaml = yaml_serde::to_string(&wrapped).unwrap();
            prop_assert_eq!(load(&yaml).unwrap(), wrapped, "{}", yaml);
        }

        #[test]
        fn no_text_does_harm(text in any::<String>(), yaml in "[-\\[\\]{}:,?&*!|>'\"%@` \n#a1\t]{0,60}") {
            let _ = load(&text);
            let _ = load(&yaml);
        }
    }

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
