//! References to bundles in registries: `HOST[:PORT]/REPOSITORY[:TAG][@DIGEST]`. There is no default registry.

use std::{fmt, str::FromStr};

use super::Digest;

/// A text that is not a valid reference.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a reference to a bundle: {why}; write HOST/REPOSITORY:TAG or HOST/REPOSITORY@sha256:…")]
pub struct InvalidReference {
    text: String,
    why: String,
}

/// The place of a bundle in a registry. Without a tag and a digest, the tag is `latest`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Reference {
    registry: String,
    repository: String,
    tag: Option<String>,
    digest: Option<Digest>,
}

impl Reference {
    /// `HOST[:PORT]`, as it was written.
    pub fn registry(&self) -> &str {
        &self.registry
    }

    /// The path below the registry.
    pub fn repository(&self) -> &str {
        &self.repository
    }

    /// The tag, if the reference has one or means `latest`.
    pub fn tag(&self) -> Option<&str> {
        self.tag.as_deref()
    }

    /// The digest, if the reference pins one. It decides even if there is a tag.
    pub fn digest(&self) -> Option<&Digest> {
        self.digest.as_ref()
    }

    /// `HOST/REPOSITORY`, to which policies refer.
    pub fn source(&self) -> String {
        format!("{}/{}", self.registry, self.repository)
    }

    /// The same reference without a digest, if it also has a tag.
    pub(super) fn unpinned(&self) -> Self {
        let digest = if self.tag.is_some() { None } else { self.digest.clone() };
        Self { digest, ..self.clone() }
    }

    /// The same reference, pinned to a digest.
    pub fn pinned(&self, digest: &Digest) -> Self {
        Self { digest: Some(digest.clone()), ..self.clone() }
    }
}

impl FromStr for Reference {
    type Err = InvalidReference;

    fn from_str(text: &str) -> Result<Self, InvalidReference> {
        let bad = |why: &str| InvalidReference { text: text.to_owned(), why: why.to_owned() };
        let rest = text.strip_prefix("oci://").unwrap_or(text);
        let (rest, digest) = match rest.split_once('@') {
            Some((rest, digest)) => (rest, Some(Digest::parse(digest).map_err(|error| bad(&error.to_string()))?)),
            None => (rest, None),
        };
        let (registry, path) = rest.split_once('/').ok_or_else(|| bad("it has no registry"))?;
        if !is_host(registry) {
            return Err(bad(&format!("{registry:?} is not a host with a dot or a port, which a registry must have")));
        }
        let (repository, tag) = match path.rsplit_once(':') {
            Some((repository, tag)) => (repository, Some(tag)),
            None => (path, None),
        };
        if repository.len() > 255 || !repository.split('/').all(is_segment) {
            return Err(bad("its repository is not lower-case words with '/' between them"));
        }
        if tag.is_some_and(|tag| !is_tag(tag)) {
            return Err(bad("its tag is not 1 to 128 letters, digits, '_', '.' and '-', the first no '.' or '-'"));
        }
        let tag = tag.or(if digest.is_none() { Some("latest") } else { None });
        Ok(Self {
            registry: registry.to_owned(),
            repository: repository.to_owned(),
            tag: tag.map(str::to_owned),
            digest,
        })
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.registry, self.repository)?;
        if let Some(tag) = &self.tag {
            write!(f, ":{tag}")?;
        }
        match &self.digest {
            Some(digest) => write!(f, "@{digest}"),
            None => Ok(()),
        }
    }
}

fn is_host(text: &str) -> bool {
    let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | ':' | '[' | ']');
    (text == "localhost" || text.contains(['.', ':'])) && text.chars().all(good)
}

fn is_segment(text: &str) -> bool {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '.' | '_' | '-');
    let edge = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    text.chars().all(inner) && text.starts_with(edge) && text.ends_with(edge)
}

/// Whether registries accept the text as a tag.
pub(super) fn is_tag(text: &str) -> bool {
    let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    !text.is_empty() && text.len() <= 128 && text.chars().all(good) && !text.starts_with(['.', '-'])
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn parts(text: &str) -> (String, String, Option<String>, bool) {
        let r: Reference = text.parse().unwrap();
        (r.registry, r.repository, r.tag, r.digest.is_some())
    }

    #[test]
    fn takes_them_apart() {
        let hex = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        let own = |a: &str, b: &str, tag: Option<&str>, d| (a.into(), b.into(), tag.map(str::to_owned), d);
        assert_eq!(parts("ghcr.io/a/b:v1"), own("ghcr.io", "a/b", Some("v1"), false));
        assert_eq!(parts("127.0.0.1:5000/a"), own("127.0.0.1:5000", "a", Some("latest"), false));
        assert_eq!(parts("oci://localhost/a:1"), own("localhost", "a", Some("1"), false));
        assert_eq!(parts(&format!("r.io/a@sha256:{hex}")), own("r.io", "a", None, true));
        assert_eq!(parts(&format!("[::1]:80/a:t@sha256:{hex}")), own("[::1]:80", "a", Some("t"), true));
    }

    #[test]
    fn refuses_what_names_nothing() {
        for bad in
            ["a", "team/a:1", "r.io/", "r.io/A", "r.io/a/../b", "r.io/a:", "r.io/a:-x", "r.io/a@sha256:1", "r.io/a b"]
        {
            let error = bad.parse::<Reference>().unwrap_err().to_string();
            assert!(error.contains(&format!("{bad:?}")), "{error}");
        }
    }

    #[test]
    fn prints_what_it_read() {
        for text in ["r.io/a/b:v1", "localhost:1/x:latest"] {
            assert_eq!(text.parse::<Reference>().unwrap().to_string(), text);
        }
    }
}
