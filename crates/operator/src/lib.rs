//! The operator as a library.
//!
//! | module | its job |
//! | --- | --- |
//! | [`app`] | wiring; the only module that names every stage |
//! | [`hookbundle`] | the HookBundle resource, and its controller: pulls, checks, grants, installs, reports |
//! | [`webhook`] | what the API server asks over TLS: admission reviews, conversions; and the certificates |
//! | [`registration`] | what the API server knows of hooks that answer it: webhook configurations, conversions |
//! | [`telemetry`] | logs, metrics, health |
//! | [`admin`] | the admin socket: views of the operator, commands to it, and the client of both |
//! | [`record`] | runs written to files, and played again out of them |
//! | [`connections`] | a server's connections, and which one closes when there are too many |
//!
//! Never reads a command line: the binary does.

pub mod admin;
pub mod app;
pub mod connections;
pub mod hookbundle;
pub mod record;
pub mod registration;
pub mod telemetry;
pub mod webhook;
