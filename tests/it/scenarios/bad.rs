//! Files that are wrong, and paths without scenarios. Never plays one.

use std::path::Path;

use boathook_author::scenario::Scenario;

use super::{Author, test};

/// Everything that is wrong with a text, as an author sees it.
fn problems(text: &str) -> Vec<String> {
    Scenario::parse(text).err().unwrap_or_default().iter().map(ToString::to_string).collect()
}

/// Texts that are no scenario, and the whole complaint.
pub(super) const WRONG: [(&str, &str); 82] = [
    ("", "1:1: the file: is empty"),
    ("steps: []", "1:1: the file: name is missing"),
    ("name: x", "1:1: the file: steps is missing"),
    ("- name", "1:1: the file: must be a mapping, not a list"),
    ("name: 5\nsteps: []", "1:7: name: must be a text, not 5"),
    (
        "name: x\nsteps: []\nwhen: now",
        "3:1: when: is not known here; allowed: faults, files, given, global, globalHooks, http, module, name, settings, steps, sweep, values, variables",
    ),
    ("name: x\nmodule: Web\nsteps: []", "2:9: module: \"Web\" is not a valid module name: use kebab-case"),
    ("name: x\nvalues: {a: b}\nsteps: []", "2:9: values: needs the key module, which names the module of the hook"),
    ("name: x\nmodule: web\nglobal: [a]\nsteps: []", "3:9: global: must be a mapping, not a list"),
    ("name: x\nsteps: [{expect: {settings: 5}}]", "2:29: steps[0].expect.settings: must be an object, not 5"),
    ("name: x\nsteps: {a: b}", "2:8: steps: must be a list, not a mapping"),
    ("name: x\ngiven: [n1]\nsteps: []", "2:9: given[0]: must be an object, not \"n1\""),
    ("name: x\nsteps: [{sleep: 1s}]", "2:10: steps[0].sleep: is not known here"),
    ("name: x\nsteps: [{wait: soon}]", "2:16: steps[0].wait: is \"soon\"; a duration like 500ms"),
    ("name: x\nsteps: [{wait: 11m}]", "at most 10m"),
    ("name: x\nsteps: [{pass: soon}]", "2:16: steps[0].pass: is \"soon\"; a duration like 500ms"),
    ("name: x\nfaults: {}\nsteps: []", "2:9: faults: must be a list, not a mapping"),
    ("name: x\nsteps: [{fault: now}]", "2:17: steps[0].fault: must be a mapping, not \"now\""),
    ("name: x\nsteps: [{fault: {verb: get, answer: 409}}]", "2:17: steps[0].fault: object is missing"),
    (
        "name: x\nsteps: []\nfaults: [{verb: watch, answer: 409, object: {apiVersion: v1, kind: Node, metadata: {name: n}}}]",
        "3:17: faults[0].verb: is \"watch\"; allowed: get, create",
    ),
    (
        "name: x\nsteps: []\nfaults: [{verb: get, answer: 200, object: {apiVersion: v1, kind: Node, metadata: {name: n}}}]",
        "3:10: faults[0]: answer is 200; allowed: 400, 403",
    ),
    (
        "name: x\nsteps: []\nfaults: [{verb: get, answer: 409, times: 0, object: {apiVersion: v1, kind: Node, metadata: {name: n}}}]",
        "3:10: faults[0]: times is 0; it is from 1 to 1000",
    ),
    ("name: x\nsteps: []\nfaults: [{verb: get, answer: 409, object: Node n}]", "faults[0].object: must be an object"),
    (
        "name: x\nsteps: []\nfaults: [{verb: get, answer: never, object: {apiVersion: v1, kind: Node, metadata: {name: n}}}]",
        "3:10: faults[0]: answer is \"never\"; allowed: 400, 403",
    ),
    (
        "name: x\nsteps: []\nfaults: [{event: added, verb: get, delivery: late, object: {apiVersion: v1, kind: Node, metadata: {name: n}}}]",
        "faults[0].verb: is not known here; allowed: delivery, event, object, skip",
    ),
    ("name: x\nsteps: [{settle: soon}]", "2:18: steps[0].settle: is \"soon\"; allowed: operator, all"),
    ("name: x\nsteps: [{http: {url: u, skip: 1}}]", "steps[0].http: skip needs times"),
    ("name: x\nsteps: [{http: {url: u, times: 1, after: {url: v}}}]", "steps[0].http: after is for all requests"),
    ("name: x\nsteps: [{http: {url: u, after: {method: PUT}}}]", "steps[0].http.after: url is missing"),
    (
        "name: x\nsteps: [{http: {url: u, after: {url: v, status: 200}}}]",
        "steps[0].http.after.status: is not known here; allowed: method, url",
    ),
    (
        "name: x\nsweep: {logged: [a]}\nsteps: []",
        "sweep.logged: is not the end of a scenario; allowed: present, absent",
    ),
    ("name: x\nhttp: [{status: 200}]\nsteps: []", "2:8: http[0]: url is missing"),
    ("name: x\nhttp: [{url: u, method: get}]\nsteps: []", "http[0]: method is \"get\"; write it in upper case"),
    ("name: x\nhttp: [{url: u, status: 99}]\nsteps: []", "http[0]: status is 99; it is from 200 to 599"),
    ("name: x\nhttp: [{url: u, body: a, json: {}}]\nsteps: []", "http[0]: has just one of body and json"),
    ("name: x\nsteps: [{http: {url: u, fails: tls, body: a}}]", "steps[0].http: a request that fails has no response"),
    ("name: x\nfiles: {keys/a: b}\nsteps: []", "files: \"keys/a\" is not the path of a file in a directory"),
    ("name: x\nfiles: {/keys/../a: b}\nsteps: []", "is not the path of a file in a directory"),
    ("name: x\nvariables: {node: b}\nsteps: []", "variables: \"node\" is not the name of a variable"),
    (
        "name: x\nsteps: [{http: {url: u, fails: never}}]",
        "is \"never\"; allowed: connection, credential, name, timeout, tls",
    ),
    ("name: x\nsettings: on\nsteps: []", "2:11: settings: must be a mapping, or the word off, not \"on\""),
    ("name: x\nsteps: [{settings: []}]", "2:20: steps[0].settings: must be a mapping, or the word off, not a list"),
    ("name: x\nsteps: [{expect: {values: 5}}]", "expect.values: must be an object, not 5"),
    (
        "name: x\nsteps: [{expect: {manifests: ../a}}]",
        "manifests: is \"../a\"; it is the path of a file below the folder",
    ),
    ("name: x\nsteps: [{expect: {manifests: web.yaml}}]", "which is a scenario: put it into a folder"),
    ("name: x\nsteps: [{tick: ''}]", "2:16: steps[0].tick: must be a text"),
    ("name: x\nsteps: [{restart: cluster}]", "2:19: steps[0].restart: is \"cluster\"; allowed: operator"),
    ("name: x\nsteps: [{admission: {dryRun: true}}]", "2:21: steps[0].admission: operation is missing"),
    ("name: x\nsteps: [{admission: {operation: PATCH}}]", "admission.operation: is \"PATCH\"; allowed: CREATE, UPDATE"),
    (
        "name: x\nsteps: [{admission: {operation: CREATE}}]",
        "steps[0].admission: CREATE and CONNECT have just an object",
    ),
    (
        "name: x\nsteps: [{admission: {operation: UPDATE, object: {apiVersion: v1, kind: Node, metadata: {name: n}}}}]",
        "steps[0].admission: UPDATE has an object and an oldObject",
    ),
    (
        "name: x\nsteps: [{admission: {operation: DELETE, object: {apiVersion: v1, kind: Node, metadata: {name: n}}}}]",
        "steps[0].admission: DELETE has just an oldObject",
    ),
    ("name: x\nsteps: [{conversion: {to: v1}}]", "2:22: steps[0].conversion: objects is missing"),
    (
        "name: x\nsteps: [{conversion: {to: v1, objects: []}}]",
        "2:22: steps[0].conversion: objects is empty: there is nothing to convert",
    ),
    ("name: x\nsteps: [{expect: {admission: {}}}]", "2:30: steps[0].expect.admission: needs at least one key"),
    ("name: x\nsteps: [{expect: {admission: {allowed: no way}}}]", "allowed: must be true or false, not \"no way\""),
    ("name: x\nsteps: [{expect: {conversion: {}}}]", "expect.conversion: has just one of objects and failed"),
    ("name: x\nsteps: [{reconcile: {finalize: true}}]", "2:21: steps[0].reconcile: object is missing"),
    (
        "name: x\nsteps: [{reconcile: {object: {apiVersion: v1, kind: Node, metadata: {name: n}}, related: []}}]",
        "steps[0].reconcile.related: must be a mapping of lists, by the entries of the document's related",
    ),
    (
        "name: x\nsteps: [{reconcile: {object: {apiVersion: v1, kind: Node, metadata: {name: n}}, related: {a: b}}}]",
        "steps[0].reconcile.related.a: must be a list of objects",
    ),
    (
        "name: x\nsteps: [{reconcile: {object: {apiVersion: v1, kind: Node, metadata: {name: n}}, related: {a: [b]}}}]",
        "steps[0].reconcile.related.a[0]: must be an object, not \"b\"",
    ),
    ("name: x\nsteps: [{expect: {reconcile: {}}}]", "2:30: steps[0].expect.reconcile: needs at least one key"),
    (
        "name: x\nsteps: [{expect: {reconcile: {failed: a, done: true}}}]",
        "expect.reconcile: a call that failed has no answer: failed stands alone",
    ),
    (
        "name: x\nsteps: [{expect: {reconcile: {conditions: [{type: Ready, status: true}]}}}]",
        "expect.reconcile.conditions[0].status: must be a text, not true",
    ),
    (
        "name: x\nsteps: [{expect: {reconcile: {events: [{type: Bad}]}}}]",
        "expect.reconcile.events[0].type: is \"Bad\"; allowed: Normal, Warning",
    ),
    ("name: x\nsteps:\n- {}", "3:3: steps[0]: a step has just one of create, apply"),
    ("name: x\nsteps: [{tick: x, wait: 1s}]", "2:9: steps[0]: a step has just one of"),
    ("name: x\nsteps: [{apply: {apiVersion: v1, kind: Node}}]", "2:17: steps[0].apply: an object needs metadata.name"),
    ("name: x\nsteps: [{create: {kind: N, metadata: {name: n}}}]", "steps[0].create: an object needs apiVersion"),
    (
        "name: x\nsteps: [{expect: {onlyWrites: [], logs: [x]}}]",
        "2:35: steps[0].expect.logs: is not known here; allowed: absent",
    ),
    ("name: x\nsteps: [{expect: {logged: []}}]", "2:18: steps[0].expect: expect needs something in one of"),
    ("name: x\nsteps: [{expect: {logged: [{text: y}]}}]", "expect.logged[0]: has just one of atLeast and times"),
    ("name: x\nsteps: [{expect: {logged: [{text: y, times: 1, atLeast: 1}]}}]", "just one of atLeast and times"),
    ("name: x\nsteps: [{expect: {logged: [{text: y, times: -1}]}}]", "logged[0].times: must be a number like 2"),
    ("name: x\nsteps: [{expect: {logged: [5]}}]", "2:28: steps[0].expect.logged[0]: must be a text, not 5"),
    ("name: x\nsteps: [{expect: {logged: [y], within: 1}}]", "within: must be a text, not 1"),
    ("name: x\nsteps: [{expect: {writes: [{verb: get, object: N n}]}}]", "writes[0].verb: is \"get\"; allowed: create"),
    ("name: x\nsteps: [{expect: {onlyWrites: [{verb: patch}]}}]", "onlyWrites[0]: object is missing"),
    ("name: x\nsteps: [{expect: {metrics: [{name: m, value: x}]}}]", "metrics[0].value: must be a number, not \"x\""),
    ("name: x\nsteps: [{expect: {metrics: [{name: m, value: 1, labels: {a: 1}}]}}]", "labels.a: must be a text, not 1"),
    ("name: x\nsteps: [{expect: {failures: [{kind: boom}]}}]", "failures[0].kind: is \"boom\"; allowed: retry"),
    (
        "name: x\nsteps: [{expect: {failures: [{kind: trap, times: 1, atLeast: 1}]}}]",
        "at most one of atLeast and times",
    ),
];

