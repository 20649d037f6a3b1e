//! The whole operator, as it is shipped and on a real node, attacked by four parties at the same time: a tenant, an author
//! of hooks, a registry, and a stranger on the Pod network. Another tenant goes on with its work: what it notices is what
//! is judged.
//!
//! Attackers and victim are programs: this binary, started again in the network of the node, with nothing but the rights
//! of their role. Never calls Boathook's own code, and asks the operator nothing that a cluster's admin could not.

mod author;
mod cluster;
mod judge;
mod program;
mod registry;
mod signatures;
mod site;
mod stranger;
mod tenant;
mod victim;

use std::time::Duration;

/// How long the attack lasts: `90s`, `10m`, `1h`.
const DURATION: &str = "BOATHOOK_ATTACK_DURATION";
/// What fits into a run of CI.
const DEFAULT: Duration = Duration::from_secs(90);

mod tests {
    #[test]
    fn all_at_once() {
        crate::node::run("attack::all_at_once", super::judge::all_at_once);
    }

    #[test]
    fn cosign_and_boathook_read_each_other() {
        crate::node::run("attack::cosign_and_boathook_read_each_other", super::signatures::signatures_are_exchanged);
    }

    #[test]
    fn cosign_and_boathook_read_attestations() {
        crate::node::run(
            "attack::cosign_and_boathook_read_attestations",
            super::signatures::attestations_are_exchanged,
        );
    }
}

/// Not a test: how the programs of an attack are started.
#[test]
#[ignore = "one of the programs of an attack, which starts it"]
fn program() {
    program::main();
}

fn duration() -> Duration {
    let Ok(text) = std::env::var(DURATION) else { return DEFAULT };
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let unit = match unit {
        "" | "s" => Some(1),
        "m" => Some(60),
        "h" => Some(3600),
        _ => None,
    };
    let seconds = unit.zip(number.parse::<u64>().ok()).and_then(|(unit, number)| number.checked_mul(unit));
    Duration::from_secs(seconds.unwrap_or_else(|| panic!("{DURATION}={text}: write 90s, 10m or 1h")))
}
