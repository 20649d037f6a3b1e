//! The page of Python's SDK: what is public in its sources, with what is said there. Bodies are left out.
//!
//! Never imports it: a line's indentation says what it belongs to.

use std::fmt::Write as _;
use std::fs;

use super::generated::head;

/// The modules, as a reader needs them. Those of `boathook` itself first.
const MODULES: [(&str, &str); 15] = [
    ("hook", "boathook"),
    ("context", "boathook"),
    ("snapshots", "boathook.snapshots"),
    ("kube", "boathook.kube"),
    ("http", "boathook.http"),
    ("admission", "boathook"),
    ("reconcile", "boathook"),
    ("crd", "boathook.crd"),
    ("errors", "boathook"),
    ("log", "boathook.log"),
    ("metrics", "boathook.metrics"),
    ("settings", "boathook.settings"),
    ("values", "boathook.values"),
    ("testing", "boathook.testing"),
    ("config", "boathook.config"),
];

/// What comes after it is for the interpreter.
const END: &str = "# What follows is called by the interpreter";

const ABOUT: &str = "All that a hook can import, with the types and the words of the sources. `boathook` itself has the names of the \
                     modules that say so here; how they look at work is in [the SDKs side by side](sdk.md).";

/// The whole page.
pub fn page() -> String {
    let mut page = head("Python's SDK", ABOUT, "`sdk/python`");
    for (module, import) in MODULES {
        let path = format!("sdk/python/src/boathook/{module}.py");
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        let text = text.split(END).next().unwrap();
        let (about, rest) = documented(text);
        let title = module[..1].to_uppercase() + &module[1..];
        let about = about.replace("``", "`");
        write!(page, "\n## {title}\n\n`import {import}`. {about}\n\n```python\n{}\n```\n", stub(rest).trim_end())
            .unwrap();
    }
    page
}

/// The docstring that a module begins with, and what follows it.
fn documented(text: &str) -> (String, &str) {
    let inner = text.trim_start().strip_prefix("\"\"\"").expect("a docstring");
    let (about, rest) = inner.split_once("\"\"\"").unwrap();
    (about.split_whitespace().collect::<Vec<_>>().join(" "), rest)
}

/// Public classes, functions and aliases.
fn stub(text: &str) -> String {
    let mut out = String::new();
    let mut lines = text.lines().peekable();
    let (mut comment, mut decorators, mut public) = (String::new(), String::new(), false);
    while let Some(line) = lines.next() {
        let indent = line.len() - line.trim_start().len();
        let bare = line.trim();
        let inside = indent == 4 && public;
        if bare.is_empty() || (indent > 0 && !inside) {
            continue;
        }
        if bare.starts_with("#:") {
            writeln!(comment, "{line}").unwrap();
            continue;
        }
        if bare.starts_with('@') {
            writeln!(decorators, "{line}").unwrap();
            continue;
        }
        let name = bare.split(|c: char| !c.is_alphanumeric() && c != '_').find(|word| !["class", "def"].contains(word));
        if let Some(slots) = bare.strip_prefix("__slots__ = (") {
            let names = slots.split('"').skip(1).step_by(2).filter(|name| !name.starts_with('_'));
            let names: Vec<_> = names.map(|name| format!("``{name}``")).collect();
            if !names.is_empty() {
                writeln!(out, "    #: Attributes: {}.", names.join(", ")).unwrap();
            }
            continue;
        }
        let hidden = name.is_some_and(|name| name.starts_with('_') && !["__iter__", "__len__"].contains(&name));
        let head = bare.starts_with("class ") || bare.starts_with("def ");
        let field = !head
            && bare.contains(": ")
            && bare.split(": ").next().is_some_and(|name| name.chars().all(|c| c.is_alphanumeric() || c == '_'));
        let kept = !hidden && (head || field);
        if indent == 0 {
            public = kept && bare.starts_with("class ");
        }
        let (said, above) = (std::mem::take(&mut comment), std::mem::take(&mut decorators));
        if !kept {
            continue;
        }
        if indent == 0 {
            out.push('\n');
        }
        out.push_str(&said);
        // How a class is made is nobody's concern; what a method is, is.
        out.extend(above.lines().filter(|line| line.starts_with(' ')).map(|line| format!("{line}\n")));
        out.push_str(line);
        out.push('\n');
        let ends = |line: &str| if head { line.ends_with(':') } else { !line.ends_with(['(', '[', '{', ',']) };
        let mut last = line;
        while !ends(last) {
            last = lines.next().expect("an end");
            out.push_str(last);
            out.push('\n');
        }
        if head {
            let doc = lines.peek().is_some_and(|line| line.trim_start().starts_with("\"\"\""));
            let mut told = if doc { lines.next().unwrap_or_default().to_owned() } else { String::new() };
            while doc && (told.matches("\"\"\"").count() < 2) {
                told = format!("{told}\n{}", lines.next().expect("the docstring's end"));
            }
            let body = if doc { told } else { format!("{}    ...", " ".repeat(indent)) };
            writeln!(out, "{body}").unwrap();
        }
    }
    out.trim_start().to_owned()
}

#[test]
fn what_is_public_is_on_the_page_and_nothing_else() {
    let page = page();
    for part in [
        "def on_event(binding: str)",
        "    \"\"\"For each change of an object of a ``kubernetes`` binding.\"\"\"",
        "class ObjectRef:",
        "    #: ``None`` for cluster-scoped objects.\n    namespace: str | None = None",
        "def apply(",
        "Object: TypeAlias = dict[str, Any]",
        "class Verdict",
    ] {
        assert!(page.contains(part), "{part}");
    }
    for hidden in ["_functions", "def _keep", "def reset(", "__str__", "json.dumps"] {
        assert!(!page.contains(hidden), "{hidden}");
    }
}
