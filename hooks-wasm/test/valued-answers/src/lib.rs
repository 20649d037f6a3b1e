//! Reads the values of its module while it answers: for tests of values in reviews, conversions and reconcile.
//!
//! It denies ConfigMaps with the label `valued: "yes"`. The message has the port and the replicas, and why the port cannot be
//! changed. It converts `scales.valued.test` from v1 to v2, whose `spec.port` is the port. A `Gauge` gets a ConfigMap with the
//! port.

// JSON is changed by its keys; what is no mapping there may trap a test guest.
#![allow(clippy::indexing_slicing)]

use boathook_sdk::prelude::*;
use boathook_sdk::serde_json::{Value, json};
use boathook_sdk::values;

fn config() -> Config {
    let rule = Rule::new(["CREATE", "UPDATE"], ["configmaps"]);
    Config::new()
        .validating(Validating::new("validate.valued.test").rule(rule).label("valued", "yes"))
        .conversion(Conversion::new("convert.valued.test", "scales.valued.test").step("v1", "v2"))
        .reconcile(Reconcile::new("gauges", "valued.test/v1", "Gauge").owns("v1", "ConfigMap"))
}

fn value(key: &str) -> Result<Value> {
    let seen: Value = values::get()?;
    Ok(seen["web"][key].clone())
}

fn validate(_: Review) -> Result<Verdict> {
    let refused = match values::set("/web/port", &1) {
        Ok(()) => "it can be changed".to_owned(),
        Err(error) => error.to_string(),
    };
    let (port, replicas) = (value("port")?, value("replicas")?);
    Ok(Verdict::deny(format!("port {port}, replicas {replicas}: {refused}")))
}

fn convert(request: conversion::Request) -> Result<conversion::Converted> {
    let port = value("port")?;
    request.each(|scale| {
        scale["spec"] = json!({"port": port});
        Ok(())
    })
}

fn reconcile(gauge: reconcile::Parent) -> Result<Desired> {
    log::info!("asked about {}", gauge.name());
    let data = json!({"port": value("port")?.to_string()});
    let metadata = json!({"name": gauge.name()});
    Ok(Desired::new().child(&json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})))
}

boathook_sdk::hook!(config, validate = validate, convert = convert, reconcile = reconcile);
