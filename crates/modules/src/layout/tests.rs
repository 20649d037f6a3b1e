//! Directories of modules as addon-operator has them, and hostile ones.

use std::os::unix::fs::{PermissionsExt as _, symlink};

use serde_json::json;
use tempfile::TempDir;

use super::*;

fn put(folder: &Path, file: &str, text: &str) {
    let path = folder.join(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn script(folder: &Path, file: &str) {
    put(folder, file, "#!/bin/sh\n");
    fs::set_permissions(folder.join(file), fs::Permissions::from_mode(0o755)).unwrap();
}

fn layout(modules: &[&Path]) -> Layout {
    Layout { modules: modules.iter().map(|path| path.to_path_buf()).collect(), ..Layout::default() }
}

fn names(catalogue: &Catalogue) -> Vec<(u32, &str)> {
    catalogue.modules.iter().map(|module| (module.order, module.name.as_str())).collect()
}

fn below(folder: &Path, paths: &[PathBuf]) -> Vec<String> {
    paths.iter().map(|path| path.strip_prefix(folder).unwrap().display().to_string()).collect()
}

#[test]
fn modules_come_from_several_directories_in_the_order_of_their_numbers() {
    let (one, two) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    for (folder, module) in
        [(&one, "020-web"), (&one, "db"), (&one, "3-cache"), (&two, "010-web"), (&two, "1-api-server")]
    {
        fs::create_dir(folder.path().join(module)).unwrap();
    }
    put(one.path(), "README", "");
    symlink(two.path().join("nowhere"), one.path().join("005-gone")).unwrap();
    let catalogue = Catalogue::read(&layout(&[one.path(), two.path()])).unwrap();
    assert_eq!(names(&catalogue), [(1, "api-server"), (1, "db"), (3, "cache"), (20, "web")]);
    let warned = |what: &str| catalogue.warnings.iter().filter(|warning| warning.contains(what)).count();
    assert_eq!((warned("010-web is ignored"), warned("README is not")), (1, 1));
    // A link to something that is not there may be a volume that is not mounted: its module is not gone.
    let [(Some(gone), error)] = &catalogue.broken[..] else { panic!("{:?}", catalogue.broken) };
    assert_eq!(gone.as_str(), "gone");
    assert!(error.to_string().contains("005-gone cannot be read"), "{error}");
    assert!(crate::graph::Graph::of(&catalogue).unwrap().broken().contains_key(gone));
    let later = Layout { unnumbered: 900, ..layout(&[one.path()]) };
    assert_eq!(names(&Catalogue::read(&later).unwrap()), [(3, "cache"), (20, "web"), (900, "db")]);
}

#[test]
fn a_module_may_be_a_link_to_a_directory_elsewhere() {
    let (modules, elsewhere) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    put(elsewhere.path(), "any/values.yaml", "web: {port: 1}");
    symlink(elsewhere.path().join("any"), modules.path().join("001-web")).unwrap();
    let catalogue = Catalogue::read(&layout(&[modules.path()])).unwrap();
    assert_eq!(names(&catalogue), [(1, "web")]);
    assert_eq!(catalogue.modules[0].section.statics[0].1, json!({"port": 1}));
}

#[test]
fn a_module_has_values_schemas_a_chart_hooks_and_definitions() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    put(at, "values.yaml", "global: {a: 1}\nweb: {port: 80}\nwebEnabled: true\nunknown: {b: 1}\n");
    let web = at.join("010-web");
    put(&web, "values.yaml", "web: {port: 81}\nother: 1\n");
    put(&web, "openapi/config-values.yaml", "type: object\nproperties: {port: {type: integer}}\n");
    put(&web, "openapi/values.yaml", "x-extend: {schema: config-values.yaml}\nx-required-for-helm: port\n");
    put(&web, "Chart.yaml", "name: web");
    for file in
        ["hooks/a", "hooks/deep/b.sh", "hooks/lib/no.sh", "hooks/venv/no", "hooks/.no", "hooks/no.yaml", "enabled"]
    {
        script(&web, file);
    }
    script(&web, "check-settings");
    put(&web, "hooks/not-executable.sh", "");
    for file in ["crds/a.yaml", "crds/deep/b.yaml", "crds/doc-a.yaml", "crds/_a.yaml", "crds/a.json"] {
        put(&web, file, "");
    }
    put(at, "020-templates/templates/a.yaml", "");
    put(at, "030-hooks/enabled", "");
    put(at, "030-hooks/check-settings", "");
    let catalogue = Catalogue::read(&layout(&[at])).unwrap();
    let module = catalogue.module("web").unwrap();
    assert_eq!(below(&web, &module.hooks), ["hooks/a", "hooks/deep/b.sh"]);
    assert_eq!(below(&web, &module.crds), ["crds/a.yaml", "crds/deep/b.yaml"]);
    assert_eq!((module.chart, module.enabled.as_deref()), (Some(Chart::Own), Some(web.join("enabled").as_path())));
    assert_eq!(module.settings_check.as_deref(), Some(web.join("check-settings").as_path()));
    let statics: Vec<_> =
        module.section.statics.iter().map(|(writer, value)| (writer.to_string(), value.clone())).collect();
    let shown = |path: PathBuf| path.display().to_string();
    let expected =
        [(shown(at.join("values.yaml")), json!({"port": 80})), (shown(web.join("values.yaml")), json!({"port": 81}))];
    assert_eq!(statics, expected);
    assert!(module.section.config.is_some() && module.section.values.is_some() && module.section.helm.is_some());
    assert_eq!(catalogue.global.statics[0].1, json!({"a": 1}));
    assert!(catalogue.enabled["web"].1);
    assert_eq!(catalogue.module("templates").unwrap().chart, Some(Chart::Templates));
    let hooks = catalogue.module("hooks").unwrap();
    assert_eq!((hooks.chart, &hooks.enabled, &hooks.settings_check), (None, &None, &None));
    let warnings = catalogue.warnings.join("\n");
    for warning in [
        "values.yaml has the section unknown, and there is no module with this key",
        "010-web/values.yaml has the key other, and only the section web counts",
        "hooks/not-executable.sh is not executable, and is not a hook",
        "030-hooks/enabled is not executable, and decides nothing",
        "030-hooks/check-settings is not executable, and decides nothing",
    ] {
        assert!(warnings.contains(warning), "{warning}:\n{warnings}");
    }
    assert_eq!(catalogue.warnings.len(), 5, "{warnings}");
    let all = Layout { crd_filters: Vec::new(), ..layout(&[at]) };
    assert_eq!(Catalogue::read(&all).unwrap().module("web").unwrap().crds.len(), 4);
}

#[test]
fn a_module_may_turn_itself_on_and_shared_values_win() {
    let folder = TempDir::new().unwrap();
    put(folder.path(), "values.yaml", "twoEnabled: false\nelsewhereEnabled: true");
    put(folder.path(), "one/values.yaml", "oneEnabled: true\ntwoEnabled: true");
    put(folder.path(), "two/values.yaml", "twoEnabled: true");
    put(folder.path(), "three/values.yaml", "threeEnabled: maybe");
    let catalogue = Catalogue::read(&layout(&[folder.path()])).unwrap();
    let on: Vec<_> = catalogue.enabled.iter().map(|(key, (_, on))| (key.as_str(), *on)).collect();
    assert_eq!(on, [("elsewhere", true), ("one", true), ("two", false)]);
    assert!(catalogue.broken[0].1.to_string().contains("threeEnabled is not a boolean"), "{:?}", catalogue.broken);
}

#[test]
fn global_hooks_have_schemas_and_directories_add_to_global_values() {
    let (one, two, global) = (TempDir::new().unwrap(), TempDir::new().unwrap(), TempDir::new().unwrap());
    put(one.path(), "values.yaml", "global: {a: 1, b: 1}");
    put(two.path(), "values.yaml", "global: {b: 2}");
    put(global.path(), "openapi/config-values.yaml", "type: object");
    let layout = Layout { global: Some(global.path().to_owned()), ..layout(&[one.path(), two.path()]) };
    let catalogue = Catalogue::read(&layout).unwrap();
    assert_eq!(catalogue.global.statics.len(), 2);
    assert!(catalogue.global.config.is_some());
}

#[test]
fn a_broken_module_leaves_the_others_alone() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    put(at, "010-good/values.yaml", "good: {a: 1}");
    put(at, "020-Bad-Name/x", "");
    put(at, "030-bad-schema/openapi/values.yaml", "type: objekt");
    put(at, "040-bad-values/values.yaml", "badValues: 7");
    put(at, "050-bad-yaml/values.yaml", "a: [");
    put(at, "1234567890-bad-number/x", "");
    put(at, "060-no-file/values.yaml/x", "");
    let catalogue = Catalogue::read(&layout(&[at])).unwrap();
    assert_eq!(names(&catalogue), [(10, "good")]);
    let broken = catalogue.broken.iter().map(|(_, error)| describe(error)).collect::<Vec<_>>().join("\n");
    for (file, why) in [
        ("020-Bad-Name", "use kebab-case"),
        ("030-bad-schema/openapi/values.yaml", "is not a schema: type"),
        ("040-bad-values/values.yaml", "badValues is neither a mapping nor a list"),
        ("050-bad-yaml/values.yaml", "is neither YAML nor JSON"),
        ("1234567890-bad-number", "at most nine digits"),
        ("060-no-file/values.yaml", "is not a file"),
    ] {
        let line = broken.lines().find(|line| line.contains(file)).unwrap_or_else(|| panic!("{file}:\n{broken}"));
        assert!(line.contains(why), "{line}");
    }
    assert_eq!(catalogue.broken.len(), 6, "{broken}");
}

