//! What the tests stand on: clusters, operators, a proxy, kubectl, waiting, and the dump on failure.
//! It knows nothing of what the hooks do.

mod cluster;
mod dump;
mod gate;
pub mod http;
mod kubectl;
mod operator;
mod port;
mod process;
mod proxy;
mod settings;
mod shared;
mod test;
mod wait;

pub use cluster::{Backend, Cluster, Needs};
pub use gate::{Gate, Write};
pub use kubectl::Said;
pub use operator::Operator;
pub use port::port;
pub use process::Process;
pub use proxy::Proxy;
pub use settings::{apiserver, boathook, cache_home, from_env, hook as hook_file, moto, run_dir, workspace};
pub use shared::ALL_HOOKS;
pub use test::{RUNTIME, Test, run};
pub use wait::{SOON, eventually, eventually_within, for_each, last};
