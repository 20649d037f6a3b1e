//! `aws-service` for a server of that API on this machine, which it checks often: for tests.
//!
//! The ports are for the test to fill in. The names differ, because a credential is for one host, and signs for one service.

#[path = "../../../aws-service/src/service/mod.rs"]
mod service;

use boathook_sdk::prelude::*;
use service::Place;
use std::time::Duration;

const PLACE: Place = Place {
    region: "eu-central-1",
    s3: "http://localhost:54321",
    sqs: "http://127.0.0.1:54321",
    check: Duration::from_secs(2),
};

fn config() -> Config {
    service::config(&PLACE)
}

fn reconcile(parent: reconcile::Parent) -> Result<Desired> {
    service::reconcile(&PLACE, &parent)
}

fn finalize(parent: reconcile::Parent) -> Result<Finalized> {
    service::finalize(&PLACE, &parent)
}

boathook_sdk::hook!(config, reconcile = reconcile, finalize = finalize);
