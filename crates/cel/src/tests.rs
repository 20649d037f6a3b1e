//! Tests of expressions: how they are parsed, checked and evaluated, and what they cost.
#![allow(clippy::unwrap_used, clippy::panic)]

use serde_json::{Value as Json, json};

use super::*;

fn run(source: &str, this: &Json, schema: &Json) -> Result<Value, Error> {
    let none = Scope::default();
    let scope = none.with("self", to_cel(this, schema));
    Program::parse(source).unwrap().run(&scope, &mut Budget::default())
}

fn holds(source: &str, this: Json) {
    assert_eq!(run(source, &this, &Json::Null), Ok(Value::Bool(true)), "{source}");
}

fn fails(source: &str, this: Json, why: &str) {
    assert_eq!(run(source, &this, &Json::Null).unwrap_err().to_string(), why, "{source}");
}

#[test]
fn operators_and_macros() {
    holds("self.a + 1 == 3 && self.a * 2 > 3 && -self.a < 0", json!({ "a": 2 }));
    holds("1 == 1.0 && 1 < 1.5 && 'a' < 'b' && [1, 2] + [3] == [1, 2, 3]", json!({}));
    holds("has(self.a) && !has(self.b) && 'a' in self", json!({ "a": 1 }));
    holds("self.l.all(x, x > 0) && self.l.exists(x, x == 2) && self.l.exists_one(x, x > 1)", json!({ "l": [1, 2] }));
    holds("self.l.map(x, x * 2).filter(x, x > 2) == [4]", json!({ "l": [1, 2] }));
    holds("self.l.map(x, x > 1, x + 1) == [3]", json!({ "l": [1, 2] }));
    holds(
        "self.m.all(k, self.m[k] > 0) && self.m.exists(k, v, k == 'b' && v == 2)",
        json!({ "m": { "a": 1, "b": 2 } }),
    );
    holds("self.l.transformList(i, x, i + x) == [1, 3] && self.l.all(i, x, x > i)", json!({ "l": [1, 2] }));
    holds("self.m.transformMap(k, v, v + 1) == {'a': 2}", json!({ "m": { "a": 1 } }));
    holds("self.?a.?b.orValue('x') == 'x' && self.?c.hasValue()", json!({ "c": 1 }));
    holds("self.l[?5].orValue(7) == 7 && [?self.?a, 1] == [1]", json!({ "l": [] }));
    holds("type(self.a) == int && type('x') == string && type([]) == list", json!({ "a": 1 }));
    holds("self.?a.optMap(x, x + 1).value() == 2", json!({ "a": 1 }));
}

#[test]
fn functions_of_the_library() {
    holds("'%s-%d'.format(['a', 1]) == 'a-1' && 'a,b'.split(',').size() == 2 && size('äb') == 2", json!({}));
    holds("quantity('2Gi').isGreaterThan(quantity('1Gi')) && isURL('http://x/y')", json!({}));
    holds("sets.contains([1, 2], [1]) && !format.dns1123Label().validate('abc').hasValue()", json!({}));
    holds("cidr('10.0.0.0/8').containsIP('10.1.1.1') && ip('::1').family() == 6", json!({}));
    holds("string(5) == '5' && int('7') == 7 && duration('1m') > duration('30s')", json!({}));
    holds("self.a.matches('^[a-z]+$') && self.a.find('b.') == 'bc'", json!({ "a": "abc" }));
}

#[test]
fn errors_are_the_real_ones() {
    fails("self.a > 1", json!({}), "no such key: a");
    fails("self.l[3] == 1", json!({ "l": [] }), "index out of bounds: 3");
    fails("1 / self.a > 0", json!({ "a": 0 }), "division by zero");
    fails("self.a + 9223372036854775807 > 0", json!({ "a": 1 }), "integer overflow");
    fails("self.a < 1", json!({ "a": "x" }), "no such overload");
    holds("self.x == 1 || true", json!({}));
    holds("!(self.x == 1 && false)", json!({}));
    holds("self.l.exists(x, 1 / x == 1)", json!({ "l": [0, 1] }));
    holds("!self.l.all(x, 1 / x == 5)", json!({ "l": [0, 1] }));
}

