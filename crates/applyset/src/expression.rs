//! An expression of CEL that a producer writes on a member: whether the member is ready.
//!
//! Producers are hooks of tenants, and the operator evaluates their expressions while it follows watches. An expression is
//! therefore short, takes few steps, and an answer has few of them.

use std::collections::HashSet;

use boathook_cel::{Budget, Error, Program, Scope, Ty, Value as Cel, to_cel};
use serde_json::Value;

use crate::canonical::cut;

/// The annotation of a member with the expression. The variable `self` is the object.
pub const READY: &str = "boathook.dev/ready";

/// The longest expression, in bytes.
const MAX_LENGTH: usize = 500;
/// The most different expressions of one answer. Members of one kind usually share one.
const MAX_EXPRESSIONS: usize = 8;
/// The units that one evaluation may spend. A condition that is looked for among ten takes some 100.
const MAX_UNITS: u64 = 2_000;
/// The longest part of an error of the parser that is repeated.
const MAX_TEXT: usize = 200;

/// The expressions of one answer.
#[derive(Debug, Default)]
pub(crate) struct Expressions(HashSet<String>);

impl Expressions {
    /// Checks one more. The error completes the sentence "its annotation …".
    pub fn check(&mut self, text: &str) -> Result<(), String> {
        if self.0.contains(text) {
            return Ok(());
        }
        // Before anything is parsed: parsing takes the longest.
        if self.0.len() >= MAX_EXPRESSIONS {
            return Err(format!(
                "is one more expression than the {MAX_EXPRESSIONS} different ones that an answer may have: write the same \
                 expression on members of one kind"
            ));
        }
        Expression::parse(text)?;
        self.0.insert(text.to_owned());
        Ok(())
    }
}

/// A parsed expression. A set keeps the last one, because its members usually share one.
#[derive(Debug)]
pub(crate) struct Expression {
    text: Box<str>,
    program: Program,
}

impl Expression {
    fn parse(text: &str) -> Result<Self, String> {
        if text.len() > MAX_LENGTH {
            return Err(format!("has {} bytes, more than {MAX_LENGTH}: write a shorter expression", text.len()));
        }
        let wrong = |why: String| {
            let line = why.lines().next().unwrap_or_default();
            format!("is not an expression of CEL: {}", cut(line, MAX_TEXT))
        };
        let program = Program::parse(text).map_err(wrong)?;
        match program.check(&[("self", Ty::Dyn)]).map_err(wrong)?.as_str() {
            "bool" | "dyn" => Ok(Self { text: text.into(), program }),
            other => Err(format!("is an expression of type {other}: write one that is true or false")),
        }
    }

    /// Whether the expression holds for the object. `last` is what was parsed last. `Err`: why it has no value.
    pub(crate) fn holds(text: &str, object: &Value, last: &mut Option<Self>) -> Result<bool, String> {
        let known = last.take().filter(|known| *known.text == *text);
        // Somebody else may have written it on the object.
        let expression = match known {
            Some(known) => known,
            None => Self::parse(text).map_err(|why| format!("the annotation {READY} {why}"))?,
        };
        let (root, mut budget) = (Scope::default(), Budget::of(MAX_UNITS));
        let scope = root.with("self", to_cel(object, &Value::Null));
        let value = expression.program.run(&scope, &mut budget);
        *last = Some(expression);
        match value {
            Ok(Cel::Bool(holds)) => Ok(holds),
            Ok(_) => Err("its expression is neither true nor false".to_owned()),
            Err(Error::TooExpensive) => {
                Err("its expression takes too many steps: write one that reads less".to_owned())
            }
            Err(error) => Err(format!("its expression has no value: {}", cut(&error.to_string(), MAX_TEXT))),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn holds(text: &str, object: &Value) -> Result<bool, String> {
        Expression::holds(text, object, &mut None)
    }

    #[test]
    fn an_expression_reads_the_object() {
        let object = json!({"metadata": {"labels": {"a.io/b": "c"}}, "status": {"phase": "Up",
            "conditions": [{"type": "A", "status": "False"}, {"type": "B", "status": "True"}]}});
        for (text, expected) in [
            ("self.status.phase == 'Up'", true),
            ("self.status.phase == 'Down'", false),
            ("self.status.conditions.exists(c, c.type == 'B' && c.status == 'True')", true),
            ("self.status.conditions.all(c, c.status == 'True')", false),
            ("has(self.status.replicas) && self.status.replicas > 0", false),
            ("self.metadata.labels['a.io/b'] == 'c'", true),
        ] {
            assert_eq!(holds(text, &object), Ok(expected), "{text}");
        }
        let error = holds("self.status.replicas > 0", &object).unwrap_err();
        assert_eq!(error, "its expression has no value: no such key: replicas");
        assert!(holds("self.status.phase", &object).unwrap_err().contains("neither true nor false"));
    }

    // mutant: crates/applyset/src/expression.rs: `Budget::of(MAX_UNITS)` => `Budget::default()`
    // mutant: crates/applyset/src/expression.rs: `if text.len() > MAX_LENGTH {` => `if false {`
    // mutant: crates/applyset/src/expression.rs: `if self.0.len() >= MAX_EXPRESSIONS {` => `if false {`
    #[test]
    fn expressions_are_bounded() {
        let object = json!({"items": (0..200).collect::<Vec<_>>()});
        let costly = "self.items.all(a, self.items.all(b, a + b >= 0))";
        assert!(holds(costly, &object).unwrap_err().contains("takes too many steps"));
        let long = format!("self.a == '{}'", "x".repeat(MAX_LENGTH));
        let mut expressions = Expressions::default();
        assert!(expressions.check(&long).unwrap_err().contains("bytes, more than 500"));
        assert!(holds(&long, &object).unwrap_err().contains("bytes, more than 500"));
        for n in 0..MAX_EXPRESSIONS {
            expressions.check(&format!("self.a == {n}")).unwrap();
        }
        expressions.check("self.a == 1").unwrap();
        assert!(expressions.check("self.a == 100").unwrap_err().contains("one more expression than the 8"));
    }

    #[test]
    fn what_is_no_condition_is_refused() {
        let check = |text: &str| Expressions::default().check(text).unwrap_err();
        assert!(check("self.a ==").starts_with("is not an expression of CEL: ERROR"), "{}", check("self.a =="));
        assert!(check("other.a == 1").starts_with("is not an expression of CEL: ERROR"), "{}", check("other.a == 1"));
        assert_eq!(check("'yes'"), "is an expression of type string: write one that is true or false");
    }

    #[test]
    fn the_last_expression_is_kept_and_no_other_is_taken_for_it() {
        let (mut last, object) = (None, json!({"a": 1}));
        for (text, expected) in [("self.a == 1", true), ("self.a == 1", true), ("self.a == 2", false)] {
            assert_eq!(Expression::holds(text, &object, &mut last), Ok(expected));
            assert_eq!(&*last.as_ref().unwrap().text, text);
        }
    }
}
