//! What a hook does not get: environment, arguments, files, sockets. They are linked, and empty.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use super::support::{component, load, plenty, run, sandbox};

/// Each function crashes when it gets something.
const LOOKS: &str = r#"
    (func $has_environment (call $environment (i32.const 0)) (if (i32.load (i32.const 4)) (then unreachable)))
    (func $has_arguments (call $arguments (i32.const 0)) (if (i32.load (i32.const 4)) (then unreachable)))
    (func $has_directories (call $directories (i32.const 0)) (if (i32.load (i32.const 4)) (then unreachable)))
    ;; An error, and that is `access-denied`.
    (func $has_socket (call $socket (i32.const 0) (i32.const 0))
      (if (i32.ne (i32.load8_u (i32.const 0)) (i32.const 1)) (then unreachable))
      (if (i32.ne (i32.load8_u (i32.const 4)) (i32.const 1)) (then unreachable)))
    (func (export "config") (type $config) (global.get $document))
    (func (export "run") (type $run)
      (call $has_environment) (call $has_arguments) (call $has_directories) (call $has_socket)
      (global.get $success))"#;

// mutant: crates/sandbox/src/store.rs: `let wasi = wasi.build();` => `let wasi = wasi.inherit_env().build();`
// mutant: crates/sandbox/src/store.rs: `let wasi = wasi.build();` => `let wasi = wasi.inherit_args().build();`
// mutant: crates/sandbox/src/store.rs: `let wasi = wasi.build();` => `let wasi = wasi.allow_tcp(true).build();`
// mutant: crates/sandbox/src/store.rs: `let wasi = wasi.build();` => `let _ = wasi.preopened_dir("/", "/", wasmtime_wasi::FsPerms::ReadOnly); let wasi = wasi.build();`
#[tokio::test]
async fn nothing_of_the_hosts_surroundings_is_seen() {
    assert!(std::env::vars().next().is_some(), "there is something that could be seen");
    let sandbox = sandbox();
    let hook = load(&sandbox, "looks", &component(LOOKS)).await;
    assert_eq!(run(&sandbox, &hook, plenty()).await.outcome, Ok(()));
}
