//! The book in `docs/`: every page is in its table of contents, every link leads somewhere, every block
//! of code is what it says it is, and the generated pages are up to date.
//!
//! Never judges prose.

mod blocks;
mod cli;
mod document;
mod generated;
mod kits;
mod links;
mod python;
mod sdk;
mod sizing;
mod wit;

use std::{
    fs,
    path::{Path, PathBuf},
};

/// One file of Markdown.
struct Page {
    /// From the repository's root.
    path: PathBuf,
    text: String,
}

/// A fenced block.
struct Block {
    /// Of its first line within the fences.
    line: usize,
    /// What stands behind the opening fence.
    info: String,
    text: String,
}

impl Page {
    fn read(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Self { path, text }
    }

    fn blocks(&self) -> Vec<Block> {
        let mut blocks = Vec::new();
        let mut lines = self.text.lines().zip(1..);
        while let Some((line, number)) = lines.next() {
            let Some(info) = line.trim_start().strip_prefix("```") else { continue };
            let indent = line.len() - line.trim_start().len();
            let inside = lines.by_ref().map(|(line, _)| line).take_while(|line| line.trim() != "```");
            let text = inside.map(|line| line.get(indent..).unwrap_or_default()).collect::<Vec<_>>().join("\n");
            blocks.push(Block { line: number + 1, info: info.trim().to_owned(), text });
        }
        blocks
    }

    /// The text with its blocks and code spans blanked: in these nothing is a link.
    fn prose(&self) -> String {
        let mut within = false;
        let mut prose = String::new();
        for line in self.text.lines() {
            let fence = line.trim_start().starts_with("```");
            within ^= fence;
            if !within && !fence {
                let spoken = line.split('`').enumerate().map(|(at, part)| if at % 2 == 0 { part } else { "code" });
                prose.extend(spoken);
            }
            prose.push('\n');
        }
        prose
    }
}

/// The pages of the book, and the READMEs.
fn pages() -> Vec<Page> {
    let mut found: Vec<_> = book().into_iter().map(Page::read).collect();
    found.extend(READMES.into_iter().map(Page::read));
    found
}

const READMES: [&str; 12] = [
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "cluster/README.md",
    "examples/modules/README.md",
    "hooks-wasm/README.md",
    "hooks-wasm/go/README.md",
    "sdk/go/README.md",
    "sdk/rust/README.md",
    "tests/apiserver/README.md",
    "tests/conformance/README.md",
    "tests/e2e/README.md",
];

/// The Markdown files in `docs/`, in order.
fn book() -> Vec<PathBuf> {
    let mut files = markdown_in(Path::new("docs"));
    files.extend(markdown_in(Path::new("docs/admin")));
    files.extend(markdown_in(Path::new("docs/reference")));
    files.sort();
    files
}

fn markdown_in(folder: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|extension| extension == "md")).collect()
}
