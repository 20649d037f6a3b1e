//! Finds the language of a hook from its component, for display only.

use boathook_core::{hooks::SHELL, model::Script};
use serde::Deserialize;
use wasmparser::{KnownCustom, Parser, Payload};

/// The languages of hooks come first. Adapters and runtimes are written in the last ones.
const KNOWN: [&str; 5] = ["Python", "JavaScript", "Go", "Rust", "C"];

/// The language, if it can be found.
pub(super) fn of(component: &[u8], script: Option<&Script>) -> Option<String> {
    match script {
        Some(script) => of_script(script).map(str::to_owned),
        None => of_component(component),
    }
}

fn of_script(script: &Script) -> Option<&'static str> {
    match script.interpreter.name.as_str() {
        "js" if of_typescript(script) => Some("TypeScript"),
        "js" => Some("JavaScript"),
        "python" => Some("Python"),
        SHELL => Some("Shell"),
        _ => None,
    }
}

/// Whether the script's own sources are TypeScript. Sources of packages do not count.
fn of_typescript(script: &Script) -> bool {
    #[derive(Deserialize)]
    struct Map {
        sources: Vec<String>,
    }
    let map = script.file(&format!("{}.map", script.entry));
    let map = map.and_then(|map| serde_json::from_slice::<Map>(map).ok());
    let own = |source: &String| !source.split('/').any(|part| part == "node_modules" || part == "..");
    map.is_some_and(|map| map.sources.iter().filter(|source| own(source)).any(|source| source.ends_with(".ts")))
}

/// The language that the compilers recorded in the modules.
fn of_component(component: &[u8]) -> Option<String> {
    let mut found = Vec::new();
    for payload in Parser::new(0).parse_all(component) {
        let Ok(Payload::CustomSection(section)) = payload else { continue };
        let KnownCustom::Producers(fields) = section.as_known() else { continue };
        let languages = fields.into_iter().flatten().filter(|field| field.name == "language");
        found.extend(languages.flat_map(|field| field.values.into_iter().flatten()).map(|value| value.name.to_owned()));
    }
    // `C99`, `C11`.
    let is = |known: &str, name: &str| name == known || (known == "C" && name.starts_with('C'));
    let known = KNOWN.iter().find(|known| found.iter().any(|name| is(known, name)));
    known.map(|known| (*known).to_owned()).or_else(|| found.pop())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use boathook_core::model::{InterpreterRef, ScriptFile};

    use super::*;

    fn script(interpreter: &str, sources: &str) -> Script {
        let file = |path: &str, content: &str| ScriptFile { path: path.into(), content: content.into() };
        let (name, version, digest) = (interpreter.to_owned(), "1".to_owned(), String::new());
        let files = vec![file("hook.js", ""), file("hook.js.map", &format!(r#"{{"sources": [{sources}]}}"#))];
        Script { interpreter: InterpreterRef { name, version, digest }, entry: "hook.js".into(), files }
    }

    #[test]
    fn scripts_tell_it_by_their_interpreter_and_their_sources() {
        for (interpreter, sources, language) in [
            ("js", r#""../node_modules/@boathook/sdk/src/log.ts", "src/hook.js""#, Some("JavaScript")),
            ("js", r#""../../sdk/js/src/log.ts", "src/hook.ts""#, Some("TypeScript")),
            ("python", "", Some("Python")),
            ("shell", "", Some("Shell")),
            ("cobol", "", None),
        ] {
            let script = script(interpreter, sources);
            assert_eq!(of(&[], Some(&script)).as_deref(), language, "{interpreter} {sources}");
        }
    }

    #[test]
    fn components_tell_it_by_what_compilers_noted() {
        let noted = |languages: &str| {
            let text = format!(r#"(component (core module (@producers {languages})))"#);
            of(&wat::parse_str(text).unwrap(), None)
        };
        assert_eq!(noted(r#"(language "Rust" "") (language "Go" "1.26")"#).as_deref(), Some("Go"));
        assert_eq!(noted(r#"(language "C99" "") (language "Rust" "")"#).as_deref(), Some("Rust"));
        assert_eq!(noted(r#"(language "Zig" "")"#).as_deref(), Some("Zig"));
        assert_eq!(noted(r#"(processed-by "x" "")"#), None);
    }
}
