//! The Python templates.

use super::{Sdk, Sources, Template};

pub(super) const SOURCES: Sources = Sources {
    common: &[
        ("pyproject.toml", include_str!("../../../../../templates/python/pyproject.toml.in")),
        (".gitignore", include_str!("../../../../../templates/python/gitignore.in")),
        ("README.md", include_str!("../../../../../templates/python/README.md.in")),
    ],
    main: "hook.py",
    comment: "# ",
    own,
    fill: |sdk| {
        let wanted = requirement(sdk).map(|wanted| serde_json::Value::from(wanted).to_string());
        vec![("\"{{sdk}}\"", wanted.unwrap_or_default())]
    },
};

fn own(template: Template) -> &'static str {
    match template {
        Template::LabelWatcher => include_str!("../../../../../templates/python/label-watcher/hook.py"),
        Template::Schedule => include_str!("../../../../../templates/python/schedule/hook.py"),
        Template::Startup => include_str!("../../../../../templates/python/startup/hook.py"),
        Template::Validating => include_str!("../../../../../templates/python/validating/hook.py"),
    }
}

/// A Python requirement: any compatible version, or a folder as a URL. A requirement cannot name a folder of the
/// project itself, and this is not needed, because the interpreter contains the SDK.
fn requirement(sdk: &Sdk) -> Option<String> {
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use super::*;

    #[test]
    fn the_sdk_by_version_or_by_path() {
        let requirement = |sdk| requirement(&sdk).unwrap();
        assert_eq!(requirement(Sdk::of("0.1.0")), "boathook~=0.1.0");
        assert_eq!(requirement(Sdk::of("0.2.0-rc.1")), "boathook~=0.2.0");
        assert_eq!(requirement(Sdk::Path("/a b/ü".into())), "boathook @ file:///a%20b/%C3%BC");
    }
}
