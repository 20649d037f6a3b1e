//! Scenario files: the objects of a cluster, what happens to them, and the expected result. Each scenario is played on
//! the real operator and its own local cluster, and reaches no other cluster. `docs/reference/scenario.md` describes
//! the format.

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
