//! docs/parity.md and its like for operators and modules hold together: each row is there, and each test that they name.
//!
//! Never runs those tests, and never judges what a row says.

use std::{collections::BTreeSet, fs, ops::RangeInclusive, path::Path};

/// The rows of the comparison with shell-operator that this page answers for.
const ROWS: [RangeInclusive<u32>; 6] = [1..=66, 70..=70, 81..=81, 84..=84, 88..=117, 120..=122];

/// What is not offered has nothing to be shown.
const NOT_OFFERED: [u32; 1] = [43];

/// What depends on the API server is shown on the real one, too.
const ON_THE_REAL_ONE: [u32; 43] = [
    16, 17, 18, 19, 20, 22, 23, 24, 25, 26, 27, 28, 30, 31, 32, 40, 41, 42, 45, 47, 48, 70, 81, 84, 91, 92, 93, 94, 95,
    97, 98, 99, 100, 101, 102, 103, 113, 114, 115, 116, 117, 120, 121,
];

const PAGE: &str = "docs/parity.md";

struct Row {
    number: u32,
    text: String,
    local: Vec<Link>,
    real: Vec<Link>,
}

/// ``[`name`](../path)``
struct Link {
    name: String,
    path: String,
}

fn rows() -> Vec<Row> {
    let text = fs::read_to_string(PAGE).unwrap();
    text.lines().filter_map(row).collect()
}

fn row(line: &str) -> Option<Row> {
    let cells: Vec<_> = line.strip_prefix('|')?.strip_suffix('|')?.split(" | ").map(str::trim).collect();
    let [number, _, _, local, real] = cells.as_slice() else { return None };
    let number = number.parse().ok()?;
    Some(Row { number, text: line.to_owned(), local: links(local), real: links(real) })
}

fn links(cell: &str) -> Vec<Link> {
    let found = cell.split("[`").skip(1).map(|rest| {
        let (name, rest) = rest.split_once("`](").unwrap_or_else(|| panic!("no link to a test: {cell}"));
        let (path, _) = rest.split_once(')').unwrap_or_else(|| panic!("a link without an end: {cell}"));
        Link { name: name.to_owned(), path: path.to_owned() }
    });
    found.collect()
}

/// Whether the file of a link has a test of its name: a function in Rust, Go or Python, or a text in JavaScript.
fn broken(link: &Link) -> Option<String> {
    let Link { name, path } = link;
    let file = Path::new(PAGE).with_file_name(path);
    let Ok(text) = fs::read_to_string(&file) else { return Some(format!("there is no {}", file.display())) };
    let forms = match file.extension().and_then(|extension| extension.to_str()) {
        Some("rs") => vec![format!("fn {name}("), format!("fn {name}<")],
        Some("go") => vec![format!("func {name}(")],
        Some("py") => vec![format!("def {name}(")],
        Some("mjs" | "js" | "ts") => vec![format!("test({name:?},")],
        _ => Vec::new(),
    };
    let found = forms.iter().any(|form| text.contains(form));
    (!found).then(|| format!("{} has no test {name}", file.display()))
}

#[test]
fn every_row_is_there_once() {
    let wanted: Vec<u32> = ROWS.into_iter().flatten().collect();
    let found: Vec<u32> = rows().iter().map(|row| row.number).collect();
    assert_eq!(found, wanted);
}

#[test]
fn every_row_names_tests_that_exist() {
    let mut wrong = Vec::new();
    for Row { number, local, real, .. } in rows() {
        if local.is_empty() != NOT_OFFERED.contains(&number) {
            wrong.push(format!("row {number} has {} tests on the local cluster", local.len()));
        }
        if real.is_empty() && ON_THE_REAL_ONE.contains(&number) {
            wrong.push(format!("row {number} has no test on the real API server"));
        }
        let elsewhere = real.iter().filter(|link| !link.path.starts_with("../tests/e2e/tests/"));
        wrong.extend(elsewhere.map(|link| format!("row {number}: {} is no test on the real API server", link.name)));
        let broken = local.iter().chain(&real).filter_map(broken);
        wrong.extend(broken.map(|complaint| format!("row {number}: {complaint}")));
    }
    assert!(wrong.is_empty(), "{PAGE}:\n{}", wrong.join("\n"));
}

