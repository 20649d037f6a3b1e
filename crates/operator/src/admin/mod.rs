//! The admin socket: what admins request from an operator and command it to do, over HTTP on a unix socket that only
//! they can use.
//!
//! | file | content |
//! | --- | --- |
//! | [`operator`] | what can be requested from the operator, and how it refuses |
//! | [`views`] | what the operator answers, field by field |
//! | [`modules`] | what modules do, in which order, and what makes their values |
//! | [`bill`] | what hooks, bundles and namespaces use |
//! | [`details`] | what the console shows in addition: writes, runs that have not ended, log lines, sets |
//! | [`why`] | what caused what, and why a hook did not run |
//! | [`pages`] | a page of a snapshot, with the values of Secrets hidden |
//! | [`socket`] | where the socket is, and who may connect |
//! | [`server`], `routes` | the server |
//! | [`client`] | the client |
//! | [`render`] | views as text for people |
//!
//! This module decides nothing about hooks and knows no stage. The wiring implements [`Operator`].

pub mod bill;
pub mod client;
pub mod details;
pub mod modules;
pub mod operator;
pub mod pages;
pub mod render;
pub(crate) mod routes;
pub mod server;
pub mod socket;
pub mod views;
pub mod why;

pub use client::{Client, ClientError};
pub(crate) use operator::Shared;
pub use operator::{Letters, Operator, Refused, SnapshotQuery};
pub use server::Server;
pub use socket::{Socket, SocketError};
