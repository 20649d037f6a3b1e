//! Scenario files: what a cluster holds, what happens there, and what must come of it; each played on
//! the real operator and a local cluster of its own. `docs/reference/scenario.md` says what one may hold.
//!
//! Never prints anything, and never reaches another cluster.

mod admin;
mod contexts;
mod document;
mod edit;
mod faults;
mod files;
mod judge;
mod log;
mod matcher;
mod play;
mod pool;
mod problem;
mod questions;
mod reader;
mod schema;
mod tree;

pub use contexts::{Contexts, contexts};
pub use document::Scenario;
pub use edit::{Edit, apply};
pub use files::{Case, FindError, find};
pub use play::{Failure, Played, Settings};
pub use pool::{Subject, play_all};
pub use problem::{Place, Problem};
pub use schema::schema;
