//! Tests that `roots` leaves out nothing that a program sees: random programs on random input.

#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::{compile, run};

/// Programs of forms that `roots` knows, and of others.
fn program() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just(".".to_owned()),
        Just(".a".to_owned()),
        Just(".[]?".to_owned()),
        Just(".a?.b?".to_owned()),
        Just(".[0]?".to_owned()),
        Just("1".to_owned()),
        Just("\"s\\n\\u0001\"".to_owned()),
        Just("null".to_owned()),
        Just("$v".to_owned()),
        Just("[]".to_owned()),
        Just("empty".to_owned()),
    ];
    leaf.prop_recursive(4, 12, 3, |inner| {
        let one = inner.clone();
        let two = (inner.clone(), inner.clone());
        let three = (inner.clone(), inner.clone(), inner);
        prop_oneof![
            two.clone().prop_map(|(a, b)| format!("({a} | {b})")),
            two.clone().prop_map(|(a, b)| format!("({a}, {b})")),
            two.clone().prop_map(|(a, b)| format!("({a} + {b})?")),
            two.clone().prop_map(|(a, b)| format!("({a} / {b})?")),
            two.clone().prop_map(|(a, b)| format!("({a} // {b})")),
            two.clone().prop_map(|(a, b)| format!("({a} == {b})")),
            two.clone().prop_map(|(a, b)| format!("({a} < {b})")),
            two.clone().prop_map(|(a, b)| format!("({a} - {b})?")),
            two.clone().prop_map(|(a, b)| format!("({a} % {b})?")),
            two.clone().prop_map(|(a, b)| format!("({a} or {b})")),
            two.clone().prop_map(|(a, b)| format!("({a} and {b})")),
            two.clone().prop_map(|(a, b)| format!("any({a}; {b})?")),
            two.clone().prop_map(|(a, b)| format!("all({a}; {b})?")),
            two.clone().prop_map(|(a, b)| format!("(({a}) | .[{b}]?)")),
            two.clone().prop_map(|(a, b)| format!("(({a}) | .[{b}:]?)")),
            two.clone().prop_map(|(a, b)| format!("(({a}) | .a = {b})?")),
            two.clone().prop_map(|(a, b)| format!("{{k: {a}, (({b}) | tostring): 1}}")),
            two.clone().prop_map(|(a, b)| format!("\"x\\({a})y\\({b})\"")),
            two.clone().prop_map(|(a, b)| format!("({a} as $v | {b})")),
            two.clone().prop_map(|(a, b)| format!("({a} as [$v, $w] | [$w, {b}])?")),
            two.clone().prop_map(|(a, b)| format!("try ({a} | error) catch 1, {b}")),
            two.clone().prop_map(|(a, b)| format!("(({a}) | .a.b? |= {b})?")),
            two.clone().prop_map(|(a, b)| format!("(({a}) | .[]? |= {b})?")),
            two.prop_map(|(a, b)| format!("(({a}) | .a += {b})?")),
            three.prop_map(|(a, b, c)| format!("if {a} then {b} else {c} end")),
            one.clone().prop_map(|a| format!("[{a}]")),
            one.clone().prop_map(|a| format!("(-{a})?")),
            (one.clone(), builtin()).prop_map(|(a, f)| format!("(({a}) | {f})?")),
            (one, with_argument()).prop_map(|(a, f)| f.replace("ARG", &a)),
        ]
    })
}

fn builtin() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "keys",
        "keys_unsorted",
        "to_entries",
        "from_entries",
        "add",
        "reverse",
        "length",
        "tojson",
        "tostring",
        "@base64",
        "@uri",
        "@html",
        "@sh",
        "@json",
        "ascii_upcase",
        "type",
        "abs",
        "floor",
        "not",
        "values",
        "strings",
        "first",
        "any",
        "join(\"--\")",
        "split(\"a\")",
        "del(.a, .b)",
        "sort_by(tostring)",
        "group_by(tostring)",
        "unique_by(tojson)",
        "has(\"a\")",
        "ltrimstr(\"a\")",
        "error",
        "empty",
        "last",
        "max_by(length)",
    ])
}

fn with_argument() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "(map(ARG))?",
        "(map_values(ARG))?",
        "(with_entries(ARG))?",
        "select(ARG)",
        "any(ARG)?",
        "first(ARG)",
        "limit(2; ARG)",
        "[ARG] | add?",
        "isempty(ARG)",
        "(add(ARG))?",
        "all(ARG)?",
        "last(ARG)",
        "nth(1; ARG)?",
        "IN(ARG)",
        "has(ARG)?",
        "contains(ARG)?",
        "startswith(ARG)?",
        "ltrimstr(ARG)?",
        "split(ARG)?",
        "join(ARG)?",
        "error(ARG)?",
        "min_by(ARG)?",
    ])
}

fn json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i32>().prop_map(Into::into),
        "[a<'\"\\\\\n\u{1}é]{0,6}".prop_map(Into::into),
    ];
    leaf.prop_recursive(3, 20, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Into::into),
            prop::collection::btree_map(prop::sample::select(vec!["a", "b", "key", "name", "value"]), inner, 0..3)
                .prop_map(|map| serde_json::to_value(map).unwrap()),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// A program does not miss the fields that `roots` leaves out. Naming the whole input makes a program see all of
    /// it.
    #[test]
    fn fields_that_are_not_read_are_not_seen(program in program(), input in json()) {
        let program = format!(".a? as $v | {program}");
        let Ok(compiled) = compile(&program) else { return Ok(()) };
        let seeing_all = compile(&format!(". as $all | {program}")).unwrap();
        let input = serde_json::json!({"a": input, "b": [1, {"a": 2}], "key": "k"}).to_string();
        prop_assert_eq!(run(&compiled, &input), run(&seeing_all, &input), "{}", program);
    }
}

/// Many of the random programs see only a part. Otherwise, the test above would test nothing.
#[test]
fn many_random_programs_see_a_part() {
    use proptest::{strategy::ValueTree as _, test_runner::TestRunner};
    let mut runner = TestRunner::deterministic();
    let parts = (0..300)
        .filter(|_| {
            let text = format!(".a? as $v | {}", program().new_tree(&mut runner).unwrap().current());
            compile(&text).is_ok_and(|compiled| compiled.sees_a_part())
        })
        .count();
    assert!(parts > 60, "{parts} of 300");
}
