//! Hooks in TypeScript that the book and the SDK's README show: they have no wrong types, and are hooks.

use std::{fs, process::Command};

use super::{
    build::{built, examples, project},
    sandbox,
};
use crate::sandbox::support::load;

const PAGES: [&str; 2] = ["docs/first-hook-ts.md", "sdk/js/README.md"];

#[tokio::test]
async fn hooks_in_the_book_are_hooks() {
    for page in PAGES {
        let text = fs::read_to_string(page).unwrap();
        let blocks: Vec<&str> = text.split("```ts\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
        assert!(!blocks.is_empty(), "{page} shows no hook");
        for block in blocks {
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
            assert!(document.contains("namespaces"), "{page}: {document}");
        }
    }
}
