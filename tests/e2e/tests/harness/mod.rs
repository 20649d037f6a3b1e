//! What the tests stand on: clusters, operators, a proxy, kubectl, waiting, and the dump on failure.
//! It knows nothing of what the hooks do.

mod cluster;
mod dump;
mod http;
mod kubectl;
mod operator;
mod process;
mod proxy;
mod settings;
mod shared;
mod test;
mod wait;

pub use cluster::{Backend, Cluster, Needs};
pub use operator::Operator;
pub use process::Process;
pub use proxy::Proxy;
pub use settings::{apiserver, boathook, hook as hook_file};
pub use shared::ALL_HOOKS;
pub use test::{Test, run};
pub use wait::{eventually, eventually_within, for_each, last};
