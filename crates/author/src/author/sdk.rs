//! The SDKs that are embedded in this program, for projects that do not take one from a registry. Each becomes a folder
//! of the project. The sources are unchanged; only manifests differ from the repository.

use super::language::Language;

mod embedded {
    include!(concat!(env!("OUT_DIR"), "/sdks.rs"));
}

/// The folder of the SDK in a project. Python hooks have no modules there.
pub const FOLDER: &str = "boathook-sdk";

/// Paths and texts: the SDK of a language in [`FOLDER`], and what makes the project build offline.
pub(super) fn files(language: Language) -> Vec<(String, String)> {
    let files = match language {
        Language::Rust => embedded::RUST,
        Language::Go => embedded::GO,
        Language::TypeScript | Language::JavaScript => embedded::JS,
        Language::Python => embedded::PYTHON,
        Language::Shell => &[],
    };
    let in_folder = files.iter().map(|(path, text)| {
        let text = if *path == "package.json" { of_sources(text) } else { (*text).to_owned() };
        (format!("{FOLDER}/{path}"), text)
    });
    let lock = (language == Language::Rust).then(|| ("Cargo.lock".into(), embedded::LOCK.into()));
    in_folder.chain(lock).collect()
}

/// The npm package has compiled files. esbuild and the type checker also accept the sources. The kit for unit tests is left
/// out, because Node.js does not.
fn of_sources(manifest: &str) -> String {
    let lines = manifest.lines().filter(|line| !line.trim_start().starts_with("\"./testing"));
    let text: String = lines.flat_map(|line| [line, "\n"]).collect();
    ["./dist/index.d.ts", "./dist/index.js"]
        .iter()
        .fold(text, |text, compiled| text.replace(compiled, "./src/index.ts"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use super::*;

    fn text(language: Language, path: &str) -> String {
        files(language).into_iter().find(|(found, _)| found == path).unwrap().1
    }

    #[test]
    fn each_sdk_stands_alone() {
        let cargo = text(Language::Rust, "boathook-sdk/Cargo.toml");
        assert!(!cargo.contains(".workspace") && !cargo.contains("\n[dev-dependencies]"), "{cargo}");
        assert!(cargo.contains(&format!("version = \"{}\"\n", env!("CARGO_PKG_VERSION"))), "{cargo}");
        let parsed: toml::Value = toml::from_str(&cargo).unwrap();
        assert_eq!(parsed["package"]["name"].as_str(), Some("boathook-sdk"));
        let lock: toml::Value = toml::from_str(&text(Language::Rust, "Cargo.lock")).unwrap();
        let packages = lock["package"].as_array().unwrap();
        assert!(packages.iter().any(|package| package["name"].as_str() == Some("wit-bindgen")));
        assert!(packages.iter().all(|package| package.get("source").is_some()));
        for language in [Language::TypeScript, Language::JavaScript] {
            let package: serde_json::Value =
                serde_json::from_str(&text(language, "boathook-sdk/package.json")).unwrap();
            assert!(!package["exports"].to_string().contains("dist"), "{package}");
            assert!(!text(language, "boathook-sdk/src/index.ts").is_empty());
        }
        let go = files(Language::Go);
        assert!(go.iter().any(|(path, _)| path == "boathook-sdk/internal/wit/boathook_hook_log/empty.s"));
        assert!(go.iter().all(|(path, _)| !path.contains("_test.go") && !path.contains("testdata")));
        assert!(!text(Language::Python, "boathook-sdk/src/boathook/hook.py").is_empty());
    }
}
