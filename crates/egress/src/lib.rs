//! Connections to hosts that others name: the registries of HookBundles, and the targets of hooks' HTTP requests.
//!
//! | modules | content |
//! | --- | --- |
//! | `reach` | which addresses may be connected to |
//! | `tls` | whose certificates are trusted |
//! | `credential` | credentials that the hook does not see |
//! | `client` | a hook's request: what its permissions allow, limits, an audit line for each |
//!
//! There is one list of addresses, so that what is closed to registries is closed to hooks.

mod client;
mod credential;
mod reach;
#[cfg(test)]
mod testing;
mod tls;

pub use client::{Answers, Client, HookCredential, HttpConfig, check, shown};
pub use credential::Secrets;
pub use reach::{Allowed, Connector, NotPublic, Reach};
pub use tls::{TlsError, client_config};

use http::{HeaderName, header};

/// Headers that say how a message is carried and not what it is. They are the operator's own.
const OWN: [HeaderName; 10] = [
    header::HOST,
    header::CONNECTION,
    header::CONTENT_LENGTH,
    header::TRANSFER_ENCODING,
    header::TE,
    header::TRAILER,
    header::UPGRADE,
    header::EXPECT,
    header::PROXY_AUTHORIZATION,
    HeaderName::from_static("proxy-connection"),
];
