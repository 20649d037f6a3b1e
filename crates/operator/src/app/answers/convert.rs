//! One conversion. Its objects are divided by version. Each version takes its own path of steps, and all paths run at
//! the same time.
//!
//! Conversions have no permissions. A hook that needs to know more about the cluster has its snapshots.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use boathook_core::model::{Caller, Conversion, ConversionBinding, FailureKind};
use boathook_sandbox::ConversionRequest as Question;
use futures::future::join_all;
use serde::Deserialize;

use super::{
    super::{history::Begun, hooks::Hook},
    Answers,
    chains::{Chains, Step},
    effects,
    response_log::{Asked, Entry, Question as Asking},
};
use crate::webhook::{ConversionRequest, Converted, Unanswered, Versioned, conversion_problems};

enum Failed {
    /// There is no path, or a hook refused. The user who needs the objects receives the reason.
    Refused(String),
    Unanswered(Unanswered),
}

/// Objects of one version, and their positions in the request.
#[derive(Default)]
struct Share {
    places: Vec<usize>,
    objects: Vec<String>,
}

impl Answers {
    pub(super) async fn converted(
        &self,
        request: ConversionRequest,
        patience: Duration,
    ) -> Result<Converted, Unanswered> {
        let ConversionRequest { crd, desired, objects, .. } = request;
        let Some(chains) = self.chains(&crd) else {
            return Err(Unanswered::Unknown(format!("no hook converts {crd}")));
        };
        // The name of a definition contains its group.
        if crd.split_once('.').map(|(_, of)| of) != Some(group(&desired)) {
            return Err(Unanswered::OutOfScope(format!("conversion of {crd}: {desired} is no version of it")));
        }
        let (until, count) = (Instant::now() + patience, objects.len());
        let shares = match split(objects, &desired) {
            Ok(shares) => shares,
            Err(text) => return Ok(Converted::Failed(text)),
        };
        let shares = shares.into_iter().map(|(version, share)| self.share(&chains, version, &desired, share, until));
        let mut objects = vec![String::new(); count];
        for ended in join_all(shares).await {
            let share = match ended {
                Ok(share) => share,
                Err(Failed::Refused(text)) => return Ok(Converted::Failed(text)),
                Err(Failed::Unanswered(error)) => return Err(error),
            };
            for (place, object) in share.places.into_iter().zip(share.objects) {
                if let Some(slot) = objects.get_mut(place) {
                    *slot = object;
                }
            }
        }
        Ok(Converted::Objects(objects))
    }

    /// Converts the objects of one version, step by step.
    async fn share(
        &self,
        chains: &Chains,
        version: String,
        desired: &str,
        mut share: Share,
        until: Instant,
    ) -> Result<Share, Failed> {
        let way = chains.way(&version, short(desired)).map_err(|error| Failed::Refused(error.to_string()))?;
        for step in &way {
            share.objects = self.step(step, share.objects, group(desired), until).await?;
        }
        Ok(share)
    }

