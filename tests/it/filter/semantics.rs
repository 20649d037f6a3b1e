//! What a filter gives.

use std::{fs, path::Path, sync::Arc};

use boathook_core::{
    fair::Tenant,
    filter::{Filter as _, FilterError},
};
use boathook_sandbox::{Filters, Sandbox, SandboxConfig, compile_filters};

use super::{compile, filters};

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

async fn combined(filters: &Filters, program: &str) -> Result<String, String> {
    let outputs = compile(filters, program).await.run(&OBJECT.into()).await;
    outputs.map(|outputs| outputs.combined().into()).map_err(|error| error.to_string())
}

#[tokio::test]
async fn a_filter_gives_what_jq_gives() {
    let filters = filters();
    for (program, expected) in TABLE {
        let expected = expected.map(str::to_owned).map_err(str::to_owned);
        assert_eq!(combined(&filters, program).await, expected, "{program}");
        // A definition sees all of the object.
        assert_eq!(combined(&filters, &format!("def f: {program}; f")).await, expected, "{program}, defined");
    }
    // One instance has run them all.
    assert_eq!(filters.instances(), 1);
}

#[tokio::test]
async fn programs_that_are_wrong_say_where() {
    let filters = filters();
    for (program, error) in [
        (".a |\n  foo(1)", "line 2, column 3: there is no filter foo with 1 arguments"),
        ("{a: .b", "{ is never closed"),
        ("import \"a\" as a; .", "line 1, column 9: a filter cannot import or include other files"),
        ("input", "line 1, column 1: there is no filter input with 0 arguments"),
    ] {
        let found = filters.compile(&Tenant::hook("h"), program).await.unwrap_err();
        assert_eq!(found.to_string(), error, "{program}");
    }
    // The longest ones that are not refused.
    for program in [["."; 990].join("|"), ["."; 990].join("+"), format!("{}.", "- ".repeat(990))] {
        compile(&filters, &program).await;
    }
}

#[tokio::test]
async fn what_a_program_sees_is_known() {
    let filters = filters();
    for (program, sees_only_metadata) in [
        (".metadata.labels", true),
        ("[.metadata.labels | paths]", true),
        (".", false),
        ("{a: .metadata, b: .spec.x}", false),
    ] {
        let program = compile(&filters, program).await;
        assert_eq!(program.reads_only(&["metadata"]), sees_only_metadata, "{program:?}");
    }
}

#[tokio::test]
async fn what_is_no_object_is_an_error() {
    let (filters, deep) = (filters(), format!("{}1{}", "[".repeat(200), "]".repeat(200)));
    for program in [".", ".a"] {
        let program = compile(&filters, program).await;
        for input in ["{", "{\"a\":NaN}", "{1:2}", deep.as_str(), ""] {
            let error = program.run(&input.into()).await.unwrap_err();
            assert!(matches!(error, FilterError::Input(_)), "{input}: {error}");
        }
        assert_eq!(program.run(&"{}".into()).await.unwrap().values().count(), 1);
    }
}

#[tokio::test]
async fn long_error_texts_are_cut() {
    let object: Arc<str> = format!("{{\"metadata\":{{\"name\":\"{}\"}}}}", "é".repeat(10_000)).into();
    let program = compile(&filters(), ".metadata.name.x").await;
    let error = program.run(&object).await.unwrap_err();
    assert!(error.to_string().len() < 500, "{}", error.to_string().len());
}

#[tokio::test]
async fn objects_of_any_size_fit() {
    let program = compile(&filters(), "[.items[] | {name, image: .image}] | length").await;
    for count in [0, 1, 10_000, 100_000, 1] {
        let object = format!("{{\"items\":[{}]}}", vec![r#"{"name":"x"}"#; count].join(","));
        assert_eq!(&*program.run(&object.into()).await.unwrap().combined(), count.to_string());
    }
}

/// The image has the code of filters next to the interpreters. Elsewhere, the first filter compiles it into the cache.
/// Both are mapped: the kernel keeps one copy, and only the pages that a filter needs.
// mutant: crates/sandbox/src/cache.rs: `if self.size >= MAPPED` => `if self.size == 0`
#[tokio::test]
async fn installed_code_is_used_and_other_code_is_kept() {
    let [installed, unused, cache] = std::array::from_fn(|_| tempfile::tempdir().unwrap());
    let run = async |interpreters: &[&Path], cache: &Path| {
        let (interpreters, cache_dir) = (interpreters.iter().map(|it| it.to_path_buf()).collect(), Some(cache.into()));
        let config = SandboxConfig { interpreters, cache_dir, pooling: false, ..SandboxConfig::default() };
        let program = compile(Sandbox::new(config).unwrap().filters(), ".a").await;
        assert_eq!(&*program.run(&"{\"a\":1}".into()).await.unwrap().combined(), "1");
        fs::read_to_string("/proc/self/maps").unwrap()
    };
    let mapped = |maps: &str, directory: &Path| maps.contains(directory.to_str().unwrap());
    assert!(!compile_filters(installed.path()).unwrap().kept);
    assert!(compile_filters(installed.path()).unwrap().kept);
    assert!(mapped(&run(&[installed.path()], unused.path()).await, installed.path()));
    assert_eq!(fs::read_dir(unused.path()).unwrap().count(), 0);
    assert!(mapped(&run(&[], cache.path()).await, cache.path()));
    assert_eq!(fs::read_dir(cache.path()).unwrap().count(), 1);
}
