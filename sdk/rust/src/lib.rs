//! Write [Boathook](https://github.com/boathook/boathook) hooks in Rust.
//!
//! A hook is two functions: one that says what wakes it and what it may touch, and one that does
//! the work. [`hook!`] makes a WebAssembly component of them, a hundred kilobytes or so.
//!
//! ```
//! use boathook_sdk::prelude::*;
//!
//! fn config() -> Config {
//!     Config::new()
//!         .kubernetes(Kubernetes::new("namespaces").api_version("v1").kind("Namespace"))
//!         .permission(Permission::new().resources(["events"]).verbs(["create"]))
//! }
//!
//! fn run(ctx: Context) -> Result<()> {
//!     for event in ctx.events("namespaces") {
//!         log::info!("{:?} {}", event.change, event.target.name);
//!     }
//!     Ok(())
//! }
//!
//! boathook_sdk::hook!(config, run);
//! ```
//!
//! | module | for |
//! | --- | --- |
//! | [`config`] | the configuration document |
//! | [`context`] | why a run happens |
//! | [`admission`], [`conversion`] | answers to the API server: may this be, and what is this in another version |
//! | [`reconcile`] | what a custom resource becomes |
//! | `crd` | the definition of a custom resource from types, with the feature `crd` |
//! | [`snapshots`] | the objects that bindings match, without a request |
//! | [`kube`] | the Kubernetes API, within the hook's grants |
//! | `http` | requests to hosts outside the cluster, with the feature `http` |
//! | [`metrics`], [`settings`] | what a hook reports, what its admin configured |
//! | [`values`] | the values of the module that a hook belongs to |
//! | [`clock`], [`random`] | time and chance, which a test can fix |
//! | `testing` | runs the hook in `cargo test`, without wasm; only in native builds |
//!
//! Log with the [`log`] macros. A panic ends the run with its message in the log, and the run is
//! retried.
//!
//! # Features
//!
//! - `k8s-openapi`: the types of [`k8s-openapi`](https://docs.rs/k8s-openapi) can be used with
//!   [`kube`]; the hook's own manifest picks the Kubernetes version.
//! - `http`: the module `http`.
//! - `crd`: the module `crd`, with [`schemars`](https://docs.rs/schemars). The component has the code that makes the
//!   schemas.
//! - `kv`: key-values of log lines become fields in the operator's log.
//! - `test-yaml`: the module `testing` reads documents that are written in YAML.

#![warn(missing_docs)]

mod data;
#[doc(hidden)]
pub mod entry;
mod error;
mod host;
mod logger;

pub mod admission;
pub mod clock;
pub mod config;
pub mod context;
pub mod conversion;
#[cfg(feature = "crd")]
pub mod crd;
// A native build has no dependency for it, so that tests need no feature.
#[cfg(any(feature = "http", not(target_family = "wasm")))]
pub mod http;
pub mod kube;
pub mod metrics;
pub mod random;
pub mod reconcile;
pub mod settings;
pub mod snapshots;
#[cfg(not(target_family = "wasm"))]
pub mod testing;
pub mod values;

use entry::bindings;

pub use config::{Config, IntoConfig};
pub use context::Context;
pub use data::{DataError, Json};
pub use error::{Error, Result, ResultExt};
#[cfg(feature = "k8s-openapi")]
pub use k8s_openapi;
pub use log;
pub use serde_json;

/// What most hooks use.
pub mod prelude {
    pub use crate::admission::{Mutation, Review, Verdict};
    pub use crate::config::{
        Annotations, Config, Content, Conversion, DirectoryPermission, FailurePolicy, HttpPermission, IntoConfig,
        Kubernetes, Labels, Limits, MissedRuns, Mutating, Permission, Reconcile, Related, Retry, Rule, Schedule,
        Validating,
    };
    pub use crate::context::{Cause, Change, Context, Event, Trigger};
    pub use crate::error::{Error, Result, ResultExt};
    pub use crate::kube::{self, ObjectRef};
    pub use crate::reconcile::{self, Desired, Finalized};
    pub use crate::{conversion, log, snapshots};
}

/// Compiles the README's example.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// The hooks that the repository's README and its book show.
#[cfg(doctest)]
mod book {
    #[doc = include_str!("../../../README.md")]
    struct Readme;
    #[doc = include_str!("../../../docs/migration.md")]
    struct Migration;
    #[doc = include_str!("../../../docs/operators.md")]
    struct Operators;
    #[doc = include_str!("../../../docs/testing.md")]
    struct Testing;
    #[doc = include_str!("../../../docs/webhooks.md")]
    struct Webhooks;
}
