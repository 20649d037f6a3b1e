//! Logs, metrics, health: what the operator reports to the people who run it.
//!
//! This module decides nothing. Other stages and the wiring pass in what to show.

pub mod hook_metrics;
pub mod log;
pub mod metrics;
mod page;
mod readiness;
pub mod server;
pub mod traces;

pub use hook_metrics::HookMetrics;
pub use log::{LogControl, LogFormat};
pub use metrics::Metrics;
pub use readiness::{Converge, HookReadiness, Readiness, Role, SourceReadiness};
pub use server::Server;
pub use traces::{TRACE_TARGET, Traces};
