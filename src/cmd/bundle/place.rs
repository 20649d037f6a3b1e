//! From what was typed to the place of a bundle. Asks nothing of it.

use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::{
    bundle::{Connect, Credentials, Layout, Place, Reach, Reference},
    cli::bundle::Registry,
};

/// A layout, if there is a directory of that name; else a reference.
pub(in crate::cmd) fn named(text: &str, flags: &Registry) -> anyhow::Result<Place> {
    let path = Path::new(text);
    if path.is_dir() {
        return Ok(Place::layout(Layout::open(path, None)?));
    }
    // `LAYOUT:TAG`, as other tools write it.
    if let Some((path, tag)) = text.rsplit_once(':').filter(|(path, _)| Layout::is_at(Path::new(path))) {
        return Ok(Place::layout(Layout::open(Path::new(path), Some(tag))?));
    }
    registry(&reference(text)?, flags)
}

pub(in crate::cmd) fn reference(text: &str) -> anyhow::Result<Reference> {
    Ok(text.parse()?)
}

pub(in crate::cmd) fn registry(at: &Reference, flags: &Registry) -> anyhow::Result<Place> {
    let read = |path: &PathBuf| std::fs::read(path).with_context(|| format!("can't read {}", path.display()));
    let connect = Connect {
        plain_http: flags.plain_http,
        ca: flags.ca.as_ref().map(read).transpose()?.unwrap_or_default(),
        credentials: credentials(flags.docker_config.as_deref())?,
        // Whoever types the reference is asked for nothing that they could not ask for themselves.
        reach: Reach::Anywhere,
    };
    Ok(Place::registry(at, &connect)?)
}

/// A file that was named must be there; one that docker would take may be.
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
    let bytes = std::fs::read(&path).with_context(|| format!("can't read {}", path.display()))?;
    Credentials::from_docker_config(&bytes).with_context(|| format!("{} can't be used", path.display()))
}
