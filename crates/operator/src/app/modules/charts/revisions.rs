//! The revisions of a module: what each was made of, what it rendered to, and what an admin asks for. Pure.
//!
//! The module's Secret has the history. What a revision rendered to is in Secrets of its own, compressed and in pieces, because
//! one object has room for 1 MiB only.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use boathook_applyset::{
    Digest,
    revision::{self, Piece},
};
use boathook_core::model::ObjectRef;
use boathook_modules::ModuleName;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{super::super::module_values::Given, hooks::Hook};

/// The label of the Secrets with what revisions rendered to. Its value is the module.
pub(in super::super) const LABEL: &str = "boathook.dev/module-revision";
/// The annotation of a module's Secret in which an admin asks for a revision, or for the end of a rollback.
pub(in super::super) const ROLLBACK: &str = "boathook.dev/rollback";
/// What ends a rollback.
pub(in super::super) const END: &str = "end";
/// The revisions that are kept, with the newest one. Helm keeps as many.
pub(super) const KEEP: usize = 10;
/// The type of such Secrets.
const TYPE: &str = "boathook.dev/module-revision";
/// The key of a piece in the Secret's data.
const KEY: &str = "piece";
/// The most bytes of what a revision rendered to. A rendering has fewer.
const MAX_BYTES: usize = 96 << 20;

/// One template, and what it rendered to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in super::super) struct Manifest {
    pub source: String,
    pub text: String,
}

/// What a revision rendered to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(in super::super) struct Content {
    pub manifests: Vec<Manifest>,
    pub hooks: Vec<Hook>,
}

impl Content {
    pub fn digest(&self) -> String {
        let mut digest = Sha256::new();
        let mut add = |text: &str| {
            digest.update((text.len() as u64).to_le_bytes());
            digest.update(text);
        };
        for one in &self.manifests {
            add(&one.source);
            add(&one.text);
        }
        for hook in &self.hooks {
            add(&hook.source);
            add(&hook.text);
        }
        digest.finalize().iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}"))
    }

    /// Each manifest, with its template.
    pub fn manifests(&self) -> Vec<(&str, &str)> {
        self.manifests.iter().map(|one| (one.source.as_str(), one.text.as_str())).collect()
    }

    /// The bodies of the Secrets that keep it, each with its name.
    pub fn secrets(&self, namespace: &str, module: &ModuleName, number: u64) -> Vec<(ObjectRef, String)> {
        let text = serde_json::to_string(self).unwrap_or_default();
        let secret = |piece: &Piece| {
            let target = reference(namespace, module, number, piece.part);
            let data = STANDARD.encode(serde_json::to_string(piece).unwrap_or_default());
            let body = json!({
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": {"name": target.name, "namespace": namespace, "labels": {LABEL: module.as_str()}},
                "type": TYPE,
                "data": {KEY: data},
            });
            (target, body.to_string())
        };
        revision::pack(&text, number).iter().map(secret).collect()
    }

    /// Puts pieces together. `digest` is what the history says about the revision.
    ///
    /// # Errors
    /// Says what is wrong with the Secrets.
    pub fn of(pieces: &[Piece], digest: &str) -> Result<Self, String> {
        let text = revision::unpack(pieces, MAX_BYTES).map_err(|error| error.to_string())?;
        let content: Self = serde_json::from_slice(&text).map_err(|error| format!("it cannot be read: {error}"))?;
        if content.digest() != digest {
            return Err("its manifests are not those that were applied".to_owned());
        }
        Ok(content)
    }
}

/// The Secret with a piece of a revision.
pub(in super::super) fn reference(namespace: &str, module: &ModuleName, number: u64, part: usize) -> ObjectRef {
    let part = if part == 0 { String::new() } else { format!(".{part}") };
    ObjectRef {
        api_version: "v1".to_owned(),
        kind: "Secret".to_owned(),
        namespace: Some(namespace.to_owned()),
        name: format!("boathook-module-{}.v{number}{part}", module.as_str()),
    }
}

/// A Secret that a list shows, whose items need not name their kind.
pub(super) fn secret(namespace: &str, item: &Value) -> ObjectRef {
    let name = item.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default().to_owned();
    ObjectRef { api_version: "v1".to_owned(), kind: "Secret".to_owned(), namespace: Some(namespace.to_owned()), name }
}

