//! The table of `docs/local-cluster.md`: each case, and what both servers answered.
//! It never touches the text around it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::Value;

use crate::case::{Case, package};
use crate::play::Transcript;

const WRITE: &str = "BOATHOOK_CONFORMANCE_WRITE";
const BEGIN: &str = "<!-- conformance: begin -->\n";
const END: &str = "<!-- conformance: end -->";

pub struct Row {
    area: String,
    name: String,
    local: String,
    real: String,
    note: String,
}

impl Row {
    pub fn new(case: &Case, local: &Transcript, real: &Transcript, known: Option<&String>) -> Self {
        let ignored = case.ignore.iter().map(|i| format!("not compared: `{}`: {}", i.field, i.reason));
        let known = known.map(|reason| format!("**differs**: {reason}"));
        let notes: Vec<String> = known.into_iter().chain(ignored).collect();
        let (local, real) = (codes(local), codes(real));
        Self { area: case.area.clone(), name: case.name.clone(), local, real, note: notes.join("; ") }
    }
}

/// Writes the table if the variable says so; without, says whether it is up to date.
pub fn check_or_write(rows: Vec<Row>) -> Result<(), String> {
    let path: PathBuf = package().ancestors().nth(2).expect("the package lies in tests").join("docs/local-cluster.md");
    let text = std::fs::read_to_string(&path).map_err(|error| format!("docs/local-cluster.md: {error}"))?;
    let (before, rest) = text.split_once(BEGIN).ok_or("docs/local-cluster.md has no begin of the table")?;
    let (found, after) = rest.split_once(END).ok_or("docs/local-cluster.md has no end of the table")?;
    let table = table(rows);
    if std::env::var_os(WRITE).is_some() {
        let text = format!("{before}{BEGIN}{table}{END}{after}");
        return std::fs::write(&path, text).map_err(|error| format!("docs/local-cluster.md: {error}"));
    }
    if found == table {
        return Ok(());
    }
    Err(format!("the table in docs/local-cluster.md is not up to date: run it once more with {WRITE}=1"))
}

fn table(rows: Vec<Row>) -> String {
    let differing = rows.iter().filter(|row| row.note.contains("**differs**")).count();
    let mut out = format!("\n{} cases, {differing} of them with a known difference.\n", rows.len());
    let mut areas: BTreeMap<String, BTreeMap<String, Row>> = BTreeMap::new();
    for row in rows {
        areas.entry(row.area.clone()).or_default().insert(row.name.clone(), row);
    }
    for (area, rows) in areas {
        out += &format!("\n### {area}\n\n| case | local | real | |\n| --- | --- | --- | --- |\n");
        for row in rows.values() {
            out += &format!("| {} | {} | {} | {} |\n", row.name, row.local, row.real, row.note);
        }
    }
    out + "\n"
}

/// The status codes of all steps, repetitions counted.
fn codes(transcript: &Transcript) -> String {
    let mut runs: Vec<(String, usize)> = Vec::new();
    for step in &transcript.steps {
        let code = match (&step["status"], step["step"].as_str().unwrap_or_default()) {
            (Value::Null, _) => "broken".to_owned(),
            (status, title) if title.starts_with("kubectl") => format!("exit {status}"),
            (status, _) => status.to_string(),
        };
        match runs.last_mut() {
            Some((last, count)) if *last == code => *count += 1,
            _ => runs.push((code, 1)),
        }
    }
    let show = |(code, count): (String, usize)| if count == 1 { code } else { format!("{code}×{count}") };
    runs.into_iter().map(show).collect::<Vec<_>>().join(" ")
}