/// The error with its causes.
fn describe(error: &LayoutError) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        text.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    text
}

#[test]
fn what_all_modules_share_must_be_right() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    let read = || Catalogue::read(&layout(&[at])).map_err(|error| describe(&error)).unwrap_err();
    for (text, why) in [
        ("webEnabled: \"true\"", "webEnabled is not a boolean: write true or false"),
        ("web: 7", "web is neither a mapping nor a list"),
        ("[]", "is not a mapping"),
    ] {
        put(at, "values.yaml", text);
        assert!(read().contains(why), "{text}: {}", read());
    }
    let gone = Catalogue::read(&layout(&[&at.join("gone")])).unwrap_err();
    assert!(describe(&gone).contains("gone cannot be read"), "{gone}");
}

#[test]
fn strict_layouts_need_values_everywhere() {
    let folder = TempDir::new().unwrap();
    let strict = Layout { strict: true, ..layout(&[folder.path()]) };
    let error = Catalogue::read(&strict).unwrap_err().to_string();
    assert!(error.ends_with("values.yaml is missing, and a strict layout needs it: create the file"), "{error}");
    put(folder.path(), "values.yaml", "");
    put(folder.path(), "web/x", "");
    let broken = Catalogue::read(&strict).unwrap().broken;
    assert!(broken[0].1.to_string().contains("web/values.yaml is missing"), "{broken:?}");
    put(folder.path(), "web/values.yaml", "");
    assert!(Catalogue::read(&strict).unwrap().broken.is_empty());
}

