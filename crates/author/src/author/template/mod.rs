//! The projects that `boathook new` creates: their files, with placeholders filled in. The files are those in
//! `templates/` of the repository. Only [`write_project`] writes to disk.

mod module;

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use serde_json::Value;

use super::{
    language::Language,
    name::ProjectName,
    sdk::{self, FOLDER},
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Template {
    /// Objects with a label, and an object for each of them.
    LabelWatcher,
    /// A module with a chart and a hook.
    Module,
    /// A custom resource that becomes other objects.
    Operator,
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
    pub executable: bool,
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
    /// The hook's source. `None`: the language cannot do that.
    own: fn(Template) -> Option<&'static str>,
    /// Whether the source is a program that the system runs.
    executable: bool,
    /// More files of a template. They take the place of scenarios with the same path.
    more: fn(Template) -> &'static [Source],
    /// The placeholders for the SDK in the common files, and their values.
    fill: fn(Template, &Sdk) -> Vec<(&'static str, String)>,
}

impl Template {
    /// The files of a project with this name. `None`: the language has no such template.
    pub fn files(self, language: Language, name: &ProjectName, sdk: &Sdk) -> Option<Vec<File>> {
        if self == Self::Module {
            return if language == Language::Shell { module::files(name) } else { None };
        }
        let sources = sources(language);
        let about = self.about(language)?;
        let mut filled = (sources.fill)(self, sdk);
        // The mark includes its line end, so that no line stays empty.
        let rows = if self == Self::Operator { OPERATOR_ROWS } else { "" };
        filled.extend([("{{name}}", name.to_string()), ("{{about}}", about), ("{{rows}}\n", rows.to_owned())]);
        let fill = |text: &str| filled.iter().fold(text.to_owned(), |text, (mark, value)| text.replace(mark, value));
        let file = |path: &str, text: String| File {
            path: path.to_owned(),
            text,
            executable: sources.executable && path == sources.main,
        };
        let of_all = sources.common.iter().map(|(path, text)| file(path, fill(text)));
        let (own, more) = ([(sources.main, (sources.own)(self)?)], (sources.more)(self));
        let replaced = |path: &str| more.iter().any(|(other, _)| *other == path);
        let scenarios = scenarios_of(self).iter().filter(|(path, _)| !replaced(path));
        let own = own.iter().chain(more).chain(objects_of(self)).chain(scenarios);
        let own = own.map(|(path, text)| file(path, (*text).to_owned()));
        let bundled = (*sdk == Sdk::Bundled)
            .then(|| sdk::files(language).into_iter().map(|(path, text)| File { path, text, executable: false }));
        Some(of_all.chain(own).chain(bundled.into_iter().flatten()).collect())
    }

    /// What the hook does: the first paragraph of its source.
    fn about(self, language: Language) -> Option<String> {
        let sources = sources(language);
        let lines = (sources.own)(self)?.lines().skip_while(|line| line.starts_with("#!"));
        let lines = lines.map_while(|line| line.strip_prefix(sources.comment));
        Some(lines.collect::<Vec<_>>().join("\n"))
    }
}

/// Rows of the table of files in the README of an operator.
const OPERATOR_ROWS: &str = "\
    | `crd.yaml` | the custom resource: `kubectl apply --filename crd.yaml`, before the hook runs on a cluster |\n\
    | `example.yaml` | an object of it |\n";

fn sources(language: Language) -> &'static Sources {
    match language {
        Language::Rust => &RUST,
        Language::Go => &GO,
        Language::TypeScript => &TYPESCRIPT,
        Language::JavaScript => &JAVASCRIPT,
        Language::Python => &PYTHON,
        Language::Shell => &SHELL,
    }
}

impl Sdk {
    /// The SDK that belongs to a version of Boathook.
    pub fn of(version: &str) -> Self {
        Self::Version(version.to_owned())
    }
}

/// What a template needs in addition to the SDK: features of it, and other crates.
fn rust_needs(template: Template) -> (&'static str, &'static str) {
    match template {
        Template::Operator => ("\"crd\"", "schemars = \"1\"\nserde = { version = \"1\", features = [\"derive\"] }\n"),
        _ => ("", ""),
    }
}

fn rust_fill(template: Template, sdk: &Sdk) -> Vec<(&'static str, String)> {
    let (features, others) = rust_needs(template);
    // The mark includes its line end, so that an empty value leaves no empty line.
    vec![("{{sdk}}", requirement(sdk, features)), ("{{others}}\n", others.to_owned())]
}

/// A requirement for Cargo: any compatible version. A JSON string is also a TOML string.
fn requirement(sdk: &Sdk, features: &str) -> String {
    let features = if features.is_empty() { String::new() } else { format!(", features = [{features}]") };
    match sdk {
        Sdk::Version(version) => {
            let mut parts = version.split('.');
            let parts: Vec<&str> = match parts.next() {
                Some("0") => ["0"].into_iter().chain(parts.next()).collect(),
                major => major.into_iter().collect(),
            };
            let version = Value::from(parts.join("."));
            if features.is_empty() { version.to_string() } else { format!("{{ version = {version}{features} }}") }
        }
        Sdk::Path(path) => format!("{{ path = {}{features} }}", Value::from(path.to_string_lossy())),
        Sdk::Bundled => format!("{{ path = {}{features} }}", Value::from(sdk::FOLDER)),
    }
}

const RUST: Sources = Sources {
    common: &[
        ("Cargo.toml", include_str!("../../../../../templates/rust/Cargo.toml.in")),
        (".gitignore", include_str!("../../../../../templates/rust/gitignore.in")),
        ("README.md", include_str!("../../../../../templates/rust/README.md.in")),
    ],
    main: "src/lib.rs",
    comment: "//! ",
    own: rust_own,
    executable: false,
    more: |_| &[],
    fill: rust_fill,
};

fn rust_own(template: Template) -> Option<&'static str> {
    Some(match template {
        Template::LabelWatcher => include_str!("../../../../../templates/rust/label-watcher/src/lib.rs"),
        Template::Module => return None,
        Template::Operator => include_str!("../../../../../templates/rust/operator/src/lib.rs"),
        Template::Schedule => include_str!("../../../../../templates/rust/schedule/src/lib.rs"),
        Template::Startup => include_str!("../../../../../templates/rust/startup/src/lib.rs"),
        Template::Validating => include_str!("../../../../../templates/rust/validating/src/lib.rs"),
    })
}

