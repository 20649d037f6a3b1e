//! A file that `docker save` wrote: a tar of layers, with their order in `manifest.json`. Nothing of it is unpacked.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, Read as _, Seek as _, SeekFrom},
    path::Path,
};

use serde::Deserialize;
use tar::{Archive, EntryType};

use super::{ImageError, Layer, layer::Compression};
use crate::manifest::{MAX_LAYERS, MAX_MANIFEST};

const MANIFEST: &str = "manifest.json";
/// The most entries. An image has at most a few for each layer.
const MAX_ENTRIES: usize = 8192;
/// How many links lead to a layer.
const MAX_LINKS: usize = 8;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Saved {
    layers: Vec<String>,
}

/// Where files are in the tar, and what links stand for.
#[derive(Default)]
struct Names {
    files: BTreeMap<String, (u64, u64)>,
    links: BTreeMap<String, String>,
}

/// Whether a tar has the file that says what was saved.
pub(super) fn has_manifest(path: &Path) -> bool {
    File::open(path).is_ok_and(|file| names(&file).is_ok_and(|names| names.files.contains_key(MANIFEST)))
}

/// The layers, in order.
pub(super) fn layers(path: &Path) -> Result<Vec<Layer>, ImageError> {
    let at = path.display().to_string();
    let no_image = |why: String| ImageError::NoImage { at: at.clone(), why };
    let file = File::open(path).map_err(|source| ImageError::Io { path: path.to_owned(), source })?;
    let names = names(&file).map_err(&no_image)?;
    let (start, size) = names.find(MANIFEST).ok_or_else(|| no_image(format!("it has no {MANIFEST}")))?;
    if size > MAX_MANIFEST {
        return Err(no_image(format!("{MANIFEST} has {size} bytes, and {MAX_MANIFEST} are read")));
    }
    let bytes = part(&file, start, size).map_err(|source| ImageError::Io { path: path.to_owned(), source })?;
    let saved: Vec<Saved> =
        serde_json::from_slice(&bytes).map_err(|error| no_image(format!("{MANIFEST} cannot be read: {error}")))?;
    let saved = match saved.as_slice() {
        [one] => one,
        [] => return Err(no_image(format!("{MANIFEST} names no image"))),
        _ => return Err(no_image("it has several images: save one of them".to_owned())),
    };
    if saved.layers.len() > MAX_LAYERS {
        return Err(no_image(format!("it has more than {MAX_LAYERS} layers")));
    }
    let layer = |name: &String| {
        let range = names.find(name).ok_or_else(|| no_image(format!("its layer {name:?} is missing")))?;
        Ok(Layer { name: name.clone(), path: path.to_owned(), range: Some(range), compression: Compression::Detect })
    };
    saved.layers.iter().map(layer).collect()
}

fn part(mut file: &File, start: u64, size: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(start))?;
    file.take(size).read_to_end(&mut bytes)?;
    Ok(bytes)
}

impl Names {
    fn find(&self, name: &str) -> Option<(u64, u64)> {
        let mut name = name.to_owned();
        for _ in 0..MAX_LINKS {
            if let Some(range) = self.files.get(&name) {
                return Some(*range);
            }
            name = self.links.get(&name)?.clone();
        }
        None
    }
}

fn names(file: &File) -> Result<Names, String> {
    let damaged = |error: io::Error| format!("it is damaged: {error}");
    let end = file.metadata().map_err(damaged)?.len();
    let mut names = Names::default();
    let mut tar = Archive::new(file);
    for (n, entry) in tar.entries_with_seek().map_err(damaged)?.raw(true).enumerate() {
        let entry = entry.map_err(damaged)?;
        if n >= MAX_ENTRIES {
            return Err(format!("it has more than {MAX_ENTRIES} entries"));
        }
        let name = String::from_utf8_lossy(&entry.path_bytes()).trim_start_matches("./").to_owned();
        match entry.header().entry_type() {
            EntryType::Regular => {
                let (start, size) = (entry.raw_file_position(), entry.size());
                if start.checked_add(size).is_none_or(|last| last > end) {
                    return Err("it ends within a file: copy it again".to_owned());
                }
                names.files.insert(name, (start, size));
            }
            EntryType::Symlink | EntryType::Link => {
                let target = entry.link_name_bytes().map(|link| String::from_utf8_lossy(&link).into_owned());
                // Older versions link equal layers as ../ID/layer.tar.
                let target = target.unwrap_or_default();
                names.links.insert(name, target.trim_start_matches("../").to_owned());
            }
            _ => {}
        }
    }
    Ok(names)
}
