//! How much memory the operator may take, and for what, so that the sum fits its container.
//!
//! ```text
//! limit ─┬─ a quarter: what hooks do at the same time; the memories of guests, and what host calls copy
//!        ├─ a quarter: the one process that compiles or checks settings
//!        ├─ a quarter: filters while they run
//!        └─ the rest ─┬─ 9/16: what bindings keep, objects included
//!                     ├─ 2/16: what queues hold: triggers that wait, dead letters
//!                     ├─ 1/16: what ended runs leave for the next ones
//!                     └─ a quarter: the operator itself, code of hooks
//! ```
//!
//! The parts are fixed. If compiling and runs shared one part, each could wait for the other forever. This file plans
//! memory, and does not measure what is in use.

use std::{
    fs,
    path::{Path, PathBuf},
};

const MIB: u64 = 1024 * 1024;

/// Bytes of the process that checks settings.
pub const SETTINGS: u64 = 256 * MIB;
/// Bytes of the values of one filter. An object of 1.5 MiB (etcd's limit), and what a filter makes of it, take a hundred
/// times that.
pub const FILTER: u64 = 168 * MIB;
/// Bytes of one filter in addition: its stacks, jq's own data, and what an instance keeps for the next filter.
pub const FILTER_BASE: u64 = 16 * MIB;
/// Bytes that one host call may copy out of a guest, whatever the hook may pass in total. They are copied before they
/// are counted, and each thread of the runtime copies for one call at a time.
pub const CALL: usize = 8 * 1024 * 1024;
/// Bytes of stack that a guest may use.
pub const STACK: usize = 512 * 1024;
/// Bytes that the host keeps of all instances in one component: their functions, globals and imports. A component in Rust
/// takes 10 KiB, and the interpreter of Python 217 KiB.
pub const INSTANCE_BYTES: usize = 512 * 1024;
/// Bytes of one unit of shared memory.
pub const UNIT: u64 = 1024;
/// Bytes of a binding without its watches: its tasks and its metrics.
pub const BINDING: u64 = WATCH + SERIES;
/// Bytes of a binding's metrics, which are on up to three pages at a time.
pub const SERIES: u64 = 2 * WATCH;
/// Bytes of one watch of a binding: its task, its buffers, and what is known of it.
pub const WATCH: u64 = 32 * 1024;
/// Ended runs leave one part in this many of the memory of runs for the next ones.
pub const WARM: u64 = 16;
/// More memory for filters would not help.
const MOST_FOR_FILTERS: u64 = 4096 * MIB;
/// No component that can be run needs more for compiling.
const MOST_TO_COMPILE: u64 = 1024 * MIB;
/// The smallest limit in which everything has room.
const LEAST: u64 = 4 * SETTINGS;

/// The parts of the operator's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parts {
    /// All runs and answers together.
    pub runs: u64,
    /// The process that compiles. The one that checks settings takes its place.
    pub compiler: u64,
    /// All filters that run.
    pub filters: u64,
    /// The most threads of the runtime. What they copy at a time is a quarter of the memory of runs.
    pub threads: usize,
    /// What bindings keep: themselves, their watches, and objects.
    pub kept: u64,
    /// What queues hold: triggers that wait or that a job has, and dead letters, with their texts.
    pub queues: u64,
}

impl Parts {
    /// The parts of this limit.
    #[must_use]
    pub fn of(limit: u64) -> Self {
        let quarter = limit.max(LEAST) / 4;
        let threads = quarter / 4 / CALL as u64;
        let count = |many: u64| usize::try_from(many).unwrap_or(usize::MAX);
        Self {
            runs: quarter,
            compiler: quarter.min(MOST_TO_COMPILE),
            filters: quarter.min(MOST_FOR_FILTERS),
            threads: count(threads),
            kept: quarter / 16 * 9,
            queues: quarter / 8,
        }
    }

    /// Whether everything has room within this limit.
    #[must_use]
    pub fn fit(limit: u64) -> bool {
        limit >= LEAST
    }

    /// What is planned in addition to the operator's own quarter.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.runs + self.compiler + self.filters
    }

    /// What is planned within the operator's own quarter.
    #[must_use]
    pub fn own_bytes(&self) -> u64 {
        self.kept + self.queues + self.runs / WARM
    }
}

