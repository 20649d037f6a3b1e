//! What is rendered, and what comes of it.

use std::{
    fmt,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::wit::charts::exports::boathook::chart::engine as wit;

/// A file of a chart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChartFile {
    /// From the chart's root, with `/`: `templates/deployment.yaml`, `charts/db-1.0.0.tgz`.
    pub path: String,
    pub content: Vec<u8>,
}

/// The files of a chart. Their digest is computed once, so keep a chart that is rendered again.
#[derive(Debug, Clone)]
pub struct Chart {
    files: Vec<ChartFile>,
    directory: bool,
    digest: [u8; 32],
}

impl Chart {
    /// The files of a directory. A `.helmignore` among them counts, and their order does not.
    pub fn of_directory(mut files: Vec<ChartFile>) -> Self {
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Self::new(files, true)
    }

    /// The files of an archive, in its order. Helm looks for no `.helmignore` in an archive.
    pub fn of_archive(files: Vec<ChartFile>) -> Self {
        Self::new(files, false)
    }

    fn new(files: Vec<ChartFile>, directory: bool) -> Self {
        let mut digest = Digest::new("chart");
        digest.flag(directory);
        for file in &files {
            digest.part(file.path.as_bytes());
            digest.part(&file.content);
        }
        Self { digest: digest.finish(), files, directory }
    }

    pub fn files(&self) -> &[ChartFile] {
        &self.files
    }

    pub(super) fn is_directory(&self) -> bool {
        self.directory
    }

    /// SHA-256 of the files with their paths.
    pub fn digest(&self) -> &[u8; 32] {
        &self.digest
    }
}

/// Whether the release is new.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    Install,
    Upgrade,
}

/// What templates see as `.Release`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Release {
    pub name: String,
    pub namespace: String,
    /// 1 for an installation.
    pub revision: u32,
    pub operation: Operation,
}

/// The version of a Kubernetes cluster, as its `/version` says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KubeVersion {
    /// `v1.36.0`, `v1.33.1-gke.100`
    pub version: String,
    pub major: String,
    /// `36`, `33+`
    pub minor: String,
}

impl KubeVersion {
    /// Reads `1.36`, `v1.36.2`. `None` if the text does not begin with two numbers.
    pub fn parse(text: &str) -> Option<Self> {
        let numbers = text.trim().trim_start_matches('v');
        let mut parts = numbers.split(['.', '-', '+']);
        let mut number =
            || parts.next().filter(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()));
        let (major, minor) = (number()?.to_owned(), number()?.to_owned());
        let patch = if numbers.matches('.').count() < 2 { ".0" } else { "" };
        Some(Self { version: format!("v{numbers}{patch}"), major, minor })
    }
}

/// What templates see as `.Capabilities`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capabilities {
    pub kube: KubeVersion,
    /// `apps/v1` and `apps/v1/Deployment`, for all that the cluster serves.
    pub api_versions: Vec<String>,
    /// Whether `api_versions` come in addition to those that Helm assumes without a cluster.
    pub assumed: bool,
}

impl Capabilities {
    /// A cluster that is not there, as `helm template` assumes one.
    pub fn assumed(kube: KubeVersion) -> Self {
        Self { kube, api_versions: Vec::new(), assumed: true }
    }
}

/// A secret of an installation. The random numbers of its charts, such as generated passwords, are derived from it: anyone who
/// knows it and the request knows them.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(pub [u8; 32]);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// A chart with all that its result depends on, except for answers of [`Lookup`](super::Lookup).
#[derive(Debug, Clone)]
pub struct RenderRequest {
    pub chart: Arc<Chart>,
    /// An object: what `--values` gives to Helm, without the chart's own defaults.
    pub values: Value,
    pub release: Release,
    pub capabilities: Arc<Capabilities>,
    /// Do not compare the values with the chart's `values.schema.json`.
    pub skip_schema: bool,
    /// The time that `now` gives. It is a part of the request, so keep it with a revision. Certificates begin at this time.
    pub now: SystemTime,
    /// Random numbers depend on it, and on the chart, the values, and the name and namespace of the release. They do not
    /// depend on the revision, so that a password stays when nothing else changes.
    pub secret: Secret,
}

