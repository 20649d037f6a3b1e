//! The CEL rules of a schema, `x-deckhouse-validations`.

use boathook_cel::{Budget, Error, Program, Scope, Ty, Value as Cel, to_cel};
use serde_json::Value;

use super::Finding;

/// The key of the rules in a schema.
const KEY: &str = "x-deckhouse-validations";
/// How the evaluation names a key that a map does not have.
const NO_SUCH_KEY: &str = "no such key";

#[derive(Debug)]
struct Rule {
    program: Program,
    expression: String,
    message: Option<String>,
    /// The rule compares with the old value.
    transition: bool,
}

/// The rules of a schema and of its parts.
#[derive(Debug, Default)]
pub(super) struct Rules {
    own: Vec<Rule>,
    properties: Vec<(String, Rules)>,
    items: Option<Box<Rules>>,
    others: Option<Box<Rules>>,
}

impl Rules {
    /// Compiles the rules of an expanded schema.
    pub(super) fn compile(schema: &Value) -> Result<Self, String> {
        let mut rules = Self::default();
        if let Some(written) = schema.get(KEY) {
            let list = written.as_array().ok_or_else(|| wrong("write a list of {expression, message}"))?;
            rules.own = list.iter().map(Rule::compile).collect::<Result<_, _>>()?;
        }
        for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let below = Self::compile(property)?;
            if !below.is_empty() {
                rules.properties.push((name.clone(), below));
            }
        }
        let below = |key: &str| match schema.get(key).filter(|schema| schema.is_object()).map(Self::compile) {
            Some(found) => Ok(Some(found?).filter(|rules| !rules.is_empty()).map(Box::new)),
            None => Ok::<_, String>(None),
        };
        (rules.items, rules.others) = (below("items")?, below("additionalProperties")?);
        Ok(rules)
    }

    fn is_empty(&self) -> bool {
        self.own.is_empty() && self.properties.is_empty() && self.items.is_none() && self.others.is_none()
    }

    /// Evaluates all rules within one budget.
    pub(super) fn check(&self, value: &Value, old: Option<&Value>) -> Vec<Finding> {
        let mut walk = Walk { budget: Budget::default(), found: Vec::new(), path: Vec::new() };
        walk.visit(self, value, old);
        walk.found
    }
}

fn wrong(why: &str) -> String {
    format!("has invalid {KEY}: {why}")
}

impl Rule {
    fn compile(written: &Value) -> Result<Self, String> {
        let text = |key: &str| written.get(key).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty());
        let expression = text("expression").ok_or_else(|| wrong("a rule has no expression"))?;
        let why = |error: String| wrong(&format!("{expression:?}: {error}"));
        let program = Program::parse(expression).map_err(why)?;
        match program.check(&[("self", Ty::Dyn), ("oldSelf", Ty::Dyn)]).map_err(why)?.as_str() {
            "bool" | "dyn" => {}
            found => return Err(why(format!("must evaluate to bool but got {found}"))),
        }
        Ok(Self {
            transition: program.uses("oldSelf"),
            program,
            expression: expression.to_owned(),
            message: text("message").map(str::to_owned),
        })
    }
}

struct Walk {
    budget: Budget,
    found: Vec<Finding>,
    path: Vec<String>,
}

impl Walk {
    fn visit(&mut self, rules: &Rules, value: &Value, old: Option<&Value>) {
        if !rules.own.is_empty() {
            self.own(rules, value, old);
        }
        match value {
            Value::Object(fields) => {
                for (key, field) in fields {
                    let declared = rules.properties.iter().find(|(name, _)| name == key).map(|(_, rules)| rules);
                    if let Some(below) = declared.or(rules.others.as_deref()) {
                        self.below(key.clone(), below, field, old.and_then(|old| old.get(key)));
                    }
                }
            }
            Value::Array(items) => {
                let Some(below) = &rules.items else { return };
                for (index, item) in items.iter().enumerate() {
                    // Nothing says which old item this one was.
                    self.below(index.to_string(), below, item, None);
                }
            }
            _ => {}
        }
    }

    fn below(&mut self, key: String, rules: &Rules, value: &Value, old: Option<&Value>) {
        self.path.push(key);
        self.visit(rules, value, old);
        self.path.pop();
    }

    fn own(&mut self, rules: &Rules, value: &Value, old: Option<&Value>) {
        // The library sees maps and numbers as they are written: addon-operator gives a rule no types, either.
        let now = to_cel(value, &Value::Null);
        let before = old.map(|old| to_cel(old, &Value::Null));
        let empty = Scope::default();
        for rule in &rules.own {
            let past = match (&before, rule.transition) {
                (None, true) => continue,
                (Some(past), true) => past.clone(),
                (_, false) => Cel::Null,
            };
            let with_self = empty.with("self", now.clone());
            let scope = with_self.with("oldSelf", past);
            let message = match rule.program.run(&scope, &mut self.budget) {
                Ok(Cel::Bool(true)) => continue,
                Ok(Cel::Bool(false)) => {
                    rule.message.clone().unwrap_or_else(|| format!("breaks the rule {:?}", rule.expression))
                }
                Ok(_) => format!("the rule {:?} is neither true nor false", rule.expression),
                // As in addon-operator: the rule is about something that is not there.
                Err(Error::Other(why)) if why.starts_with(NO_SUCH_KEY) => continue,
                Err(why) => format!("the rule {:?} has no value: {why}", rule.expression),
            };
            self.found.push(Finding { path: self.path.clone(), message });
        }
    }
}
