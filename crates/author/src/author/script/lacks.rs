//! Finds names in a bundle that browsers and Node.js have and hooks do not, so that the author learns about them before
//! the hook runs.
//!
//! The bundler replaces the first letter of each such name with a mark, where the name is not declared in the bundle.
//! The mark has the width of one letter, so positions stay the same.

use super::{Place, SourceMap};

/// Replaces the first letter. No real name begins with it.
const MARK: char = '\u{A66E}';

/// Names, and what to use instead.
const LACKS: &[(&str, &str)] = &[
    ("setTimeout", TIMERS),
    ("setInterval", TIMERS),
    ("setImmediate", TIMERS),
    ("clearTimeout", TIMERS),
    ("clearInterval", TIMERS),
    ("XMLHttpRequest", NETWORK),
    ("WebSocket", NETWORK),
    ("process", NODE),
    ("require", NODE),
    ("__dirname", NODE),
    ("__filename", NODE),
    ("Buffer", "use encodeBase64 and decodeBase64 of @boathook/sdk"),
    ("TextEncoder", "use encodeBase64 and decodeBase64 of @boathook/sdk"),
    ("TextDecoder", "use encodeBase64 and decodeBase64 of @boathook/sdk"),
    ("crypto", "hash in the cluster, or write the hook in Rust or Go"),
    ("structuredClone", "use JSON.parse(JSON.stringify(value))"),
    ("URL", "take the text apart, or bundle a package that does"),
    ("AbortController", "a run has no timers: use AbortSignal.timeout(milliseconds)"),
    ("URLSearchParams", "write the query with encodeURIComponent"),
    ("FormData", "write the body as a text"),
    ("Worker", "a run has one thread"),
    ("WebAssembly", "write the hook as a component of its own"),
    ("localStorage", "keep state in objects of the cluster"),
    ("window", BROWSER),
    ("document", BROWSER),
    ("navigator", BROWSER),
    ("Intl", "format dates and numbers by hand"),
];

const TIMERS: &str = "a run has no timers: throw `new Retry(message, { after })` to go on later, or bind a schedule";
const NETWORK: &str = "use `fetch`, within `permissions.http`; the cluster is reached by `kube`";
const NODE: &str = "this is not Node.js: settings come from `settings()`, files are not there";
const BROWSER: &str = "this is not a browser";

/// The bundler's options that set the marks.
pub(super) fn definitions() -> impl Iterator<Item = String> {
    LACKS.iter().map(|(name, _)| format!("--define:{name}={}", marked(name)))
}

fn marked(name: &str) -> String {
    let mut rest = name.chars();
    rest.next();
    format!("{MARK}{}", rest.as_str())
}

/// The bundle without the marks, or the places of the names. Uses in packages and in `typeof` are no errors, because
/// they may never be reached, and because the author can do little about them.
pub(super) fn checked(code: &str, map: &SourceMap) -> Result<String, Vec<String>> {
    let mut plain = String::with_capacity(code.len());
    let mut problems = Vec::new();
    for (row, line) in code.split_inclusive('\n').enumerate() {
        let mut rest = line;
        while let Some((before, after)) = rest.split_once(MARK) {
            plain.push_str(before);
            let found = LACKS.iter().find(|(name, _)| is_name(after, name));
            let Some((name, remedy)) = found else {
                plain.push(MARK);
                rest = after;
                continue;
            };
            let at = line.len() - rest.len() + before.len();
            let column = line.get(..at).unwrap_or_default().encode_utf16().count();
            if !before.trim_end().ends_with("typeof") {
                problems.extend(map.find(row, column).filter(is_own).map(|place| problem_at(&place, name, remedy)));
            }
            plain.extend(name.chars().take(1));
            rest = after;
        }
        plain.push_str(rest);
    }
    if problems.is_empty() { Ok(plain) } else { Err(problems) }
}

/// Whether the text continues this name, and not a longer one.
fn is_name(after: &str, name: &str) -> bool {
    let rest = name.get(1..).unwrap_or_default();
    let next = |text: &str| text.chars().next().is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '$'));
    after.strip_prefix(rest).is_some_and(|end| !next(end))
}

fn is_own(place: &Place<'_>) -> bool {
    !place.file.split('/').any(|part| part == "node_modules")
}

fn problem_at(place: &Place<'_>, name: &str, remedy: &str) -> String {
    let Place { file, line, column } = place;
    format!("{file}:{line}:{column}: hooks have no `{name}`: {remedy}")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use super::*;

    fn map(source: &str) -> SourceMap {
        let map = format!(r#"{{"sources":["{source}"],"mappings":"AAAA"}}"#);
        SourceMap::read(map.as_bytes()).unwrap()
    }

    #[test]
    fn a_name_that_hooks_lack_is_reported_with_its_place() {
        let code = format!("let a={}('x')\n", marked("process"));
        let problems = checked(&code, &map("src/hook.ts")).unwrap_err();
        assert_eq!(problems.len(), 1);
        assert!(problems[0].starts_with("src/hook.ts:1:1: hooks have no `process`: "), "{problems:?}");
    }

    #[test]
    fn marks_leave_no_trace() {
        let code = format!("typeof {}<\"u\"; {}.env; '{MARK}'; {MARK}indowed\n", marked("window"), marked("process"));
        let plain = checked(&code, &map("node_modules/a/index.js")).unwrap();
        assert_eq!(plain, format!("typeof window<\"u\"; process.env; '{MARK}'; {MARK}indowed\n"));
        let only_asked = format!("typeof {}", marked("window"));
        assert_eq!(checked(&only_asked, &map("src/hook.ts")).unwrap(), "typeof window");
    }
}
