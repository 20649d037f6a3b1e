//! What is logged, as shown and as changed.

use serde::{Deserialize, Serialize};

/// What is logged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LogLevelView {
    /// A level, or a list of `target=level`.
    pub level: String,
    /// The one that holds for good: at first that of the operator's start.
    pub default: String,
    /// Until when `level` holds, RFC 3339. Absent: for good.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
}

/// A change of what is logged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SetLogLevel {
    /// A level, or a list of `target=level`.
    pub level: String,
    /// How long it holds: `10m`. Absent: for good, except that `debug` and `trace` go back after 30 minutes.
    #[serde(default, rename = "for", skip_serializing_if = "Option::is_none")]
    pub lasts: Option<String>,
}

/// A runtime parameter, in shell-operator's words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Parameter {
    /// `log.level`
    pub name: String,
    /// What it is.
    pub description: String,
    /// The value that holds for good.
    pub default: String,
    /// The value now.
    pub value: String,
    /// Until when, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expire_at: Option<String>,
}

impl From<LogLevelView> for Parameter {
    fn from(view: LogLevelView) -> Self {
        Self {
            name: "log.level".to_owned(),
            description: "what is logged: a level, or a list of target=level".to_owned(),
            default: view.default,
            value: view.level,
            expire_at: view.until,
        }
    }
}