const MODULE: &str = "github.com/boathook/boathook/sdk/go";

const GO: Sources = Sources {
    common: &[
        ("go.mod", include_str!("../../../../../templates/go/go.mod.in")),
        (".gitignore", include_str!("../../../../../templates/go/gitignore.in")),
        ("README.md", include_str!("../../../../../templates/go/README.md.in")),
    ],
    main: "main.go",
    comment: "// ",
    own: go_own,
    executable: false,
    more: |_| &[],
    fill: go_fill,
};

fn go_own(template: Template) -> Option<&'static str> {
    Some(match template {
        Template::LabelWatcher => include_str!("../../../../../templates/go/label-watcher/main.go"),
        Template::Module => return None,
        Template::Operator => include_str!("../../../../../templates/go/operator/main.go"),
        Template::Schedule => include_str!("../../../../../templates/go/schedule/main.go"),
        Template::Startup => include_str!("../../../../../templates/go/startup/main.go"),
        Template::Validating => include_str!("../../../../../templates/go/validating/main.go"),
    })
}

fn go_fill(_: Template, sdk: &Sdk) -> Vec<(&'static str, String)> {
    let replaced = |path: &str| ("v0.0.0".to_owned(), format!("\nreplace {MODULE} => {path}\n"));
    let (version, replace) = match sdk {
        Sdk::Version(version) => (format!("v{version}"), String::new()),
        // Go requires a version, and any version works.
        Sdk::Path(path) => replaced(&quoted(&path.to_string_lossy())),
        Sdk::Bundled => replaced(&format!("./{FOLDER}")),
    };
    // The mark includes its line end, so that an empty value leaves no empty line.
    vec![("{{version}}", version), ("{{replace}}\n", replace)]
}

