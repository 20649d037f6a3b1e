//! The Go templates.

use super::{super::sdk::FOLDER, Sdk, Sources, Template};

const MODULE: &str = "github.com/boathook/boathook/sdk/go";

pub(super) const SOURCES: Sources = Sources {
    common: &[
        ("go.mod", include_str!("../../../../../templates/go/go.mod.in")),
        (".gitignore", include_str!("../../../../../templates/go/gitignore.in")),
        ("README.md", include_str!("../../../../../templates/go/README.md.in")),
    ],
    main: "main.go",
    comment: "// ",
    own,
    fill,
};

fn own(template: Template) -> &'static str {
    match template {
        Template::LabelWatcher => include_str!("../../../../../templates/go/label-watcher/main.go"),
        Template::Schedule => include_str!("../../../../../templates/go/schedule/main.go"),
        Template::Startup => include_str!("../../../../../templates/go/startup/main.go"),
        Template::Validating => include_str!("../../../../../templates/go/validating/main.go"),
    }
}

fn fill(sdk: &Sdk) -> Vec<(&'static str, String)> {
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
