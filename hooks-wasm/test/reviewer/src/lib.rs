//! Answers as a test specifies: for tests of everything that sends hooks requests and conversions.
//!
//! It never decides anything itself.
//!
//! What it does with a ConfigMap its annotations say, those of the old object for a deletion. Before `/` stands the
//! binding that is meant, `validate.reviewer.test` or `mutate.reviewer.test`; for ConfigMaps with the label
//! `lenient: "yes"`, there is `lenient.reviewer.test`, too, which may fail. Behind it:
//!
//! | annotation | the answer |
//! | --- | --- |
//! | `deny`, with `code` and `reason` | denied with this message |
//! | `warn`, `audit` | one warning; an audit annotation `told` |
//! | `label` | mutating: the label `reviewed` has this value, by the whole object |
//! | `patch` | mutating: this JSON Patch |
//! | `fail`, `trap` | none: it fails with this message, or panics with it |
//! | `sleep` | so many milliseconds later |
//! | `write` | it creates a ConfigMap of this name in the object's namespace first |
//! | `tell` | it logs `asked JSON`: binding, operation, name, user, dryRun, and which ConfigMaps the snapshot has |
//!
//! The same keys in the data of a ConfigMap `reviewer` with the label `reviewer: all`, with the binding and a dot
//! before them, are for all requests that say nothing of it themselves.
//!
//! It converts `widgets.reviewer.test`: v1 has `spec.size`, v2 `spec.dimensions.size`, v3 `spec.dimensions.sizes`, a
//! list of one. The annotations `convert.reviewer.test/fail`, `trap`, `sleep` do the same there.

// JSON is changed by its keys; what is no mapping there may trap a test guest.
#![allow(clippy::indexing_slicing)]

use boathook_sdk::admission::Operation;
use boathook_sdk::prelude::*;
use boathook_sdk::serde_json::{Value, from_str, json};
use std::time::Duration;

const SNAPSHOT: &str = "wishes";

fn config() -> Config {
    let rule = || Rule::new(["CREATE", "UPDATE", "DELETE"], ["configmaps"]);
    let wishes = Kubernetes::new(SNAPSHOT)
        .api_version("v1")
        .kind("ConfigMap")
        .label("reviewer", "all")
        .on_synchronization(false)
        .on_events([]);
    let steps = [("v1", "v2"), ("v2", "v3"), ("v3", "v2"), ("v2", "v1")];
    let conversion = Conversion::new("convert.reviewer.test", "widgets.reviewer.test");
    Config::new()
        .kubernetes(wishes)
        .validating(
            Validating::new("validate.reviewer.test")
                .rule(rule())
                .has_side_effects()
                .include_snapshots_from([SNAPSHOT]),
        )
        .validating(
            Validating::new("lenient.reviewer.test")
                .rule(rule())
                .has_side_effects()
                .label("lenient", "yes")
                .failure_policy(FailurePolicy::Ignore)
                .include_snapshots_from([SNAPSHOT]),
        )
        .mutating(
            Mutating::new("mutate.reviewer.test").rule(rule()).has_side_effects().include_snapshots_from([SNAPSHOT]),
        )
        .conversion(steps.into_iter().fold(conversion, |binding, (from, to)| binding.step(from, to)))
        .permission(Permission::new().resources(["configmaps"]).verbs(["create"]))
}

/// What a request is to be answered with.
struct Wishes {
    binding: String,
    annotations: Value,
    defaults: Value,
}

impl Wishes {
    fn of(review: &Review) -> Result<Self> {
        let object: kube::Object = match review.old_object()? {
            Some(old) if review.operation == Operation::Delete => old,
            _ => review.object()?,
        };
        let mut defaults = Value::Null;
        for item in &snapshots::open(SNAPSHOT)? {
            let map: kube::Object = item.object()?;
            if object.label("reviewer").is_none() {
                defaults = map.get("data").cloned().unwrap_or_default();
            }
        }
        Ok(Self { binding: review.binding.clone(), annotations: annotations(&object), defaults })
    }