/// A path with a space must be quoted in a `go.mod`.
fn quoted(path: &str) -> String {
    let plain = |c: char| !c.is_whitespace() && !"\"'`,()[]{}".contains(c);
    if path.chars().all(plain) { path.to_owned() } else { format!("{path:?}") }
}

const PYTHON: Sources = Sources {
    common: &[
        ("pyproject.toml", include_str!("../../../../../templates/python/pyproject.toml.in")),
        (".gitignore", include_str!("../../../../../templates/python/gitignore.in")),
        ("README.md", include_str!("../../../../../templates/python/README.md.in")),
    ],
    main: "hook.py",
    comment: "# ",
    own: python_own,
    executable: false,
    more: |_| &[],
    fill: |_, sdk| {
        let wanted = python_requirement(sdk).map(|wanted| serde_json::Value::from(wanted).to_string());
        vec![("\"{{sdk}}\"", wanted.unwrap_or_default())]
    },
};

fn python_own(template: Template) -> Option<&'static str> {
    Some(match template {
        Template::LabelWatcher => include_str!("../../../../../templates/python/label-watcher/hook.py"),
        Template::Module => return None,
        Template::Operator => include_str!("../../../../../templates/python/operator/hook.py"),
        Template::Schedule => include_str!("../../../../../templates/python/schedule/hook.py"),
        Template::Startup => include_str!("../../../../../templates/python/startup/hook.py"),
        Template::Validating => include_str!("../../../../../templates/python/validating/hook.py"),
    })
}

/// A Python requirement: any compatible version, or a folder as a URL. A requirement cannot name a folder of the
/// project itself, and this is not needed, because the interpreter contains the SDK.
fn python_requirement(sdk: &Sdk) -> Option<String> {
    Some(match sdk {
        Sdk::Bundled => return None,
        Sdk::Version(version) => format!("boathook~={}", version.split(['-', '+']).next().unwrap_or(version)),
        Sdk::Path(path) => {
            let of_url = |c: char| c.is_ascii_alphanumeric() || "/-._~".contains(c);
            let text = path.to_string_lossy();
            let parts = text.chars().map(|c| if of_url(c) { c.to_string() } else { escaped(c) });
            format!("boathook @ file://{}", parts.collect::<String>())
        }
    })
}

fn escaped(c: char) -> String {
    c.encode_utf8(&mut [0; 4]).bytes().map(|byte| format!("%{byte:02X}")).collect()
}

const SHELL: Sources = Sources {
    common: &[
        (".gitignore", include_str!("../../../../../templates/shell/gitignore.in")),
        ("README.md", include_str!("../../../../../templates/shell/README.md.in")),
    ],
    main: "hook.sh",
    comment: "# ",
    own: shell_own,
    executable: true,
    more: shell_more,
    fill: |_, _| vec![],
};

fn shell_own(template: Template) -> Option<&'static str> {
    Some(match template {
        Template::LabelWatcher => include_str!("../../../../../templates/shell/label-watcher/hook.sh"),
        Template::Module => return None,
        // A script with shell-operator's contract has no function for this.
        Template::Operator => return None,
        Template::Schedule => include_str!("../../../../../templates/shell/schedule/hook.sh"),
        Template::Startup => include_str!("../../../../../templates/shell/startup/hook.sh"),
        Template::Validating => include_str!("../../../../../templates/shell/validating/hook.sh"),
    })
}

/// shell-operator's scripts cannot print permissions, and their denials have no code.
fn shell_more(template: Template) -> &'static [Source] {
    macro_rules! permissions {
        ($template:literal) => {
            (
                "hook.boathook.yaml",
                include_str!(concat!("../../../../../templates/shell/", $template, "/hook.boathook.yaml")),
            )
        };
    }
    match template {
        Template::LabelWatcher => &[permissions!("label-watcher")],
        Template::Module | Template::Operator => &[],
        Template::Schedule => &[permissions!("schedule")],
        Template::Startup => &[permissions!("startup")],
        Template::Validating => &[
            permissions!("validating"),
            ("scenarios/team.yaml", include_str!("../../../../../templates/shell/validating/scenarios/team.yaml")),
        ],
    }
}

