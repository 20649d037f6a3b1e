//! What a project's own manifest says about the project, in the words of the OCI image annotations. A manifest that
//! cannot be read says nothing here, because the toolchain reports what is wrong with it.

use std::{fs, path::Path};

use serde_json::Value;

/// Returns keys of the OCI image specification, without their prefix, and their values.
pub fn about(folder: &Path) -> Vec<(&'static str, String)> {
    let read = |name: &str| fs::read_to_string(folder.join(name)).ok();
    let toml =
        |name: &str| -> Option<Value> { serde_json::to_value(toml::from_str::<toml::Table>(&read(name)?).ok()?).ok() };
    let (manifest, found): (Value, &[(&str, &[&str])]) = if let Some(cargo) = toml("Cargo.toml") {
        (cargo, &CARGO)
    } else if let Some(package) = read("package.json").and_then(|text| serde_json::from_str(&text).ok()) {
        (package, &NODE)
    } else if let Some(project) = toml("pyproject.toml") {
        (project, &PYTHON)
    } else {
        return Vec::new();
    };
    let mut all: Vec<(&'static str, String)> = Vec::new();
    for (key, paths) in found {
        let text =
            paths.iter().filter_map(|path| manifest.pointer(path)?.as_str()).find(|text| !text.trim().is_empty());
        if let Some(text) = text {
            // An annotation is one line.
            let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
            all.push((key, if *key == "source" { https(&line) } else { line }));
        }
    }
    all
}

// A value that a workspace has (`version.workspace = true`) is not a text, so it is left out.
const CARGO: [(&str, &[&str]); 6] = [
    ("title", &["/package/name"]),
    ("version", &["/package/version"]),
    ("description", &["/package/description"]),
    ("licenses", &["/package/license"]),
    ("url", &["/package/homepage"]),
    ("source", &["/package/repository"]),
];
const NODE: [(&str, &[&str]); 6] = [
    ("title", &["/name"]),
    ("version", &["/version"]),
    ("description", &["/description"]),
    ("licenses", &["/license"]),
    ("url", &["/homepage"]),
    ("source", &["/repository/url", "/repository"]),
];
// `license = {text = …}` may hold a whole license. The names of `urls` are those that the Python packaging guide lists.
const PYTHON: [(&str, &[&str]); 6] = [
    ("title", &["/project/name"]),
    ("version", &["/project/version"]),
    ("description", &["/project/description"]),
    ("licenses", &["/project/license"]),
    ("url", &["/project/urls/Homepage", "/project/urls/homepage"]),
    (
        "source",
        &["/project/urls/Repository", "/project/urls/repository", "/project/urls/Source", "/project/urls/source"],
    ),
];

/// npm writes `git+https://HOST/PATH.git`, which is not the address of a page.
fn https(url: &str) -> String {
    let url = url.strip_prefix("git+").unwrap_or(url);
    url.strip_suffix(".git").filter(|url| url.starts_with("https://")).unwrap_or(url).to_owned()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn said(file: &str, text: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(file), text).unwrap();
        about(folder.path()).into_iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn each_language_says_it_in_its_own_manifest() {
        let wanted = "title=web version=1.2.0 description=Copies Secrets. licenses=MIT url=https://x.dev source=https://git.dev/x";
        let cargo = "[package]\nname = 'web'\nversion = '1.2.0'\ndescription = \"\"\"\nCopies\n  Secrets.\n\"\"\"\nlicense = 'MIT'\n\
                     homepage = 'https://x.dev'\nrepository = 'https://git.dev/x'\n";
        assert_eq!(said("Cargo.toml", cargo), wanted);
        let node = r#"{"name": "web", "version": "1.2.0", "description": "Copies Secrets.", "license": "MIT",
            "homepage": "https://x.dev", "repository": {"type": "git", "url": "git+https://git.dev/x.git"}}"#;
        assert_eq!(said("package.json", node), wanted);
        let python = "[project]\nname = 'web'\nversion = '1.2.0'\ndescription = 'Copies Secrets.'\nlicense = 'MIT'\n\
                      [project.urls]\nHomepage = 'https://x.dev'\nSource = 'https://git.dev/x'\n";
        assert_eq!(said("pyproject.toml", python), wanted);
    }

    #[test]
    fn what_is_not_there_is_not_made_up() {
        assert_eq!(
            said("Cargo.toml", "[package]\nname = 'web'\nversion.workspace = true\nlicense = ' '\n"),
            "title=web"
        );
        assert_eq!(said("package.json", r#"{"repository": "github:a/b", "version": 1}"#), "source=github:a/b");
        assert_eq!(said("pyproject.toml", "[project]\nlicense = {text = 'MIT'}\n"), "");
        assert_eq!(said("go.mod", "module git.dev/x\n"), "");
        assert_eq!(said("package.json", "{"), "");
    }
}
