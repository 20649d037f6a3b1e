//! Converts CronTabs between their three versions, step by step; nothing that one of them cannot hold is lost.
//!
//! It never looks at the cluster: a conversion sees the objects and nothing else.

mod kept;
mod schedule;

use boathook_sdk::prelude::*;

fn config() -> Config {
    // The host makes v1alpha1 of v1 by way of v1beta1.
    let steps = [("v1alpha1", "v1beta1"), ("v1beta1", "v1alpha1"), ("v1beta1", "v1"), ("v1", "v1beta1")];
    let crontabs = Conversion::new("crontabs", "crontabs.stable.example.com");
    Config::new().conversion(steps.into_iter().fold(crontabs, |binding, (from, to)| binding.step(from, to)))
}

fn convert(request: conversion::Request) -> Result<conversion::Converted> {
    request.each(|crontab| match (request.from.as_str(), request.to.as_str()) {
        ("v1alpha1", "v1beta1") => {
            kept::rename(crontab, "cron", "cronSpec");
            kept::restore(crontab, "v1beta1")
        }
        ("v1beta1", "v1alpha1") => {
            kept::rename(crontab, "cronSpec", "cron");
            kept::keep(crontab, "v1beta1", &["replicas"])
        }
        ("v1beta1", "v1") => {
            schedule::split(crontab)?;
            kept::restore(crontab, "v1")
        }
        ("v1", "v1beta1") => {
            schedule::join(crontab)?;
            kept::keep(crontab, "v1", &["suspend"])
        }
        (from, to) => Err(Error::permanent(format!("{from} to {to} is no step of this hook"))),
    })
}

boathook_sdk::hook!(config, convert = convert);

#[cfg(test)]
mod tests;