#[test]
fn what_a_scenario_may_not_hold() {
    for (text, complaint) in WRONG {
        let problems = problems(text);
        assert!(problems.len() == 1 && problems[0].contains(complaint), "{text}: {problems:#?}");
    }
}

#[test]
fn what_is_no_yaml_ends_at_its_line() {
    let deep = format!("name: x\nsteps: {}", "[".repeat(10_000));
    let bomb = format!("a: &a [{}]\nb: [{}]", "x,".repeat(2_000), "*a,".repeat(1_000));
    for (text, complaint) in [
        ("name: x\nsteps: {", "3:1: the file: is not valid YAML"),
        ("name: x\n\tsteps: []", "1:7: the file: is not valid YAML"),
        ("name: x\nname: y\nsteps: []", "2:1: the file: the key \"name\" stands twice"),
        ("name: x\nsteps: []\n---\nname: y", "3:1: the file: a second document"),
        ("name: x\nsteps: [{apply: {<<: {a: b}}}]", "2:18: the file: the merge key"),
        ("name: !secret x\nsteps: []", "1:7: the file: the tag \"secret\" is not known"),
        (&deep, "the file: "),
        (&bomb, "2:"),
        (&"#".repeat(2 << 20), "is 2097152 bytes long"),
    ] {
        let problems = problems(text);
        let start: String = text.chars().take(60).collect();
        assert!(problems.len() == 1 && problems[0].contains(complaint), "{start}: {problems:#?}");
    }
}

