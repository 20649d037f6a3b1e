//! Why a chart is not rendered.

use std::time::Duration;

/// Why a chart is not rendered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RenderError {
    /// The chart or its values are wrong. The text is Helm's own, and names the template and its line.
    #[error("{0}")]
    Chart(String),
    /// The chart needs more than a chart may have. The text names the bound.
    #[error("{0}")]
    Limit(String),
    /// The answer of a `lookup` is missing. The text is that of the host.
    #[error("{0}")]
    Lookup(String),
    /// There was no memory or no turn. It can be rendered later.
    #[error("{0}")]
    Crowded(String),
    /// The engine is missing or fails. This is not a fault of the chart.
    #[error("{0}")]
    Engine(String),
}

impl RenderError {
    /// Whether the same request can succeed later, although nothing in it changes.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Crowded(_) | Self::Lookup(_))
    }

    pub(super) fn late(patience: Duration) -> Self {
        Self::Crowded(format!("the chart was not rendered within {}", humantime::format_duration(patience)))
    }
}
