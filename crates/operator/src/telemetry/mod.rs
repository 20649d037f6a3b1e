//! Logs, metrics, health: what the operator tells the people who run it.
//!
//! Never decides anything: other stages and the wiring hand in what is to be shown.

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
pub use readiness::{HookReadiness, Readiness, Role, SourceReadiness};
pub use server::Server;
pub use traces::{TRACE_TARGET, Traces};
