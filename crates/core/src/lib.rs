//! What Boathook is made of, without Kubernetes' API and without wasm.
//!
//! | module | its job |
//! | --- | --- |
//! | [`model`] | the nouns that the stages hand on; pure |
//! | [`hooks`] | which hooks exist: components in a directory, and their configuration documents |
//! | [`filter`] | what a binding sees of a change, and whether that makes a trigger |
//! | [`queue`] | order, merging, retries |
//! | [`effect`] | what a write does to an object: before, after, the difference as text |
//! | [`fair`] | fair shares of runs, memory, disk and the like, tenant by tenant |
//! | [`memory`] | how much memory the operator may take, and what for |
//! | [`tasks`] | the long-lived tasks of an operator: one that ends by itself ends the operator |
//! | [`child`] | bounded processes of this program: they compile, filter, check settings |
//!
//! Nothing here talks to a network.

pub mod child;
pub mod effect;
pub mod fair;
pub mod filter;
pub mod hooks;
pub mod memory;
pub mod model;
pub mod queue;
pub mod tasks;
