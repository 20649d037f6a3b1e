//! The author's loop: watches the source of hooks, builds what changed, swaps it into a running operator, and shows
//! each run.
//!
//! ```text
//!  source ─▶ watch ─changed─▶ build ─component─▶ App::swap ─▶ runs ─▶ show
//! ```
//!
//! Never starts an operator or a cluster: it is given them.

mod build;
mod scope;
mod session;
mod show;
mod slow;
mod source;
mod watch;

pub use session::{Session, SessionError};
pub use show::{Format, Lines, Look, Show};
pub use source::{Source, SourceError};
pub use watch::WatchError;
