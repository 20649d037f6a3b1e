//! Hooks' calls: on the local cluster, and on a server that fails as told.
//!
//! With `BOATHOOK_IT_KUBECONFIG` set, the calls go to that API server instead of the local cluster.

mod batch;
mod events;
mod faults;
mod fence;
mod fixture;
mod grants;
mod identity;
mod reads;
mod script;
mod stored;
mod writes;
