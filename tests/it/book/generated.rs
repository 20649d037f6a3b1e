//! The generated pages are what their sources make of them.

use std::fs;

use super::{cli, document, python, sdk, wit};

/// Set to write the pages again.
const UPDATE: &str = "BOATHOOK_UPDATE_DOCS";

#[test]
fn the_generated_pages_are_up_to_date() {
    let pages = [
        ("docs/reference/cli.md", cli::page()),
        ("docs/reference/document.md", document::page()),
        ("docs/reference/sdk.md", sdk::page()),
        ("docs/reference/sdk-python.md", python::page()),
        ("docs/reference/wit.md", wit::page()),
    ];
    for (path, text) in pages {
        if std::env::var_os(UPDATE).is_some() {
            fs::write(path, &text).unwrap();
        }
        let found = fs::read_to_string(path).unwrap_or_default();
        assert!(found == text, "{path} is out of date: {UPDATE}=1 cargo test --test it book::generated writes it anew");
    }
}

/// The first lines of each.
pub fn head(title: &str, about: &str, source: &str) -> String {
    format!(
        "# {title}\n\n<!-- Generated from {source}; `{UPDATE}=1 cargo test --test it book::generated` regenerates it. -->\n\n{about}\n"
    )
}
