//! What docs/migration.md says of jq is so: each filter of its table is evaluated.
//!
//! Never asks gojq: its column was filled by hand, and is compared with what is to be written instead.

use boathook_core::fair::Tenant;
use boathook_sandbox::{FilterConfig, Filters};

use crate::support;

/// A line of the table: code as it is, everything else as a word.
struct Row {
    filter: String,
    on: String,
    gojq: String,
    here: String,
    instead: Option<String>,
}

fn rows() -> Vec<Row> {
    let text = std::fs::read_to_string("docs/migration.md").unwrap();
    let (_, table) = text.split_once("| | filter | on | gojq | here |").unwrap();
    table.lines().skip(2).take_while(|line| line.starts_with('|')).map(row).collect()
}

fn row(line: &str) -> Row {
    // A pipe within a cell is written `\|`.
    let line = line.replace("\\|", "\u{1}");
    let cells: Vec<_> = line.split('|').map(|cell| cell.trim().trim_matches('`').replace('\u{1}', "|")).collect();
    let [_, _, filter, on, gojq, here, instead, _] = cells.as_slice() else { panic!("{line}") };
    let instead = Some(instead.clone()).filter(|instead| instead != "–");
    Row { filter: filter.clone(), on: on.clone(), gojq: gojq.clone(), here: here.clone(), instead }
}

async fn evaluate(filters: &Filters, filter: &str, on: &str) -> String {
    let Ok(program) = filters.compile(&Tenant::hook("h"), filter).await else { return "refused".to_owned() };
    match program.run(&on.into()).await {
        Ok(outputs) => outputs.combined().to_string(),
        Err(_) => "error".to_owned(),
    }
}

#[tokio::test]
async fn filters_give_what_the_migration_page_says() {
    let filters = support::filters::filters(FilterConfig::default());
    let rows = rows();
    assert!(rows.len() > 15, "the table is not found");
    let mut wrong = Vec::new();
    for Row { filter, on, gojq, here, instead } in rows {
        let found = evaluate(&filters, &filter, &on).await;
        if found != here || found == gojq {
            wrong.push(format!("`{filter}` on `{on}` gives {found}; the page says {here}, gojq {gojq}"));
        }
        let Some(instead) = instead else { continue };
        let found = evaluate(&filters, &instead, &on).await;
        if found != gojq {
            wrong.push(format!("`{instead}` on `{on}` gives {found}, not {gojq} as gojq does"));
        }
    }
    assert!(wrong.is_empty(), "docs/migration.md, jq filters:\n{}", wrong.join("\n"));
}