/// Several in each of two files; the file that is right is not played.
#[tokio::test]
async fn all_errors_of_all_files_come_at_once() {
    let files = [
        ("a", "name: [x]\nsteps:\n  - wait: soon\n  - {tick: a, restart: operator}\n"),
        ("b", "name: x\nsteps: {\n"),
        ("c", "name: fine\nsteps: [{wait: 10m}]\n"),
    ];
    let author = Author::of("startup", &files).await;
    let ended = author.test(&[]).await;
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""));
    let line = |name, rest: &str| format!("{}:{rest}", author.file(name).display());
    for part in [
        line("a", "1:7: name: must be a text, not a list\n"),
        line("a", "3:11: steps[0].wait: is \"soon\";"),
        line("a", "4:5: steps[1]: a step has just one of"),
        line("b", "3:1: the file: is not valid YAML"),
        "error: 2 scenario files are wrong, nothing was played".to_owned(),
    ] {
        assert!(ended.stderr.contains(&part), "no {part:?} in:\n{}", ended.stderr);
    }
    assert!(!ended.stderr.contains("c.yaml"), "{}", ended.stderr);
}

#[tokio::test]
async fn a_path_without_scenarios_or_component_is_an_error_that_says_what_to_do() {
    let author = Author::of("startup", &[("a", "name: x\nsteps: []\n")]).await;
    let empty = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(empty.path().join("lost/scenarios")).unwrap();
    std::fs::write(empty.path().join("lost/scenarios/a.yaml"), "name: x\nsteps: []\n").unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    for (path, complaint) in [
        (empty.path(), "the hook lost has scenarios in"),
        (elsewhere.path(), "put them at NAME/scenarios/*.yaml"),
        (Path::new("nowhere"), "nowhere cannot be read"),
        (Path::new("nothing.wasm"), "nothing.wasm cannot be read"),
    ] {
        let ended = test([path]).await;
        assert_eq!(ended.code, Some(2), "{}", ended.stderr);
        assert!(ended.stderr.contains(complaint), "no {complaint:?} in {}", ended.stderr);
    }
    let ended = author.test(&["--filter", "zebra"]).await;
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("no scenario's file or name contains \"zebra\""), "{}", ended.stderr);
}