/// What this process may use: the smallest limit of its cgroups, or the machine's memory if that is less. `None` if
/// neither is known.
#[must_use]
pub fn limit() -> Option<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| total(&text));
    of_groups(&groups, Path::new("/sys/fs/cgroup")).into_iter().chain(machine).min()
}

/// The smallest limit of the groups in `/proc/self/cgroup` and of the groups above them.
fn of_groups(groups: &str, root: &Path) -> Option<u64> {
    groups.lines().flat_map(|line| files(line, root)).filter_map(|file| bytes(&file)).min()
}

/// The files with the limits of one group. A container's own group is the root of what the container sees, whatever its
/// name is outside.
fn files(line: &str, root: &Path) -> Vec<PathBuf> {
    let mut parts = line.splitn(3, ':').skip(1);
    let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { return Vec::new() };
    let (root, file) = match controllers {
        "" => (root.to_owned(), "memory.max"),
        _ if controllers.split(',').any(|one| one == "memory") => (root.join("memory"), "memory.limit_in_bytes"),
        _ => return Vec::new(),
    };
    let path = Path::new(path.trim_start_matches('/'));
    path.ancestors().map(|group| root.join(group).join(file)).collect()
}

/// `max`, and version 1's largest number, are not limits.
fn bytes(file: &Path) -> Option<u64> {
    let bytes = fs::read_to_string(file).ok()?.trim().parse().ok()?;
    (bytes < u64::MAX / 4).then_some(bytes)
}

fn total(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::fair::Pool;

    // mutant: crates/core/src/memory.rs: `compiler: quarter.min(MOST_TO_COMPILE)` => `compiler: 2 * quarter`
    #[test]
    fn the_parts_of_every_limit_leave_a_quarter_for_the_operator_itself() {
        for limit in (1024..32 * 1024).step_by(64).map(|mebibytes| mebibytes * MIB) {
            let parts = Parts::of(limit);
            assert!(Parts::fit(limit) && parts.bytes() <= limit / 4 * 3, "{limit}: {parts:?}");
            assert!(parts.compiler >= SETTINGS && parts.runs >= SETTINGS, "{limit}: {parts:?}");
            // One filter fits into what a tenant may have.
            assert!(FILTER + FILTER_BASE <= Pool::new(parts.filters).most(), "{limit}: {parts:?}");
        }
        assert_eq!((Parts::of(1024 * MIB).threads, Parts::of(2048 * MIB).threads), (8, 16));
        assert!(!Parts::fit(1023 * MIB));
        assert_eq!(Parts::of(0), Parts::of(1024 * MIB));
        assert_eq!(Parts::of(u64::MAX).filters, MOST_FOR_FILTERS);
    }

    // mutant: crates/core/src/memory.rs: `queues: quarter / 8` => `queues: quarter`
    #[test]
    fn what_is_kept_and_waits_leaves_a_sixteenth_of_every_limit_for_the_rest() {
        for limit in (1024..32 * 1024).step_by(64).map(|mebibytes| mebibytes * MIB) {
            assert!(Parts::of(limit).own_bytes() <= limit / 16 * 3, "{limit}: {:?}", Parts::of(limit));
        }
        assert_eq!(Parts::of(1024 * MIB).queues, 32 * MIB);
    }

    #[test]
    fn the_least_limit_above_the_process_counts() {
        let root = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let found = |groups: &str| of_groups(groups, root.path());
        assert_eq!(found("0::/\n"), None);
        put("memory.max", "1073741824\n");
        assert_eq!(found("0::/\n"), Some(1024 * MIB));
        put("kubepods/memory.max", "max\n");
        put("kubepods/pod/memory.max", "536870912\n");
        assert_eq!(found("0::/kubepods/pod/container\n"), Some(512 * MIB));
        assert_eq!(found("0::/kubepods/other\n"), Some(1024 * MIB));
        let first = "12:cpu,cpuacct:/a\n5:memory:/docker/abc\n";
        put("memory/memory.limit_in_bytes", "9223372036854771712\n");
        assert_eq!(found(first), None);
        put("memory/memory.limit_in_bytes", "268435456\n");
        assert_eq!(found(first), Some(256 * MIB));
        assert_eq!(found("nonsense\n1\n"), None);
        assert_eq!(total("MemTotal:       24612345 kB\nMemFree: 1 kB\n"), Some(24_612_345 * 1024));
    }
}