// mutant: crates/modules/src/files.rs: `Ok(real) if real.starts_with(&self.real) => Ok(true),` => `Ok(_) if true => Ok(true),`
#[test]
fn no_file_of_a_module_is_read_from_elsewhere() {
    let (modules, secret) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    put(secret.path(), "values.yaml", "web: {token: secret}");
    script(secret.path(), "hook.sh");
    let at = modules.path();
    for (module, link, target) in [
        ("010-values", "values.yaml", "values.yaml"),
        ("020-schema", "openapi", ""),
        ("030-hooks", "hooks", ""),
        ("040-hook", "hooks/a.sh", "hook.sh"),
        ("050-chart", "templates", ""),
        ("060-enabled", "enabled", "hook.sh"),
        ("070-crds", "crds", ""),
    ] {
        let link = at.join(module).join(link);
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        symlink(secret.path().join(target), link).unwrap();
    }
    put(secret.path(), "config-values.yaml", "type: object");
    // A link within the module is a file of the module.
    put(at, "080-inner/real.yaml", "inner: {a: 1}");
    symlink("real.yaml", at.join("080-inner/values.yaml")).unwrap();
    let catalogue = Catalogue::read(&layout(&[at])).unwrap();
    assert_eq!(names(&catalogue), [(80, "inner")]);
    assert_eq!(catalogue.modules[0].section.statics[0].1, json!({"a": 1}));
    assert_eq!(catalogue.broken.len(), 7);
    for (_, error) in &catalogue.broken {
        assert!(error.to_string().ends_with("replace it with a copy"), "{error}");
    }
}

