//! Trust policies: which bundles are allowed, by their source. Signatures are not checked here.

use std::path::{Path, PathBuf};

use boathook_core::model::{DirectoryRule, HttpRule, Permission};
use serde::Deserialize;

use super::{Attestation, Digest, Identity, IdentityParts, KeyError, PublicKey};
use crate::InvalidDigest;

const API_VERSION: &str = "boathook.dev/v1alpha1";
const KIND: &str = "BundlePolicy";

/// Why a policy cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    /// The file does not have the expected form.
    #[error("{} cannot be read as a policy", .path.display())]
    Unreadable {
        path: PathBuf,
        #[source]
        source: yaml_serde::Error,
    },
    /// The file cannot be read.
    #[error("{} cannot be read", .path.display())]
    File {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    /// The file is another kind of document.
    #[error("{}: it is {found}, and a policy is {API_VERSION} {KIND}", .path.display())]
    Kind {
        path: PathBuf,
        /// The kind of document that it is.
        found: String,
    },
    #[error("{at}: key {name:?} cannot be used")]
    Key {
        /// The file and the source within it.
        at: String,

        /// The key's name.
        name: String,
        #[source]
        source: KeyError,
    },
    /// A digest is not valid.
    #[error("{at}: a digest cannot be used")]
    Digest {
        /// The file and the source within it.
        at: String,
        #[source]
        source: InvalidDigest,
    },
    /// A rule contradicts itself.
    #[error("{at}: {why}")]
    Rule {
        /// The file and the source within it.
        at: String,
        why: String,
    },
}

/// How a signer is recognized.
#[derive(Debug, Clone)]
pub enum Signer {
    Key(PublicKey),
    Identity(Box<Identity>),
}

impl Signer {
    /// Whether one owner could be both, and must not count twice.
    pub fn overlaps(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Key(one), Self::Key(other)) => one == other,
            (Self::Identity(one), Self::Identity(other)) => one.overlaps(other),
            _ => false,
        }
    }
}

impl From<PublicKey> for Signer {
    fn from(key: PublicKey) -> Self {
        Self::Key(key)
    }
}

impl From<Identity> for Signer {
    fn from(identity: Identity) -> Self {
        Self::Identity(Box::new(identity))
    }
}

/// A signer, with the name that messages use for it.
#[derive(Debug, Clone)]
pub struct NamedKey {
    pub name: String,
    pub key: Signer,
    /// What the key's owner may request. Absent if that is everything.
    pub may: Option<Vec<Permission>>,
}

/// What somebody demands of a bundle.
#[derive(Debug, Clone, Default)]
pub struct Demand {
    /// The digests that are trusted without a signature.
    pub digests: Vec<Digest>,
    /// The keys that must have signed any other digest.
    pub keys: Vec<NamedKey>,
    /// How many of the keys must have signed.
    pub minimum: usize,
    /// A signature counts only for the tag that it was made for.
    pub tag_must_match: bool,
    /// What one of the keys must have attested about every digest.
    pub require: Vec<Attestation>,
}

/// What is demanded of bundles from one source.
#[derive(Debug, Clone, Default)]
pub(super) struct Rule {
    pub pattern: String,
    pub digests: Vec<Digest>,
    pub keys: Vec<NamedKey>,
    pub minimum: usize,
    pub tag_must_match: bool,
    pub require: Vec<Attestation>,
    pub unsigned: bool,
    pub may: Option<Vec<Permission>>,
}

/// Which bundles are trusted.
#[derive(Debug, Clone, Default)]
pub struct Policy {
    rules: Vec<Rule>,
}

impl Policy {
    /// Trusts everything. For tools that show bundles and do not run them.
    pub fn unchecked() -> Self {
        Self { rules: vec![Rule { pattern: "*".to_owned(), unsigned: true, ..Rule::default() }] }
    }

    /// Trusts these digests, and what one of these keys signed, from any source.
    pub fn of(digests: Vec<Digest>, keys: Vec<NamedKey>) -> Self {
        Self { rules: vec![Rule { pattern: "*".to_owned(), digests, keys, minimum: 1, ..Rule::default() }] }
    }

    /// Also requires these attestations, by one of the keys.
    pub fn requiring(mut self, require: &[Attestation]) -> Self {
        self.rules.iter_mut().for_each(|rule| rule.require = require.to_vec());
        self
    }

