//! Values as addon-operator layers them, and what hooks do to them.

use std::{fs, path::Path};

use proptest::prelude::*;
use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::layout::Layout;

fn put(folder: &Path, file: &str, text: &str) {
    let path = folder.join(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A layout with two modules, one of which has everything, and global values with schemas.
fn store() -> Store {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    put(at, "modules/values.yaml", "global: {region: eu}\nweb: {port: 1, fromShared: true, list: [1, 2]}\n");
    put(at, "modules/010-web/values.yaml", "web: {port: 2, list: [3]}\n");
    let config = "
type: object
properties:
  port: {type: integer, minimum: 1}
  host: {type: string, default: localhost}
  list: {type: array, items: {type: integer}}
  fromShared: {type: boolean}
  size: {type: integer, default: 1, x-deckhouse-validations: [{expression: self >= oldSelf, message: never shrinks}]}
";
    put(at, "modules/010-web/openapi/config-values.yaml", config);
    let values = "
x-extend: {schema: config-values.yaml}
type: object
x-required-for-helm: [internal]
properties:
  host: {type: string, default: unused}
  internal: {type: object, properties: {cert: {type: string}, names: {type: array, items: {type: string}}}}
  replicas: {type: integer, default: 3}
";
    put(at, "modules/010-web/openapi/values.yaml", values);
    put(at, "modules/020-db/values.yaml", "db: {a: 1}\n");
    put(at, "global/openapi/config-values.yaml", "type: object\nproperties: {region: {type: string}}\n");
    put(
        at,
        "global/openapi/values.yaml",
        "x-extend: {schema: x}\nproperties: {discovery: {type: object, additionalProperties: true}}\n",
    );
    let layout = Layout { modules: vec![at.join("modules")], global: Some(at.join("global")), ..Layout::default() };
    let catalogue = Catalogue::read(&layout).unwrap();
    assert!(catalogue.broken.is_empty(), "{:?}", catalogue.broken);
    Store::new(&catalogue)
}

fn config(name: &str, data: Value) -> Config {
    let data = data.as_object().unwrap().iter().map(|(key, value)| (key.clone(), Value::from(value.to_string())));
    Config::of_data(name, &data.collect()).unwrap()
}

fn patch(operations: Value) -> Patch {
    Patch::parse(&operations.to_string()).unwrap()
}

fn web() -> ModuleName {
    "web".parse().unwrap()
}

fn values(store: &Store, key: &str) -> Value {
    store.values(key).unwrap().unwrap()
}

#[test]
fn layers_have_the_order_of_addon_operator() {
    let mut store = store();
    let own = json!({"port": 2, "fromShared": true, "list": [3], "host": "localhost", "size": 1, "replicas": 3});
    assert_eq!(values(&store, "web"), json!({"global": {"region": "eu"}, "web": own}));
    assert_eq!(store.configure(&config("cm", json!({"web": {"port": 5, "list": []}, "global": {"region": "us"}}))), []);
    let own = json!({"port": 5, "fromShared": true, "list": [], "host": "localhost", "size": 1, "replicas": 3});
    assert_eq!(values(&store, "web"), json!({"global": {"region": "us"}, "web": own}));
    // A module sees no other module's section.
    assert_eq!(values(&store, "db"), json!({"global": {"region": "us"}, "db": {"a": 1}}));
    assert!(store.values("nothing").is_none());
    let changed = store.commit(
        "hooks/a.sh",
        Some(&web()),
        patch(json!([
            {"op": "add", "path": "/web/port", "value": 6},
            {"op": "add", "path": "/web/internal", "value": {"cert": "x"}},
        ])),
    );
    assert_eq!(changed.unwrap(), Changed { values: true, ..Changed::default() });
    assert_eq!(values(&store, "web")["web"]["port"], 6);
    let trace = store.trace("web", &["port".to_owned()]).unwrap().unwrap();
    let values: Vec<_> = trace.iter().map(|step| step.value.clone().unwrap()).collect();
    assert_eq!(values, [json!(1), json!(2), json!(5), json!(6)]);
    assert_eq!(trace.last().unwrap().writer, Writer::Hook("hooks/a.sh".into()));
}

#[test]
fn a_wrong_section_stays_as_it_was_and_the_others_change() {
    let mut store = store();
    assert_eq!(store.configure(&config("one", json!({"web": {"port": 5}}))), []);
    let found =
        store.configure(&config("two", json!({"web": {"port": 0, "x": 1}, "db": {"a": 2}, "global": {"y": 1}})));
    let mut found: Vec<_> = found.iter().map(ToString::to_string).collect();
    found.sort();
    assert_eq!(found.len(), 3, "{found:?}");
    assert_eq!(
        found[0],
        "global.y: is not in the schema; remove the key or add it to the schema (written by the configuration two)"
    );
    assert!(
        found[1].starts_with("web.port: ") && found[1].ends_with(" (written by the configuration two)"),
        "{found:?}"
    );
    assert!(found[2].starts_with("web.x: is not in the schema"), "{found:?}");
    assert_eq!(values(&store, "web")["web"]["port"], 5);
    assert_eq!(values(&store, "db")["db"]["a"], 2);
}

#[test]
fn static_values_are_not_part_of_the_check_of_a_configuration() {
    let folder = TempDir::new().unwrap();
    put(folder.path(), "web/values.yaml", "web: {notInSchema: 1, port: 1}");
    put(folder.path(), "web/openapi/config-values.yaml", "type: object\nproperties: {port: {}}\nrequired: [port]");
    let layout = Layout { modules: vec![folder.path().to_owned()], ..Layout::default() };
    let mut store = Store::new(&Catalogue::read(&layout).unwrap());
    assert_eq!(store.configure(&config("cm", json!({"web": {"port": 2}}))), []);
    assert_eq!(store.configure(&config("cm", json!({"web": {}}))).len(), 1, "the static port does not count");
}

#[test]
fn a_configuration_is_compared_with_the_one_before() {
    let mut store = store();
    assert_eq!(store.configure(&config("one", json!({"web": {"size": 3}}))), []);
    let found = store.configure(&config("two", json!({"web": {"size": 2}})));
    assert_eq!(found[0].to_string(), "web.size: never shrinks (written by the configuration two)");
    assert_eq!(store.configure(&config("three", json!({"web": {"size": 4}}))), []);
    // The default of `size` is smaller, and takes its place.
    let found = store.configure(&config("four", json!({"web": {}})));
    assert!(found[0].to_string().starts_with("web.size: never shrinks (written by a default of "), "{found:?}");
    assert_eq!(values(&store, "web")["web"]["size"], 4);
}

// mutant: crates/modules/src/values/mod.rs: `        kept.push((writer, patch));` => `        drop((writer, patch));`
#[test]
fn the_changes_of_a_run_are_taken_as_a_whole_or_not_at_all() {
    let mut store = store();
    let add = |path: &str, value: Value| json!({"op": "add", "path": path, "value": value});
    let before = values(&store, "web");
    for (operations, why) in [
        (
            json!([add("/web/port", json!(7)), {"op": "remove", "path": "/web/nothing"}]),
            "remove /web/nothing: it is not there",
        ),
        (
            json!([add("/web/port", json!(7)), add("/db/a", json!(1))]),
            "/db/a may not be changed: the hook may change /web only",
        ),
        (json!([add("/web/port", json!(7)), add("/global/a", json!(1))]), "the hook may change /web only"),
        (json!([add("/web/port", json!(7)), add("/webEnabled", json!(true))]), "the hook may change /web only"),
        (json!([add("/web/port", json!(7)), add("/web/replicas", json!("x"))]), "(written by the hook hooks/a.sh)"),
        (json!([add("/web/internal/cert", json!(1))]), "there is no \"internal\" to go on from"),
        (json!([add("/web", json!("text"))]), "a section is an object or a list"),
        (json!([add("/web/size", json!(0))]), "web.size: never shrinks (written by the hook hooks/a.sh)"),
    ] {
        let error = store.commit("hooks/a.sh", Some(&web()), patch(operations.clone())).unwrap_err().to_string();
        assert!(error.contains(why), "{operations}: {error}");
        assert_eq!(values(&store, "web"), before);
    }
    store.commit("hooks/a.sh", Some(&web()), patch(json!([add("/web/port", json!(7))]))).unwrap();
    assert_eq!(values(&store, "web")["web"]["port"], 7);
    let same = store.commit("hooks/a.sh", Some(&web()), patch(json!([add("/web/port", json!(7))]))).unwrap();
    assert!(!same.values);
    let gone: ModuleName = "gone".parse().unwrap();
    assert!(store.commit("a", Some(&gone), patch(json!([add("/gone/a", json!(1))]))).is_err());
}

#[test]
fn global_hooks_change_global_values_and_turn_modules_on_and_off() {
    let mut store = store();
    let changed = store.commit(
        "discover",
        None,
        patch(json!([
            {"op": "add", "path": "/global/discovery", "value": {"nodes": 3}},
            {"op": "add", "path": "/webEnabled", "value": false},
        ])),
    );
    let enabled = [("web".to_owned(), Some(false))].into();
    assert_eq!(changed.unwrap(), Changed { values: true, enabled });
    assert_eq!(values(&store, "db")["global"], json!({"region": "eu", "discovery": {"nodes": 3}}));
    assert_eq!(store.decision("web"), Decision { on: false, by: Some(Writer::Hook("discover".into())) });
    store.commit("discover", None, patch(json!({"op": "remove", "path": "/webEnabled"}))).unwrap();
    assert_eq!(store.decision("web"), Decision { on: false, by: None });
    for (operation, why) in [
        (json!({"op": "add", "path": "/web/port", "value": 1}), "may change /global and /MODULEEnabled only"),
        (json!({"op": "add", "path": "/webEnabled/a", "value": true}), "may change /global and /MODULEEnabled only"),
        (json!({"op": "add", "path": "/webEnabled", "value": "true"}), "must be true or false"),
        (json!({"op": "add", "path": "/Enabled", "value": true}), "may change /global and /MODULEEnabled only"),
    ] {
        let both = json!([{"op": "add", "path": "/dbEnabled", "value": true}, operation]);
        let error = store.commit("discover", None, patch(both)).unwrap_err().to_string();
        assert!(error.contains(why), "{operation}: {error}");
        assert_eq!(store.decision("db").by, None);
    }
}

#[test]
fn the_last_of_static_values_hooks_and_configuration_decides() {
    let folder = TempDir::new().unwrap();
    put(folder.path(), "values.yaml", "webEnabled: true");
    put(folder.path(), "web/x", "");
    let layout = Layout { modules: vec![folder.path().to_owned()], ..Layout::default() };
    let mut store = Store::new(&Catalogue::read(&layout).unwrap());
    let by = |store: &Store| (store.decision("web").on, store.decision("web").by.unwrap().to_string());
    assert_eq!(by(&store), (true, folder.path().join("values.yaml").display().to_string()));
    store.commit("a", None, patch(json!({"op": "add", "path": "/webEnabled", "value": false}))).unwrap();
    assert_eq!(by(&store), (false, "the hook a".to_owned()));
    let on = Config::of_data("cm", json!({"webEnabled": "true"}).as_object().unwrap()).unwrap();
    store.configure(&on);
    assert_eq!(by(&store), (true, "the configuration cm".to_owned()));
    assert_eq!(store.maintenance("web"), Maintenance::Managed);
    let kept = json!({"webMaintenance": "NoResourceReconciliation"});
    store.configure(&Config::of_data("cm", kept.as_object().unwrap()).unwrap());
    assert_eq!(store.maintenance("web"), Maintenance::NoResourceReconciliation);
    let paused = json!({"webMaintenance": "", "goneMaintenance": "Paused"});
    store.configure(&Config::of_data("cm", paused.as_object().unwrap()).unwrap());
    let gone = ("gone".parse().unwrap(), Maintenance::Paused);
    assert_eq!(store.maintained(), [gone, ("web".parse().unwrap(), Maintenance::Managed)].into());
    store.configure(&Config::default());
    assert_eq!(by(&store), (false, "the hook a".to_owned()));
    assert_eq!(store.decision("other"), Decision { on: false, by: None });
}

#[test]
fn appends_of_many_runs_are_all_kept_and_what_is_replaced_is_not() {
    let mut store = store();
    let run = |store: &mut Store, operations: Value| store.commit("a", Some(&web()), patch(operations)).unwrap();
    run(&mut store, json!([{"op": "add", "path": "/web/internal", "value": {"names": []}}]));
    for name in ["x", "y", "z"] {
        run(&mut store, json!([{"op": "add", "path": "/web/internal/names/-", "value": name}]));
    }
    assert_eq!(values(&store, "web")["web"]["internal"]["names"], json!(["x", "y", "z"]));
    for port in 1..=50 {
        run(&mut store, json!([{"op": "add", "path": "/web/port", "value": port}]));
    }
    assert_eq!(store.parts["web"].kept.len(), 5);
    run(&mut store, json!([{"op": "add", "path": "/web/internal", "value": {"names": ["new"]}}]));
    assert_eq!(store.parts["web"].kept.len(), 2);
    assert_eq!(values(&store, "web")["web"]["internal"], json!({"names": ["new"]}));
}

// mutant: crates/modules/src/values/mod.rs: `if size(&after) > MAX_SECTION {` => `if false {`
// mutant: crates/modules/src/values/mod.rs: `if operations().count() > MAX_KEPT || bytes > MAX_KEPT_BYTES {` => `if operations().count() > MAX_KEPT {`
// mutant: crates/modules/src/values/mod.rs: `if operations().count() > MAX_KEPT || bytes > MAX_KEPT_BYTES {` => `if bytes > MAX_KEPT_BYTES {`
#[test]
fn what_hooks_leave_is_bounded() {
    let db: ModuleName = "db".parse().unwrap();
    let large = "x".repeat(1_000_000);
    let until_refused = |runs: usize, operations: &dyn Fn(usize) -> Value| {
        let mut store = store();
        store.commit("a", Some(&db), patch(json!([{"op": "add", "path": "/db/list", "value": []}]))).unwrap();
        (0..runs)
            .find_map(|run| store.commit("a", Some(&db), patch(operations(run))).err())
            .map(|error| error.to_string())
    };
    let grows = until_refused(10, &|run| json!([{"op": "add", "path": format!("/db/k{run}"), "value": large}]));
    assert!(grows.as_ref().is_some_and(|error| error.contains("would be larger than 4194304 bytes")), "{grows:?}");
    // The values stay small, and what made them does not.
    let turns = until_refused(
        20,
        &|_| json!([{"op": "add", "path": "/db/list/-", "value": large}, {"op": "remove", "path": "/db/list/0"}]),
    );
    assert!(
        turns.as_ref().is_some_and(|error| error.contains("db would have more than 10000 changes or 8388608 bytes")),
        "{turns:?}"
    );
    let many = until_refused(3, &|_| {
        let pair =
            [json!({"op": "add", "path": "/db/list/-", "value": 1}), json!({"op": "remove", "path": "/db/list/0"})];
        json!(pair.iter().cycle().take(4_000).collect::<Vec<_>>())
    });
    assert!(many.as_ref().is_some_and(|error| error.contains("more than 10000 changes")), "{many:?}");
}

#[test]
fn what_a_chart_needs_is_checked_for_the_chart() {
    let mut store = store();
    assert_eq!(store.problems("web", false).unwrap(), []);
    let found = store.problems("web", true).unwrap();
    assert_eq!(found[0].to_string(), "web.internal: is required and missing");
    let filled = patch(json!([{"op": "add", "path": "/web/internal", "value": {}}]));
    store.commit("a", Some(&web()), filled).unwrap();
    assert_eq!(store.problems("web", true).unwrap(), []);
    assert_eq!(store.problems("db", true).unwrap(), []);
}

fn operation() -> impl Strategy<Value = Value> {
    let path = prop::sample::select(vec!["/db", "/db/a", "/db/b", "/db/b/c", "/db/list", "/db/list/-", "/db/list/0"]);
    let value = prop::sample::select(vec![json!(1), json!({}), json!({"c": [1]}), json!([]), json!([1, 2])]);
    (path, prop::option::weighted(0.8, value)).prop_map(|(path, value)| match value {
        Some(value) => json!({"op": "add", "path": path, "value": value}),
        None => json!({"op": "remove", "path": path}),
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The values after any runs are those of a document that each accepted run has patched.
    #[test]
    fn any_runs_leave_what_their_patches_say(runs in prop::collection::vec(prop::collection::vec(operation(), 1..4), 0..12)) {
        let mut store = store();
        let db: ModuleName = "db".parse().unwrap();
        let mut expected = json!({"db": {"a": 1}});
        for run in runs {
            let mut next = expected.clone();
            let applied = patch(json!(run)).apply(&mut next);
            let taken = store.commit("a", Some(&db), patch(json!(run)));
            if taken.is_ok() {
                prop_assert!(applied.is_ok());
                expected = document("db", section(next, "db"));
            }
            let now = values(&store, "db");
            prop_assert_eq!(&now["db"], &expected["db"]);
        }
    }
}

#[test]
fn what_hooks_changed_survives_a_restart() {
    let (mut before, db) = (store(), "db".parse::<ModuleName>().unwrap());
    before.commit("db.a", Some(&db), patch(json!({"op": "add", "path": "/db/a", "value": 7}))).unwrap();
    let more = patch(json!([{"op": "add", "path": "/db/b~1c", "value": [1]}, {"op": "remove", "path": "/db/a"}]));
    let prepared = before.prepare("db.b", Some(&db), more).unwrap();
    assert_eq!((prepared.key(), prepared.is_empty()), ("db", false));
    let text = before.kept_with(&prepared);
    assert_eq!(before.section("db").unwrap()["a"], 7, "a preparation changes nothing");
    before.take(prepared);
    let mut after = store();
    assert_eq!(after.restore("db", &text), Ok(true));
    assert_eq!(values(&after, "db"), json!({"global": {"region": "eu"}, "db": {"b/c": [1]}}));
    assert_eq!(after.trace("db", &["b/c".to_owned()]), before.trace("db", &["b/c".to_owned()]));
    // Which modules are on is kept with the section that all see.
    let prepared = before.prepare("global.a", None, patch(json!({"op": "add", "path": "/dbEnabled", "value": true})));
    let text = before.kept_with(&prepared.unwrap());
    assert_eq!(after.restore("global", &text), Ok(true));
    assert!(after.decision("db").on);
    assert_eq!(after.restore("gone", &text), Ok(false));
    assert!(after.restore("web", "{").is_err() && after.restore("web", r#"{"changes":[{}]}"#).is_err());
    after.forget(&db);
    assert_eq!(after.section("db"), store().section("db"));
}

#[test]
fn a_hook_changes_the_configuration_of_its_module_only() {
    let (mut store, web, db) = (store(), web(), "db".parse::<ModuleName>().unwrap());
    let change = |store: &Store, of: Option<&ModuleName>, operations: Value, data: Value| {
        store.configured_with(of, patch(operations), &config("cm", data)).map_err(|refused| refused.to_string())
    };
    let add = |path: &str, value: Value| json!({"op": "add", "path": path, "value": value});
    let added = change(&store, Some(&db), add("/db/port", json!(8080)), json!({"db": {"a": true}})).unwrap();
    assert_eq!(added, [("db".to_owned(), Some(json!({"a": true, "port": 8080})))].into());
    let new = change(&store, Some(&web), add("/web/port", json!(1)), json!({})).unwrap();
    assert_eq!(new, [("web".to_owned(), Some(json!({"port": 1})))].into());
    let both = json!([{"op": "add", "path": "/webEnabled", "value": false}, {"op": "remove", "path": "/dbEnabled"}]);
    let off = change(&store, None, both, json!({})).unwrap();
    assert_eq!(off, [("dbEnabled".to_owned(), None), ("webEnabled".to_owned(), Some(json!(false)))].into());
    for (of, operations, why) in [
        (Some(&web), add("/global/a", json!(1)), "may change /web of the configuration only"),
        (Some(&web), add("/webEnabled", json!(true)), "may change /web of the configuration only"),
        (Some(&web), json!({"op": "remove", "path": "/web/none"}), "it is not there"),
        (Some(&web), add("/web", json!(7)), "an object or a list"),
        (Some(&web), add("/web/port", json!("x")), "want integer, but got string"),
        (None, add("/webEnabled", json!(1)), "must be true or false"),
    ] {
        let error = change(&store, of, operations.clone(), json!({})).unwrap_err();
        assert!(error.contains(why), "{operations}: {error}");
    }
    store.configure(&config("cm", json!({"db": {"a": 1}, "web": {"port": 5}})));
    assert_eq!(store.configuration(Some(&db)), json!({"global": {}, "db": {"a": 1}}));
}

fn name(text: &str) -> ModuleName {
    text.parse().unwrap()
}

fn wish(settings: Value, enabled: Option<bool>) -> Wish {
    Wish { settings: Some(settings), enabled, ..Wish::default() }
}

// mutant: crates/modules/src/values/mod.rs: `for (writer, values) in self.config.iter().chain(&self.settings) {` => `for (writer, values) in self.settings.iter().chain(&self.config) {`
#[test]
fn settings_of_a_module_resource_win_over_the_configuration() {
    let mut store = store();
    assert_eq!(store.configure(&config("cm", json!({"web": {"port": 80, "host": "a"}, "webEnabled": true}))), []);
    assert_eq!(store.wish(&name("web"), Some(&wish(json!({"port": 81}), Some(false)))), []);
    let values = store.values("web").unwrap().unwrap();
    assert_eq!((&values["web"]["port"], &values["web"]["host"]), (&json!(81), &json!("a")));
    let steps = store.trace("web", &["port".to_owned()]).unwrap().unwrap();
    assert_eq!(steps.last().unwrap().writer.to_string(), "the Module web");
    assert_eq!(store.configuration(Some(&name("web")))["web"], json!({"port": 81, "host": "a"}));
    let decision = store.decision("web");
    assert_eq!((decision.on, decision.by.unwrap().to_string()), (false, "the Module web".to_owned()));
    store.wish(&name("web"), None);
    assert_eq!(store.values("web").unwrap().unwrap()["web"]["port"], json!(80));
    assert!(store.decision("web").on);
}

#[test]
fn settings_that_the_schema_refuses_stay_as_they_were() {
    let mut store = store();
    assert_eq!(store.wish(&name("web"), Some(&wish(json!({"size": 5}), None))), []);
    let texts = |problems: Vec<Problem>| problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    let shrunk = texts(store.check_wish(&name("web"), &wish(json!({"size": 4}), None), None));
    assert!(shrunk.contains("web.size: never shrinks") && shrunk.contains("the Module web"), "{shrunk}");
    let wrong = texts(store.wish(&name("web"), Some(&wish(json!({"port": "a"}), Some(true)))));
    assert!(wrong.contains("web.port: want integer"), "{wrong}");
    assert_eq!(store.values("web").unwrap().unwrap()["web"]["size"], json!(5));
    assert!(store.decision("web").on, "the rest is taken");
    let old = Wish { settings_version: Some(2), ..wish(json!({"size": 6}), None) };
    let old = texts(store.wish(&name("web"), Some(&old)));
    assert!(old.contains("web: the settings are of version 2, and the module reads version 1"), "{old}");
    // The ConfigMap is checked with the settings above it.
    assert_eq!(store.check_config(&config("cm", json!({"web": {"size": 1}}))), []);
    assert!(!store.check_config(&config("cm", json!({"web": {"port": 0}}))).is_empty());
}

#[test]
fn another_version_of_a_module_keeps_what_was_written() {
    let mut store = store();
    let patch = Patch::parse(r#"{"op": "add", "path": "/db/b", "value": 2}"#).unwrap();
    store.commit("h", Some(&name("db")), patch).unwrap();
    let folder = TempDir::new().unwrap();
    put(folder.path(), "db/values.yaml", "db: {a: 3}\ndbEnabled: true\n");
    put(folder.path(), "late/values.yaml", "late: {x: 1}\n");
    let layout = Layout { modules: vec![folder.path().to_owned()], ..Layout::default() };
    let catalogue = Catalogue::read(&layout).unwrap();
    catalogue.modules.iter().for_each(|module| store.put(module));
    assert_eq!(store.values("db").unwrap().unwrap()["db"], json!({"a": 3, "b": 2}));
    assert_eq!(store.values("late").unwrap().unwrap()["late"], json!({"x": 1}));
    store.remove(&name("late"));
    assert!(store.values("late").is_none());
}
