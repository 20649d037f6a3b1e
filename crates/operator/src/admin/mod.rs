//! The admin socket: what the people who run an operator ask it and tell it, over HTTP on a unix
//! socket that is theirs alone.
//!
//! | file | its job |
//! | --- | --- |
//! | [`operator`] | what is asked of the operator, and how it refuses |
//! | [`views`] | what it answers, field by field |
//! | [`pages`] | a page of a snapshot, with Secrets blotted out |
//! | [`socket`] | where the socket is, and who may come in |
//! | [`server`], `routes`, `answer` | the serving side |
//! | [`client`] | the asking side |
//! | [`render`] | views as text for people |
//!
//! Never decides anything about hooks and knows no stage: the wiring implements [`Operator`].

mod answer;
pub mod client;
pub mod operator;
pub mod pages;
pub mod render;
mod routes;
pub mod server;
pub mod socket;
pub mod views;

pub use client::{Client, ClientError};
pub use operator::{Letters, Operator, Refused, SnapshotQuery};
pub use server::Server;
pub use socket::{Socket, SocketError};