    /// Trusts what meets the demand, from any source.
    pub fn demanding(demand: Demand) -> Self {
        let Demand { digests, keys, minimum, tag_must_match, require } = demand;
        let pattern = "*".to_owned();
        let rule = Rule { pattern, digests, keys, minimum, tag_must_match, require, unsigned: false, may: None };
        Self { rules: vec![rule] }
    }

    /// Whether there is a rule for a source, `HOST/REPOSITORY`. If not, the bundle is refused without a request to the
    /// registry.
    pub fn covers(&self, source: &str) -> bool {
        self.rule(source).is_some()
    }

    /// The registries that its rules name.
    pub fn registries(&self) -> impl Iterator<Item = &str> {
        self.rules.iter().filter_map(|rule| Some(rule.pattern.split_once('/')?.0))
    }

    /// Reads a policy. The paths of key files are relative to its directory.
    pub fn read(path: &Path) -> Result<Self, PolicyError> {
        let text = file(path)?;
        let document: Document =
            yaml_serde::from_str(&text).map_err(|source| PolicyError::Unreadable { path: path.to_owned(), source })?;
        if (document.api_version.as_str(), document.kind.as_str()) != (API_VERSION, KIND) {
            let found = format!("{} {}", document.api_version, document.kind);
            return Err(PolicyError::Kind { path: path.to_owned(), found });
        }
        let rules = document.sources.into_iter().enumerate().map(|(n, source)| {
            let at = format!("{}: sources[{n}]", path.display());
            source.rule(&at, path.parent().unwrap_or(Path::new(".")))
        });
        Ok(Self { rules: rules.collect::<Result<_, _>>()? })
    }

    /// The most specific rule for a source: an exact one, or else the one with the longest prefix.
    pub(super) fn rule(&self, source: &str) -> Option<&Rule> {
        self.rules
            .iter()
            .filter(|rule| fits(&rule.pattern, source))
            .max_by_key(|rule| (!rule.pattern.ends_with('*'), rule.pattern.len()))
    }
}