/// The links to tests in a page's tables.
fn named_on(page: &str) -> Vec<Link> {
    let text = fs::read_to_string(page).unwrap();
    text.lines().filter(|line| line.starts_with('|')).flat_map(links).collect()
}

#[test]
fn the_page_about_operators_names_tests_that_exist() {
    let tests = named_on("docs/parity-operators.md");
    assert!(tests.len() > 15, "{}", tests.len());
    let broken: Vec<_> = tests.iter().filter_map(broken).collect();
    assert!(broken.is_empty(), "{broken:#?}");
    let text = fs::read_to_string("docs/parity-operators.md").unwrap();
    let head = |line: &&str| ["| Metacontroller |", "| --- |"].iter().any(|start| line.starts_with(start));
    let rows: Vec<_> = text.lines().filter(|line| line.starts_with('|') && !head(line)).collect();
    assert!(rows.len() > 30, "{}", rows.len());
    let shows_nothing = |row: &&&str| ["not offered", "not needed"].iter().any(|words| row.contains(words));
    let silent: Vec<_> = rows.iter().filter(|row| links(row).is_empty() && !shows_nothing(row)).collect();
    assert!(silent.is_empty(), "these name no test: {silent:#?}");
}

#[test]
fn the_page_about_modules_names_a_test_that_exists_in_each_row() {
    let broken: Vec<_> = named_on("docs/parity-modules.md").iter().filter_map(broken).collect();
    assert!(broken.is_empty(), "{broken:#?}");
    let text = fs::read_to_string("docs/parity-modules.md").unwrap();
    let head = |line: &&str| ["| # |", "| problem |", "| --- |"].iter().any(|start| line.starts_with(start));
    let rows = text.lines().filter(|line| line.starts_with('|') && !head(line));
    let silent: Vec<_> = rows.filter(|line| links(line).is_empty()).collect();
    assert!(silent.is_empty(), "these name no test: {silent:#?}");
    let numbers = text.lines().filter_map(|line| line.split('|').nth(1)?.trim().parse::<u32>().ok());
    let numbers: Vec<_> = numbers.collect();
    assert!(numbers.is_sorted() && numbers.len() > 5 && numbers.iter().all(|number| (1..=65).contains(number)));
}

#[test]
fn tests_on_the_real_api_server_are_in_the_suite() {
    let suite = fs::read_to_string("tests/e2e/tests/main.rs").unwrap();
    let listed: BTreeSet<_> = suite.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
    for Row { number, real, .. } in rows() {
        let missing: Vec<_> =
            real.iter().map(|link| link.name.as_str()).filter(|name| !listed.contains(name)).collect();
        assert!(missing.is_empty(), "row {number}: the suite has no {missing:?}");
    }
}

#[test]
fn no_row_is_half_a_promise() {
    for Row { number, text, .. } in rows() {
        let text = text.to_lowercase();
        let half = ["partly", "partially", "todo", "<!--"].into_iter().find(|word| text.contains(word));
        assert_eq!(half, None, "row {number}");
    }
}

#[test]
fn a_link_that_leads_nowhere_is_found() {
    let link = |name: &str, path: &str| Link { name: name.to_owned(), path: path.to_owned() };
    assert_eq!(broken(&link("every_row_is_there_once", "../tests/it/parity.rs")), None);
    assert!(broken(&link("every_row", "../tests/it/parity.rs")).unwrap().ends_with("has no test every_row"));
    for (name, path) in [
        ("TestAModuleTakesOverWhatHelmHasInstalled", "../tests/chart/adopt_test.go"),
        ("test_values_are_seen_and_changes_are_noted", "../sdk/python/tests/test_values.py"),
        ("values are seen and what a hook changes is told", "../sdk/js/test/testing.test.mjs"),
    ] {
        assert_eq!(broken(&link(name, path)), None);
        assert!(broken(&link(&name[..name.len() - 1], path)).unwrap().contains(" has no test "), "{name}");
    }
    assert!(broken(&link("x", "../tests/it/nowhere.rs")).unwrap().starts_with("there is no "));
    let row = row("| 7 | a | b | [`x`](../t/x.rs), [`y`](../t/y.rs) | – |").unwrap();
    assert_eq!((row.number, row.local.len(), row.real.len()), (7, 2, 0));
}