const TYPESCRIPT: Sources = Sources {
    common: &[
        ("package.json", include_str!("../../../../../templates/ts/package.json.in")),
        ("tsconfig.json", include_str!("../../../../../templates/ts/tsconfig.json")),
        (".gitignore", include_str!("../../../../../templates/ts/gitignore.in")),
        ("README.md", include_str!("../../../../../templates/ts/README.md.in")),
    ],
    main: "src/hook.ts",
    comment: "// ",
    own: typescript,
    executable: false,
    more: |_| &[],
    fill: script_fill,
};

const JAVASCRIPT: Sources = Sources {
    common: &[
        ("package.json", include_str!("../../../../../templates/js/package.json.in")),
        ("jsconfig.json", include_str!("../../../../../templates/js/jsconfig.json")),
        (".gitignore", include_str!("../../../../../templates/js/gitignore.in")),
        ("README.md", include_str!("../../../../../templates/js/README.md.in")),
    ],
    main: "src/hook.js",
    comment: "// ",
    own: javascript,
    executable: false,
    more: |_| &[],
    fill: script_fill,
};

fn typescript(template: Template) -> Option<&'static str> {
    Some(match template {
        Template::LabelWatcher => include_str!("../../../../../templates/ts/label-watcher/src/hook.ts"),
        Template::Module => return None,
        Template::Operator => include_str!("../../../../../templates/ts/operator/src/hook.ts"),
        Template::Schedule => include_str!("../../../../../templates/ts/schedule/src/hook.ts"),
        Template::Startup => include_str!("../../../../../templates/ts/startup/src/hook.ts"),
        Template::Validating => include_str!("../../../../../templates/ts/validating/src/hook.ts"),
    })
}

fn javascript(template: Template) -> Option<&'static str> {
    Some(match template {
        Template::LabelWatcher => include_str!("../../../../../templates/js/label-watcher/src/hook.js"),
        Template::Module => return None,
        Template::Operator => include_str!("../../../../../templates/js/operator/src/hook.js"),
        Template::Schedule => include_str!("../../../../../templates/js/schedule/src/hook.js"),
        Template::Startup => include_str!("../../../../../templates/js/startup/src/hook.js"),
        Template::Validating => include_str!("../../../../../templates/js/validating/src/hook.js"),
    })
}

/// npm links a folder, or installs any compatible version.
fn script_fill(_: Template, sdk: &Sdk) -> Vec<(&'static str, String)> {
    let wanted = match sdk {
        Sdk::Version(version) => format!("^{version}"),
        Sdk::Path(path) => format!("file:{}", path.to_string_lossy()),
        Sdk::Bundled => format!("file:{FOLDER}"),
    };
    vec![("{{sdk}}", Value::from(wanted).to_string())]
}

/// Objects that are no part of the hook.
fn objects_of(template: Template) -> &'static [Source] {
    match template {
        Template::Operator => &[
            ("crd.yaml", include_str!("../../../../../templates/operator/crd.yaml")),
            ("example.yaml", include_str!("../../../../../templates/operator/example.yaml")),
        ],
        _ => &[],
    }
}

