//! A release as Helm keeps it in a Secret or a ConfigMap. Pure.

use std::io::Read as _;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use flate2::read::GzDecoder;
use serde::Deserialize;

use crate::manifest::documents;

/// The most bytes of a release. Helm's own storage has room for 1 MiB, compressed.
const MAX_BYTES: u64 = 96 << 20;
const GZIP: &[u8] = &[0x1f, 0x8b, 0x08];
/// The comment with a document's template.
const SOURCE: &str = "# Source: ";

/// A release that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("it is not a release of Helm 3 or 4: {0}")]
pub struct InvalidRelease(String);

/// A revision of a release.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct HelmRelease {
    pub name: String,
    #[serde(default)]
    pub namespace: String,
    /// Counted from 1.
    #[serde(default)]
    pub version: u64,
    #[serde(default)]
    info: Info,
    #[serde(default)]
    chart: ChartOf,
    #[serde(default)]
    manifest: String,
    #[serde(default)]
    hooks: Option<Vec<HelmHook>>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
struct Info {
    #[serde(default)]
    status: String,
    #[serde(default)]
    last_deployed: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
struct ChartOf {
    #[serde(default)]
    metadata: Option<ChartMetadata>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
struct ChartMetadata {
    #[serde(default)]
    name: String,
    #[serde(default)]
    version: String,
}

/// A hook of a release.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct HelmHook {
    #[serde(default)]
    pub name: String,
    #[serde(default)]
    pub kind: String,
    /// The template.
    #[serde(default)]
    pub path: String,
    #[serde(default)]
    pub manifest: String,
    #[serde(default)]
    pub events: Option<Vec<String>>,
    #[serde(default)]
    pub weight: i64,
    #[serde(default)]
    pub delete_policies: Option<Vec<String>>,
}

impl HelmRelease {
    /// Reads what the key `release` of a ConfigMap has. That of a Secret is the same, encoded once more.
    ///
    /// # Errors
    /// It is something else.
    pub fn read(text: &str) -> Result<Self, InvalidRelease> {
        let bytes = STANDARD.decode(text.trim()).map_err(|error| InvalidRelease(error.to_string()))?;
        // Old versions of Helm did not compress.
        let json = if bytes.starts_with(GZIP) {
            let mut json = Vec::new();
            let read = GzDecoder::new(bytes.as_slice()).take(MAX_BYTES + 1).read_to_end(&mut json);
            read.map_err(|error| InvalidRelease(error.to_string()))?;
            if json.len() as u64 > MAX_BYTES {
                return Err(InvalidRelease(format!("it has more than {MAX_BYTES} bytes")));
            }
            json
        } else {
            bytes
        };
        serde_json::from_slice(&json).map_err(|error| InvalidRelease(error.to_string()))
    }

    /// In Helm's words, such as `deployed` or `pending-upgrade`.
    pub fn status(&self) -> &str {
        &self.info.status
    }

    /// When it was deployed, in RFC 3339.
    pub fn deployed(&self) -> &str {
        &self.info.last_deployed
    }

    /// The name and the version of the chart.
    pub fn chart(&self) -> (&str, &str) {
        self.chart.metadata.as_ref().map_or(("", ""), |of| (of.name.as_str(), of.version.as_str()))
    }

    /// The documents of the manifest, each with its template.
    pub fn manifests(&self) -> Vec<(&str, &str)> {
        let source = |text: &str| -> Option<usize> { text.find(SOURCE).map(|at| at + SOURCE.len()) };
        let named = |(_, text)| {
            let template = source(text).and_then(|at| text.get(at..)?.lines().next());
            (template.unwrap_or("the release").trim(), text)
        };
        documents(&self.manifest).into_iter().map(named).collect()
    }

    pub fn hooks(&self) -> &[HelmHook] {
        self.hooks.as_deref().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::{Compression, write::GzEncoder};
    use serde_json::json;

    use super::*;

    fn packed(json: &serde_json::Value) -> String {
        let mut packed = GzEncoder::new(Vec::new(), Compression::default());
        packed.write_all(json.to_string().as_bytes()).unwrap();
        STANDARD.encode(packed.finish().unwrap())
    }

    #[test]
    fn a_release_is_read_as_helm_wrote_it() {
        let json = json!({
            "name": "web", "namespace": "shop", "version": 7,
            "info": {"status": "deployed", "last_deployed": "2026-05-04T09:12:40.5+02:00"},
            "chart": {"metadata": {"name": "web", "version": "1.4.0"}, "templates": []},
            "manifest": "---\n# Source: web/templates/a.yaml\napiVersion: v1\nkind: ConfigMap\n---\n# Source: web/templates/b.yaml\nkind: Secret\n",
            "hooks": [{"name": "m", "kind": "Job", "path": "web/templates/m.yaml", "manifest": "kind: Job", "events": ["pre-upgrade"]}],
        });
        let release = HelmRelease::read(&packed(&json)).unwrap();
        assert_eq!((release.version, release.status(), release.chart()), (7, "deployed", ("web", "1.4.0")));
        let sources: Vec<_> = release.manifests().into_iter().map(|(source, _)| source).collect();
        assert_eq!(sources, ["web/templates/a.yaml", "web/templates/b.yaml"]);
        assert_eq!(release.hooks()[0].events.as_deref(), Some(&["pre-upgrade".to_owned()][..]));
        // It has no hooks, and is not compressed.
        let plain = STANDARD.encode(json!({"name": "web", "hooks": null}).to_string());
        assert_eq!(HelmRelease::read(&plain).unwrap().hooks(), []);
    }

    #[test]
    fn something_else_is_refused() {
        for text in ["%", "bm90IGpzb24=", "H4sIAAAA"] {
            let error = HelmRelease::read(text).unwrap_err().to_string();
            assert!(error.starts_with("it is not a release of Helm"), "{error}");
        }
    }
}