/// The piece that a Secret has.
///
/// # Errors
/// The Secret is not what the operator wrote.
pub(in super::super) fn piece(secret: &Value) -> Result<Piece, String> {
    let wrong = || format!("the Secret {} has no piece of a revision", ObjectRef::of(secret).name);
    let data = secret.pointer("/data").and_then(|data| data.get(KEY)?.as_str()).unwrap_or_default();
    let text = STANDARD.decode(data).map_err(|_| wrong())?;
    serde_json::from_slice(&text).map_err(|_| wrong())
}

/// The number of the revision of which a Secret has a piece, by its name.
pub(super) fn number(secret: &Value) -> Option<u64> {
    let name = secret.pointer("/metadata/name")?.as_str()?;
    let (_, rest) = name.split_once(".v")?;
    rest.split('.').next()?.parse().ok()
}

/// Digests of what a revision was made of, to say what changed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(in super::super) struct Inputs {
    /// The files of the chart.
    chart: String,
    /// What users configured.
    settings: String,
    /// What hooks changed.
    hooks: String,
    /// All values together.
    values: String,
}

impl Inputs {
    pub fn new(chart: String, given: &Given) -> Self {
        let digest = |text: String| Digest::of([text.as_bytes()]).to_string();
        Self {
            chart,
            settings: digest(given.settings.to_string()),
            hooks: digest(given.hooks.to_string()),
            values: digest(given.values.to_string()),
        }
    }

    /// What differs from an earlier revision.
    pub fn changed(&self, before: &Self) -> Vec<Cause> {
        if *before == Self::default() {
            // Helm does not keep what a release was made of.
            return vec![Cause::Adoption];
        }
        let mut causes = Vec::new();
        for (differs, cause) in [
            (self.chart != before.chart, Cause::Chart),
            (self.settings != before.settings, Cause::Settings),
            (self.hooks != before.hooks, Cause::HookValues),
        ] {
            causes.extend(differs.then_some(cause));
        }
        if self.values != before.values && !causes.iter().any(|cause| *cause != Cause::Chart) {
            causes.push(Cause::StaticValues);
        }
        if causes.is_empty() {
            causes.push(Cause::Cluster);
        }
        causes
    }
}

/// Why there is a new revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Cause {
    /// There was none.
    Installation,
    /// It follows a release of Helm.
    Adoption,
    Chart,
    Settings,
    HookValues,
    /// `values.yaml` of the directories, and defaults.
    StaticValues,
    /// What the chart sees of the cluster.
    Cluster,
    Rollback,
}

impl Cause {
    /// For people.
    pub fn shown(self) -> &'static str {
        match self {
            Self::Installation => "installation",
            Self::Adoption => "adoption",
            Self::Chart => "chart",
            Self::Settings => "settings",
            Self::HookValues => "hook values",
            Self::StaticValues => "static values",
            Self::Cluster => "cluster",
            Self::Rollback => "rollback",
        }
    }
}

/// How a revision ended, or how far it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It goes on.
    Pending,
    Deployed,
    Uninstalling,
    /// It was deployed, and a newer one followed.
    Superseded,
    /// A newer one followed before it was deployed.
    Failed,
}

impl Outcome {
    /// In the words of Helm.
    pub fn shown(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Deployed => "deployed",
            Self::Uninstalling => "uninstalling",
            Self::Superseded => "superseded",
            Self::Failed => "failed",
        }
    }
}

/// One revision in a module's history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    pub revision: u64,
    /// When it began, in seconds since 1970.
    pub time: u64,
    /// The version of the chart, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chart: Option<String>,
    /// Of what the chart rendered to.
    pub digest: String,
    pub changed: Vec<Cause>,
    /// The revision whose manifests these are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rollback_to: Option<u64>,
    pub outcome: Outcome,
}

impl Entry {
    /// It, when a newer revision begins.
    pub(super) fn followed(self) -> Self {
        let outcome = if self.outcome == Outcome::Deployed { Outcome::Superseded } else { Outcome::Failed };
        Self { outcome, ..self }
    }
}

/// What an admin asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) enum Asked {
    /// The manifests of this revision.
    Rollback(u64),
    /// What the chart and the values give.
    End,
    Unreadable(String),
}

