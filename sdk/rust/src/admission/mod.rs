//! Requests to the API server that a hook decides on, before they are done.
//!
//! A hook with `kubernetesValidating` bindings has a function `validate`, which allows or denies; one with
//! `kubernetesMutating` bindings a function `mutate`, which may change the object, too.
//!
//! ```
//! use boathook_sdk::prelude::*;
//! use boathook_sdk::serde_json::json;
//!
//! fn config() -> Config {
//!     let rule = || Rule::new(["CREATE", "UPDATE"], ["configmaps"]);
//!     Config::new()
//!         .validating(Validating::new("owner.example.com").rule(rule()))
//!         .mutating(Mutating::new("default-owner.example.com").rule(rule()))
//! }
//!
//! /// Every ConfigMap says whose it is.
//! fn validate(review: Review) -> Result<Verdict> {
//!     let map: kube::Object = review.object()?;
//!     Ok(match map.label("owner") {
//!         None => Verdict::deny(format!("ConfigMap {:?} needs a label owner", review.name)).code(422),
//!         Some("nobody") => Verdict::allow().warn("nobody will care for it"),
//!         Some(_) => Verdict::allow(),
//!     })
//! }
//!
//! /// Unless somebody else said it, it is that of who makes it.
//! fn mutate(review: Review) -> Result<Mutation> {
//!     let mut map: kube::Object = review.object()?;
//!     if map.label("owner").is_none() {
//!         map["metadata"]["labels"]["owner"] = json!(review.user.username);
//!     }
//!     Ok(Mutation::object(&map)?)
//! }
//!
//! boathook_sdk::hook!(config, validate = validate, mutate = mutate);
//! ```
//!
//! An error is no denial: the binding's `failurePolicy` decides then whether the request goes on. Nothing is kept
//! between calls; what a decision needs of the cluster it takes from [`snapshots`](crate::snapshots), which cost no
//! request.

mod review;
mod verdict;

pub use review::{Operation, Resource, Review, User};
pub use verdict::{Denial, Mutation, Verdict};

pub(crate) use verdict::Change;
