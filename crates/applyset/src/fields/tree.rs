//! The format `FieldsV1` as a tree of steps, and the steps' values in an object.

use std::{
    fmt,
    hash::{BuildHasher, Hash, Hasher},
};

use serde_json::{Map, Number, Value};

use crate::canonical::cut;

/// Deeper fields are refused. Those of Kubernetes' own kinds have up to 20 levels.
const MAX_DEPTH: usize = 64;
/// More fields are refused. An object of 3 MiB cannot have as many.
const MAX_FIELDS: usize = 200_000;
/// The longest text of a path.
const MAX_TEXT: usize = 256;

/// Managed fields that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidFields {
    #[error("managed fields: {0:?} is not a step of FieldsV1")]
    Step(String),
    #[error("managed fields: the value at {0:?} is not a mapping")]
    NoMapping(String),
    #[error("managed fields: they have more than {MAX_DEPTH} levels")]
    TooDeep,
    #[error("managed fields: there are more than {MAX_FIELDS}")]
    TooMany,
}

/// One step into an object.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Step {
    /// `f:NAME`: a field.
    Field(Box<str>),
    /// `k:{…}`: the item of a list with these keys.
    Item(Box<[(Box<str>, Value)]>),
    /// `v:…`: the item of a set.
    Value(Value),
    /// `i:N`: the item at this place.
    Index(usize),
}

impl Step {
    fn parse(text: &str) -> Option<Self> {
        let (kind, rest) = text.split_once(':')?;
        let scalar = |value: &Value| !value.is_object() && !value.is_array();
        match kind {
            "f" => Some(Self::Field(rest.into())),
            "k" => {
                let keys: Map<String, Value> = serde_json::from_str(rest).ok()?;
                let all = !keys.is_empty() && keys.values().all(scalar);
                all.then(|| Self::Item(keys.into_iter().map(|(key, value)| (key.into(), value)).collect()))
            }
            "v" => serde_json::from_str(rest).ok().map(Self::Value),
            "i" => rest.parse().ok().map(Self::Index),
            _ => None,
        }
    }

    /// The value that the step leads to, and where it is in its list. It is searched from `hint` on.
    pub(super) fn find<'v>(&self, value: Option<&'v Value>, hint: usize) -> Option<(&'v Value, usize)> {
        let value = value?;
        let (found, at) = match self {
            Self::Field(name) => (value.get(&**name)?, 0),
            Self::Index(at) => (value.get(*at)?, *at),
            Self::Value(wanted) => search(value, hint, |item| item == wanted)?,
            Self::Item(keys) => {
                search(value, hint, |item| keys.iter().all(|(key, wanted)| item.get(&**key) == Some(wanted)))?
            }
        };
        (!found.is_null()).then_some((found, at))
    }
}

fn search(list: &Value, hint: usize, is: impl Fn(&Value) -> bool) -> Option<(&Value, usize)> {
    let list = list.as_array()?;
    if let Some(item) = list.get(hint).filter(|item| is(item)) {
        return Some((item, hint));
    }
    list.iter().enumerate().find(|(_, item)| is(item)).map(|(at, item)| (item, at))
}

/// The steps from an object to a part of it. Shown as `.spec.containers[name=web].image`, in at most 256 bytes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Path(pub Vec<Step>);

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        for step in &self.0 {
            match step {
                Step::Field(name) if is_plain(name) => text.extend([".", name]),
                Step::Field(name) => text.extend(["[", &Value::from(&**name).to_string(), "]"]),
                Step::Item(keys) => {
                    let all: Vec<_> = keys.iter().map(|(key, value)| format!("{key}={}", shown(value))).collect();
                    text.extend(["[", &all.join(","), "]"]);
                }
                Step::Value(value) => text.extend(["[=", &shown(value), "]"]),
                Step::Index(at) => text.extend(["[", &at.to_string(), "]"]),
            }
        }
        f.write_str(&cut(if text.is_empty() { "." } else { &text }, MAX_TEXT))
    }
}

fn shown(value: &Value) -> String {
    match value.as_str().filter(|text| is_plain(text)) {
        Some(text) => text.to_owned(),
        None => value.to_string(),
    }
}

/// Whether the text cannot be mistaken for anything else in a path.
fn is_plain(key: &str) -> bool {
    !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '$'))
}

/// A part of an object that is owned: the whole of it, or what `children` name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Tree<T> {
    pub own: T,
    pub children: Vec<Child<T>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Child<T> {
    pub step: Step,
    pub tree: Tree<T>,
}

