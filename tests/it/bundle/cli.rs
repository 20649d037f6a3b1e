//! The commands, as a person types them, with real hooks and a real registry.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use super::registry::Registry;

struct Desk {
    directory: tempfile::TempDir,
    registry: Registry,
}

impl Desk {
    fn new() -> Self {
        let desk = Self { directory: tempfile::tempdir().unwrap(), registry: Registry::start() };
        let dist = Path::new(env!("CARGO_MANIFEST_DIR")).join("hooks-wasm/dist");
        fs::create_dir(desk.at("hooks")).unwrap();
        for name in ["registry-secret.wasm", "node-taint.wasm"] {
            fs::copy(dist.join(name), desk.at("hooks").join(name)).expect("build the guests: make guests");
        }
        fs::write(desk.at("hooks/README.md"), "# Hooks\n").unwrap();
        desk
    }

    fn at(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn reference(&self, tag: &str) -> String {
        format!("{}/team/hooks:{tag}", self.registry.host)
    }

    fn run(&self, line: &str) -> Output {
        self.command(line).output().unwrap()
    }

    fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_boathook"));
        command
            .arg("bundle")
            .args(line.split(' ').map(|word| word.replace("REF", &self.reference(""))))
            .current_dir(self.directory.path())
            .env("BOATHOOK_BUNDLE_STORE", self.at("store"))
            .env_remove("SOURCE_DATE_EPOCH");
        command
    }