impl RenderRequest {
    /// The digest of all of it, with the component that renders.
    pub(super) fn digest(&self, component: &[u8; 32]) -> [u8; 32] {
        let mut digest = Digest::new("render");
        digest.part(component);
        digest.part(&self.seed());
        digest.part(&self.release.revision.to_le_bytes());
        digest.flag(self.release.operation == Operation::Upgrade);
        let Capabilities { kube, api_versions, assumed } = &*self.capabilities;
        for text in [&kube.version, &kube.major, &kube.minor] {
            digest.part(text.as_bytes());
        }
        digest.flag(*assumed);
        digest.part(&api_versions.len().to_le_bytes());
        api_versions.iter().for_each(|version| digest.part(version.as_bytes()));
        digest.flag(self.skip_schema);
        digest.part(&self.time().as_nanos().to_le_bytes());
        digest.finish()
    }

    /// What random numbers are made of.
    pub(super) fn seed(&self) -> [u8; 32] {
        let mut digest = Digest::new("random");
        digest.part(&self.secret.0);
        digest.part(self.chart.digest());
        digest.part(self.values_text().as_bytes());
        digest.part(self.release.name.as_bytes());
        digest.part(self.release.namespace.as_bytes());
        digest.finish()
    }

    /// The values with their keys in order.
    pub(super) fn values_text(&self) -> String {
        let mut values = self.values.clone();
        values.sort_all_objects();
        values.to_string()
    }

    /// The time since 1970.
    pub(super) fn time(&self) -> Duration {
        self.now.duration_since(UNIX_EPOCH).unwrap_or_default()
    }
}

/// A digest of parts, none of which can be taken for another.
struct Digest(Sha256);

impl Digest {
    fn new(of: &str) -> Self {
        let mut digest = Self(Sha256::new());
        digest.part(of.as_bytes());
        digest
    }

    fn part(&mut self, bytes: &[u8]) {
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    fn flag(&mut self, flag: bool) {
        self.part(&[u8::from(flag)]);
    }

    fn finish(self) -> [u8; 32] {
        self.0.finalize().into()
    }
}

/// A document, and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// `web/templates/deployment.yaml`: the chart's name, and the path in it.
    pub source: String,
    /// YAML.
    pub text: String,
}

/// A manifest with the annotation `helm.sh/hook`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChartHook {
    pub manifest: Manifest,
    pub name: String,
    pub kind: String,
    /// `pre-install`, `post-upgrade`, …
    pub events: Vec<String>,
    pub weight: i64,
    /// `before-hook-creation`, `hook-succeeded`, `hook-failed`, as they are in the annotation. Helm takes the first one if there
    /// is none.
    pub delete_policies: Vec<String>,
}

/// What a chart gave.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rendered {
    /// In the order in which Helm installs them.
    pub manifests: Vec<Manifest>,
    /// In the order of Helm's kinds. Helm runs those of an event by weight, then by name.
    pub hooks: Vec<ChartHook>,
    /// The files of `crds/`, also of subcharts. A file may have several documents.
    pub definitions: Vec<Manifest>,
    /// The text of NOTES.txt.
    pub notes: String,
    /// What Helm's library logged.
    pub warnings: Vec<String>,
}

impl Rendered {
    /// How much memory it takes, roughly.
    pub(super) fn bytes(&self) -> usize {
        let manifest = |one: &Manifest| one.source.len() + one.text.len() + size_of::<Manifest>();
        let hooks = self.hooks.iter().map(|hook| manifest(&hook.manifest) + size_of::<ChartHook>());
        let manifests = self.manifests.iter().chain(&self.definitions).map(manifest);
        let warnings: usize = self.warnings.iter().map(String::len).sum();
        manifests.chain(hooks).sum::<usize>() + self.notes.len() + warnings
    }
}

