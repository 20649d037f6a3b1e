//! The Rust templates.

use super::{Sources, Template, requirement};

pub(super) const SOURCES: Sources = Sources {
    common: &[
        ("Cargo.toml", include_str!("../../../../../templates/rust/Cargo.toml.in")),
        (".gitignore", include_str!("../../../../../templates/rust/gitignore.in")),
        ("README.md", include_str!("../../../../../templates/rust/README.md.in")),
    ],
    main: "src/lib.rs",
    comment: "//! ",
    own,
    fill: |sdk| vec![("{{sdk}}", requirement(sdk))],
};

fn own(template: Template) -> &'static str {
    match template {
        Template::LabelWatcher => include_str!("../../../../../templates/rust/label-watcher/src/lib.rs"),
        Template::Schedule => include_str!("../../../../../templates/rust/schedule/src/lib.rs"),
        Template::Startup => include_str!("../../../../../templates/rust/startup/src/lib.rs"),
        Template::Validating => include_str!("../../../../../templates/rust/validating/src/lib.rs"),
    }
}
