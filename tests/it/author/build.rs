//! Projects that become components, and those that do not.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use serde_json::{Value, json};
use tokio::{process::Command, sync::Mutex, time::timeout};

use super::{command, project, repository};
use crate::support::{guests::cache_dir, process::Ended};

/// Cargo does one build at a time in one folder; so that none waits for it on its own time.
pub static BUILDING: Mutex<()> = Mutex::const_new(());

/// A first build compiles Rust's library too, where it does not come with the tool chain.
const PATIENCE: Duration = Duration::from_secs(400);

/// Runs what a tool chain may take minutes for.
pub async fn run(mut command: Command) -> Ended {
    let _one_at_a_time = BUILDING.lock().await;
    let output = timeout(PATIENCE, command.kill_on_drop(true).output()).await.expect("it ends").unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ended { code: output.status.code(), stderr: text(output.stderr), stdout: text(output.stdout) }
}

/// Where `tools/build-guests` builds, so that the SDK and what it stands on are there already.
fn guests_target() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(target) => repository().join(target).join("guests"),
        None => repository().join("hooks-wasm/target"),
    }
}

/// What Cargo needs to know of this machine.
fn machine() -> impl Iterator<Item = (&'static str, std::ffi::OsString)> {
    let names = ["PATH", "HOME", "CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN"];
    names.into_iter().filter_map(|name| Some((name, std::env::var_os(name)?)))
}

/// `boathook build`, with the tools of this machine.
fn build(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = command(folder, ["build"].iter().chain(arguments));
    with_tools(&mut command);
    command
}

pub fn with_tools(command: &mut Command) {
    command.envs(machine());
    command.env("CARGO", repository().join("tools/wasm-cargo")).env("CARGO_TARGET_DIR", guests_target());
}

