//! The parts of Boathook that need neither a Kubernetes client nor wasmtime.
//!
//! | module | content |
//! | --- | --- |
//! | [`model`] | the nouns that the stages pass on; pure |
//! | [`hooks`] | which hooks exist: components in a directory, and their configuration documents |
//! | [`filter`] | what a binding sees of a change, and whether that makes a trigger |
//! | [`queue`] | order, merging, retries |
//! | [`causes`] | which run caused which event, within bounds |
//! | [`effect`] | what a write does to an object: before, after, the difference as text |
//! | [`fair`] | fair shares of runs, memory, disk and the like for each tenant |
//! | [`memory`] | how much memory the operator may take, and for what |
//! | [`tasks`] | the long-lived tasks of an operator: if one ends by itself, the operator ends |
//! | [`child`] | bounded processes of this program: they compile, check settings |
//!
//! Nothing here uses the network.

pub mod causes;
pub mod child;
pub mod definition;
pub mod effect;
pub mod fair;
pub mod filter;
pub mod hooks;
pub mod memory;
pub mod model;
pub mod queue;
pub mod tasks;
