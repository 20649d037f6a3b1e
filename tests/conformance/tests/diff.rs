//! Where two transcripts differ.
//! It never changes or judges them.

use serde_json::Value;

use crate::case::Ignored;

/// The maximum number of lines that a case reports.
const TOLD: usize = 40;

/// A line for each difference, but for those in fields that are not compared.
pub fn differences(local: &[Value], real: &[Value], ignore: &[Ignored]) -> Vec<String> {
    let mut found = Vec::new();
    for number in 0..local.len().max(real.len()) {
        let (local, real) = (local.get(number), real.get(number));
        let step = local.or(real).and_then(|step| step["step"].as_str()).unwrap_or_default();
        let mut walk = Walk { ignore, found: Vec::new() };
        match (local, real) {
            // Answers of two kinds have nothing else in common.
            (Some(a), Some(b)) if a["status"] != b["status"] => walk.found.push(outcomes(a, b)),
            _ => walk.compare("", local, real),
        }
        if !walk.found.is_empty() {
            found.push(format!("  step {}: {step}", number + 1));
            found.append(&mut walk.found);
        }
    }
    if found.len() > TOLD {
        let more = found.len() - TOLD;
        found.truncate(TOLD);
        found.push(format!("  … and {more} more lines"));
    }
    found
}

struct Walk<'a> {
    ignore: &'a [Ignored],
    found: Vec<String>,
}

impl Walk<'_> {
    fn compare(&mut self, path: &str, local: Option<&Value>, real: Option<&Value>) {
        if local == real || self.ignore.iter().any(|ignored| matches(&ignored.field, path)) {
            return;
        }
        match (local, real) {
            (Some(Value::Object(a)), Some(Value::Object(b))) => {
                for key in a.keys().chain(b.keys().filter(|key| !a.contains_key(*key))) {
                    self.compare(&format!("{path}/{key}"), a.get(key), b.get(key));
                }
            }
            (Some(Value::Array(a)), Some(Value::Array(b))) => {
                for i in 0..a.len().max(b.len()) {
                    self.compare(&format!("{path}/{i}"), a.get(i), b.get(i));
                }
            }
            _ => self.found.push(format!("    {path}\n      local: {}\n      real:  {}", show(local), show(real))),
        }
    }
}

fn outcomes(local: &Value, real: &Value) -> String {
    let outcome = |step: &Value| format!("{} {}", step["status"], said(step));
    format!("    status\n      local: {}\n      real:  {}", outcome(local), outcome(real))
}

/// What a refusal says, or the beginning of anything else.
fn said(step: &Value) -> String {
    let all = step["body"]["message"].as_str().map_or_else(|| step["body"].to_string(), str::to_owned);
    all.chars().take(600).collect()
}

fn show(value: Option<&Value>) -> String {
    value.map_or_else(|| "(absent)".to_owned(), Value::to_string)
}

fn matches(pattern: &str, path: &str) -> bool {
    let Some(path) = path.strip_prefix("/body") else {
        return false;
    };
    let (wanted, found): (Vec<&str>, Vec<&str>) = (pattern.split('/').collect(), path.split('/').collect());
    wanted.len() == found.len() && wanted.iter().zip(&found).all(|(w, f)| *w == "*" || w == f)
}
