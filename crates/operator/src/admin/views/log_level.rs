//! The view of what is logged, and how it is changed.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LogLevelView {
    /// A level, or a list of `target=level`.
    pub level: String,
    /// The permanent setting. Initially that of the operator's start.
    pub default: String,
    /// When `level` ends, in RFC 3339. Absent if `level` is permanent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
}

/// A change of what is logged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SetLogLevel {
    /// A level, or a list of `target=level`.
    pub level: String,
    /// How long the change lasts, for example `10m`. If absent, the change is permanent, except that `debug` and
    /// `trace` end after 30 minutes.
    #[serde(default, rename = "for", skip_serializing_if = "Option::is_none")]
    pub lasts: Option<String>,
}

/// A runtime parameter, in shell-operator's format.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Parameter {
    /// Always `log.level`.
    pub name: String,
    pub description: String,
    /// The permanent value.
    pub default: String,
    /// The current value.
    pub value: String,
    /// When the current value ends, in RFC 3339.
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