#[test]
fn values_follow_their_schema() {
    let schema = json!({ "properties": {
        "at": { "type": "string", "format": "date-time" },
        "span": { "type": "string", "format": "duration" },
        "bytes": { "type": "string", "format": "byte" },
        "ratio": { "type": "number" },
        "set": { "type": "array", "x-kubernetes-list-type": "set", "items": { "type": "string" } },
        "map": { "type": "object", "additionalProperties": { "type": "string" } },
        "parts": { "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["id"] },
    } });
    let this = json!({ "at": "2024-01-01T00:00:00Z", "span": "90s", "bytes": "YWJj", "ratio": 2, "set": ["a", "b"],
        "map": { "a-b": "x" }, "parts": [{ "id": 1, "n": 1 }], "a-b": 1, "namespace": 2, "a__b": 3 });
    for rule in [
        "self.at.getFullYear() == 2024 && (self.at + self.span).getMinutes() == 1",
        "self.bytes == b'abc' && size(self.bytes) == 3",
        "self.ratio / 4.0 == 0.5",
        "self.set + ['b', 'c'] == self.set + ['c'] && self.set.size() == 2 && self.set[0] == 'a'",
        "self.map['a-b'] == 'x'",
        "(self.parts + [{'id': 1, 'n': 2}])[0].n == 2",
        "self.a__dash__b == 1 && self.__namespace__ == 2 && self.a__underscores__b == 3",
    ] {
        assert_eq!(run(rule, &this, &schema), Ok(Value::Bool(true)), "{rule}");
    }
}

#[test]
fn cost_is_bounded() {
    let many = json!({ "l": (0..300).collect::<Vec<_>>(), "s": "x".repeat(100_000) });
    let loops = "self.l.all(x, self.l.all(y, self.l.all(z, x + y + z >= 0)))";
    assert_eq!(run(loops, &many, &Json::Null), Err(Error::TooExpensive));
    let grows = "self.l.map(x, self.s + self.s).size() > 0 && self.l.map(x, self.s.replace('', self.s)).size() > 0";
    assert_eq!(run(grows, &many, &Json::Null), Err(Error::TooExpensive));
    let wide = "'%.999999999f'.format([1.0]).size() > 0";
    assert_eq!(run(wide, &many, &Json::Null), Err(Error::TooExpensive));
    holds("self.l.all(x, self.l.exists(y, y == x))", json!({ "l": (0..100).collect::<Vec<_>>() }));
}

#[test]
fn hostile_sources_are_refused() {
    let nested = format!("{}1{}", "(".repeat(5_000), ")".repeat(4_900));
    let long = format!("1{}", "+1".repeat(4_900));
    let bangs = format!("{}true", "!".repeat(9_000));
    let fields = format!("self{}", ".a".repeat(4_900));
    for source in [nested.as_str(), &long, &fields, "", "'", "\"", "a..b", "x.map(1, 2)", "has(1)", "{{", "\u{0}", "[?"]
    {
        assert!(Program::parse(source).is_err(), "{}", source.get(..20).unwrap_or(source));
    }
    // Negations fold, or are nested too deeply. Both are fine.
    let _either = Program::parse(&bangs);
    assert_eq!(
        Program::parse("self.b >").unwrap_err(),
        "ERROR: <input>:1:9: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', \
         'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}\n | self.b >\n | ........^"
    );
}

#[test]
fn types_are_checked() {
    let schema = json!({ "type": "object", "properties": { "a": { "type": "integer" }, "s": { "type": "string" },
        "l": { "type": "array", "items": { "type": "integer" } },
        "m": { "type": "object", "additionalProperties": { "type": "string" } } } });
    let check = |source: &str| Program::parse(source).unwrap().check(&[("self", Ty::of(&schema, true))]);
    for (source, ty) in [
        ("self.a > 1 && self.metadata.name == 'x'", "bool"),
        ("self.l.all(x, x > 1) || self.m.exists(k, k == 'x')", "bool"),
        ("self.l.map(x, string(x)).join(',')", "string"),
        ("self.?s.orValue('')", "string"),
        ("self.l.transformList(i, x, i + x)", "list(int)"),
        ("has(self.a) ? self.m['x'] : self.s", "string"),
    ] {
        assert_eq!(check(source).as_deref(), Ok(ty), "{source}");
    }
    for (source, why) in [
        ("self.b > 1", "1:5: undefined field 'b'\n | self.b > 1\n | ....^"),
        ("sel.a > 1", "1:1: undeclared reference to 'sel' (in container '')\n | sel.a > 1\n | ^"),
        (
            "self.a == 'x'",
            "1:8: found no matching overload for '_==_' applied to '(int, string)'\n | self.a == 'x'\n | .......^",
        ),
        (
            "self.a.frob() > 1",
            "1:12: undeclared reference to 'frob' (in container '')\n | self.a.frob() > 1\n | ...........^",
        ),
        (
            "self.l.all(x, x.y)",
            "1:16: type 'int' does not support field selection\n | self.l.all(x, x.y)\n | ...............^",
        ),
    ] {
        assert_eq!(check(source), Err(format!("ERROR: <input>:{why}")), "{source}");
    }
}

#[test]
fn the_worst_cost_follows_the_bounds_of_the_schema() {
    let list = |bound: Option<u64>| {
        let mut list = json!({ "type": "array", "items": { "type": "string" } });
        if let (Some(bound), Json::Object(map)) = (bound, &mut list) {
            map.insert("maxItems".into(), bound.into());
        }
        json!({ "type": "object", "properties": { "l": list } })
    };
    let nested = Program::parse("self.l.all(x, self.l.exists(y, x == y))").unwrap();
    assert!(nested.worst_cost(&list(None)) > 1e11);
    assert!(nested.worst_cost(&list(Some(10))) < 1e4);
    assert!(Program::parse("self.l.all(x, x != '')").unwrap().worst_cost(&list(None)) < 1e8);
}
