//! What people who write hooks use. None of it is in the operator's image.
//!
//! | module | its job |
//! | --- | --- |
//! | [`author`] | projects of hooks: new ones, and the tool chains that build them |
//! | [`dev`] | the loop of changes: watches sources, builds, swaps, shows runs |
//! | [`scenario`] | scenario files, played on the operator and a local cluster |
//! | [`rbac`] | the least roles for hooks and their host, and what runs used of them; pure |

pub mod author;
pub mod dev;
pub mod rbac;
pub mod scenario;
