//! HookBundles: the definition, what the API server refuses, and the controller on a local cluster with a real registry.

mod control;
mod definition;
mod desk;
mod gap;
mod hostile;
mod rollout;
mod shadow;
pub mod stage;
mod standby;
mod webhooks;
mod whole;
