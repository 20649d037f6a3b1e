//! Takes a folder out of a container image: its layers are applied in order, as far as that concerns the folder. The image
//! is a stranger's: everything that is read has a bound, and no name in it decides where something is written.
//!
//! ```text
//!  registry, layout or `docker save` ─▶ Layers ─▶ tree (names of all layers) ─▶ what the folder has ─▶ files
//! ```

mod layer;
mod saved;
mod tree;

use std::{
    collections::BTreeMap,
    fs, io,
    io::{Read as _, Write as _},
    path::{Path, PathBuf},
};

use serde::Deserialize;

use crate::{BundleError, Descriptor, Digest, Place, Progress, Store, manifest::MAX_LAYERS, store::blocking};
use layer::Compression;
use tree::{Chosen, Tree};

/// The most bytes of all files that are taken.
const MAX_TAKEN: u64 = 64 << 20;
/// The most files that are taken.
const MAX_FILES: usize = 4096;
/// The most bytes of one layer's download.
const MAX_PACKED: u64 = 2 << 30;
/// The most bytes of all layers as they are stored.
const MAX_ALL: u64 = 8 << 30;

/// Why no folder can be taken out of an image.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// It cannot be fetched or read.
    #[error(transparent)]
    Bundle(#[from] BundleError),
    /// The file system reported an error.
    #[error("{} cannot be read or written", path.display())]
    Io { path: PathBuf, source: io::Error },
    /// It is not an image.
    #[error("{at} is not a container image: {why}")]
    NoImage { at: String, why: String },
    /// A layer cannot be read.
    #[error("{at}, layer {layer}: {why}")]
    Layer {
        at: String,
        /// Its digest, or its file.
        layer: String,
        why: String,
    },
    /// The image has no such folder.
    #[error("{at} has no folder {folder}: name the folder of its hooks with --hooks-dir")]
    NoFolder { at: String, folder: String },
    /// There is something in the way.
    #[error("{} is not empty: name another directory, or remove what is in it", .0.display())]
    Occupied(PathBuf),
}

/// What was taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken {
    /// The digest of the image, if it has one.
    pub digest: Option<Digest>,
    /// The files, with `/`, in order.
    pub files: Vec<String>,
    /// What was left out, and why.
    pub left_out: Vec<String>,
}

/// A layer on disk.
#[derive(Debug, Clone)]
struct Layer {
    /// For errors.
    name: String,
    path: PathBuf,
    /// The part of the file that is the layer.
    range: Option<(u64, u64)>,
    compression: Compression,
}

/// Takes the files of a folder out of an image at a place, and writes them into a new or empty directory.
pub async fn take_folder(
    from: &Place,
    folder: &str,
    to: &Path,
    store: &Store,
    progress: &Progress,
) -> Result<Taken, ImageError> {
    let at = from.name();
    let (digest, layers) = layers_at(from, store, progress).await?;
    let (folder, to) = (folder.to_owned(), to.to_owned());
    let taken = tokio::task::spawn_blocking(move || take(&at, &layers, &folder, &to)).await;
    let mut taken = taken.map_err(|error| BundleError::Interrupted(error.into()))??;
    taken.digest = Some(digest);
    Ok(taken)
}

/// Takes the files of a folder out of a file that `docker save` wrote.
pub fn take_folder_of_saved(file: &Path, folder: &str, to: &Path) -> Result<Taken, ImageError> {
    take(&file.display().to_string(), &saved::layers(file)?, folder, to)
}

/// Whether a file is a tar that is not a layout, such as `docker save` writes.
pub fn is_saved(path: &Path) -> bool {
    path.is_file() && saved::has_manifest(path)
}

/// The manifest of an image, or an index of manifests. Docker's own types have the same fields.
#[derive(Debug, Deserialize)]
struct Document {
    #[serde(default)]
    layers: Vec<Descriptor>,
    #[serde(default)]
    manifests: Vec<Platformed>,
}

#[derive(Debug, Deserialize)]
struct Platformed {
    digest: Digest,
    #[serde(default)]
    platform: Option<Platform>,
}

#[derive(Debug, Deserialize)]
struct Platform {
    os: String,
    architecture: String,
}

impl Document {
    /// The image for linux/amd64, or else the first one: scripts are the same in all of them.
    fn chosen(&self) -> Option<&Digest> {
        let wanted = |one: &&Platformed| {
            one.platform.as_ref().is_some_and(|platform| platform.os == "linux" && platform.architecture == "amd64")
        };
        self.manifests.iter().find(wanted).or_else(|| self.manifests.first()).map(|one| &one.digest)
    }
}

