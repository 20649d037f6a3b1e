//! Blocks of code in the book. What one is stands behind its fence, and is checked:
//!
//! | tag | check |
//! | --- | --- |
//! | `rust` | a documentation test of the crate that includes the page |
//! | `rust,ignore`, `ts ignore` | only on `reference/sdk.md`, whose code is cut out of hooks |
//! | `yaml document` | a hook's configuration document |
//! | `yaml scenario` | a scenario file |
//! | `yaml`, `json`, `toml` | it can be read |
//! | `sh`, `console` | `boathook` knows the commands and flags; the Makefile has the targets |
//! | `go`, `js`, `python`, `text`, `wit` | nothing |
//! | `ts` | `script::book` builds it |

use std::fs;

use boathook::cli::Cli;
use boathook_author::scenario::Scenario;
use boathook_core::{hooks, model::HookName};
use clap::Parser as _;
use serde::Deserialize as _;

use super::{Block, Page, pages};
use crate::support::filters::compiles;

#[test]
fn blocks_are_what_they_say() {
    let mut wrong = Vec::new();
    for page in pages() {
        for block in page.blocks() {
            if let Err(error) = check(&page, &block) {
                wrong.push(format!("{}:{}: {error}", page.path.display(), block.line));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Rustdoc takes an indented block for Rust.
#[test]
fn no_block_of_the_book_is_made_by_indenting() {
    let mut indented = Vec::new();
    for page in pages().iter().filter(|page| page.path.starts_with("docs")) {
        let prose = page.prose();
        let lines = prose.lines().zip(prose.lines().skip(1)).zip(2..);
        let found = lines.filter(|((before, line), _)| before.trim().is_empty() && line.starts_with("    "));
        indented.extend(found.map(|(_, number)| format!("{}:{number}", page.path.display())));
    }
    assert!(indented.is_empty(), "fence these blocks, and say what they are: {indented:?}");
}

fn check(page: &Page, block: &Block) -> Result<(), String> {
    let text = &block.text;
    match block.info.as_str() {
        "rust" | "rust,no_run" => included(page),
        "rust,ignore" | "ts ignore" if page.path.ends_with("docs/reference/sdk.md") => Ok(()),
        "yaml document" => document(text),
        "yaml scenario" => Scenario::parse(text).map(drop).map_err(|problems| format!("{problems:?}")),
        "yaml" => yaml(text),
        "json" => serde_json::from_str::<serde_json::Value>(text).map(drop).map_err(|error| error.to_string()),
        "sh" => commands(text.lines()),
        "console" => commands(text.lines().filter_map(|line| line.strip_prefix("$ "))),
        "go" | "ts" | "js" | "python" | "toml" | "text" | "wit" => Ok(()),
        "" => Err("the block does not say what it is".to_owned()),
        other => Err(format!("{other:?} is no tag that tests/it/book/blocks.rs knows")),
    }
}

/// `cargo test --doc` compiles it.
fn included(page: &Page) -> Result<(), String> {
    let name = page.path.display().to_string();
    let crates = ["sdk/rust/src/lib.rs", "cluster/src/lib.rs"].map(|file| fs::read_to_string(file).unwrap());
    let own = page.path.parent().unwrap().join("src/lib.rs");
    let included = crates.iter().any(|lib| lib.contains(&format!("/../{name}\")")))
        || fs::read_to_string(own).is_ok_and(|lib| lib.contains("include_str!(\"../README.md\")"));
    included.then_some(()).ok_or_else(|| "no crate has this page's blocks among its documentation tests".to_owned())
}

/// One document, or several.
fn yaml(text: &str) -> Result<(), String> {
    let each = |document: yaml_serde::Deserializer<'_>| {
        serde_json::Value::deserialize(document).map(drop).map_err(|error| error.to_string())
    };
    yaml_serde::Deserializer::from_str(text).try_for_each(each)
}

fn document(text: &str) -> Result<(), String> {
    let name = HookName::new("example").unwrap();
    hooks::parse(&name, text, &compiles).map(drop).map_err(|error| error.to_string())
}

fn commands<'a>(lines: impl Iterator<Item = &'a str>) -> Result<(), String> {
    let uncommented =
        lines.map(|line| if line.starts_with('#') { "" } else { line.split(" #").next().unwrap_or(line) });
    for line in uncommented.flat_map(|line| line.split([';', '|'])).flat_map(|line| line.split("&&")) {
        let words = shlex::split(line).ok_or_else(|| format!("{line:?} is no command"))?;
        let words = words.iter().map(String::as_str).take_while(|word| !matches!(*word, ">" | "&" | "<"));
        let words: Vec<_> = words.skip_while(|word| *word == "$" || word.contains('=')).collect();
        match words.as_slice() {
            ["boathook", ..] => known(&words)?,
            ["make", targets @ ..] => targets.iter().try_for_each(|target| made(target))?,
            _ => {}
        }
    }
    Ok(())
}

fn known(words: &[&str]) -> Result<(), String> {
    use clap::error::ErrorKind::{DisplayHelp, DisplayVersion};
    match Cli::try_parse_from(words) {
        Ok(_) => Ok(()),
        Err(error) if matches!(error.kind(), DisplayHelp | DisplayVersion) => Ok(()),
        Err(error) => Err(format!("{}: {error}", words.join(" "))),
    }
}

fn made(target: &str) -> Result<(), String> {
    let makefile = fs::read_to_string("Makefile").unwrap();
    let there = target.contains('=') || makefile.lines().any(|line| line.starts_with(&format!("{target}:")));
    there.then_some(()).ok_or_else(|| format!("the Makefile has no target {target}"))
}