// mutant: crates/modules/src/layout/mod.rs: `if depth == MAX_FOLDERS {` => `if false {`
// mutant: crates/modules/src/layout/mod.rs: `if seen > MAX_ENTRIES {` => `if false {`
// mutant: crates/modules/src/files.rs: `if bytes.len() > MAX_BYTES {` => `if false {`
#[test]
fn what_is_read_is_bounded() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    put(at, "010-large/values.yaml", &format!("large: {{a: {}}}", "x".repeat(1024 * 1024)));
    put(at, "020-circle/hooks/a/x.sh", "");
    symlink("..", at.join("020-circle/hooks/a/up")).unwrap();
    for part in 0..3 {
        for number in 0..3_400 {
            put(at, &format!("030-many/crds/{part}/{number}.yaml"), "");
        }
    }
    let broken = Catalogue::read(&layout(&[at])).unwrap().broken;
    let broken = broken.iter().map(|(_, error)| describe(error)).collect::<Vec<_>>();
    let [large, circle, many] = broken.as_slice() else { panic!("{broken:?}") };
    assert!(large.contains("values.yaml is larger than 1048576 bytes"), "{large}");
    assert!(circle.contains("020-circle/hooks has more than 16 levels of folders"), "{circle}");
    assert!(many.contains("030-many/crds has more than 10000 files and folders"), "{many}");
}

#[test]
fn a_module_says_what_it_needs_and_a_number_wins_over_a_weight() {
    let folder = TempDir::new().unwrap();
    put(folder.path(), "005-web/module.yaml", "{weight: 7, requirements: {modules: {db: '>= 1'}}}");
    put(folder.path(), "005-web/Chart.yaml", "{name: web, version: v1.2.0}");
    put(folder.path(), "db/module.yaml", "{weight: 7, version: 3.0.0, critical: false}");
    put(folder.path(), "010-bad/module.yaml", "{requirements: {modules: {db: new}}}");
    let catalogue = Catalogue::read(&layout(&[folder.path()])).unwrap();
    assert_eq!(names(&catalogue), [(5, "web"), (7, "db")]);
    let web = &catalogue.module("web").unwrap().definition;
    assert_eq!(web.version, Some("1.2.0".parse().unwrap()), "the version of its chart");
    assert_eq!(web.dependencies[0].name.as_str(), "db");
    assert_eq!(catalogue.module("db").unwrap().definition.version, Some("3.0.0".parse().unwrap()));
    let [(name, error)] = &catalogue.broken[..] else { panic!("{:?}", catalogue.broken) };
    assert_eq!(name.as_ref().map(ModuleName::as_str), Some("bad"));
    assert!(error.to_string().contains("010-bad/module.yaml: requirements.modules.db: \"new\": "), "{error}");
}