/// The layers of an image, in the store.
async fn layers_at(from: &Place, store: &Store, progress: &Progress) -> Result<(Digest, Vec<Layer>), ImageError> {
    let no_image = |why: &str| ImageError::NoImage { at: from.name(), why: why.to_owned() };
    let (mut digest, mut bytes) = from.main().await?;
    let mut document = read(&bytes).map_err(|why| no_image(&why))?;
    if let Some(chosen) = document.chosen().cloned() {
        let found = from.image(&chosen).await?;
        (digest, bytes) = found.ok_or_else(|| no_image("its index names an image that is not there"))?;
        document = read(&bytes).map_err(|why| no_image(&why))?;
    }
    if document.layers.is_empty() {
        return Err(no_image("it has no layers"));
    }
    if document.layers.len() > MAX_LAYERS {
        return Err(no_image(&format!("it has more than {MAX_LAYERS} layers")));
    }
    let sum = document.layers.iter().fold(0_u64, |sum, layer| sum.saturating_add(layer.size));
    if sum > MAX_ALL {
        return Err(no_image(&format!("its layers have {sum} bytes, and {MAX_ALL} are downloaded")));
    }
    progress.expect(sum);
    let mut layers = Vec::new();
    for layer in &document.layers {
        let failed = |why: String| ImageError::Layer { at: from.name(), layer: layer.digest.to_string(), why };
        if layer.size > MAX_PACKED {
            return Err(failed(format!("it has {} bytes, and {MAX_PACKED} are read", layer.size)));
        }
        let compression = Compression::of(&layer.media_type).map_err(failed)?;
        let (path, _) = from.layer(layer, store, progress).await?;
        layers.push(Layer { name: layer.digest.to_string(), path, range: None, compression });
    }
    Ok((digest, layers))
}

fn read(bytes: &[u8]) -> Result<Document, String> {
    serde_json::from_slice(bytes).map_err(|error| format!("its manifest cannot be read: {error}"))
}

/// Reads the layers twice: for the names, and for the contents of what was chosen.
fn take(at: &str, layers: &[Layer], folder: &str, to: &Path) -> Result<Taken, ImageError> {
    let wrong = |layer: &Layer| {
        let (at, layer) = (at.to_owned(), layer.name.clone());
        move |why: String| ImageError::Layer { at, layer, why }
    };
    let mut tree = Tree::default();
    let mut budget = layer::Budget::default();
    for (index, one) in layers.iter().enumerate() {
        let entries = layer::entries(one, &mut budget).map_err(wrong(one))?;
        tree.apply(index, entries).map_err(wrong(one))?;
    }
    let Chosen { files, left_out } = tree.choose(folder, MAX_FILES, MAX_TAKEN).map_err(|error| match error {
        tree::ChooseError::NoFolder => ImageError::NoFolder { at: at.to_owned(), folder: folder.to_owned() },
        tree::ChooseError::TooLarge(why) => ImageError::NoImage { at: at.to_owned(), why },
    })?;
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| ImageError::Io { path, source }
    };
    match fs::read_dir(to).map(|mut entries| entries.next().is_some()) {
        Ok(true) => return Err(ImageError::Occupied(to.to_owned())),
        Ok(false) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(failed(to)(error)),
    }
    fs::create_dir_all(to).map_err(failed(to))?;
    let mut budget = layer::Budget::default();
    for (index, one) in layers.iter().enumerate() {
        let mut wanted: BTreeMap<usize, Vec<(&str, bool)>> = BTreeMap::new();
        for (path, file) in files.iter().filter(|(_, file)| file.layer == index) {
            wanted.entry(file.entry).or_default().push((path, file.executable));
        }
        if wanted.is_empty() {
            continue;
        }
        layer::contents(one, &mut budget, |entry, size, content| {
            let Some(paths) = wanted.get(&entry) else { return Ok(()) };
            let mut bytes = Vec::new();
            content.take(size).read_to_end(&mut bytes)?;
            paths.iter().try_for_each(|(path, executable)| write(&to.join(path), &bytes, *executable))
        })
        .map_err(wrong(one))?;
    }
    Ok(Taken { digest: None, files: files.into_keys().collect(), left_out })
}

/// Writes a file that is not there yet. Links are not followed, because none are written.
fn write(path: &Path, bytes: &[u8], executable: bool) -> io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt as _;
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    let mode = if executable { 0o755 } else { 0o644 };
    fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?.write_all(bytes)
}

impl Place {
    /// The manifest of an image that an index names.
    async fn image(&self, digest: &Digest) -> Result<Option<(Digest, bytes::Bytes)>, BundleError> {
        match self.on_disk() {
            Some(layout) => {
                let (layout, digest) = (layout.clone(), digest.clone());
                blocking(move || Ok::<_, BundleError>(layout.document(&digest)?.map(|bytes| (digest, bytes)))).await
            }
            None => self.manifest(digest.as_str()).await,
        }
    }
}

#[cfg(test)]
mod tests;
