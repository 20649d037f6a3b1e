//! Tools for authors of hooks. The operator's image contains none of this.
//!
//! | module | content |
//! | --- | --- |
//! | [`advice`] | what records of runs show that a document may leave out, as patches; pure |
//! | [`author`] | projects of hooks: new ones, and the toolchains that build them |
//! | [`dev`] | the development loop: watches sources, builds, swaps, shows runs |
//! | [`module`] | the directory of a module: read without others, and rendered without a cluster |
//! | [`import`] | what a directory of shell-operator has, and the permissions beside its hooks |
//! | [`scenario`] | scenario files, played on the operator and a local cluster |
//! | [`rbac`] | the least roles for hooks and the operator, and what runs used of them; pure |

pub mod advice;
pub mod author;
pub mod dev;
pub mod import;
pub mod module;
pub mod rbac;
pub mod scenario;
