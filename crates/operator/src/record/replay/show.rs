//! Differences as text for people. The text contains no control characters, because hooks wrote the values and the text
//! goes to a terminal.

use std::fmt;

use serde_json::Value;

use super::{
    compare::{Change, Difference},
    operation,
};
use crate::record::Request;

/// The maximum length of a value that is shown completely.
const LONGEST: usize = 400;

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Call { number, recorded: Some(recorded), now: Some(now), fields } => {
                writeln!(f, "call {number} is another one")?;
                if recorded.name() == now.name() && !fields.is_empty() {
                    writeln!(f, "    {}", recorded.name())?;
                    return changes(f, fields);
                }
                writeln!(f, "    - {}\n    + {}", call(recorded), call(now))
            }
            Self::Call { number, recorded: Some(recorded), now: None, .. } => {
                writeln!(f, "the run ended before call {number}\n    - {}", call(recorded))
            }
            Self::Call { number, now, .. } => {
                let now = now.as_deref().map(call).unwrap_or_default();
                writeln!(f, "call {number} was not made when this was recorded\n    + {now}")
            }
            Self::Changed { object, verb, fields } => {
                writeln!(f, "{verb} {} is another one", plain(object))?;
                changes(f, fields)
            }
            Self::Missing { object, verb, recorded } => {
                writeln!(f, "{verb} {} is not done any more\n    - {}", plain(object), value(recorded))
            }
            Self::Added { object, verb, now } => {
                writeln!(f, "{verb} {} was not done before\n    + {}", plain(object), value(now))
            }
            Self::Permission { object, verb, recorded, now } => {
                let ended = |refusal: &Option<String>| match refusal {
                    None => "allowed".to_owned(),
                    Some(refusal) => format!("refused: {}", plain(refusal)),
                };
                writeln!(f, "{verb} {} is ruled otherwise by the hook's permissions", plain(object))?;
                writeln!(f, "    - {}\n    + {}", ended(recorded), ended(now))
            }
            Self::Outcome { recorded, now } => {
                writeln!(f, "it ended otherwise\n    - {}\n    + {}", plain(recorded), plain(now))
            }
            Self::Answer { fields } => {
                writeln!(f, "it answered otherwise")?;
                changes(f, fields)
            }
            Self::Metrics { recorded, now } => {
                writeln!(f, "it reported other metrics")?;
                recorded.iter().try_for_each(|line| writeln!(f, "    - {}", plain(line)))?;
                now.iter().try_for_each(|line| writeln!(f, "    + {}", plain(line)))
            }
        }
    }
}

fn changes(f: &mut fmt::Formatter<'_>, changes: &[Change]) -> fmt::Result {
    for Change { path, recorded, now } in changes {
        writeln!(f, "    {}", plain(path))?;
        if let Some(recorded) = recorded {
            writeln!(f, "      - {}", value(recorded))?;
        }
        if let Some(now) = now {
            writeln!(f, "      + {}", value(now))?;
        }
    }
    Ok(())
}

fn call(request: &Request) -> String {
    value(&operation::request(request))
}

fn value(value: &Value) -> String {
    plain(&value.to_string())
}

fn plain(text: &str) -> String {
    let end = text.floor_char_boundary(LONGEST);
    let mut shown = String::new();
    for c in text.get(..end).unwrap_or(text).chars() {
        if c.is_control() { shown.extend(c.escape_default()) } else { shown.push(c) }
    }
    if end < text.len() {
        shown.push_str(&format!("… ({} bytes more)", text.len() - end));
    }
    shown
}
