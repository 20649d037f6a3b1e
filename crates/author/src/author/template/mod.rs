//! The projects that `boathook new` creates: their files, with placeholders filled in. The files are those in
//! `templates/` of the repository. This module writes nothing to disk.

mod go;
mod python;
mod rust;
mod scenarios;
mod script;

use std::path::PathBuf;

use serde_json::Value;

use super::{language::Language, name::ProjectName, sdk};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Template {
    /// Objects with a label, and an object for each of them.
    LabelWatcher,
    /// A schedule that reads a snapshot.
    Schedule,
    /// A task for the start of the operator.
    Startup,
    /// A validating webhook.
    Validating,
}

/// Where a project finds the SDK.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sdk {
    /// In the project, embedded in this program.
    Bundled,
    /// In the language's package registry, for example `0.1.0`.
    Version(String),
    /// In a folder of this machine, absolute.
    Path(PathBuf),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Relative to the project's folder, with `/`.
    pub path: String,
    pub text: String,
}

/// Path and text, with placeholders.
type Source = (&'static str, &'static str);

/// The templates of one language.
struct Sources {
    /// Files of every project.
    common: &'static [Source],
    /// Path of the hook's source.
    main: &'static str,
    /// Prefix of the comment lines at the start of the source.
    comment: &'static str,
    /// The hook's source.
    own: fn(Template) -> &'static str,
    /// The placeholders for the SDK in the common files, and their values.
    fill: fn(&Sdk) -> Vec<(&'static str, String)>,
}

impl Template {
    /// The files of a project with this name.
    pub fn files(self, language: Language, name: &ProjectName, sdk: &Sdk) -> Vec<File> {
        let sources = sources(language);
        let about = self.about(language);
        let mut filled = (sources.fill)(sdk);
        filled.extend([("{{name}}", name.to_string()), ("{{about}}", about)]);
        let fill = |text: &str| filled.iter().fold(text.to_owned(), |text, (mark, value)| text.replace(mark, value));
        let of_all = sources.common.iter().map(|(path, text)| File { path: (*path).to_owned(), text: fill(text) });
        let own = [(sources.main, (sources.own)(self))];
        let own = own.iter().chain(scenarios::of(self));
        let own = own.map(|(path, text)| File { path: (*path).to_owned(), text: (*text).to_owned() });
        let bundled =
            (*sdk == Sdk::Bundled).then(|| sdk::files(language).into_iter().map(|(path, text)| File { path, text }));
        of_all.chain(own).chain(bundled.into_iter().flatten()).collect()
    }

    /// What the hook does: the first paragraph of its source.
    pub fn about(self, language: Language) -> String {
        let sources = sources(language);
        let lines = (sources.own)(self).lines().map_while(|line| line.strip_prefix(sources.comment));
        lines.collect::<Vec<_>>().join("\n")
    }
}

fn sources(language: Language) -> &'static Sources {
    match language {
        Language::Rust => &rust::SOURCES,
        Language::Go => &go::SOURCES,
        Language::TypeScript => &script::TYPESCRIPT,
        Language::JavaScript => &script::JAVASCRIPT,
        Language::Python => &python::SOURCES,
    }
}

impl Sdk {
    /// The SDK that belongs to a version of Boathook.
    pub fn of(version: &str) -> Self {
        Self::Version(version.to_owned())
    }
}

