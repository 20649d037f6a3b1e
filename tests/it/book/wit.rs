//! `docs/reference/wit.md`: the contract between hooks and the host, a section for each file of `wit/`.

use std::{fmt::Write as _, fs, path::PathBuf};

use super::generated::head;

/// The files, in the order in which they are understood best.
const FILES: [&str; 12] = [
    "world",
    "types",
    "snapshots",
    "kube",
    "metrics",
    "log",
    "settings",
    "values",
    "admission",
    "conversion",
    "reconciling",
    "defining",
];

pub fn page() -> String {
    let about = "Package `boathook:hook@0.1.0`: what a hook exports, and what it can ask of the host. A published \
                 version never changes;\nthe host takes components of every version that it has shipped.";
    let mut page = head("The contract (WIT)", about, "`wit/`");
    for file in FILES {
        let text = fs::read_to_string(format!("wit/{file}.wit")).unwrap();
        let text = text.lines().filter(|line| !line.starts_with("package ")).collect::<Vec<_>>().join("\n");
        write!(page, "\n## {file}\n\n```wit\n{}\n```\n", text.trim()).unwrap();
    }
    page
}

#[test]
fn every_interface_is_on_the_page() {
    let mut found: Vec<_> = fs::read_dir("wit").unwrap().map(|entry| entry.unwrap().path()).collect();
    found.retain(|path| path.extension().is_some_and(|extension| extension == "wit"));
    let mut listed: Vec<_> = FILES.iter().map(|file| PathBuf::from(format!("wit/{file}.wit"))).collect();
    found.sort();
    listed.sort();
    assert_eq!(found, listed);
}
