//! Boathook runs Kubernetes hooks as WebAssembly components.
//!
//! ```text
//!  Kubernetes ─▶ watch ─Change─▶ filter ─Trigger─▶ queue ─Job─▶ sandbox ─host calls─▶ access ─▶ Kubernetes
//!               (shared streams)  (match, project,  (order, merge, (fresh instance,    (grants, identity,
//!    schedule ──────┘              dedup)            retry, limit)  limits, WIT)        audit, execute)
//! ```
//!
//! One way; no stage knows an earlier or a later one. `tests/it/layering.rs` keeps it so.
//!
//! | module | its job |
//! | --- | --- |
//! | [`model`] | the nouns that the stages hand on; pure |
//! | [`fair`] | fair shares of runs, memory, disk and the like, tenant by tenant |
//! | [`memory`] | how much memory the operator may take, and what for |
//! | [`effect`] | what a write does to an object: before, after, the difference as text |
//! | [`hooks`] | which hooks exist: components in a directory and their configuration documents |
//! | [`discovery`] | which kinds the API server serves |
//! | [`election`] | which of several replicas leads, and until when it may act |
//! | [`watch`] | stage 1: changes of objects, and ticks of schedules |
//! | [`filter`] | stage 2: what a binding sees of a change, and whether that makes a trigger |
//! | [`queue`] | stage 3: order, merging, retries |
//! | [`sandbox`] | stage 4: one run of a hook in a fresh instance |
//! | [`access`] | stage 5: the hook's calls to Kubernetes, within its grants |
//! | [`webhook`] | what the API server asks over TLS: admission reviews, conversions; and the certificates |
//! | [`telemetry`] | logs, metrics, health |
//! | [`admin`] | the admin socket: views of the operator, commands to it, and the client of both |
//! | [`app`] | wiring; the only module that names every stage |
//! | [`rbac`] | the least roles for hooks and their host, and what runs used of them; pure |
//! | [`author`] | projects of hooks: new ones, and the tool chains that build them |
//! | [`bundle`] | sets of hooks as one OCI artifact: packed, pushed, pulled, trusted or refused |
//! | [`hookbundle`] | the HookBundle resource, and its controller: pulls, checks, grants, installs, reports |
//! | [`dev`] | the author's loop: watches sources, builds, swaps, shows runs |
//! | [`registration`] | what the API server is told of hooks that answer it: webhook configurations, conversions |
//! | [`record`] | runs written to files, and played again out of them |
//! | [`scenario`] | scenario files, played on the operator and a local cluster |
//! | [`tasks`] | the long-lived tasks of an operator: one that ends by itself is told of |
//! | [`connections`] | a server's connections, and which one closes when there are too many |
//! | [`child`] | bounded processes of this program: they compile, filter, check settings |
//! | [`cli`], [`cmd`] | what was typed, and the subcommands |

pub mod access;
pub mod admin;
pub mod app;
pub mod author;
pub mod bundle;
pub mod child;
pub mod cli;
pub mod cmd;
pub mod connections;
pub mod dev;
pub mod discovery;
pub mod effect;
pub mod election;
pub mod fair;
pub mod filter;
pub mod hookbundle;
pub mod hooks;
pub mod memory;
pub mod model;
pub mod queue;
pub mod rbac;
pub mod record;
pub mod registration;
pub mod sandbox;
pub mod scenario;
pub mod tasks;
pub mod telemetry;
pub mod watch;
pub mod webhook;
