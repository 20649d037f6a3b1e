//! The console: one page for a browser, which shows what the admin socket shows, and changes nothing.
//!
//! | file | content |
//! | --- | --- |
//! | [`server`] | the port, and what is served at which path |
//! | [`access`] | who may see it: the API server says so, or a secret of this process |
//! | `denied` | why a request is refused |
//! | `reviews` | the questions to the API server, and how long their answers count |
//! | `origin` | which hosts and origins a request may name |
//! | `assets` | the page, as `console/` builds it |
//! | [`lines`], [`effects`] | what is kept of runs for the page |
//! | [`again`] | recorded runs again, for an author |
//!
//! The views are those of the admin socket. This module decides nothing about hooks.

pub mod access;
pub mod again;
mod assets;
mod denied;
pub mod effects;
pub mod lines;
mod origin;
mod reviews;
pub mod server;

pub use access::Access;
pub use again::{Again, Repeats, ReplayView, ScenarioView};
pub use effects::KeptEffects;
pub use lines::KeptLines;
pub use server::{Server, ServerError};

use std::net::SocketAddr;

const TEXT: &str = "text/plain; charset=utf-8";

/// Where the console is, and who may see it.
#[derive(Debug, Clone)]
pub struct Options {
    /// Port 0 takes a free port.
    pub listen: SocketAddr,
    pub access: Access,
    /// Repeats recorded runs. Only with a secret of this process. Default: none, and the console has no such paths.
    pub again: Option<Again>,
}
