//! The TypeScript and JavaScript templates.

use serde_json::Value;

use super::{super::sdk::FOLDER, Sdk, Sources, Template};

pub(super) const TYPESCRIPT: Sources = Sources {
    common: &[
        ("package.json", include_str!("../../../../../templates/ts/package.json.in")),
        ("tsconfig.json", include_str!("../../../../../templates/ts/tsconfig.json")),
        (".gitignore", include_str!("../../../../../templates/ts/gitignore.in")),
        ("README.md", include_str!("../../../../../templates/ts/README.md.in")),
    ],
    main: "src/hook.ts",
    comment: "// ",
    own: typescript,
    fill,
};

pub(super) const JAVASCRIPT: Sources = Sources {
    common: &[
        ("package.json", include_str!("../../../../../templates/js/package.json.in")),
        ("jsconfig.json", include_str!("../../../../../templates/js/jsconfig.json")),
        (".gitignore", include_str!("../../../../../templates/js/gitignore.in")),
        ("README.md", include_str!("../../../../../templates/js/README.md.in")),
    ],
    main: "src/hook.js",
    comment: "// ",
    own: javascript,
    fill,
};

fn typescript(template: Template) -> &'static str {
    match template {
        Template::LabelWatcher => include_str!("../../../../../templates/ts/label-watcher/src/hook.ts"),
        Template::Schedule => include_str!("../../../../../templates/ts/schedule/src/hook.ts"),
        Template::Startup => include_str!("../../../../../templates/ts/startup/src/hook.ts"),
        Template::Validating => include_str!("../../../../../templates/ts/validating/src/hook.ts"),
    }
}

fn javascript(template: Template) -> &'static str {
    match template {
        Template::LabelWatcher => include_str!("../../../../../templates/js/label-watcher/src/hook.js"),
        Template::Schedule => include_str!("../../../../../templates/js/schedule/src/hook.js"),
        Template::Startup => include_str!("../../../../../templates/js/startup/src/hook.js"),
        Template::Validating => include_str!("../../../../../templates/js/validating/src/hook.js"),
    }
}

/// npm links a folder, or installs any compatible version.
fn fill(sdk: &Sdk) -> Vec<(&'static str, String)> {
    let wanted = match sdk {
        Sdk::Version(version) => format!("^{version}"),
        Sdk::Path(path) => format!("file:{}", path.to_string_lossy()),
        Sdk::Bundled => format!("file:{FOLDER}"),
    };
    vec![("{{sdk}}", Value::from(wanted).to_string())]
}