/// A requirement for Cargo: any compatible version. A JSON string is also a TOML string.
fn requirement(sdk: &Sdk) -> String {
    match sdk {
        Sdk::Version(version) => {
            let mut parts = version.split('.');
            let parts: Vec<&str> = match parts.next() {
                Some("0") => ["0"].into_iter().chain(parts.next()).collect(),
                major => major.into_iter().collect(),
            };
            Value::from(parts.join(".")).to_string()
        }
        Sdk::Path(path) => format!("{{ path = {} }}", Value::from(path.to_string_lossy())),
        Sdk::Bundled => format!("{{ path = {} }}", Value::from(sdk::FOLDER)),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use std::{collections::BTreeSet, fs, path::Path};

    use super::*;

    const ALL: [(Template, &str); 4] = [
        (Template::LabelWatcher, "label-watcher"),
        (Template::Schedule, "schedule"),
        (Template::Startup, "startup"),
        (Template::Validating, "validating"),
    ];
    const LANGUAGES: [Language; 5] =
        [Language::Rust, Language::Go, Language::TypeScript, Language::JavaScript, Language::Python];

    fn files(template: Template, language: Language, sdk: &Sdk) -> Vec<File> {
        template.files(language, &ProjectName::new("my-hook", language).unwrap(), sdk)
    }

    fn text(files: &[File], path: &str) -> String {
        files.iter().find(|file| file.path == path).unwrap().text.clone()
    }

    #[test]
    fn nothing_is_left_to_fill_in() {
        for (template, language) in ALL.into_iter().flat_map(|(it, _)| LANGUAGES.map(|language| (it, language))) {
            let files = files(template, language, &Sdk::of("0.1.0"));
            let main = sources(language).main;
            for file in &files {
                assert!(!file.text.contains("{{") || file.path == main, "{}", file.path);
            }
            let about = template.about(language);
            assert!(text(&files, "README.md").starts_with(&format!("# my-hook\n\n{about}\n\n")));
            assert!(about.ends_with('.'), "{about}");
        }
    }

    #[test]
    fn manifests_name_the_project_and_the_sdk() {
        let cargo = text(&files(Template::Startup, Language::Rust, &Sdk::of("0.1.0")), "Cargo.toml");
        assert!(cargo.contains("name = \"my-hook\"\n") && cargo.contains("boathook-sdk = \"0.1\"\n"), "{cargo}");
        let python = text(&files(Template::Startup, Language::Python, &Sdk::of("0.1.0")), "pyproject.toml");
        assert!(python.contains("name = \"my-hook\"\n") && python.contains("[\"boathook~=0.1.0\"]\n"), "{python}");
        let go = text(&files(Template::Startup, Language::Go, &Sdk::of("0.1.0")), "go.mod");
        let expected = "module example.com/my-hook\n\ngo 1.24\n\nrequire github.com/boathook/boathook/sdk/go v0.1.0\n";
        assert_eq!(go, expected);
        let local = text(&files(Template::Startup, Language::Go, &Sdk::Path("/a b/go".into())), "go.mod");
        assert!(local.ends_with(" v0.0.0\n\nreplace github.com/boathook/boathook/sdk/go => \"/a b/go\"\n"), "{local}");
        for (language, main) in [(Language::TypeScript, "src/hook.ts"), (Language::JavaScript, "src/hook.js")] {
            let package = |sdk| {
                let text = text(&files(Template::Startup, language, &sdk), "package.json");
                serde_json::from_str::<Value>(&text).unwrap()
            };
            let published = package(Sdk::of("0.1.0"));
            assert_eq!((&published["name"], &published["main"]), (&"my-hook".into(), &main.into()));
            assert_eq!(published["dependencies"]["@boathook/sdk"], "^0.1.0");
            let local = package(Sdk::Path("/a \"b\"/js".into()));
            assert_eq!(local["dependencies"]["@boathook/sdk"], "file:/a \"b\"/js");
        }
    }

    /// A file that is only in the folder would be missing in projects.
    #[test]
    fn every_scenario_of_a_template_is_embedded() {
        for (template, folder) in ALL {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join("templates/scenarios").join(folder);
            let names = scenarios::of(template).iter().map(|(path, _)| path.strip_prefix("scenarios/").unwrap());
            let listed = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
            assert_eq!(names.map(|name| folder.join(name)).collect::<BTreeSet<_>>(), listed.collect());
        }
    }

    #[test]
    fn the_sdk_by_version_or_by_path() {
        for (version, expected) in [("0.1.0", "\"0.1\""), ("0.12.3-rc.1", "\"0.12\""), ("2.3.4", "\"2\"")] {
            assert_eq!(requirement(&Sdk::of(version)), expected);
        }
        let path = Sdk::Path("/a \"b\"/sdk".into());
        assert_eq!(requirement(&path), r#"{ path = "/a \"b\"/sdk" }"#);
    }
}
