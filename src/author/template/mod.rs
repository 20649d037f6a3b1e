//! The projects that `boathook new` makes: their files, with what is the author's filled in.
//!
//! Never writes them. The files are those in `templates/`, as they are in the repository.

use std::path::PathBuf;

use serde_json::Value;

use super::name::ProjectName;

/// A project to begin with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Template {
    /// Objects with a label, and an object for each of them.
    LabelWatcher,
    /// A clock that looks at a snapshot.
    Schedule,
    /// Something to be done when the operator starts.
    Startup,
    /// A question of the API server: may this be?
    Validating,
}

/// Where a project finds the SDK.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sdk {
    /// On the registry: a version as Cargo understands it, like `0.1`.
    Version(String),
    /// In a folder of this machine, absolute.
    Path(PathBuf),
}

/// A file of a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Below the project's folder, with `/`.
    pub path: &'static str,
    /// All of it.
    pub text: String,
}

/// Path and text, without what only one project has.
type Source = (&'static str, &'static str);

const COMMON: &[Source] = &[
    ("Cargo.toml", include_str!("../../templates/rust/Cargo.toml.in")),
    (".gitignore", include_str!("../../templates/rust/gitignore.in")),
    ("README.md", include_str!("../../templates/rust/README.md.in")),
];

const LABEL_WATCHER: &[Source] = &[
    (LIB, include_str!("../../templates/rust/label-watcher/src/lib.rs")),
    (
        "scenarios/existing-namespaces.yaml",
        include_str!("../../templates/rust/label-watcher/scenarios/existing-namespaces.yaml"),
    ),
    (
        "scenarios/label-comes-and-goes.yaml",
        include_str!("../../templates/rust/label-watcher/scenarios/label-comes-and-goes.yaml"),
    ),
];

const SCHEDULE: &[Source] = &[
    (LIB, include_str!("../../templates/rust/schedule/src/lib.rs")),
    ("scenarios/counts.yaml", include_str!("../../templates/rust/schedule/scenarios/counts.yaml")),
];

const STARTUP: &[Source] = &[
    (LIB, include_str!("../../templates/rust/startup/src/lib.rs")),
    ("scenarios/existing.yaml", include_str!("../../templates/rust/startup/scenarios/existing.yaml")),
    ("scenarios/missing.yaml", include_str!("../../templates/rust/startup/scenarios/missing.yaml")),
];

const VALIDATING: &[Source] = &[
    (LIB, include_str!("../../templates/rust/validating/src/lib.rs")),
    ("scenarios/team.yaml", include_str!("../../templates/rust/validating/scenarios/team.yaml")),
];

const LIB: &str = "src/lib.rs";

impl Template {
    /// The files of a project with this name.
    pub fn files(self, name: &ProjectName, sdk: &Sdk) -> Vec<File> {
        let (sdk, about) = (sdk.requirement(), self.about());
        let fill =
            |text: &str| text.replace("{{name}}", name.as_str()).replace("{{sdk}}", &sdk).replace("{{about}}", &about);
        let of_all = COMMON.iter().map(|(path, text)| File { path, text: fill(text) });
        let own = self.sources().iter().map(|(path, text)| File { path, text: (*text).to_owned() });
        of_all.chain(own).collect()
    }

    /// What the hook does: the first paragraph of its source.
    pub fn about(self) -> String {
        let source = self.sources().iter().find(|(path, _)| *path == LIB).map(|(_, text)| *text);
        let lines = source.unwrap_or_default().lines().map_while(|line| line.strip_prefix("//! "));
        lines.collect::<Vec<_>>().join("\n")
    }

    fn sources(self) -> &'static [Source] {
        match self {
            Self::LabelWatcher => LABEL_WATCHER,
            Self::Schedule => SCHEDULE,
            Self::Startup => STARTUP,
            Self::Validating => VALIDATING,
        }
    }
}

impl Sdk {
    /// The SDK that belongs to a version of Boathook: any that is compatible with it.
    pub fn of(version: &str) -> Self {
        let mut parts = version.split('.');
        let parts: Vec<&str> = match parts.next() {
            Some("0") => ["0"].into_iter().chain(parts.next()).collect(),
            major => major.into_iter().collect(),
        };
        Self::Version(parts.join("."))
    }

    /// A value of TOML. JSON's way to write a text is also one of TOML's.
    fn requirement(&self) -> String {
        match self {
            Self::Version(version) => Value::from(version.as_str()).to_string(),
            Self::Path(path) => format!("{{ path = {} }}", Value::from(path.to_string_lossy())),
        }
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

    fn text(files: &[File], path: &str) -> String {
        files.iter().find(|file| file.path == path).unwrap().text.clone()
    }

    #[test]
    fn nothing_is_left_to_fill_in() {
        let name = ProjectName::new("my-hook").unwrap();
        for (template, _) in ALL {
            let files = template.files(&name, &Sdk::of("0.1.0"));
            for file in &files {
                assert!(!file.text.contains("{{") || file.path == "src/lib.rs", "{}", file.path);
            }
            assert!(text(&files, "Cargo.toml").contains("name = \"my-hook\"\n"));
            assert!(text(&files, "Cargo.toml").contains("boathook-sdk = \"0.1\"\n"));
            assert!(text(&files, "README.md").starts_with(&format!("# my-hook\n\n{}\n\n", template.about())));
            assert!(template.about().ends_with('.'));
        }
    }

    /// A file that is only in the folder would be in no project.
    #[test]
    fn every_file_of_a_template_is_embedded() {
        for (template, folder) in ALL {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("templates/rust").join(folder);
            let embedded: BTreeSet<_> = template.sources().iter().map(|(path, _)| folder.join(path)).collect();
            let listed = |part: &str| fs::read_dir(folder.join(part)).unwrap().map(|entry| entry.unwrap().path());
            assert_eq!(embedded, listed("src").chain(listed("scenarios")).collect());
        }
    }

    #[test]
    fn the_sdk_by_version_or_by_path() {
        for (version, requirement) in [("0.1.0", "\"0.1\""), ("0.12.3-rc.1", "\"0.12\""), ("2.3.4", "\"2\"")] {
            assert_eq!(Sdk::of(version).requirement(), requirement);
        }
        let path = Sdk::Path("/a \"b\"/sdk".into());
        assert_eq!(path.requirement(), r#"{ path = "/a \"b\"/sdk" }"#);
    }
}
