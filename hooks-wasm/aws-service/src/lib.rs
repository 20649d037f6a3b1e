//! A Bucket becomes a bucket of S3, and a Queue a queue of SQS.
//!
//! The hook has no credential: the operator signs its requests.

mod service;

use boathook_sdk::prelude::*;
use service::Place;
use std::time::Duration;

/// Where the buckets and queues are. For another region, change all of it, and the region of the credentials.
const PLACE: Place = Place {
    region: "eu-central-1",
    s3: "https://s3.eu-central-1.amazonaws.com",
    sqs: "https://sqs.eu-central-1.amazonaws.com",
    check: Duration::from_secs(300),
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

#[cfg(test)]
mod tests;
