//! Code of hooks that are idle takes no memory.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![cfg(target_os = "linux")]

use std::{fs, path::Path};

use boathook_sandbox::{Sandbox, SandboxConfig};

use super::support::{self, guest, load, plenty, run};

/// The resident bytes of the code that this process maps from files in a directory, and how many of them are no longer the
/// file's. The memory of an instance begins as a mapping of the same file, but the guest may write to it.
fn mapped_from(directory: &Path) -> (u64, u64) {
    let directory = directory.canonicalize().unwrap();
    let (mut resident, mut written, mut ours) = (0, 0, false);
    for line in fs::read_to_string("/proc/self/smaps").unwrap().lines() {
        let kilobytes = |line: &str| line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024;
        match line.split_once(':') {
            Some(("Rss", _)) if ours => resident += kilobytes(line),
            Some(("Anonymous", _)) if ours => written += kilobytes(line),
            // The first line of a mapping has its addresses and its file.
            _ if line.split(' ').next().is_some_and(|word| word.contains('-')) => {
                let writable = line.split(' ').nth(1).unwrap().contains('w');
                ours = !writable && line.contains(&*directory.to_string_lossy());
            }
            _ => {}
        }
    }
    (resident, written)
}

// mutant: crates/sandbox/src/resident.rs: `        } else if self.idle.fetch_add(1, Ordering::Relaxed) + 1 == SWEEPS` => `        } else if self.idle.fetch_add(1, Ordering::Relaxed) + 1 == 0`
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn code_that_is_idle_is_given_back_and_runs_again() {
    let dir = tempfile::tempdir().unwrap();
    let sandbox = Sandbox::new(SandboxConfig { cache_dir: Some(dir.path().to_owned()), ..support::small() }).unwrap();
    let hook = load(&sandbox, "noop", &guest("noop")).await;
    assert_eq!(run(&sandbox, &hook, plenty()).await.outcome, Ok(()));
    let (resident, written) = mapped_from(dir.path());
    assert!(resident > 0, "the code is mapped");
    // Only then is what the kernel reads again what was there.
    assert_eq!(written, 0);

    // One sweep sees the run, and the next one no other.
    sandbox.give_back_idle_code();
    sandbox.give_back_idle_code();
    assert!(mapped_from(dir.path()).0 > 0);
    assert_eq!(run(&sandbox, &hook, plenty()).await.outcome, Ok(()));
    sandbox.give_back_idle_code();
    sandbox.give_back_idle_code();
    assert!(mapped_from(dir.path()).0 > 0, "it ran in the meantime");
    sandbox.give_back_idle_code();
    assert_eq!(mapped_from(dir.path()), (0, 0));

    for _ in 0..2 {
        assert_eq!(run(&sandbox, &hook, plenty()).await.outcome, Ok(()));
        assert!(mapped_from(dir.path()).0 > 0);
        for _ in 0..3 {
            sandbox.give_back_idle_code();
        }
        assert_eq!(mapped_from(dir.path()), (0, 0), "again");
    }
}

/// Threads execute the code while it is given back again and again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn runs_go_on_while_code_is_given_back() {
    let dir = tempfile::tempdir().unwrap();
    let sandbox = Sandbox::new(SandboxConfig { cache_dir: Some(dir.path().to_owned()), ..support::small() }).unwrap();
    let hook = load(&sandbox, "noop", &guest("noop")).await;
    let runs = async {
        for _ in 0..100 {
            assert_eq!(run(&sandbox, &hook, plenty()).await.outcome, Ok(()));
        }
    };
    let sweeps = async {
        loop {
            sandbox.give_back_idle_code();
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        () = runs => {}
        () = sweeps => {}
    }
}
