//! The words that `docs/style.md` rules out occur in no page, no WIT file and no comment.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// What is searched, from the repository's root: all that is ours and that people read.
const FOLDERS: [&str; 15] = [
    "bench",
    "cluster",
    "crates",
    "deploy",
    "docs",
    "fuzz",
    "hooks-wasm",
    "interpreters",
    "sdk",
    "src",
    "templates",
    "tests",
    "tools",
    "wit",
    ".",
];
/// Where others' files are, and what is built.
const SKIPPED: [&str; 6] = ["node_modules", "dist", "target", "testdata", "vendor", ".git"];

/// The words of the table, lower case.
fn ruled_out(style: &str) -> Vec<String> {
    let rows = style.lines().filter_map(|line| line.strip_prefix("| `"));
    let columns = rows.filter_map(|row| row.split(" | ").next());
    let terms = columns.flat_map(|column| column.split('`').step_by(2).map(str::to_owned).collect::<Vec<_>>());
    terms.filter(|term| !term.is_empty()).collect()
}

/// The places of a word: nothing that is part of another word.
fn has(line: &str, word: &str) -> bool {
    let line = line.to_lowercase();
    let inside = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    line.match_indices(word)
        .any(|(at, _)| !inside(line[..at].chars().next_back()) && !inside(line[at + word.len()..].chars().next()))
}

/// What people read of a line: all of a page's prose, comments of everything else, and the names of scenarios.
fn prose(path: &Path, text: &str) -> Vec<(usize, String)> {
    let template = path.extension().is_some_and(|extension| extension == "in").then(|| path.with_extension(""));
    let extension = template.as_deref().unwrap_or(path).extension();
    let extension = extension.and_then(|extension| extension.to_str()).unwrap_or_default();
    let marks: &[&str] = match extension {
        "md" => {
            let mut fenced = false;
            let spoken = text.lines().map(|line| {
                fenced ^= line.trim_start().starts_with("```");
                let parts = line.split('`').step_by(2);
                if fenced { String::new() } else { parts.collect::<Vec<_>>().join(" ") }
            });
            return spoken.zip(1..).map(|(line, number)| (number, line)).collect();
        }
        "rs" | "wit" | "go" | "ts" | "js" => &["//"],
        "toml" | "yaml" | "yml" | "sh" | "py" | "" => &["#"],
        _ => &[],
    };
    // The part behind the mark, which begins the line or follows a space: no URL.
    let comment = |line: &str| {
        if extension == "yaml" && line.starts_with("name: ") {
            return Some(line.to_owned());
        }
        let at = marks.iter().filter_map(|mark| {
            let at = line.find(mark)?;
            (at == 0 || line[..at].ends_with([' ', '\t'])).then_some(at)
        });
        at.min().map(|at| line[at..].to_owned())
    };
    // Mutants quote code.
    let mutant = |line: &str| ["// mutant:", "//     with:"].iter().any(|mark| line.trim_start().starts_with(mark));
    let lines = text.lines().zip(1..).filter(|(line, _)| !mutant(line));
    lines.filter_map(|(line, number)| Some((number, comment(line)?))).collect()
}

fn files(folder: &Path, below: bool, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            if below && !SKIPPED.contains(&name.as_str()) {
                files(&path, below, found);
            }
        } else if fs::metadata(&path).is_ok_and(|file| file.len() < 1 << 20) {
            found.push(path);
        }
    }
}

#[test]
fn words_that_the_style_rules_out_are_nowhere() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let style = fs::read_to_string(root.join("docs/style.md")).unwrap();
    let words = ruled_out(&style);
    assert!(words.contains(&"anew".to_owned()) && words.len() > 8, "the table was read: {words:?}");
    let mut all = Vec::new();
    for folder in FOLDERS {
        files(&root.join(folder), folder != ".", &mut all);
    }
    assert!(all.len() > 800, "found only {} files", all.len());
    let mut found = Vec::new();
    for path in all.iter().filter(|path| !path.ends_with("docs/style.md") && !path.ends_with("tests/it/prose.rs")) {
        let Ok(text) = fs::read_to_string(path) else { continue };
        for (number, line) in prose(path, &text) {
            let hits = words.iter().filter(|word| has(&line, word));
            found.extend(hits.map(|word| format!("{}:{number}: {word}", path.strip_prefix(root).unwrap().display())));
        }
    }
    assert!(found.is_empty(), "docs/style.md has better words:\n{}", found.join("\n"));
}

#[test]
fn a_word_is_found_where_people_read_it() {
    let found = |path: &str, text: &str| {
        let lines = prose(Path::new(path), text);
        lines.into_iter().filter(|(_, line)| has(line, "anew")).map(|(number, _)| number).collect::<Vec<_>>()
    };
    assert_eq!(found("a.md", "It begins anew.\n```\nanew\n```\n`anew` Anew, janew\n"), [1, 5]);
    assert_eq!(found("a.rs", "let anew = 1; // begins anew\nlet url = \"http://anew\";\n/// Anew\n"), [1, 3]);
    assert_eq!(found("a.rs", "// mutant: a: `anew` => ``\n"), [0; 0]);
    assert_eq!(found("Makefile", "x: y ## anew\nanew\n"), [1]);
    assert_eq!(found("README.md.in", "It begins anew.\n"), [1]);
    assert_eq!(found("scenario.yaml", "name: it begins anew\nsteps: [anew]\n"), [1]);
}
