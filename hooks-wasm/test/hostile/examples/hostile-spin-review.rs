//! Never decides about what it is asked to review.

use boathook_sdk::prelude::*;
use std::hint::black_box;
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(5);

fn config() -> Config {
    let rule = || Rule::new(["CREATE", "UPDATE"], ["configmaps"]);
    Config::new()
        .validating(
            Validating::new("validate.hostile.test")
                .rule(rule())
                .label("reviewed", "true")
                .failure_policy(FailurePolicy::Ignore)
                .timeout(TIMEOUT),
        )
        .mutating(
            Mutating::new("mutate.hostile.test")
                .rule(rule())
                .label("reviewed", "true")
                .failure_policy(FailurePolicy::Ignore)
                .timeout(TIMEOUT),
        )
}

fn spin() -> Error {
    let mut n: u64 = 0;
    while black_box(true) {
        n = black_box(n.wrapping_add(1));
    }
    Error::retry(n)
}

fn validate(_: Review) -> Result<Verdict> {
    Err(spin())
}

fn mutate(_: Review) -> Result<Mutation> {
    Err(spin())
}

boathook_sdk::hook!(config, validate = validate, mutate = mutate);