/// An empty folder that is the same one each time: Cargo keeps what it builds by the project's path, for ever.
pub fn fresh(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("author").join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// Built as JSON; the component is `out/NAME.wasm`.
async fn built(folder: &Path, project: &str) -> Value {
    let ended = run(build(folder, &[project, "--out", "out", "-o", "json"])).await;
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    serde_json::from_str(&ended.stdout).unwrap()
}

/// `cargo test` in a new project, beside the unit tests of the example hooks.
async fn unit_tests_pass(project: &Path) {
    let target = match std::env::var_os("CARGO_TARGET_DIR") {
        Some(target) => repository().join(target).join("native"),
        None => repository().join("hooks-wasm/target/native"),
    };
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(project).arg("test").env_clear().envs(machine()).env("CARGO_TARGET_DIR", target);
    let ended = run(command).await;
    assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
    let passed = ended.stdout.lines().filter(|line| line.starts_with("test tests::") && line.ends_with(" ok")).count();
    assert!(passed > 0, "{}", ended.stdout);
}

async fn new_builds_and_passes(template: &str) -> Value {
    let folder = fresh(template);
    fs::create_dir(folder.join("out")).unwrap();
    // A name of its own: all are built in one target folder.
    let name = format!("my-{template}");
    let project = project(&folder, &name, template).await;
    let facts = built(&folder, &name).await;
    assert_eq!(facts["path"], format!("out/{name}.wasm"));
    assert_eq!((&facts["name"], &facts["language"]), (&name.as_str().into(), &"Rust".into()));
    let component = fs::read(folder.join("out").join(format!("{name}.wasm"))).unwrap();
    assert_eq!(facts["bytes"], component.len());
    assert!(component.len() < 300_000, "{} bytes", component.len());
    let (out, scenarios, cache) = (format!("out/{name}.wasm"), format!("{name}/scenarios"), cache_dir());
    let tested = ["test", &out, "--scenarios", &scenarios, "--cache-dir", &cache.display().to_string()];
    let ended = super::typed(&folder, tested).await;
    assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
    assert!(project.join("scenarios").is_dir());
    unit_tests_pass(&project).await;
    facts
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_label_watcher_builds_and_passes_its_scenarios() {
    let facts = new_builds_and_passes("label-watcher").await;
    assert_eq!(facts["document"]["kubernetes"][0]["name"], "namespaces");
    assert_eq!(facts["document"]["permissions"]["kubernetes"][0]["verbs"], json!(["create", "patch", "delete"]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operator_builds_and_passes_its_scenarios() {
    let facts = new_builds_and_passes("operator").await;
    assert_eq!(facts["document"]["reconcile"][0]["kind"], "WebApp");
    let exports = facts["exports"].to_string();
    assert!(exports.contains("boathook:hook/defining@0.1.0"), "{exports}");
    assert_eq!(facts["definitions"][0]["metadata"]["name"], "webapps.example.com");
}

/// Its `crd.yaml` is compared, and written on request.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_definition_is_made_of_types_and_compared_with_the_projects() {
    let folder = fresh("defines");
    let project = project(&folder, "my-definition", "operator").await;
    let (source, file) = (project.join("src/lib.rs"), project.join("crd.yaml"));
    edit(&source, "length(min = 1)", "length(min = 2)");
    let ended = run(build(&folder, &["my-definition"])).await;
    let place =
        "webapps.example.com: versions.v1alpha1.schema.openAPIV3Schema.properties.spec.properties.image.minLength";
    let told = format!("{place} is 1: the types make 2");
    refused(&ended, 1, &["crd.yaml does not match the hook's types", "boathook build --write-crd", &told]);
    assert!(!project.join("target/boathook/my-definition.wasm").exists(), "it is not built while they differ");
    let ended = run(build(&folder, &["my-definition", "--write-crd"])).await;
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(fs::read_to_string(&file).unwrap().contains("minLength: 2"));
    edit(&source, "image: String", "image: (String, String)");
    edit(&source, "    #[schemars(length(min = 2))]\n", "");
    edit(&source, "\"image\": image", "\"image\": image.0");
    let ended = run(build(&folder, &["my-definition"])).await;
    let told = "its types define no custom resource: WebApp.spec.image: a definition cannot express a tuple";
    refused(&ended, 3, &["is not a hook that Boathook can use", told]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_schedule_builds_and_passes_its_scenarios() {
    let facts = new_builds_and_passes("schedule").await;
    assert_eq!(facts["document"]["schedule"][0]["name"], "clock");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_startup_builds_and_passes_its_scenarios() {
    let facts = new_builds_and_passes("startup").await;
    assert_eq!(facts["document"]["onStartup"], 10);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_validating_hook_builds_and_passes_its_scenarios() {
    let facts = new_builds_and_passes("validating").await;
    assert_eq!(facts["document"]["kubernetesValidating"][0]["name"], "team-label.example.com");
    let exports: Vec<_> = facts["exports"].as_array().unwrap().iter().filter_map(|it| it.as_str()).collect();
    let answers: Vec<_> = exports.into_iter().filter(|export| export.contains('/')).collect();
    assert_eq!(answers, ["boathook:hook/validating@0.1.0"]);
}

pub fn edit(file: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(file).unwrap();
    assert!(text.contains(from), "no {from:?} in {}", file.display());
    fs::write(file, text.replace(from, to)).unwrap();
}

#[track_caller]
fn refused(ended: &Ended, code: i32, parts: &[&str]) {
    assert_eq!(ended.code, Some(code), "{}", ended.stderr);
    assert_eq!(ended.stdout, "");
    for part in parts {
        assert!(ended.stderr.contains(part), "no {part:?} in {}", ended.stderr);
    }
}

#[tokio::test]
async fn the_compiler_says_what_is_wrong_in_its_own_words_and_the_old_component_stays() {
    let folder = fresh("broken");
    let project = project(&folder, "broken", "startup").await;
    fs::create_dir(folder.join("out")).unwrap();
    let component = folder.join("out/broken.wasm");
    fs::write(&component, "the old one").unwrap();

    edit(&project.join("src/lib.rs"), "on_startup(10)", "on_startup(\"first\")");
    let ended = run(build(&folder, &["broken", "--out", "out"])).await;
    refused(&ended, 1, &["error[E0308]: mismatched types", "src/lib.rs:", "error: cargo did not build broken"]);

    // It compiles, and its document is none.
    edit(
        &project.join("src/lib.rs"),
        "fn config() -> Config {",
        "fn config() -> &'static str {\n    \"onStart: 1\"\n}\n\n#[allow(dead_code)]\nfn unused() -> Config {",
    );
    edit(&project.join("src/lib.rs"), "on_startup(\"first\")", "on_startup(1)");
    let ended = run(build(&folder, &["broken", "--out", "out"])).await;
    refused(&ended, 3, &["broken.wasm was built, and is not a hook that Boathook can use", "onStart"]);
    assert_eq!(fs::read_to_string(&component).unwrap(), "the old one");
    assert_eq!(fs::read_dir(folder.join("out")).unwrap().count(), 1);
}

/// The API server would refuse to register it.
#[tokio::test]
async fn a_condition_that_does_not_compile_is_no_hook_that_can_be_used() {
    let folder = fresh("bad-condition");
    let project = project(&folder, "conditional", "validating").await;
    let from = ".failure_policy(FailurePolicy::Ignore)";
    edit(&project.join("src/lib.rs"), from, &format!(r#"{from}.match_condition("bad", "object.metadata.name +")"#));
    let ended = run(build(&folder, &["conditional"])).await;
    let condition = r#"team-label.example.com: matchConditions "bad": compilation failed"#;
    refused(&ended, 3, &["is not a hook that Boathook can use: the API server would refuse", condition]);
    assert!(!project.join("target/boathook").exists());
}

#[tokio::test]
async fn what_is_no_project_is_reported_before_anything_is_built() {
    let folder = fresh("no-project");
    let at = |arguments: &'static [&'static str]| build(&folder, arguments);
    refused(
        &run(at(&["nowhere"])).await,
        1,
        &["nowhere is not a project", "it has no Cargo.toml, go.mod, ", "boathook new NAME"],
    );
    refused(&run(at(&[])).await, 1, &[". is not a project"]);

    let project = project(&folder, "web", "startup").await;
    let mut without_cargo = at(&["web"]);
    without_cargo.env("CARGO", "no-such-cargo");
    refused(&run(without_cargo).await, 1, &["cannot run no-such-cargo: install Rust, https://rustup.rs"]);

    edit(&project.join("Cargo.toml"), "crate-type = [\"cdylib\"]\n", "");
    refused(&run(at(&["web"])).await, 1, &["web/Cargo.toml makes no component: it needs `crate-type = [\"cdylib\"]`"]);

    edit(&project.join("Cargo.toml"), "[lib]", "[lib");
    refused(&run(at(&["web"])).await, 1, &["unclosed table", "error: cargo cannot use web"]);
}

#[tokio::test]
async fn a_workspace_names_the_packages_that_can_be_built() {
    let folder = fresh("workspace");
    project(&folder, "one", "startup").await;
    project(&folder, "two", "schedule").await;
    for name in ["one", "two"] {
        edit(&folder.join(name).join("Cargo.toml"), "\n[workspace]\n", "\n");
    }
    fs::write(folder.join("Cargo.toml"), "[workspace]\nmembers = [\"one\", \"two\"]\nresolver = \"3\"\n").unwrap();
    let ended = run(build(&folder, &[])).await;
    refused(&ended, 1, &["it is a workspace; build one of its packages: ", "/one, ", "/two"]);
}

/// A machine with Cargo and without the target: what to type is said.
#[tokio::test]
async fn without_the_target_it_says_how_to_get_it() {
    let folder = fresh("no-target");
    project(&folder, "web", "startup").await;
    let tools = tempfile::tempdir().unwrap();
    // Both as they are with a tool chain that has no standard library for the target.
    let cargo = format!(
        "#!/bin/sh\n[ \"$1\" = build ] || exec {} \"$@\"\necho \"error[E0463]: cannot find crate for core\" >&2\nexit 101\n",
        env!("CARGO")
    );
    for (name, script) in [("cargo", cargo.as_str()), ("rustc", "#!/bin/sh\necho /no/such/folder\n")] {
        use std::os::unix::fs::PermissionsExt as _;
        let path = tools.path().join(name);
        fs::write(&path, script).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let path = std::env::join_paths(
        [tools.path().to_owned()].into_iter().chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    );
    let mut build = build(&folder, &["web"]);
    build.env_remove("CARGO").env("PATH", path.unwrap()).stdin(Stdio::null());
    let parts = ["cannot find crate for core", "wasm32-wasip2 is not installed; run: rustup target add wasm32-wasip2"];
    refused(&run(build).await, 1, &parts);
}