impl<T: Default> Tree<T> {
    pub fn parse(fields: &Value) -> Result<Self, InvalidFields> {
        match fields {
            Value::Null => Ok(Self::default()),
            fields => Self::parse_below(fields, "", 0, &mut 0),
        }
    }

    fn parse_below(fields: &Value, at: &str, depth: usize, count: &mut usize) -> Result<Self, InvalidFields> {
        let fields = fields.as_object().ok_or_else(|| InvalidFields::NoMapping(cut(at, MAX_TEXT)))?;
        *count += fields.len();
        if depth > MAX_DEPTH {
            return Err(InvalidFields::TooDeep);
        }
        if *count > MAX_FIELDS {
            return Err(InvalidFields::TooMany);
        }
        let mut children = Vec::with_capacity(fields.len());
        // `.` says that the part itself is owned, too. Whether it is there is compared in any case.
        for (text, below) in fields.iter().filter(|(text, _)| *text != ".") {
            let step = Step::parse(text).ok_or_else(|| InvalidFields::Step(cut(text, MAX_TEXT)))?;
            children.push(Child { step, tree: Self::parse_below(below, text, depth + 1, count)? });
        }
        Ok(Self { own: T::default(), children })
    }

    /// The fields of a body that is applied. Lists and empty mappings are owned as a whole.
    pub fn of_body(body: &Value) -> Self {
        let skipped = ["apiVersion", "kind"];
        let mut tree = Self::below(body, &|name| skipped.contains(&name));
        let metadata = |child: &&mut Child<T>| child.step == Step::Field("metadata".into());
        if let Some(metadata) = tree.children.iter_mut().find(metadata) {
            let identity = |step: &Step| ["name", "namespace"].iter().any(|name| *step == Step::Field((*name).into()));
            metadata.tree.children.retain(|child| !identity(&child.step));
        }
        tree
    }

    fn below(value: &Value, skip: &dyn Fn(&str) -> bool) -> Self {
        let fields = value.as_object().into_iter().flatten();
        let children = fields
            .filter(|(name, value)| !value.is_null() && !skip(name))
            .map(|(name, value)| Child {
                step: Step::Field(name.as_str().into()),
                tree: Self::below(value, &|_| false),
            })
            .collect();
        Self { own: T::default(), children }
    }

    /// Whether the path, a part of it or a whole around it is in the tree.
    pub fn touches(&self, path: &[Step]) -> bool {
        let Some((first, rest)) = path.split_first() else { return true };
        let child = self.children.iter().find(|child| child.step == *first);
        child.is_some_and(|child| child.tree.children.is_empty() || child.tree.touches(rest))
    }
}

/// Whether the object has all that the body wants. Lists must have as many items, because merge keys are not known.
pub(super) fn covers(body: &Value, object: &Value) -> bool {
    match (body, object) {
        (Value::Object(body), Value::Object(object)) => body
            .iter()
            .filter(|(_, value)| !value.is_null())
            .all(|(name, value)| object.get(name).is_some_and(|object| covers(value, object))),
        (Value::Array(body), Value::Array(object)) => {
            body.len() == object.len() && body.iter().zip(object).all(|(body, object)| covers(body, object))
        }
        (body, object) => body == object,
    }
}

/// The hash of a value. The order of a mapping's fields does not count, nor do fields that are null.
pub(super) fn hash<S: BuildHasher>(value: &Value, hasher: &S) -> u64 {
    let of = |kind: u8, parts: &dyn Fn(&mut S::Hasher)| {
        let mut state = hasher.build_hasher();
        kind.hash(&mut state);
        parts(&mut state);
        state.finish()
    };
    match value {
        Value::Null => of(0, &|_| ()),
        Value::Bool(value) => of(1, &|state| value.hash(state)),
        Value::Number(value) => of(2, &|state| number(value, state)),
        Value::String(value) => of(3, &|state| value.hash(state)),
        Value::Array(items) => of(4, &|state| items.iter().for_each(|item| hash(item, hasher).hash(state))),
        Value::Object(fields) => {
            let there = fields.iter().filter(|(_, value)| !value.is_null());
            let one = |(name, value): (&String, &Value)| {
                of(5, &|state| {
                    name.hash(state);
                    hash(value, hasher).hash(state);
                })
            };
            of(6, &|state| there.clone().map(one).fold(0_u64, u64::wrapping_add).hash(state))
        }
    }
}

/// `1` and `1.0` are the same number.
fn number<H: Hasher>(number: &Number, state: &mut H) {
    match (number.as_i64(), number.as_u64(), number.as_f64()) {
        (Some(whole), ..) => whole.hash(state),
        (_, Some(whole), _) => whole.hash(state),
        #[allow(clippy::cast_possible_truncation)] // below 2^53 there is nothing to lose
        (_, _, Some(real)) if real.fract() == 0.0 && real.abs() < 9_007_199_254_740_992.0 => (real as i64).hash(state),
        (_, _, real) => real.unwrap_or_default().to_bits().hash(state),
    }
}