impl From<wit::Manifest> for Manifest {
    fn from(wit::Manifest { source, text }: wit::Manifest) -> Self {
        Self { source, text }
    }
}

impl From<wit::Hook> for ChartHook {
    fn from(hook: wit::Hook) -> Self {
        let wit::Hook { manifest, name, kind, events, weight, delete_policies } = hook;
        Self { manifest: manifest.into(), name, kind, events, weight, delete_policies }
    }
}

impl From<wit::Rendered> for Rendered {
    fn from(rendered: wit::Rendered) -> Self {
        let wit::Rendered { manifests, hooks, definitions, notes, warnings } = rendered;
        let all = |manifests: Vec<wit::Manifest>| manifests.into_iter().map(Into::into).collect();
        Self {
            manifests: all(manifests),
            hooks: hooks.into_iter().map(Into::into).collect(),
            definitions: all(definitions),
            notes,
            warnings,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;

    fn request() -> RenderRequest {
        let file = |path: &str| ChartFile { path: path.to_owned(), content: b"a".to_vec() };
        RenderRequest {
            chart: Arc::new(Chart::of_directory(vec![file("a"), file("b")])),
            values: json!({"a": 1, "b": {"c": 2, "d": 3}}),
            release: Release {
                name: "r".to_owned(),
                namespace: "n".to_owned(),
                revision: 1,
                operation: Operation::Install,
            },
            capabilities: Arc::new(Capabilities::assumed(KubeVersion::parse("1.36").unwrap())),
            skip_schema: false,
            now: UNIX_EPOCH + Duration::from_secs(1),
            secret: Secret([1; 32]),
        }
    }

    #[test]
    fn what_a_result_depends_on_is_in_the_digest() {
        let first = request();
        let digest = |change: &dyn Fn(&mut RenderRequest)| {
            let mut request = request();
            change(&mut request);
            (request.digest(&[0; 32]), request.seed())
        };
        let same = digest(&|_| {});
        assert_eq!(same, (first.digest(&[0; 32]), first.seed()));
        assert_eq!(same, digest(&|request| request.values = json!({"b": {"d": 3, "c": 2}, "a": 1})));
        assert_ne!(same.0, first.digest(&[1; 32]));
        let all: [&dyn Fn(&mut RenderRequest); 10] = [
            &|request| request.values = json!({}),
            &|request| request.secret = Secret([2; 32]),
            &|request| request.release.name = "rn".to_owned(),
            &|request| request.release.namespace = "m".to_owned(),
            &|request| request.chart = Arc::new(Chart::of_archive(request.chart.files().to_vec())),
            &|request| request.release.revision = 2,
            &|request| request.release.operation = Operation::Upgrade,
            &|request| Arc::make_mut(&mut request.capabilities).api_versions.push("v1".to_owned()),
            &|request| request.skip_schema = true,
            &|request| request.now += Duration::from_secs(1),
        ];
        for (i, change) in all.into_iter().enumerate() {
            let (whole, seed) = digest(change);
            assert_ne!(whole, same.0, "{i}");
            assert_eq!(seed != same.1, i < 5, "{i}: what random numbers depend on");
        }
    }

    #[test]
    fn versions_are_read_as_people_write_them() {
        let version = |text: &str| KubeVersion::parse(text).map(|kube| (kube.version, kube.major, kube.minor));
        let texts = |[a, b, c]: [&str; 3]| Some((a.to_owned(), b.to_owned(), c.to_owned()));
        assert_eq!(version("1.36"), texts(["v1.36.0", "1", "36"]));
        assert_eq!(version("v1.33.1-gke.100"), texts(["v1.33.1-gke.100", "1", "33"]));
        for wrong in ["", "1", "one.two", "1.", "v.3"] {
            assert_eq!(version(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_secret_is_not_shown() {
        assert!(!format!("{:?}", request()).contains("1, 1, 1"));
    }
}