    async fn step(
        &self,
        step: &Step,
        objects: Vec<String>,
        group: &str,
        until: Instant,
    ) -> Result<Vec<String>, Failed> {
        let (hook, binding) = self.converter(step).map_err(Failed::Unanswered)?;
        let (name, run) = (&hook.spec.name, self.next_run());
        let asked =
            Asked { hook: name, run: &run, binding: &binding.name, kind: "conversion", started: Instant::now() };
        let patience = until.saturating_duration_since(Instant::now());
        let ready = self.listed(name, &binding.name, &binding.include_snapshots_from, patience).await;
        ready.inspect_err(|error| self.not_ready(&asked, error)).map_err(Failed::Unanswered)?;
        let _running = self.parts.metrics.answers().begun(name);
        let begun = Begun::answer(&run, name, &binding.name, "Conversion");
        let (sources, patience) = (objects.clone(), until.saturating_duration_since(Instant::now()));
        let conversion = Conversion { binding: binding.name.clone(), rule: step.rule.clone(), objects };
        let caller = Caller { permissions: Arc::new([]), ..hook.caller(run.clone(), true) };
        let (snapshots, limits) = (binding.include_snapshots_from.clone(), hook.spec.limits);
        let question = Question { caller, conversion, snapshots, limits, patience };
        let call = |question, host| self.parts.sandbox.convert(&hook.component, question, host);
        let report = self.asked(&hook, &binding.name, question, patience, call).await;
        let report = report.inspect_err(|error| self.late(&asked, error)).map_err(Failed::Unanswered)?;
        // Only the hook's own refusal has this kind.
        let refusal = report.outcome.as_ref().err().filter(|failure| failure.kind == FailureKind::Permanent);
        let outcome = match (&report.outcome, refusal) {
            (Ok(_), _) => "converted",
            (Err(_), Some(_)) => "refused",
            (Err(_), None) => "failed",
        };
        if let Ok(objects) = &report.outcome {
            self.tell(|| effects::conversions((name, &run), &sources, objects));
        }
        let refusal = refusal.map(|failure| failure.message.as_str());
        let asked_for = Asking::Conversion { rule: &step.rule, objects: sources.len() };
        let entry = Entry { outcome, refusal, question: asked_for, warnings: &[] };
        self.ended(&asked, begun, &report, entry);
        let at = format!("hook {name}, binding {}, {}", binding.name, step.rule);
        match report.outcome {
            Ok(objects) => {
                // A hook that breaks the rules is reported as one that failed. The first problem is enough.
                match conversion_problems(&format!("{group}/{}", step.rule.to), &sources, &objects).first() {
                    None => Ok(objects),
                    Some(problem) => Err(Failed::Unanswered(Unanswered::Failed(format!("{at}: {problem}")))),
                }
            }
            Err(failure) if failure.kind == FailureKind::Permanent => Err(Failed::Refused(format!("{at}: {failure}"))),
            Err(failure) => Err(Failed::Unanswered(Unanswered::Failed(format!("{at}: {failure}")))),
        }
    }

    /// Finds the binding that does a step. It may have been removed since the path was found.
    fn converter(&self, step: &Step) -> Result<(Arc<Hook>, ConversionBinding), Unanswered> {
        let hook = self.hook(step.hook.as_str())?;
        let binding = hook.spec.conversions.iter().find(|binding| binding.name == step.binding).cloned();
        let gone =
            || Unanswered::NotReady(format!("hook {} was replaced: it has no binding {}", step.hook, step.binding));
        Ok((hook.clone(), binding.ok_or_else(gone)?))
    }
}

/// Divides objects by version. All must be in the group of the desired version.
fn split(objects: Vec<Versioned>, desired: &str) -> Result<BTreeMap<String, Share>, String> {
    let mut shares: BTreeMap<String, Share> = BTreeMap::new();
    for (place, Versioned { api_version, json }) in objects.into_iter().enumerate() {
        if group(&api_version) != group(desired) {
            return Err(format!("{} is of {api_version}, which can't become {desired}", named(&json)));
        }
        let share = shares.entry(short(&api_version).to_owned()).or_default();
        share.places.push(place);
        share.objects.push(json);
    }
    Ok(shares)
}

/// `v1` of `stable.example.com/v1`.
fn short(api_version: &str) -> &str {
    api_version.split_once('/').map_or(api_version, |(_, version)| version)
}

/// `stable.example.com` of `stable.example.com/v1`.
fn group(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Head {
    metadata: Metadata,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Metadata {
    namespace: Option<String>,
    name: Option<String>,
}

fn named(object: &str) -> String {
    serde_json::from_str::<Head>(object).unwrap_or_default().named()
}

impl Head {
    fn named(&self) -> String {
        let Metadata { namespace, name } = &self.metadata;
        let parts: Vec<_> = [namespace, name].into_iter().flatten().map(String::as_str).collect();
        format!("object {}", parts.join("/"))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use super::*;

    fn object(version: &str, name: &str) -> Versioned {
        let api_version = format!("example.com/{version}");
        let json = format!(r#"{{"apiVersion":"{api_version}","metadata":{{"namespace":"a","name":"{name}"}}}}"#);
        Versioned { api_version, json }
    }

    #[test]
    fn objects_are_split_by_version_and_know_their_places() {
        let objects = vec![object("v1", "a"), object("v2", "b"), object("v1", "c")];
        let shares = split(objects, "example.com/v3").unwrap();
        let places: Vec<_> = shares.iter().map(|(version, share)| (version.as_str(), share.places.clone())).collect();
        assert_eq!(places, [("v1", vec![0, 2]), ("v2", vec![1])]);
        let error = split(vec![object("v1", "a")], "other.com/v1").err().unwrap();
        assert_eq!(error, "object a/a is of example.com/v1, which can't become other.com/v1");
    }
}