#[cfg(test)]
mod tests {
    use std::hash::RandomState;

    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn parse(fields: &Value) -> Result<Tree<()>, InvalidFields> {
        Tree::parse(fields)
    }

    #[test]
    fn hostile_fields_are_an_error() {
        for wrong in [
            "x",
            "",
            "g:a",
            "k:{",
            "k:{}",
            "k:[1]",
            "k:{\"a\":{}}",
            "v:",
            "v:{",
            "i:-1",
            "i:a",
            "i:99999999999999999999999",
        ] {
            assert!(matches!(parse(&json!({wrong: {}})), Err(InvalidFields::Step(_))), "{wrong}");
        }
        for wrong in [json!([]), json!(1), json!({"f:a": 1}), json!({"f:a": {"f:b": []}})] {
            assert!(matches!(parse(&wrong), Err(InvalidFields::NoMapping(_))), "{wrong}");
        }
        let long = "é".repeat(100_000);
        assert!(parse(&json!({&long: {}})).unwrap_err().to_string().len() < 700);
        let mut deep = json!({});
        for _ in 0..100 {
            deep = json!({"f:a": deep});
        }
        assert_eq!(parse(&deep).err(), Some(InvalidFields::TooDeep));
        let many: Map<_, _> = (0..=MAX_FIELDS).map(|n| (format!("f:{n}"), json!({}))).collect();
        assert_eq!(parse(&many.into()).err(), Some(InvalidFields::TooMany));
    }

    #[test]
    fn a_path_is_bounded() {
        let path = Path((0..100).map(|_| Step::Field("äbcdefghij".into())).collect());
        assert!(path.to_string().len() <= MAX_TEXT && path.to_string().ends_with("..."), "{path}");
        assert_eq!(Path(Vec::new()).to_string(), ".");
    }

    #[test]
    fn a_list_of_many_items_is_not_searched_from_its_start() {
        let list: Vec<_> = (0..5).map(|n| json!({"name": format!("{n}")})).collect();
        let step = Step::parse(r#"k:{"name":"4"}"#).unwrap();
        assert_eq!(step.find(Some(&list.clone().into()), 4).map(|(_, at)| at), Some(4));
        assert_eq!(step.find(Some(&list.into()), 1).map(|(_, at)| at), Some(4), "wherever it is");
    }

    #[test]
    fn the_hash_is_of_the_value_and_not_of_its_form() {
        let hasher = RandomState::new();
        let same = |one: Value, other: Value| hash(&one, &hasher) == hash(&other, &hasher);
        assert!(same(json!({"a": 1, "b": [null, {}]}), json!({"b": [null, {}], "a": 1, "c": null})));
        assert!(same(json!(1), json!(1.0)) && !same(json!(1), json!(1.5)) && !same(json!(1), json!("1")));
        assert!(!same(json!({"a": "b"}), json!({"b": "a"})) && !same(json!([1, 2]), json!([2, 1])));
        assert!(
            !same(json!([]), json!({})) && !same(json!({}), Value::Null) && !same(json!([[1], 2]), json!([[1, 2]]))
        );
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (-3..3_i64).prop_map(Value::from),
            "[a-c:{}\"]{0,3}".prop_map(Value::from)
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            let key = prop_oneof![
                "[fkvi]:[a-c\"{}0-9]{0,3}",
                "[.a-c]{1,2}",
                Just("metadata".to_owned()),
                Just("managedFields".to_owned())
            ];
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec((key, inner), 0..4)
                    .prop_map(|fields| fields.into_iter().collect::<Map<_, _>>().into()),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn nothing_panics(fields in any_json(), object in any_json()) {
            let hasher = RandomState::new();
            let response = json!({"metadata": {"managedFields": [{"manager": "m", "operation": "Apply", "fieldsV1": fields}]}, "a": object});
            if let Ok(Some(owned)) = super::super::Owned::learn(&response, "m", &hasher) {
                prop_assert!(owned.drift(&response, &hasher).is_empty(), "an object does not drift from itself");
                owned.drift(&object, &hasher);
            }
            let _ = super::super::Owned::learn(&object, "m", &hasher);
            if let Some(owned) = super::super::Owned::assume(&fields, &object, &hasher) {
                prop_assert!(owned.drift(&object, &hasher).is_empty());
            }
        }
    }
}
