//! The WIT package of hooks as an artifact, as `wkg` fetches it.

use std::{collections::BTreeMap, path::Path, process::Command};

use boathook_bundle::{Digest, Layout};
use serde_json::{Value, json};
use wit_parser::{PackageId, Resolve, decoding::DecodedWasm};

/// What a package has: its name, and the names within each world and interface.
fn names(resolve: &Resolve, package: PackageId) -> (String, BTreeMap<String, Vec<String>>) {
    let package = &resolve.packages[package];
    let mut all = BTreeMap::new();
    for (name, id) in &package.interfaces {
        let interface = &resolve.interfaces[*id];
        let functions = interface.functions.values().map(|function| {
            let types = function.params.iter().map(|param| format!("{}: {:?}", param.name, kind(resolve, &param.ty)));
            format!("{}({})", function.name, types.collect::<Vec<_>>().join(", "))
        });
        all.insert(format!("interface {name}"), functions.chain(interface.types.keys().cloned()).collect());
    }
    for (name, id) in &package.worlds {
        let world = &resolve.worlds[*id];
        let keys = world.imports.keys().chain(world.exports.keys()).map(|key| resolve.name_world_key(key));
        all.insert(format!("world {name}"), keys.collect());
    }
    (package.name.to_string(), all)
}

/// A type without its place in the table of types, which is another one in what was decoded.
fn kind(resolve: &Resolve, of: &wit_parser::Type) -> String {
    match of {
        wit_parser::Type::Id(id) => resolve.types[*id].name.clone().unwrap_or_else(|| "anonymous".to_owned()),
        simple => format!("{simple:?}"),
    }
}

fn packed(directory: &Path, output: &str) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_boathook"));
    command.args(["bundle", "wit", "-o", output]).current_dir(directory).env("SOURCE_DATE_EPOCH", "1767225600");
    let done = command.output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap().trim().to_owned()
}

/// What `wkg` requires of a package: one layer of WebAssembly that is a WIT package, the config of the CNCF with each of
/// its fields, the media type in the manifest, and the version as the tag.
#[test]
fn the_package_of_hooks_is_what_wkg_fetches() {
    let directory = tempfile::tempdir().unwrap();
    let digest = packed(directory.path(), "wit");
    let root = directory.path().join("wit");
    let json = |name: &str| -> Value { serde_json::from_slice(&std::fs::read(root.join(name)).unwrap()).unwrap() };
    let blob = |descriptor: &Value| {
        let hex = descriptor["digest"].as_str().unwrap().strip_prefix("sha256:").unwrap().to_owned();
        let bytes = std::fs::read(root.join("blobs/sha256").join(hex)).unwrap();
        assert_eq!(Digest::of(&bytes).as_str(), descriptor["digest"]);
        bytes
    };
    let index = json("index.json");
    assert_eq!(index["manifests"][0]["digest"], json!(digest));
    assert_eq!(index["manifests"][0]["annotations"]["org.opencontainers.image.ref.name"], "0.1.0");
    let manifest: Value = serde_json::from_slice(&blob(&index["manifests"][0])).unwrap();
    assert_eq!(manifest["mediaType"], "application/vnd.oci.image.manifest.v1+json");
    assert_eq!(manifest["annotations"]["org.opencontainers.image.version"], "0.1.0");
    assert_eq!(manifest["config"]["mediaType"], "application/vnd.wasm.config.v0+json");
    assert_eq!(manifest["layers"].as_array().unwrap().len(), 1);
    assert_eq!(manifest["layers"][0]["mediaType"], "application/wasm");
    let config: Value = serde_json::from_slice(&blob(&manifest["config"])).unwrap();
    assert_eq!((&config["architecture"], &config["os"]), (&json!("wasm"), &json!("wasip2")));
    assert_eq!(config["created"], "2026-01-01T00:00:00Z");
    assert_eq!(config["layerDigests"], json!([manifest["layers"][0]["digest"]]));
    assert!(config["component"]["imports"].is_array() && config["component"]["exports"].is_array(), "{config}");

    let layer = blob(&manifest["layers"][0]);
    let DecodedWasm::WitPackage(resolve, package) = wit_parser::decoding::decode(&layer).unwrap() else {
        panic!("the layer is a component, and no package");
    };
    let mut sources = Resolve::default();
    let (source, _) = sources.push_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("wit")).unwrap();
    let (name, all) = names(&resolve, package);
    assert_eq!(name, "boathook:hook@0.1.0");
    assert_eq!((name, all), names(&sources, source));

    assert_eq!(packed(directory.path(), "hook.tar"), digest);
    assert_eq!(packed(directory.path(), "again.tar"), digest);
    let tar = |name: &str| std::fs::read(directory.path().join(name)).unwrap();
    assert!(tar("hook.tar") == tar("again.tar"), "the same commit gives the same file");
    Layout::open(&directory.path().join("hook.tar"), Some("0.1.0")).unwrap();
}

/// The functions of a package's interfaces, by their names.
fn functions((_, all): (String, BTreeMap<String, Vec<String>>)) -> BTreeMap<String, Vec<String>> {
    let mut functions: BTreeMap<_, Vec<_>> = all.into_iter().filter(|(of, _)| of.starts_with("interface ")).collect();
    for names in functions.values_mut() {
        *names = names.iter().filter_map(|name| Some(name.split_once('(')?.0.to_owned())).collect();
        names.sort();
    }
    functions.retain(|_, names| !names.is_empty());
    functions
}

/// `tests/fixtures/wit/NAME-0.1.0.wasm` stand for every component of that version, so together they must use all of it. A
/// component is decoded with the functions that it imports and exports, and no others.
#[test]
fn the_components_of_the_first_version_use_all_of_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut used: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in ["hook", "module-hook"] {
        let component = std::fs::read(root.join(format!("tests/fixtures/wit/{file}-0.1.0.wasm"))).unwrap();
        let DecodedWasm::Component(resolve, _) = wit_parser::decoding::decode(&component).unwrap() else {
            panic!("it is a package, and no component");
        };
        let found = resolve.packages.iter().find(|(_, package)| package.name.to_string() == "boathook:hook@0.1.0");
        let (package, _) = found.expect("it imports the package");
        for (interface, mut names) in functions(names(&resolve, package)) {
            let known = used.entry(interface).or_default();
            known.append(&mut names);
            known.sort();
            known.dedup();
        }
    }
    let mut sources = Resolve::default();
    let (source, _) = sources.push_dir(root.join("wit")).unwrap();
    assert_eq!(used, functions(names(&sources, source)));
}