    fn get(&self, key: &str) -> Option<&str> {
        let own = self.annotations.get(format!("{}/{key}", self.binding));
        own.or_else(|| self.defaults.get(format!("{}.{key}", self.binding)))?.as_str()
    }

    fn fulfil(&self) -> Result<()> {
        if let Some(time) = self.get("sleep") {
            std::thread::sleep(Duration::from_millis(time.parse()?));
        }
        #[allow(clippy::panic)] // What was asked for.
        if let Some(message) = self.get("trap") {
            panic!("{message}");
        }
        self.get("fail").map_or(Ok(()), |message| Err(Error::retry(message)))
    }
}

fn annotations(object: &kube::Object) -> Value {
    object.pointer("/metadata/annotations").cloned().unwrap_or_default()
}

fn tell(review: &Review) -> Result<()> {
    let names: Vec<String> = snapshots::open(SNAPSHOT)?.iter().map(|item| item.name).collect();
    let asked = json!({
        "binding": review.binding, "operation": format!("{:?}", review.operation), "name": review.name,
        "user": review.user.username, "dryRun": review.dry_run, "snapshot": names,
    });
    log::info!("asked {asked}");
    Ok(())
}

fn decide(review: &Review, wishes: &Wishes) -> Result<Verdict> {
    wishes.fulfil()?;
    if wishes.get("tell").is_some() {
        tell(review)?;
    }
    if let Some(name) = wishes.get("write") {
        let metadata = json!({"namespace": review.namespace, "name": name});
        kube::Operation::create_object(&json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}))
            .run()?;
    }
    let mut verdict = wishes.get("deny").map_or_else(Verdict::allow, Verdict::deny);
    if let Some(code) = wishes.get("code") {
        verdict = verdict.code(code.parse()?);
    }
    if let Some(reason) = wishes.get("reason") {
        verdict = verdict.reason(reason);
    }
    if let Some(warning) = wishes.get("warn") {
        verdict = verdict.warn(warning);
    }
    Ok(match wishes.get("audit") {
        Some(told) => verdict.audit("told", told),
        None => verdict,
    })
}

fn validate(review: Review) -> Result<Verdict> {
    decide(&review, &Wishes::of(&review)?)
}

fn mutate(review: Review) -> Result<Mutation> {
    let wishes = Wishes::of(&review)?;
    let verdict = decide(&review, &wishes)?;
    let mutation = match (wishes.get("label"), wishes.get("patch")) {
        (Some(label), _) => {
            let mut object: kube::Object = review.object()?;
            object["metadata"]["labels"]["reviewed"] = json!(label);
            Mutation::object(&object)?
        }
        (None, Some(patch)) => Mutation::patch(&from_str::<Value>(patch)?)?,
        (None, None) => Mutation::unchanged(),
    };
    Ok(mutation.with(verdict))
}

fn convert(request: conversion::Request) -> Result<conversion::Converted> {
    request.each(|widget| {
        let wishes =
            Wishes { binding: request.binding.clone(), annotations: annotations(widget), defaults: Value::Null };
        wishes.fulfil()?;
        let size = |pointer: &str| widget.pointer(pointer).cloned().unwrap_or_default();
        widget["spec"] = match (request.from.as_str(), request.to.as_str()) {
            ("v1", _) => json!({"dimensions": {"size": size("/spec/size")}}),
            ("v2", "v1") => json!({"size": size("/spec/dimensions/size")}),
            ("v2", _) => json!({"dimensions": {"sizes": [size("/spec/dimensions/size")]}}),
            _ => json!({"dimensions": {"size": size("/spec/dimensions/sizes/0")}}),
        };
        Ok(())
    })
}

boathook_sdk::hook!(config, validate = validate, mutate = mutate, convert = convert);
