//! Runs a hook in plain `cargo test`, without wasm and without a cluster.
//!
//! A [`Kit`] takes the two functions that [`hook!`](crate::hook) takes, and holds a cluster in memory. A [`Run`] says
//! what wakes the hook; what came of it is a [`Ran`], and in the kit's cluster.
//!
//! ```
//! use boathook_sdk::kube::Operation;
//! use boathook_sdk::prelude::*;
//! use boathook_sdk::serde_json::{Value, json};
//! use boathook_sdk::testing::{Kit, Run};
//!
//! /// Namespaces with the label `team` have a ConfigMap of that name.
//! fn config() -> Config {
//!     let namespaces =
//!         Kubernetes::new("namespaces").api_version("v1").kind("Namespace").labels(Labels::new().exists("team"));
//!     let permission = Permission::new().resources(["configmaps"]).verbs(["patch"]);
//!     Config::new().kubernetes(namespaces).permission(permission)
//! }
//!
//! fn run(ctx: Context) -> Result<()> {
//!     for event in ctx.events("namespaces") {
//!         let namespace: kube::Object = event.object()?;
//!         let team = namespace.label("team");
//!         Operation::apply_object(&json!({
//!             "apiVersion": "v1", "kind": "ConfigMap",
//!             "metadata": {"namespace": namespace.name(), "name": "team"}, "data": {"team": team},
//!         }))
//!         .run()?;
//!     }
//!     Ok(())
//! }
//!
//! let mut kit = Kit::new(config, run);
//! let web = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "web", "labels": {"team": "shop"}}});
//! let ran = kit.run(Run::new().added("namespaces", &web)).ok();
//!
//! assert_eq!(ran.written(), ["patch ConfigMap web/team"]);
//! let made: Value = kit.find(&ObjectRef::new("v1", "ConfigMap", "web", "team")).unwrap();
//! assert_eq!(made["data"]["team"], "shop");
//! ```
//!
//! Calls need the document's `permissions`, as in a cluster: a permission that is missing there fails the test here.
//!
//! ```
//! # use boathook_sdk::prelude::*;
//! # use boathook_sdk::testing::{Kit, Run};
//! fn config() -> Config {
//!     Config::new().on_startup(1)
//! }
//!
//! fn run(_: Context) -> Result<()> {
//!     kube::Operation::delete(ObjectRef::new("v1", "Pod", "web", "old")).run()?;
//!     Ok(())
//! }
//!
//! let ran = Kit::new(config, run).run(Run::new().startup());
//! assert!(ran.error().is_permanent());
//! assert!(ran.error().to_string().contains(r#"add {apiGroups: [""], resources: [pods], verbs: [delete]"#));
//! ```
//!
//! A hook that the API server asks is given an [`Asked`]; it answers with its verdict, and what becomes of the object:
//!
//! ```
//! # use boathook_sdk::prelude::*;
//! # use boathook_sdk::serde_json::json;
//! # use boathook_sdk::testing::{Asked, Kit};
//! fn config() -> Config {
//!     Config::new().validating(Validating::new("owner.example.com").rule(Rule::new(["CREATE"], ["configmaps"])))
//! }
//!
//! fn validate(review: Review) -> Result<Verdict> {
//!     let map: kube::Object = review.object()?;
//!     Ok(if map.label("owner").is_some() { Verdict::allow() } else { Verdict::deny("whose is it?") })
//! }
//!
//! let mut kit = Kit::answering(config);
//! let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "web", "name": "m"}});
//! let ran = kit.validate(validate, Asked::create("owner.example.com", &map).user("jane", ["developers"]));
//! assert_eq!(ran.answer().denied.as_ref().map(|denied| denied.message.as_str()), Some("whose is it?"));
//! ```
//!
//! A hook that reconciles is asked about an object of the cluster. Its children become objects there:
//!
//! ```
//! # use boathook_sdk::prelude::*;
//! # use boathook_sdk::serde_json::{Value, json};
//! # use boathook_sdk::testing::Kit;
//! fn config() -> Config {
//!     Config::new().reconcile(Reconcile::new("sites", "example.com/v1", "Site").owns("v1", "ConfigMap"))
//! }
//!
//! fn reconcile(site: reconcile::Parent) -> Result<Desired> {
//!     let spec: Value = site.spec()?;
//!     let metadata = json!({"name": site.name()});
//!     let page = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"page": spec["page"]}});
//!     Ok(Desired::new().child(&page).status(&json!({"pages": site.children().len()})))
//! }
//!
//! let mut kit = Kit::answering(config);
//! let metadata = json!({"namespace": "default", "name": "home"});
//! let site = json!({"apiVersion": "example.com/v1", "kind": "Site", "metadata": metadata, "spec": {"page": "hello"}});
//! let site = kit.given(&site).object_ref();
//! assert_eq!(kit.reconcile(reconcile, "sites", &site).answer().status["pages"], 0);
//! assert_eq!(kit.reconcile(reconcile, "sites", &site).answer().status["pages"], 1);
//! let page: Value = kit.find(&ObjectRef::new("v1", "ConfigMap", "default", "home")).ok_or("there is no page")?;
//! assert_eq!(page["data"]["page"], "hello");
//! # Ok::<(), &str>(())
//! ```
//!
//! # What is not as in a cluster
//!
//! - `jqFilter`s do not run. [`Kit::filter`] says in Rust what one gives.
//! - Objects are not validated, and nothing is defaulted. Owners and dependents, Scales, tokens and most other
//!   subresources than `status` and `eviction` are not known.
//! - Patches with jq cannot be done; strategic merge patches with lists or directives neither; nor a server-side apply
//!   of a list of objects that others have written too. A hook that asks for one of these fails the test, with a text
//!   that says so.
//! - Limits of time, memory and calls do not count, and a run is not repeated.
//! - [`clock::now`](crate::clock::now) and [`random::number`](crate::random::number) are the test's;
//!   `SystemTime::now` is the machine's.
//!
//! Scenarios (`boathook test`) know all this: they run the component on the real operator and an API server. Show there
//! that the hook works, and here how it decides.

mod answer;
mod asked;
mod cluster;
mod document;
mod grants;
mod host;
mod kinds;
mod kit;
mod metrics;
mod patch;
mod ran;
mod reconciled;
mod run;
mod selector;
mod triggers;
mod write;

pub use asked::{Asked, Mutated};
pub use kit::Kit;
pub use ran::{Change, Emitted, Line, Ran, Verb, Write};
pub use reconciled::Reconciled;
pub use run::Run;

pub(crate) use host::with;
pub(crate) use metrics::{Op, What, labels};

/// The answers of servers by method and URL.
type Servers = std::collections::BTreeMap<(String, String), Vec<Result<crate::http::Response, crate::http::Error>>>;
