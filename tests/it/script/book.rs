//! Hooks in TypeScript that the book and the SDK's README show: they have no wrong types, and are hooks.

use std::{fs, process::Command};

use super::{
    build::{built, examples, project},
    sandbox,
};
use crate::sandbox::support::load;

/// With a word that the document of each hook in it has.
const PAGES: [(&str, &str); 6] = [
    ("docs/first-hook-ts.md", "namespaces"),
    ("sdk/js/README.md", "namespaces"),
    ("docs/permissions.md", "api.example.com"),
    ("docs/webhooks.md", "example.com"),
    ("docs/operators.md", "HelloApp"),
    ("docs/migration.md", "Pod"),
];

/// Those of a language, without what they are indented by.
pub fn blocks(page: &str, language: &str) -> Vec<String> {
    let fence = format!("```{language}");
    let mut found = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        let indent = line.len() - line.trim_start().len();
        if line.trim() == fence {
            let inside = lines.by_ref().take_while(|line| line.trim() != "```");
            found.push(inside.map(|line| format!("{}\n", line.get(indent..).unwrap_or_default())).collect());
        }
    }
    found
}

#[tokio::test]
async fn hooks_in_the_book_are_hooks() {
    for (page, has) in PAGES {
        let text = fs::read_to_string(page).unwrap();
        let blocks = blocks(&text, "ts");
        assert!(!blocks.is_empty(), "{page} shows no hook");
        for block in &blocks {
            let folder = project(block);
            fs::write(
                folder.path().join("tsconfig.json"),
                r#"{"extends": "@boathook/sdk/tsconfig", "include": ["src"]}"#,
            )
            .unwrap();
            let checked = Command::new(examples().join("node_modules/.bin/tsc"))
                .args(["--project", "."])
                .current_dir(folder.path())
                .output()
                .unwrap();
            assert!(checked.status.success(), "{page}: {}", String::from_utf8_lossy(&checked.stdout));
            let bytes = fs::read(built(folder.path()).unwrap()).unwrap();
            let sandbox = sandbox();
            let document = sandbox.config(&load(&sandbox, "mine", &bytes).await).await.unwrap();
            assert!(document.contains(has), "{page}: {document}");
        }
    }
}
