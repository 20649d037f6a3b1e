//! Connections to hosts that others name: the registries of HookBundles, and the targets of hooks' HTTP requests.
//!
//! | modules | content |
//! | --- | --- |
//! | `reach` | which addresses may be connected to |
//! | `tls` | whose certificates are trusted |
//! | `client` | a hook's request: what its permissions allow, limits, an audit line for each |
//!
//! There is one list of addresses, so that what is closed to registries is closed to hooks.

mod client;
mod reach;
mod tls;

pub use client::{Answers, Client, HttpConfig, check, shown};
pub use reach::{Allowed, Connector, NotPublic, Reach};
pub use tls::{TlsError, client_config};
