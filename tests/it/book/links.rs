//! Links lead to files and headings that exist, and the table of contents has every page once.

use std::{collections::BTreeSet, fs, path::Path};

use super::{Page, book, pages};

#[test]
fn every_link_leads_somewhere() {
    let wrong: Vec<_> = pages().iter().flat_map(dead_links).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_table_of_contents_has_each_page_once() {
    let contents = Page::read("docs/SUMMARY.md");
    let mut listed: Vec<_> = targets(&contents).into_iter().map(|target| format!("docs/{target}")).collect();
    listed.sort();
    let pages = book().into_iter().map(|path| path.display().to_string());
    let pages: Vec<_> = pages.filter(|path| path != "docs/SUMMARY.md").collect();
    assert_eq!(listed, pages);
}

fn dead_links(page: &Page) -> Vec<String> {
    let folder = page.path.parent().unwrap();
    let wrong = |target: String| {
        let (file, heading) = target.split_once('#').unwrap_or((&target, ""));
        let path = if file.is_empty() { page.path.clone() } else { folder.join(file) };
        let leads = path.exists() && (heading.is_empty() || headings(&path).contains(heading));
        (!leads).then(|| format!("{}: {target} leads nowhere", page.path.display()))
    };
    targets(page).into_iter().filter_map(wrong).collect()
}

/// What `[…](…)` names, within this repository.
fn targets(page: &Page) -> Vec<String> {
    let prose = page.prose();
    let ends = prose.match_indices("](").filter_map(|(at, _)| prose[at + 2..].split(')').next());
    ends.filter(|target| !target.contains("://")).map(str::to_owned).collect()
}

/// The anchors that a page's headings make, as GitHub and mdBook do.
fn headings(path: &Path) -> BTreeSet<String> {
    let text = fs::read_to_string(path).unwrap_or_default();
    let headings = text.lines().filter(|line| line.starts_with('#'));
    headings.map(|line| anchor(line.trim_start_matches('#').trim())).collect()
}

fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}
