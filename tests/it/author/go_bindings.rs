//! The bindings of the Go SDK are what the generator makes of `wit/`; `BOATHOOK_UPDATE_BINDINGS=1` writes them again.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use wit_bindgen_core::Files;
use wit_parser::{Resolve, SourceMap};

use super::repository;

const UPDATE: &str = "BOATHOOK_UPDATE_BINDINGS";
const MODULE: &str = "github.com/boathook/boathook/sdk/go";

/// A hook imports and exports the first; it exports the others when it imports the package.
const WORLDS: [(&str, &str); 8] = [
    ("hook", "include module-hook;"),
    ("validating", "export validating;"),
    ("mutating", "export mutating;"),
    ("conversion", "export conversion;"),
    ("reconciling", "export reconciling;"),
    ("finalizing", "export finalizing;"),
    ("defining", "export defining;"),
    ("outbound", "import wasi:http/outgoing-handler@0.2.0;"),
];

fn read(path: &str) -> String {
    fs::read_to_string(repository().join(path)).unwrap()
}

/// Paths below `sdk/go`, and texts.
fn generated() -> Vec<(PathBuf, String)> {
    let mut all: Vec<(PathBuf, String)> = Vec::new();
    for (name, items) in WORLDS {
        let mut sources = SourceMap::default();
        for entry in fs::read_dir(repository().join("wit")).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "wit") {
                sources.push_file(&path).unwrap();
            }
        }
        let wasi = if items.contains("wasi:") { read("sdk/go/internal/wit/wasi.wit") } else { String::new() };
        let world = format!("package boathook:hook@0.1.0;\n{wasi}\nworld of-go {{ {items} }}");
        sources.push(Path::new("of-go.wit"), world);
        let group = sources.parse().map_err(|(sources, error)| error.render(&sources)).unwrap();
        let mut resolve = Resolve::default();
        let package = resolve.push_group(group).unwrap();
        let world = resolve.select_world(&[package], Some("of-go")).unwrap();
        let options = wit_bindgen_go::Opts {
            pkg_name: Some(format!("{MODULE}/internal/wit")),
            export_pkg_name: Some(format!("{MODULE}/internal/{name}")),
            ..Default::default()
        };
        let mut files = Files::default();
        options.build().generate(&mut resolve, world, &mut files).unwrap();
        let is_used = |path: &str| {
            let exports = path.starts_with("wit_exports/");
            !path.starts_with("wit_world/") && (!exports || items.contains("export") || items.contains("include"))
        };
        for (path, bytes) in files.iter().filter(|(path, _)| is_used(path)) {
            let of = if path.starts_with("wit_exports/") { name } else { "wit" };
            let text = String::from_utf8(bytes.to_vec()).unwrap();
            // Ours, as that of the generator's authors dies when Go's heap grows in `cabi_realloc`.
            let text = text.replace("go.bytecodealliance.org/pkg/wit/", &format!("{MODULE}/internal/wit/"));
            let path = Path::new("internal").join(of).join(path);
            if !all.iter().any(|(known, _)| *known == path) {
                all.push((path, text));
            }
        }
    }
    all
}

/// As `gofmt` lays it out, or not.
fn letters(text: &str) -> String {
    let mut lines: Vec<String> = text.lines().map(|line| line.split_whitespace().collect()).collect();
    lines.retain(|line| !line.is_empty());
    // It sorts imports.
    lines.sort();
    lines.join("\n")
}

#[test]
fn the_bindings_are_those_of_the_wit_package() {
    let sdk = repository().join("sdk/go");
    for (path, text) in generated() {
        let file = sdk.join(&path);
        if std::env::var_os(UPDATE).is_some() {
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, &text).unwrap();
            if path.extension().is_some_and(|extension| extension == "go") {
                assert!(Command::new("gofmt").arg("-w").arg(&file).status().unwrap().success());
            }
        }
        let found = fs::read_to_string(&file).unwrap_or_default();
        let same = letters(&found) == letters(&text);
        assert!(same, "{} is out of date: {UPDATE}=1 cargo test --test it go_bindings writes it anew", path.display());
    }
}

/// The SDK names the version of the package that it is for, and hooks have it in their imports.
#[test]
fn the_sdk_is_in_step_with_the_wit_package() {
    let world = read("wit/world.wit");
    let version = world.strip_prefix("package boathook:hook@").and_then(|rest| rest.split(';').next()).unwrap();
    assert!(read("sdk/go/boathook.go").contains(&format!("const Version = \"{version}\"")));
    assert!(read("sdk/go/README.md").contains(&format!("boathook:hook@{version}")));
    assert_eq!(read("sdk/go/LICENSE"), read("LICENSE"));
}
