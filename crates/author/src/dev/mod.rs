//! The development loop: watches the sources of hooks, builds changed ones, swaps the components into a running
//! operator, and shows each run. The caller starts the operator and the cluster.
//!
//! ```text
//!  source ─▶ watch ─changed─▶ build ─component─▶ App::swap ─▶ runs ─▶ show
//! ```

mod again;
mod session;
mod show;
mod source;
mod watch;

pub use again::Repeating;
pub use session::{Session, SessionError};
pub use show::{Format, Lines, Look, Show};
pub use source::{Source, SourceError};
pub use watch::{Folder, WatchError};