    fn good(&self, line: &str) -> String {
        let output = self.run(line);
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    fn bad(&self, line: &str, code: i32) -> String {
        let output = self.run(line);
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{line}: {text}");
        text
    }

    fn keys(&self, name: &str) {
        let pem = super::trust::p256_pem();
        let public = boathook_bundle::PrivateKey::from_pem(&pem).unwrap().public().to_pem();
        fs::write(self.at(&format!("{name}.key")), pem).unwrap();
        fs::write(self.at(&format!("{name}.pub")), public).unwrap();
    }
}

#[test]
fn a_module_is_packed_with_its_files_and_its_hooks() {
    let desk = Desk::new();
    let module = desk.at("010-web");
    for (file, text) in [
        ("module.yaml", "version: 1.2.3\n"),
        ("templates/web.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: web}}"),
        ("values.yaml", "web: {port: 80}\n"),
    ] {
        let path = module.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    fs::create_dir(module.join("hooks")).unwrap();
    fs::copy(desk.at("hooks/node-taint.wasm"), module.join("hooks/node-taint.wasm")).unwrap();
    let digest = desk.good("pack 010-web -o web.bundle --tag v1");
    desk.good("push 010-web REFv1 --plain-http");
    let text = desk.good("inspect REFv1 --plain-http");
    for part in [&digest, "Module:   web,", "Hook:     node-taint,", "image.version: 1.2.3"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(desk.good("pull REFv1 -o pulled --plain-http --unverified"), digest);
    for file in ["module.yaml", "templates/web.yaml", "values.yaml", "hooks/node-taint.wasm"] {
        assert!(fs::read(module.join(file)).unwrap() == fs::read(desk.at("pulled").join(file)).unwrap(), "{file}");
    }
    let error = desk.bad("pull REFv1 -o pulled --plain-http --unverified", 1);
    assert!(error.contains("is not empty"), "{error}");

    let error = desk.bad("pack 010-web -o no.bundle --wasm", 1);
    assert!(error.contains("web is a module, and not a single component"), "{error}");
    fs::write(module.join("values.yaml"), "web: [").unwrap();
    assert!(desk.bad("pack 010-web -o no.bundle", 1).contains("values.yaml"));
    fs::remove_file(module.join("values.yaml")).unwrap();
    std::os::unix::fs::symlink("/etc/hostname", module.join("values.txt")).unwrap();
    assert!(desk.bad("pack 010-web -o no.bundle", 1).contains("is a link: put a copy"));
}

#[test]
fn from_hooks_to_hooks() {
    let desk = Desk::new();
    let digest = desk.good("pack hooks -o team.bundle --tag v1");
    assert_eq!(desk.good("pack hooks -o again.bundle"), digest);
    let pinned = desk.good("push team.bundle REFv1 --plain-http");
    assert_eq!(pinned, format!("{}@{digest}", desk.reference("v1")));
    assert_eq!(desk.good("push hooks REFv2 --plain-http"), format!("{}@{digest}", desk.reference("v2")));

    let text = desk.good("inspect REFv1 --plain-http");
    assert!(text.contains(&digest) && text.contains("secrets"), "{text}");
    let data: serde_json::Value = serde_json::from_str(&desk.good("inspect team.bundle -o json")).unwrap();
    assert_eq!(data["digest"], digest.as_str());
    assert_eq!(data["hooks"][1]["name"], "registry-secret");

    assert_eq!(desk.good("pull REFv1 -o pulled --plain-http --unverified"), digest);
    for name in ["registry-secret.wasm", "node-taint.wasm", "README.md"] {
        let read = |folder: &str| fs::read(desk.at(folder).join(name)).unwrap();
        assert!(read("hooks") == read("pulled"), "{name}");
    }
    // What was pulled packs to the same again.
    assert_eq!(desk.good("pack pulled -o third.bundle"), digest);
}

#[test]
fn documents_are_attached_shown_and_required() {
    let desk = Desk::new();
    desk.keys("team");
    fs::write(desk.at("sbom.json"), r#"{"bomFormat": "CycloneDX", "specVersion": "1.6"}"#).unwrap();
    fs::write(desk.at("slsa.json"), r#"{"buildDefinition": {}, "runDetails": {}}"#).unwrap();
    desk.good("push hooks REFv1 --plain-http");
    desk.good("sign REFv1 --plain-http --key team.key");
    let verify = "verify REFv1 --plain-http --key team.pub --require sbom --require provenance";
    let text = desk.bad(verify, 1);
    assert!(text.contains("needs sbom"), "{text}");
    desk.good("attach REFv1 --plain-http --sbom sbom.json --provenance slsa.json --key team.key");
    let text = desk.good(verify);
    assert!(text.contains("signed by team.pub, with sbom, with provenance"), "{text}");
    let text = desk.good("inspect REFv1 --plain-http");
    assert!(text.contains("Attested: sbom, https://cyclonedx.org/bom,"), "{text}");
    assert!(text.contains("Attested: provenance, https://slsa.dev/provenance/v1,"), "{text}");
    let text = desk.bad("attach REFv1 --plain-http --sbom slsa.json --key team.key", 1);
    assert!(text.contains("slsa.json cannot be attached: it is not an SBOM"), "{text}");
    desk.bad("attach REFv1 --plain-http --key team.key", 2);
    let text = desk.bad("verify REFv1 --plain-http --key team.pub --require vex", 2);
    assert!(text.contains("write sbom or provenance"), "{text}");
}

/// `docker-credential-test`, which people's PATH has.
#[test]
fn a_login_comes_from_the_credential_helper() {
    use std::os::unix::fs::PermissionsExt as _;
    let desk = Desk { registry: Registry::private(), ..Desk::new() };
    let host = desk.registry.host.clone();
    fs::create_dir(desk.at("bin")).unwrap();
    let program = desk.at("bin/docker-credential-test");
    let config = |text: String| fs::write(desk.at("docker.json"), text).unwrap();
    let answers = |script: &str| {
        fs::write(&program, format!("#!/bin/sh\nread server\n{script}\n")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    };
    let run = |tag: &str| {
        let path = format!("{}:{}", desk.at("bin").display(), std::env::var("PATH").unwrap());
        desk.command(&format!("push hooks REF{tag} --plain-http --docker-config docker.json"))
            .env("PATH", path)
            .output()
            .unwrap()
    };
    let said = |output: &Output| String::from_utf8_lossy(&output.stderr).into_owned();

    config(format!(r#"{{"credHelpers": {{"{host}": "test"}}}}"#));
    answers(&format!(
        r#"[ "$1 $server" = "get {host}" ] && echo '{{"ServerURL": "x", "Username": "team", "Secret": "secret"}}'"#
    ));
    let output = run("v1");
    assert!(output.status.success(), "{}", said(&output));
    config(format!(r#"{{"auths": {{"{host}": {{}}}}, "credsStore": "test"}}"#));
    let output = run("v2");
    assert!(output.status.success(), "{}", said(&output));

    for (script, why) in [
        ("echo 'credentials not found in native keychain'; exit 1", "the registry refuses everybody without a login"),
        ("echo 'the keychain is locked'; exit 1", "(the keychain is locked)"),
        (r#"echo '{"Username": "<token>", "Secret": "x"}'"#, "identity token"),
        ("echo 'hunter2'", "an answer that is not a login"),
        ("exec cat /dev/zero", "more than 65536 bytes"),
    ] {
        answers(script);
        let output = run("v3");
        let text = said(&output);
        assert!(!output.status.success() && text.contains(why), "{why}: {text}");
        assert!(!text.contains("hunter2"), "{text}");
    }
}

/// What tools for components read: the config names the component's imports and exports.
#[test]
fn one_hook_can_be_one_component() {
    let desk = Desk::new();
    let text = desk.bad("push hooks REFv1 --plain-http --wasm", 1);
    assert!(text.contains("2 hooks cannot be one component's artifact"), "{text}");
    fs::remove_file(desk.at("hooks/registry-secret.wasm")).unwrap();
    let digest = desk.good("pack hooks -o one.bundle --wasm --annotation version=1.0.0");
    let pinned = desk.good("push hooks REFv1 --plain-http --wasm --annotation version=1.0.0");
    assert_eq!(pinned, format!("{}@{digest}", desk.reference("v1")));
    let read = |digest: &str| -> serde_json::Value {
        let path = desk.at("one.bundle/blobs/sha256").join(digest.strip_prefix("sha256:").unwrap());
        serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
    };
    let manifest = read(&digest);
    assert_eq!(manifest["config"]["mediaType"], "application/vnd.wasm.config.v0+json");
    assert_eq!(manifest["layers"].as_array().unwrap().len(), 1);
    assert_eq!(manifest["annotations"]["org.opencontainers.image.version"], "1.0.0");
    let config = read(manifest["config"]["digest"].as_str().unwrap());
    assert_eq!((config["architecture"].as_str(), config["os"].as_str()), (Some("wasm"), Some("wasip2")));
    assert_eq!(config["layerDigests"][0], manifest["layers"][0]["digest"]);
    let names = |key: &str| {
        config["component"][key].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect::<Vec<_>>()
    };
    assert!(names("imports").contains(&"boathook:hook/kube@0.1.0"), "{config}");
    assert!(names("exports").contains(&"run"), "{config}");

    let text = desk.good("inspect REFv1 --plain-http");
    assert!(text.contains("node-taint") && text.contains("the artifact does not say"), "{text}");
    assert_eq!(desk.good("pull REFv1 -o pulled --plain-http --unverified"), digest);
    assert!(
        fs::read(desk.at("pulled/node-taint.wasm")).unwrap() == fs::read(desk.at("hooks/node-taint.wasm")).unwrap()
    );
    let text = desk.bad("push one.bundle REFv2 --plain-http --wasm", 1);
    assert!(text.contains("is packed already"), "{text}");
}

/// A file takes the place of a layout everywhere.
#[test]
fn one_file_goes_where_a_layout_goes() {
    let desk = Desk::new();
    desk.keys("team");
    let digest = desk.good("pack hooks -o team.tar --tag v1");
    assert_eq!(desk.good("pack hooks -o team.bundle"), digest);
    let text = desk.bad("load team.tar", 1);
    assert!(text.contains("name the reference to push to"), "{text}");
    let text = desk.bad("sign team.tar --key team.key", 1);
    assert!(text.contains("nothing can be added"), "{text}");
    assert_eq!(desk.good("push team.tar REFv1 --plain-http"), format!("{}@{digest}", desk.reference("v1")));
    desk.good("sign REFv1 --plain-http --key team.key");
    assert_eq!(desk.good("save REFv1 --plain-http -o saved.tar"), digest);
    desk.good("verify saved.tar --key team.pub");
    desk.good("inspect saved.tar:v1");
    assert_eq!(desk.good("pull saved.tar -o pulled --key team.pub"), digest);
    assert_eq!(desk.good("load saved.tar --plain-http"), format!("{}@{digest}", desk.reference("v1")));
    desk.good("load saved.tar REFv2 --plain-http");
    desk.good("verify REFv2 --plain-http --key team.pub");
    let text = desk.bad("inspect hooks/node-taint.wasm", 1);
    assert!(text.contains("is not an OCI image layout"), "{text}");
}

/// What a project's manifest says, and what flags say in its place.
#[test]
fn annotations_come_from_the_project_and_from_flags() {
    let desk = Desk::new();
    fs::create_dir_all(desk.at("web/target/boathook")).unwrap();
    fs::copy(desk.at("hooks/node-taint.wasm"), desk.at("web/target/boathook/web.wasm")).unwrap();
    let manifest =
        r#"{"name": "web", "version": "1.2.0", "license": "MIT", "repository": "https://git.example.com/web"}"#;
    fs::write(desk.at("web/package.json"), manifest).unwrap();
    desk.good("push web REFv1 --plain-http --annotation version=1.2.0-rc1 --annotation com.example.team=payments");
    let seen: serde_json::Value = serde_json::from_str(&desk.good("inspect REFv1 --plain-http -o json")).unwrap();
    let expected = serde_json::json!({
        "com.example.team": "payments",
        "org.opencontainers.image.licenses": "MIT",
        "org.opencontainers.image.source": "https://git.example.com/web",
        "org.opencontainers.image.title": "web",
        "org.opencontainers.image.version": "1.2.0-rc1",
    });
    assert_eq!(seen["annotations"], expected);
    assert_eq!(seen["source"], "https://git.example.com/web");
    let text = desk.good("inspect REFv1 --plain-http");
    assert!(text.contains("Annotation: org.opencontainers.image.version: 1.2.0-rc1"), "{text}");
    let text = desk.bad("pack web -o web.bundle --annotation verison=1", 1);
    assert!(text.contains("version") && !desk.at("web.bundle").exists(), "{text}");
}

#[test]
fn signed_verified_and_refused() {
    let desk = Desk::new();
    desk.keys("team");
    desk.keys("other");
    desk.good("push hooks REFv1 --plain-http");
    let text = desk.bad("verify REFv1 --plain-http --key team.pub", 1);
    assert!(text.contains("has no signature"), "{text}");
    desk.good("sign REFv1 --plain-http --key team.key");
    let text = desk.good("verify REFv1 --plain-http --key team.pub");
    assert!(text.starts_with("trusted:"), "{text}");
    desk.good("pull REFv1 -o pulled --plain-http --key team.pub");

    let text = desk.bad("pull REFv1 -o other --plain-http --key other.pub", 1);
    assert!(text.contains("another key") && !desk.at("other").exists(), "{text}");
    let text = desk.bad("verify REFnone --plain-http --key team.pub", 2);
    assert!(text.contains("push it first"), "{text}");
    let text = desk.bad("pull REFv1 -o other --plain-http", 1);
    assert!(text.contains("--key, --digest or --policy or --unverified"), "{text}");
}

/// One byte of a component is another, or there are more of them.
// mutant: crates/bundle/src/place.rs: `layers.iter().try_for_each(|layer| layout.blob(layer).map(drop))` => `layers.iter().try_for_each(|_| Ok::<_, BundleError>(drop(layout.path())))`
// mutant: crates/bundle/src/layout/mod.rs: `wanted.size.saturating_add(1)` => `wanted.size`
#[test]
fn a_layout_that_was_changed_is_neither_shown_nor_signed() {
    let desk = Desk::new();
    desk.keys("team");
    desk.good("pack hooks -o team.bundle --tag v1");
    desk.good("sign team.bundle --key team.key");
    let hook = fs::read(desk.at("hooks/node-taint.wasm")).unwrap();
    let blobs = fs::read_dir(desk.at("team.bundle/blobs/sha256")).unwrap().map(|entry| entry.unwrap().path());
    let blob = blobs.into_iter().find(|path| fs::read(path).unwrap() == hook).unwrap();
    let mut flipped = hook.clone();
    *flipped.last_mut().unwrap() ^= 1;
    for changed in [flipped, [hook.as_slice(), b"more"].concat()] {
        fs::write(&blob, changed).unwrap();
        for line in [
            "inspect team.bundle",
            "sign team.bundle --key team.key",
            "verify team.bundle --key team.pub",
            "pull team.bundle -o pulled --key team.pub",
            "push team.bundle REFv1 --plain-http",
        ] {
            let text = desk.bad(line, 1);
            assert!(text.contains("tampered with or damaged"), "{line}: {text}");
        }
    }
    fs::write(&blob, hook).unwrap();
    desk.good("inspect team.bundle");
}

#[test]
fn what_is_no_hook_is_not_packed() {
    let desk = Desk::new();
    fs::write(desk.at("hooks/broken.wasm"), "no component").unwrap();
    let text = desk.bad("pack hooks -o team.bundle", 1);
    assert!(text.contains("broken.wasm") && !desk.at("team.bundle").exists(), "{text}");
}
