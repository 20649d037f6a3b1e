//! The operator as a library.
//!
//! | module | content |
//! | --- | --- |
//! | [`app`] | wiring; the only module that names every stage |
//! | [`hookbundle`] | the HookBundle resource and its controller, which pulls, checks, grants, installs and reports |
//! | [`module`] | the Module resource, its status, and its versions in registries |
//! | [`webhook`] | what the API server requests over TLS: admission reviews and conversions; and the certificates |
//! | [`registration`] | what the API server knows about hooks that answer it: webhook configurations and conversions |
//! | [`telemetry`] | logs, metrics, health |
//! | [`admin`] | the admin socket: views of the operator, commands to it, and the client of both |
//! | [`record`] | runs that are written to files and replayed from them |
//! | [`console`] | one page that shows the same views in a browser, read-only |
//! | [`connections`] | a server's connections, and which one closes when there are too many |
//! | [`plain_http`] | HTTP without TLS, with bounds on each connection |
//!
//! The library never reads a command line. The binary does.

pub mod admin;
pub mod app;
pub mod connections;
pub mod console;
pub mod hookbundle;
pub mod module;
pub mod plain_http;
pub mod record;
pub mod registration;
mod status_event;
pub mod telemetry;
pub mod webhook;