impl Asked {
    /// What a module's Secret says. What was done has an empty annotation.
    pub fn read(secret: &Value) -> Option<Self> {
        let text = secret.pointer("/metadata/annotations")?.get(ROLLBACK)?.as_str()?.trim();
        match (text, text.parse()) {
            ("", _) => None,
            (END, _) => Some(Self::End),
            (_, Ok(revision)) => Some(Self::Rollback(revision)),
            _ => Some(Self::Unreadable(text.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(text: &str) -> Content {
        let manifest = Manifest { source: "web/templates/a.yaml".to_owned(), text: text.to_owned() };
        Content { manifests: vec![manifest], hooks: Vec::new() }
    }

    fn given(settings: i32, hooks: i32, values: i32) -> Given {
        Given { values: values.into(), settings: settings.into(), hooks: hooks.into(), unfit: None }
    }

    // mutant: crates/operator/src/app/modules/charts/revisions.rs: `if content.digest() != digest {` => `if false {`
    #[test]
    fn what_a_revision_rendered_to_is_read_as_it_was_written() {
        let module: ModuleName = "web".parse().unwrap();
        let content = content("a: 1");
        let secrets = content.secrets("addons", &module, 3);
        assert_eq!(secrets.len(), 1);
        let (target, body) = &secrets[0];
        assert_eq!(target.name, "boathook-module-web.v3");
        let secret: Value = serde_json::from_str(body).unwrap();
        assert_eq!((number(&secret), ObjectRef::of(&secret)), (Some(3), target.clone()));
        let pieces = [piece(&secret).unwrap()];
        assert_eq!(Content::of(&pieces, &content.digest()), Ok(content));
        let error = Content::of(&pieces, "other").unwrap_err();
        assert!(error.contains("not those that were applied"), "{error}");
        assert!(piece(&json!({"metadata": {"name": "x"}})).unwrap_err().contains("the Secret x has no piece"));
    }

    #[test]
    fn a_large_revision_has_several_secrets() {
        let mut state = 7_u64;
        let mut noise = String::new();
        for _ in 0..1_500_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            noise.push(char::from(b'!' + u8::try_from((state >> 33) % 90).unwrap()));
        }
        let (module, content): (ModuleName, _) = ("web".parse().unwrap(), content(&noise));
        let secrets = content.secrets("addons", &module, 12);
        assert!(secrets.len() > 1 && secrets.iter().all(|(_, body)| body.len() < 1 << 20));
        let read: Vec<Value> = secrets.iter().map(|(_, body)| serde_json::from_str(body).unwrap()).collect();
        assert_eq!((secrets[1].0.name.as_str(), number(&read[1])), ("boathook-module-web.v12.1", Some(12)));
        let pieces: Vec<_> = read.iter().map(|secret| piece(secret).unwrap()).collect();
        assert_eq!(Content::of(&pieces, &content.digest()), Ok(content));
    }

    #[test]
    fn a_revision_says_what_changed() {
        let of = |chart: &str, given| Inputs::new(chart.to_owned(), &given);
        let before = of("a", given(1, 1, 1));
        let changed = |inputs: Inputs| inputs.changed(&before);
        assert_eq!(changed(of("b", given(1, 1, 1))), [Cause::Chart]);
        assert_eq!(changed(of("a", given(2, 1, 2))), [Cause::Settings]);
        assert_eq!(changed(of("b", given(1, 2, 2))), [Cause::Chart, Cause::HookValues]);
        assert_eq!(changed(of("a", given(1, 1, 2))), [Cause::StaticValues]);
        assert_eq!(changed(of("a", given(1, 1, 1))), [Cause::Cluster]);
    }

    #[test]
    fn what_is_asked_for_is_a_revision_or_the_end() {
        let asked = |text: &str| Asked::read(&json!({"metadata": {"annotations": {ROLLBACK: text}}}));
        assert_eq!((asked("3"), asked("end"), asked("")), (Some(Asked::Rollback(3)), Some(Asked::End), None));
        assert_eq!(asked("-1"), Some(Asked::Unreadable("-1".to_owned())));
        assert_eq!(Asked::read(&json!({"metadata": {}})), None);
    }
}