/// Whether a pattern matches. `*` alone matches everything. At the end, after a `/`, it matches everything below.
fn fits(pattern: &str, source: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(beginning) => source.starts_with(beginning),
        None => pattern == source,
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Document {
    api_version: String,
    kind: String,
    sources: Vec<Source>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Source {
    r#match: String,
    #[serde(default)]
    digests: Vec<String>,
    #[serde(default)]
    keys: Vec<Key>,
    #[serde(default)]
    minimum: Option<usize>,
    #[serde(default)]
    tag_must_match: bool,
    #[serde(default)]
    require: Vec<Attestation>,
    #[serde(default)]
    unsigned: bool,
    #[serde(default)]
    may: Option<Vec<May>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Key {
    name: String,
    #[serde(default)]
    key: Option<String>,
    #[serde(default)]
    file: Option<PathBuf>,
    #[serde(default)]
    identity: Option<IdentityRule>,
    #[serde(default)]
    may: Option<Vec<May>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct IdentityRule {
    issuer: String,
    subject: String,
    #[serde(default)]
    certificate_authority: Option<String>,
    #[serde(default)]
    certificate_authority_file: Option<PathBuf>,
    #[serde(default)]
    transparency_log: Option<String>,
    #[serde(default)]
    transparency_log_file: Option<PathBuf>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct May {
    #[serde(default)]
    api_groups: Option<Vec<String>>,
    #[serde(default)]
    resources: Option<Vec<String>>,
    #[serde(default)]
    verbs: Option<Vec<String>>,
    #[serde(default)]
    resource_names: Option<Vec<String>>,
    #[serde(default)]
    namespaces: Option<Vec<String>>,
    #[serde(default)]
    http: Option<HttpRule>,
    #[serde(default)]
    directory: Option<DirectoryRule>,
}

impl May {
    /// `None`: it is not exactly one of a rule of Kubernetes, one of HTTP and one of a directory.
    fn permission(self) -> Option<Permission> {
        match self {
            Self {
                api_groups: None,
                resources: None,
                verbs: None,
                resource_names: None,
                namespaces: None,
                http: Some(rule),
                directory: None,
            } => Some(Permission::of_http(rule)),
            Self {
                api_groups: None,
                resources: None,
                verbs: None,
                resource_names: None,
                namespaces: None,
                http: None,
                directory: Some(rule),
            } => Some(Permission::of_directory(rule)),
            Self {
                api_groups: Some(api_groups),
                resources: Some(resources),
                verbs: Some(verbs),
                resource_names,
                namespaces,
                http: None,
                directory: None,
            } => {
                let [resource_names, namespaces] = [resource_names, namespaces].map(Option::unwrap_or_default);
                let (http, directory) = (None, None);
                Some(Permission { api_groups, resources, verbs, resource_names, namespaces, http, directory })
            }
            _ => None,
        }
    }
}

fn ceiling(at: &str, may: Option<Vec<May>>) -> Result<Option<Vec<Permission>>, PolicyError> {
    let wrong = |why: String| PolicyError::Rule { at: at.to_owned(), why };
    let read = |may: May| {
        let neither =
            || wrong("each rule of `may` has apiGroups, resources and verbs, or http or directory alone".to_owned());
        let permission = may.permission().ok_or_else(neither)?;
        if let Some(problem) = permission.directory.as_ref().and_then(DirectoryRule::problem) {
            return Err(wrong(format!("in `may`, directory.name {problem}")));
        }
        match permission.http.as_ref().and_then(|rule| rule.problems().into_iter().next()) {
            Some((place, problem)) => Err(wrong(format!("in `may`, http.{place} {problem}"))),
            None => Ok(permission),
        }
    };
    may.map(|list| list.into_iter().map(read).collect()).transpose()
}

impl Source {
    fn rule(self, at: &str, base: &Path) -> Result<Rule, PolicyError> {
        let wrong = |why: &str| PolicyError::Rule { at: at.to_owned(), why: why.to_owned() };
        let star = self.r#match.find('*');
        let at_the_end = self.r#match == "*" || self.r#match.strip_suffix("/*").is_some_and(|rest| !rest.contains('*'));
        if star.is_some() && !at_the_end {
            return Err(wrong("in `match`, a * stands alone or at the end after a /: HOST/TEAM/*"));
        }
        let checked = !self.digests.is_empty() || !self.keys.is_empty();
        match (checked, self.unsigned) {
            (false, false) => return Err(wrong("nothing is allowed: add `digests`, `keys`, or `unsigned: true`")),
            (true, true) => {
                return Err(wrong("`unsigned: true` makes `digests` and `keys` useless: remove one of them"));
            }
            _ => {}
        }
        if !self.require.is_empty() && self.keys.is_empty() {
            return Err(wrong("`require` needs `keys`, whose owners attest"));
        }
        let minimum = self.minimum.unwrap_or(1);
        if minimum == 0 || (minimum > self.keys.len() && !self.keys.is_empty()) {
            return Err(wrong("`minimum` must be at least 1, and not more than there are keys"));
        }
        let digests = self.digests.iter().map(|text| Digest::parse(text)).collect::<Result<_, _>>();
        let mut keys: Vec<NamedKey> = Vec::new();
        for key in self.keys {
            let key = key.read(at, base)?;
            // The same owner must not count twice.
            if keys.iter().any(|other| other.key.overlaps(&key.key) || other.name == key.name) {
                return Err(wrong(&format!("key {:?} is there twice", key.name)));
            }
            keys.push(key);
        }
        Ok(Rule {
            pattern: self.r#match,
            digests: digests.map_err(|source| PolicyError::Digest { at: at.to_owned(), source })?,
            keys,
            minimum,
            tag_must_match: self.tag_must_match,
            require: self.require,
            unsigned: self.unsigned,
            may: ceiling(at, self.may)?,
        })
    }
}

impl Key {
    fn read(self, at: &str, base: &Path) -> Result<NamedKey, PolicyError> {
        let wrong = |needs: &str| {
            let why = format!("key {:?} needs {needs}, and not both", self.name);
            PolicyError::Rule { at: at.to_owned(), why }
        };
        let unusable = |source| PolicyError::Key { at: at.to_owned(), name: self.name.clone(), source };
        let text = |pem: Option<String>, path: Option<PathBuf>, needs: &str| match (pem, path) {
            (Some(pem), None) => Ok(Some(pem)),
            (None, Some(path)) => file(&base.join(path)).map(Some),
            (None, None) => Ok(None),
            (Some(_), Some(_)) => Err(wrong(needs)),
        };
        let pem = text(self.key, self.file, "`key` with its PEM, or `file`")?;
        let key = match (pem, self.identity) {
            (Some(pem), None) => PublicKey::from_pem(&pem).map_err(unusable)?.into(),
            (None, Some(rule)) => {
                let needs = "`certificateAuthority` with its PEM, or `certificateAuthorityFile`";
                let authority = text(rule.certificate_authority, rule.certificate_authority_file, needs)?;
                let authority = authority.ok_or_else(|| wrong(needs))?;
                let needs = "`transparencyLog` with its PEM, or `transparencyLogFile`";
                let log = text(rule.transparency_log, rule.transparency_log_file, needs)?;
                let parts = IdentityParts {
                    issuer: &rule.issuer,
                    subject: &rule.subject,
                    authority: &authority,
                    log: log.as_deref(),
                };
                Identity::new(parts).map_err(unusable)?.into()
            }
            _ => return Err(wrong("`key` with its PEM, `file`, or `identity`")),
        };
        Ok(NamedKey { name: self.name, key, may: ceiling(at, self.may)? })
    }
}

fn file(path: &Path) -> Result<String, PolicyError> {
    std::fs::read_to_string(path).map_err(|source| PolicyError::File { path: path.to_owned(), source })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn read(text: &str) -> Result<Policy, PolicyError> {
        let dir = tempfile::tempdir().unwrap();
        let key = include_str!("../../../../tests/fixtures/keys/p256.pub");
        std::fs::write(dir.path().join("team.pub"), key).unwrap();
        let path = dir.path().join("policy.yaml");
        std::fs::write(&path, format!("apiVersion: boathook.dev/v1alpha1\nkind: BundlePolicy\nsources:\n{text}"))
            .unwrap();
        Policy::read(&path)
    }

    #[test]
    fn the_most_specific_source_decides() {
        let policy = read("- {match: '*', unsigned: true}\n- {match: r.io/team/*, unsigned: true}\n- {match: r.io/team/a, unsigned: true}\n").unwrap();
        let of = |source| policy.rule(source).map(|rule| rule.pattern.clone()).unwrap();
        assert_eq!(of("r.io/team/a"), "r.io/team/a");
        assert_eq!(of("r.io/team/a/b"), "r.io/team/*");
        assert_eq!(of("r.io/team-evil/a"), "*");
        assert!(read("- {match: r.io/team/*, unsigned: true}\n").unwrap().rule("r.io/team-evil/a").is_none());
    }

    #[test]
    fn says_what_is_wrong_and_where() {
        for (text, what) in [
            ("- {match: r.io/a}\n", "sources[0]: nothing is allowed"),
            ("- {match: r.io/a*, unsigned: true}\n", "stands alone"),
            ("- {match: r.io/a, digests: [sha256:1]}\n", "a digest cannot be used"),
            ("- {match: r.io/a, keys: [{name: x}]}\n", "needs `key`"),
            ("- {match: r.io/a, keys: [{name: x, key: y}]}\n", "key \"x\" cannot be used"),
            ("- {match: r.io/a, keys: [{name: x, identity: {issuer: i, subject: s}}]}\n", "`certificateAuthorityFile`"),
            (
                "- {match: r.io/a, keys: [{name: x, file: team.pub, identity: {issuer: i, subject: s}}]}\n",
                "or `identity`, and not both",
            ),
            (
                "- {match: r.io/a, keys: [{name: x, identity: {issuer: i, subject: s, certificateAuthorityFile: team.pub}}]}\n",
                "key \"x\" cannot be used",
            ),
            (
                "- {match: r.io/a, keys: [{name: x, file: team.pub}, {name: y, file: team.pub}]}\n",
                "\"y\" is there twice",
            ),
            ("- {match: r.io/a, keys: [{name: x, file: team.pub}], minimum: 2}\n", "`minimum`"),
            ("- {match: r.io/a, keys: [{name: x, file: gone.pub}]}\n", "gone.pub cannot be read"),
            ("- {match: r.io/a, unsigned: true, keys: [{name: x, file: team.pub}]}\n", "useless"),
            ("- {match: r.io/a, digests: [], unsigned: true, require: [sbom]}\n", "`require` needs `keys`"),
            ("- {match: r.io/a, keys: [{name: x, file: team.pub}], require: [vex]}\n", "cannot be read as a policy"),
            ("- {match: r.io/a, unsinged: true}\n", "cannot be read as a policy"),
            ("- {match: r.io/a, unsigned: true, may: [{directory: {name: A}}]}\n", "in `may`, directory.name is \"A\""),
            (
                "- {match: r.io/a, unsigned: true, may: [{directory: {name: a}, http: {hosts: [a.io]}}]}\n",
                "or http or directory alone",
            ),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(what), "{text}: {error}");
        }
    }
}
