//! Finds the place of a bundle and the policy from the flags. It contacts no registry. Only what a person types starts
//! a credential helper, and `serve` does not.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use boathook_bundle::{Connect, Credentials, Digest, Layout, NamedKey, Place, Policy, PublicKey, Reach, Reference};

use crate::cli::bundle::{Registry, Trust};

/// What a person names: a layout, or else a reference.
pub(super) async fn named(text: &str, flags: &Registry) -> anyhow::Result<Place> {
    match layout(text)? {
        Some(layout) => Ok(Place::layout(layout)),
        None => registry(&reference(text)?, flags).await,
    }
}

/// What the operator's admin names. No program is started for it.
pub(super) fn named_to_operator(text: &str, flags: &Registry) -> anyhow::Result<Place> {
    match layout(text)? {
        Some(layout) => Ok(Place::layout(layout)),
        None => place(&reference(text)?, flags, credentials(flags.docker_config.as_deref())?),
    }
}

/// A layout if there is a directory or a file with that name; otherwise a reference.
fn layout(text: &str) -> anyhow::Result<Option<Layout>> {
    let path = Path::new(text);
    if path.exists() {
        return Ok(Some(Layout::open(path, None)?));
    }
    // `LAYOUT:TAG`, as other tools write it.
    if let Some((path, tag)) = text.rsplit_once(':').filter(|(path, _)| Layout::is_at(Path::new(path))) {
        return Ok(Some(Layout::open(Path::new(path), Some(tag))?));
    }
    Ok(None)
}

pub(super) fn reference(text: &str) -> anyhow::Result<Reference> {
    Ok(text.parse()?)
}

/// A registry that a person names.
pub(super) async fn registry(at: &Reference, flags: &Registry) -> anyhow::Result<Place> {
    let credentials = credentials(flags.docker_config.as_deref())?;
    #[cfg(feature = "author")]
    let credentials = super::credential_helper::add_login(credentials, at).await?;
    place(at, flags, credentials)
}

fn place(at: &Reference, flags: &Registry, credentials: Credentials) -> anyhow::Result<Place> {
    let read = |path: &PathBuf| std::fs::read(path).with_context(|| format!("cannot read {}", path.display()));
    let connect = Connect {
        plain_http: flags.plain_http,
        ca: flags.ca.as_ref().map(read).transpose()?.unwrap_or_default(),
        credentials,
        // Users who type the reference can send the same requests themselves.
        reach: Reach::Anywhere,
    };
    Ok(Place::registry(at, &connect)?)
}

/// The policy from the flags. `or` names other possible flags, for the error.
pub(super) fn policy(trust: &Trust, or: &str) -> anyhow::Result<Policy> {
    if let Some(path) = &trust.policy {
        return Ok(Policy::read(path)?);
    }
    if trust.key.is_empty() && trust.digest.is_empty() {
        bail!("nothing says what to trust: add --key, --digest or --policy {or}");
    }
    let digests = trust.digest.iter().map(|text| Digest::parse(text)).collect::<Result<_, _>>()?;
    let keys = trust.key.iter().map(|path| {
        let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        let key = PublicKey::from_pem(&text).with_context(|| format!("{} cannot be used", path.display()))?;
        Ok(NamedKey { name: path.display().to_string(), key: key.into(), may: None })
    });
    Ok(Policy::of(digests, keys.collect::<anyhow::Result<_>>()?).requiring(&trust.require))
}

/// A named file must exist; docker's default file may be missing.
fn credentials(named: Option<&Path>) -> anyhow::Result<Credentials> {
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".docker"));
    let usual = || std::env::var_os("DOCKER_CONFIG").map(PathBuf::from).or_else(home);
    let path = match named {
        Some(path) => path.to_owned(),
        None => match usual().map(|directory| directory.join("config.json")) {
            Some(path) if path.is_file() => path,
            _ => return Ok(Credentials::default()),
        },
    };
    let bytes = std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
    Credentials::from_docker_config(&bytes).with_context(|| format!("{} cannot be used", path.display()))
}
