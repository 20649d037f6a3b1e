//! HookBundles: the definition, what the API server refuses, and the controller on a local cluster.

mod definition;
