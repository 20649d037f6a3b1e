//! The Kubernetes API, as an operator with many tenants needs it.
//!
//! | module | its job |
//! | --- | --- |
//! | [`discovery`] | which kinds the API server serves |
//! | [`watch`] | changes of objects, one stream for all subscribers of the same objects; ticks of schedules |
//! | [`election`] | which of several replicas leads, and until when it may act |
//! | [`access`] | the calls of hooks, within their grants |
//!
//! This crate never runs a hook, and never decides what a change means to a hook.

pub mod access;
pub mod discovery;
pub mod election;
pub mod watch;
