//! What a filter gives, the same in this process and in a worker.

use boathook_core::filter::{Evaluator, FilterError, compile};

use super::evaluator;

const OBJECT: &str = r#"{"kind":"Pod","metadata":{"name":"a","labels":{"z":"1","b":"2"}},"spec":{"n":3,"f":1.5,"big":9007199254740993,"list":[{"k":"x","v":1},{"k":"y","v":2}],"none":null}}"#;

/// Program, and its combined result or the error's text.
const TABLE: &[(&str, Result<&str, &str>)] = &[
    (".metadata.labels", Ok(r#"{"b":"2","z":"1"}"#)),
    (".metadata.missing.deeper", Ok("null")),
    ("empty", Ok("null")),
    (".spec.list[].k", Ok(r#"["x","y"]"#)),
    ("[.spec.list[].k]", Ok(r#"["x","y"]"#)),
    (".spec.list[] | select(.v > 1)", Ok(r#"{"k":"y","v":2}"#)),
    (".spec.n + 1", Ok("4")),
    (".spec.big", Ok("9007199254740993")),
    (".spec.f", Ok("1.5")),
    ("nan, infinite", Ok("[null,1.7976931348623157e308]")),
    // Every number is one that a JSON reader accepts, whatever a string held.
    ("\"1e999\", \"-1e999\" | tonumber", Ok("[1.7976931348623157e308,-1.7976931348623157e308]")),
    ("\"01.5\" | tonumber", Ok("1.5")),
    ("\"1\" + \"0\" * 400 | tonumber", Ok("1.7976931348623157e308")),
    ("\"1.50\" | tonumber", Ok("1.50")),
    ("{b: 1, a: {d: 2, c: 3}}", Ok(r#"{"a":{"c":3,"d":2},"b":1}"#)),
    ("\"\\(.metadata.name)-\\(.spec.n)\\t\\u00e9\"", Ok(r#""a-3\té""#)),
    ("@base64 \"\\(.metadata.name)\"", Ok(r#""YQ==""#)),
    (".metadata.labels | keys", Ok(r#"["b","z"]"#)),
    (".metadata.labels | to_entries | map(.value) | join(\",\")", Ok(r#""1,2""#)),
    (".metadata.labels | with_entries(.value |= tonumber)", Ok(r#"{"b":2,"z":1}"#)),
    ("[.spec.list[] | {(.k): .v}] | add", Ok(r#"{"x":1,"y":2}"#)),
    ("del(.spec, .metadata.labels.z)", Ok(r#"{"kind":"Pod","metadata":{"labels":{"b":"2"},"name":"a"}}"#)),
    (".spec.n = 5 | .spec.list[].v += 1 | .spec | {n, l: [.list[].v]}", Ok(r#"{"l":[2,3],"n":5}"#)),
    (".metadata.annotations += {a: \"made\"} | .metadata.annotations", Ok(r#"{"a":"made"}"#)),
    ("if .spec.n > 2 then \"many\" else \"few\" end", Ok(r#""many""#)),
    ("any(.spec.list[]; .k == \"y\")", Ok("true")),
    (".spec.none // \"default\"", Ok(r#""default""#)),
    ("try error(\"x\") catch \"caught\"", Ok(r#""caught""#)),
    (".spec.list | group_by(.k | tostring) | length", Ok("2")),
    (".spec.list as [$a, {v: $b}] | [$a.k, $b]", Ok(r#"["x",2]"#)),
    ("env, $ENV", Ok("[{},{}]")),
    ("now | type", Ok(r#""number""#)),
    ("1, halt, 2", Ok("1")),
    ("halt", Ok("null")),
    ("empty, null", Ok("null")),
    ("1, 2, halt, 3", Ok("[1,2]")),
    (".spec | 1 as $x | .list[] | .v | select(. > $x)", Ok("2")),
    ("reduce range(4) as $i (0; . + $i)", Ok("6")),
    ("def f: if . > 9 then . else . + 1 | f end; .spec.n | f", Ok("10")),
    (".metadata.name | test(\"^a$\")", Ok("true")),
    ("[limit(3; repeat(1))]", Ok("[1,1,1]")),
    ("[.spec.list[] | .k | IN(\"y\", \"z\")]", Ok("[false,true]")),
    ("IN(.spec.list[].k; \"x\", \"q\")", Ok("true")),
    (".spec.list | INDEX(.k) | map_values(.v)", Ok(r#"{"x":1,"y":2}"#)),
    ("[leaf_paths] | length", Ok("11")),
    ("setpath([\"metadata\", \"annotations\", \"a/b\"]; 1) | .metadata.annotations", Ok(r#"{"a/b":1}"#)),
    (".spec.list | setpath([1, \"v\"]; 5) | .[1].v", Ok("5")),
    ("[.spec.n, \"a\\\"b\", null, true] | @csv", Ok(r#""3,\"a\"\"b\",,true""#)),
    ("[\"a\\tb\\\\\", 1.5] | @tsv", Ok(r#""a\\tb\\\\\t1.5""#)),
    ("\"xax\" | trimstr(\"x\"), toarray, (97 | ascii)", Ok(r#"["a",["xax"],"a"]"#)),
    // Assignments make the objects on the way.
    (".metadata.annotations.\"a/b\" = 1 | .metadata.annotations", Ok(r#"{"a/b":1}"#)),
    (".status.a.b.c += 1 | .status", Ok(r#"{"a":{"b":{"c":1}}}"#)),
    (".status[\"a\"][\"b\"] //= .spec.n | .status", Ok(r#"{"a":{"b":3}}"#)),
    ("(.status.a, .status.b) |= [.] | .status", Ok(r#"{"a":[null],"b":[null]}"#)),
    (".spec.none.x.y = (1, 2) | .spec.none", Ok(r#"[{"x":{"y":1}},{"x":{"y":2}}]"#)),
    (".metadata.labels.b.c = 1", Err("the filter failed: cannot use \"2\" as iterable (array or object)")),
    ("del(.status.a.b, .spec.n.missing?, .spec.list) | [.status, (.spec | has(\"list\"))]", Ok("[null,false]")),
    ("del(.metadata.annotations.a) | .metadata | has(\"annotations\")", Ok("false")),
    ("error(\"no\")", Err("the filter failed: \"no\"")),
    (".metadata.name.x", Err("the filter failed: cannot index \"a\" with \"x\"")),
    ("1, error({a: 1})", Err("the filter failed: {\"a\":1}")),
    ("halt_error", Err("the filter failed: it halted with code 5")),
    ("{(1, 2 | [.]): 1}", Err("the filter's result is not JSON: an object key that is not a string")),
    ("\"a\" | tobytes", Err("the filter's result is not JSON: a string of bytes")),
];

async fn combined(evaluator: &Evaluator, program: &str) -> Result<String, String> {
    let program = compile(program).unwrap();
    let outputs = evaluator.evaluate(&program, OBJECT).await;
    outputs.map(|outputs| outputs.combined().into()).map_err(|error| error.to_string())
}

#[tokio::test]
async fn a_filter_gives_the_same_here_and_in_a_worker() {
    let evaluator = evaluator();
    let mut native = 0;
    for (program, expected) in TABLE {
        let expected = expected.map(str::to_owned).map_err(str::to_owned);
        native += usize::from(compile(program).unwrap().is_native());
        assert_eq!(combined(&evaluator, program).await, expected, "{program}");
        // A definition is what never runs in this process.
        let in_worker = format!("def f: {program}; f");
        assert!(!compile(&in_worker).unwrap().is_native(), "{in_worker}");
        assert_eq!(combined(&evaluator, &in_worker).await, expected, "{program}, in a worker");
    }
    assert!(native > 20, "{native} of {} programs run here", TABLE.len());
}

#[tokio::test]
async fn what_is_no_object_is_an_error_on_both_ways() {
    let evaluator = evaluator();
    let deep = format!("{}1{}", "[".repeat(200), "]".repeat(200));
    for program in [".", "def f: .; f"] {
        let program = compile(program).unwrap();
        for input in ["{", "{\"a\":NaN}", "{1:2}", deep.as_str(), ""] {
            let error = evaluator.evaluate(&program, input).await.unwrap_err();
            assert!(matches!(error, FilterError::Input(_)), "{input}: {error}");
        }
        assert_eq!(evaluator.evaluate(&program, "{}").await.unwrap().values().collect::<Vec<_>>(), ["{}"]);
    }
}

#[tokio::test]
async fn long_error_texts_are_cut() {
    let object = format!("{{\"metadata\":{{\"name\":\"{}\"}}}}", "é".repeat(10_000));
    for program in [".metadata.x.y.z | .metadata.name | .[0]", "def f: .metadata.name.x; f"] {
        let program = compile(program).unwrap();
        match evaluator().evaluate(&program, &object).await {
            Err(error) => assert!(error.to_string().len() < 500, "{}", error.to_string().len()),
            Ok(outputs) => assert_eq!(outputs.values().len(), 1),
        }
    }
}

#[tokio::test]
async fn large_objects_leave_this_process() {
    let evaluator = evaluator();
    let program = compile("[.items[] | {name, image: .image}] | length").unwrap();
    assert!(program.is_native());
    let object = format!("{{\"items\":[{}]}}", vec![r#"{"name":"x"}"#; 100_000].join(","));
    assert_eq!(&*evaluator.evaluate(&program, &object).await.unwrap().combined(), "100000");
    assert_eq!(evaluator.workers(), 1);
}

/// As deep as what runs in this process can be, on a thread with the usual stack.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn the_deepest_native_programs_have_stack_enough() {
    let object = format!("{}1{}", "{\"a\":[".repeat(60), "]}".repeat(60));
    let evaluator = evaluator();
    let run = async move {
        for program in [
            format!("{}.{}", "[".repeat(44), "]".repeat(44)),
            vec!["."; 44].join(" | "),
            vec![".a"; 44].join(" // "),
            vec!["length"; 44].join(" + "),
            format!("{}.{}", "map(".repeat(20), ")".repeat(20)),
            format!("{}.a{}", "if ".repeat(40), " then 1 else 2 end".repeat(40)),
            format!("{}.a", "try ".repeat(44)),
            ". == .".to_owned(),
            "keys, to_entries, tojson".to_owned(),
        ] {
            let program = compile(&program).unwrap();
            assert!(program.is_native(), "{}", program.text());
            let _ = evaluator.evaluate(&program, &object).await;
        }
    };
    tokio::spawn(run).await.unwrap();
}