fn scenarios_of(template: Template) -> &'static [Source] {
    match template {
        Template::LabelWatcher => &[
            (
                "scenarios/existing-namespaces.yaml",
                include_str!("../../../../../templates/scenarios/label-watcher/existing-namespaces.yaml"),
            ),
            (
                "scenarios/label-comes-and-goes.yaml",
                include_str!("../../../../../templates/scenarios/label-watcher/label-comes-and-goes.yaml"),
            ),
        ],
        // It has its own.
        Template::Module => &[],
        Template::Operator => {
            &[("scenarios/becomes.yaml", include_str!("../../../../../templates/scenarios/operator/becomes.yaml"))]
        }
        Template::Schedule => {
            &[("scenarios/counts.yaml", include_str!("../../../../../templates/scenarios/schedule/counts.yaml"))]
        }
        Template::Startup => &[
            ("scenarios/existing.yaml", include_str!("../../../../../templates/scenarios/startup/existing.yaml")),
            ("scenarios/missing.yaml", include_str!("../../../../../templates/scenarios/startup/missing.yaml")),
        ],
        Template::Validating => {
            &[("scenarios/team.yaml", include_str!("../../../../../templates/scenarios/validating/team.yaml"))]
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum ProjectError {
    /// The files would be mixed with existing ones.
    #[error("{} is not empty: name another folder with --dir", .0.display())]
    NotEmpty(PathBuf),
    /// There is a file with that name.
    #[error("{} is not a folder: name another one with --dir", .0.display())]
    NotAFolder(PathBuf),
    #[error("cannot write {}", path.display())]
    Write { path: PathBuf, source: io::Error },
}

/// Writes all files into a folder that is empty or missing.
pub fn write_project(folder: &Path, files: &[File]) -> Result<(), ProjectError> {
    free(folder)?;
    files.iter().try_for_each(|file| write(folder, file))
}

fn free(folder: &Path) -> Result<(), ProjectError> {
    match fs::read_dir(folder).map(|mut entries| entries.next()) {
        Ok(None) => Ok(()),
        Ok(Some(_)) => Err(ProjectError::NotEmpty(folder.to_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => Err(ProjectError::NotAFolder(folder.to_owned())),
        Err(source) => Err(ProjectError::Write { path: folder.to_owned(), source }),
    }
}

fn write(folder: &Path, file: &File) -> Result<(), ProjectError> {
    let path = &folder.join(&file.path);
    let folders = path.parent().map_or(Ok(()), fs::create_dir_all);
    // If another process has created the file in the meantime, its content is kept.
    let written = folders.and_then(|()| {
        let mut created = fs::File::create_new(path)?;
        io::Write::write_all(&mut created, file.text.as_bytes())?;
        if file.executable { make_executable(&created) } else { Ok(()) }
    });
    written.map_err(|source| ProjectError::Write { path: path.to_owned(), source })
}

#[cfg(unix)]
fn make_executable(file: &fs::File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    // The umask has decided who may read the file.
    let mode = file.metadata()?.permissions().mode();
    file.set_permissions(fs::Permissions::from_mode(mode | (mode & 0o444) >> 2))
}

/// Other systems do not know.
#[cfg(not(unix))]
fn make_executable(_: &fs::File) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use std::{collections::BTreeSet, fs, path::Path};

    use super::*;

    const ALL: [(Template, &str); 5] = [
        (Template::LabelWatcher, "label-watcher"),
        (Template::Operator, "operator"),
        (Template::Schedule, "schedule"),
        (Template::Startup, "startup"),
        (Template::Validating, "validating"),
    ];
    const LANGUAGES: [Language; 6] =
        [Language::Rust, Language::Go, Language::TypeScript, Language::JavaScript, Language::Python, Language::Shell];

    fn try_files(template: Template, language: Language, sdk: &Sdk) -> Option<Vec<File>> {
        template.files(language, &ProjectName::new("my-hook", language).unwrap(), sdk)
    }

    fn files(template: Template, language: Language, sdk: &Sdk) -> Vec<File> {
        try_files(template, language, sdk).unwrap()
    }

    fn text(files: &[File], path: &str) -> String {
        files.iter().find(|file| file.path == path).unwrap().text.clone()
    }

    #[test]
    fn nothing_is_left_to_fill_in() {
        for (template, language) in ALL.into_iter().flat_map(|(it, _)| LANGUAGES.map(|language| (it, language))) {
            let Some(files) = try_files(template, language, &Sdk::of("0.1.0")) else {
                assert_eq!((template, language), (Template::Operator, Language::Shell));
                continue;
            };
            let main = sources(language).main;
            for file in &files {
                assert!(!file.text.contains("{{") || file.path == main, "{}", file.path);
            }
            let about = template.about(language).unwrap();
            assert!(text(&files, "README.md").starts_with(&format!("# my-hook\n\n{about}\n\n")));
            assert!(about.ends_with('.'), "{about}");
        }
    }

    #[test]
    fn a_script_is_executable_and_has_a_file_for_its_permissions() {
        let folder = tempfile::tempdir().unwrap();
        for (template, name) in ALL.into_iter().filter(|(template, _)| *template != Template::Operator) {
            let project = folder.path().join(name);
            write_project(&project, &files(template, Language::Shell, &Sdk::Bundled)).unwrap();
            assert!(project.join("hook.boathook.yaml").is_file() && !project.join(FOLDER).exists(), "{name}");
            assert!(super::super::shell::has_hooks(&project), "{name}");
        }
    }

    #[test]
    fn an_operator_has_the_definition_of_its_custom_resource() {
        for language in LANGUAGES.into_iter().filter(|language| *language != Language::Shell) {
            let project = files(Template::Operator, language, &Sdk::Bundled);
            assert!(text(&project, "crd.yaml").contains("kind: CustomResourceDefinition"));
            assert!(text(&project, "example.yaml").contains("kind: WebApp"));
            let readme = text(&project, "README.md");
            assert!(readme.contains("\n| `crd.yaml` |") && readme.contains("\n| `example.yaml` |"), "{readme}");
            let other = text(&files(Template::Startup, language, &Sdk::Bundled), "README.md");
            assert!(!other.contains("crd.yaml") && !other.contains("|\n\n|"), "{other}");
        }
    }

    #[test]
    fn manifests_name_the_project_and_the_sdk() {
        let cargo = text(&files(Template::Startup, Language::Rust, &Sdk::of("0.1.0")), "Cargo.toml");
        assert!(cargo.contains("name = \"my-hook\"\n") && cargo.contains("boathook-sdk = \"0.1\"\n"), "{cargo}");
        let defines = text(&files(Template::Operator, Language::Rust, &Sdk::of("0.1.0")), "Cargo.toml");
        let sdk = "boathook-sdk = { version = \"0.1\", features = [\"crd\"] }\nschemars = \"1\"\nserde = ";
        assert!(defines.contains(sdk) && !cargo.contains("schemars"), "{defines}");
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
            let names = scenarios_of(template).iter().map(|(path, _)| path.strip_prefix("scenarios/").unwrap());
            let listed = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
            assert_eq!(names.map(|name| folder.join(name)).collect::<BTreeSet<_>>(), listed.collect());
        }
    }

    #[test]
    fn the_sdk_by_version_or_by_path() {
        for (version, expected) in [("0.1.0", "\"0.1\""), ("0.12.3-rc.1", "\"0.12\""), ("2.3.4", "\"2\"")] {
            assert_eq!(requirement(&Sdk::of(version), ""), expected);
        }
        let path = Sdk::Path("/a \"b\"/sdk".into());
        assert_eq!(requirement(&path, ""), r#"{ path = "/a \"b\"/sdk" }"#);
        assert_eq!(requirement(&path, "\"crd\""), r#"{ path = "/a \"b\"/sdk", features = ["crd"] }"#);
        assert_eq!(requirement(&Sdk::of("1.2.3"), "\"crd\""), r#"{ version = "1", features = ["crd"] }"#);
    }

    #[test]
    fn the_python_sdk_by_version_or_by_path() {
        let requirement = |sdk| python_requirement(&sdk).unwrap();
        assert_eq!(requirement(Sdk::of("0.1.0")), "boathook~=0.1.0");
        assert_eq!(requirement(Sdk::of("0.2.0-rc.1")), "boathook~=0.2.0");
        assert_eq!(requirement(Sdk::Path("/a b/ü".into())), "boathook @ file:///a%20b/%C3%BC");
    }
}
