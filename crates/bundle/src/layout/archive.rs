//! A layout as one file: an uncompressed tar, as `skopeo` calls it an `oci-archive`. Nothing of it is unpacked. An
//! entry that is not a plain file of a layout makes the whole file invalid, because another tool may read it as
//! something else.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, Read as _, Write as _},
    os::unix::fs::{FileExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use tar::{Archive as Tar, Builder, Entry, EntryType, Header, PaxExtensions};

use super::{BLOBS, INDEX, LayoutError, MARKER};
use crate::{
    digest::Digest,
    manifest::{MAX_LAYER, MAX_MANIFEST, MAX_TOTAL},
};

/// The most entries. A bundle has at most 500 layers; its signatures and the like have a few blobs each.
const MAX_ENTRIES: usize = 4096;
/// The most bytes of an extended header.
const MAX_EXTENDED: u64 = 64 * 1024;
/// Records of an extended header that change what an entry is.
const CHANGING: [&str; 3] = ["path", "linkpath", "size"];
/// Where a tar has the word `ustar`, in the first header.
const MAGIC: (u64, &[u8; 5]) = (257, b"ustar");

/// The files of a layout in one file.
#[derive(Debug)]
pub(super) struct Archive {
    path: PathBuf,
    file: File,
    /// Where each file begins, and its size.
    files: BTreeMap<String, (u64, u64)>,
}

/// Whether a file is a tar.
pub(super) fn is_at(path: &Path) -> bool {
    let mut found = [0; MAGIC.1.len()];
    path.is_file()
        && File::open(path).and_then(|file| file.read_exact_at(&mut found, MAGIC.0)).is_ok()
        && found == *MAGIC.1
}

impl Archive {
    pub fn open(path: &Path) -> Result<Self, LayoutError> {
        let failed = |source| LayoutError::Io { path: path.to_owned(), source };
        let wrong = |why: String| LayoutError::Archive { path: path.to_owned(), why };
        let file = File::open(path).map_err(failed)?;
        let end = file.metadata().map_err(failed)?.len();
        let (mut files, mut total) = (BTreeMap::new(), 0_u64);
        let mut tar = Tar::new(&file);
        // Raw entries: the library itself would read an extended header of any size into memory.
        let entries = tar.entries_with_seek().map_err(failed)?.raw(true);
        for (n, entry) in entries.enumerate() {
            let mut entry = entry.map_err(|error| wrong(format!("it is damaged: {error}")))?;
            if n >= MAX_ENTRIES {
                return Err(wrong(format!("it has more than {MAX_ENTRIES} entries")));
            }
            let Some(name) = name(&mut entry).map_err(&wrong)? else { continue };
            let (start, size) = (entry.raw_file_position(), entry.size());
            let max = if name.starts_with(BLOBS) { MAX_LAYER } else { MAX_MANIFEST };
            total = total.saturating_add(size);
            if size > max || total > MAX_TOTAL {
                return Err(wrong(format!(
                    "{name} has {size} bytes: {max} are allowed, and {MAX_TOTAL} for all files"
                )));
            }
            if start.checked_add(size).is_none_or(|last| last > end) {
                return Err(wrong(format!("it ends within {name}: copy it again")));
            }
            if files.insert(name.clone(), (start, size)).is_some() {
                return Err(wrong(format!("{name} is in it twice")));
            }
        }
        match [MARKER, INDEX].iter().find(|name| !files.contains_key(**name)) {
            Some(missing) => Err(wrong(format!("it has no {missing}"))),
            None => Ok(Self { path: path.to_owned(), file, files }),
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The beginning of a file, at most `max` bytes.
    pub fn read(&self, name: &str, max: u64) -> io::Result<Vec<u8>> {
        let (start, size) = *self.files.get(name).ok_or(io::ErrorKind::NotFound)?;
        let mut bytes = vec![0; usize::try_from(size.min(max)).map_err(io::Error::other)?];
        self.file.read_exact_at(&mut bytes, start)?;
        Ok(bytes)
    }
}

/// The name of a file in a layout. `None` for an entry that adds nothing.
fn name<R: io::Read>(entry: &mut Entry<'_, R>) -> Result<Option<String>, String> {
    let bytes = entry.path_bytes().into_owned();
    let shown = || String::from_utf8_lossy(&bytes).chars().filter(|c| !c.is_control()).take(100).collect::<String>();
    match entry.header().entry_type() {
        EntryType::Regular => {}
        EntryType::Directory => return Ok(None),
        EntryType::XHeader | EntryType::XGlobalHeader => {
            return extended(entry).map(|()| None).map_err(|why| format!("an extended header {why}"));
        }
        _ => return Err(format!("{:?} is not a plain file", shown())),
    }
    let text = std::str::from_utf8(&bytes).ok();
    // `tar -C LAYOUT .` begins names so.
    let text = text.map(|text| text.strip_prefix("./").unwrap_or(text));
    let is_blob = |text: &str| {
        let digest = text.strip_prefix(BLOBS).and_then(|rest| rest.strip_prefix('/'));
        digest.is_some_and(|hex| Digest::parse(&format!("sha256:{hex}")).is_ok())
    };
    match text.filter(|text| [MARKER, INDEX].contains(text) || is_blob(text)) {
        Some(text) => Ok(Some(text.to_owned())),
        None => Err(format!("{:?} is not a file of an OCI image layout", shown())),
    }
}

/// Accepts times and the like.
fn extended<R: io::Read>(entry: &mut Entry<'_, R>) -> Result<(), String> {
    if entry.size() > MAX_EXTENDED {
        return Err(format!("has more than {MAX_EXTENDED} bytes"));
    }
    let mut bytes = Vec::new();
    entry.read_to_end(&mut bytes).map_err(|error| format!("is damaged: {error}"))?;
    for record in PaxExtensions::new(&bytes) {
        let record = record.map_err(|error| format!("is damaged: {error}"))?;
        let key = record.key().map_err(|error| format!("is damaged: {error}"))?;
        if CHANGING.contains(&key) || key.starts_with("GNU.sparse") {
            return Err(format!("changes {key:?} of a file"));
        }
    }
    Ok(())
}

/// Writes the directory of a layout as one file. The same layout gives the same bytes.
pub(super) fn write(layout: &Path, to: &Path) -> Result<(), LayoutError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| LayoutError::Io { path, source }
    };
    let parent = to.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let file = tempfile::NamedTempFile::new_in(parent).map_err(failed(to))?;
    let mut tar = Builder::new(io::BufWriter::new(file));
    let directory = layout.join(BLOBS);
    let mut names = vec![MARKER.to_owned(), INDEX.to_owned()];
    let blobs = fs::read_dir(&directory).and_then(|list| list.map(|entry| Ok(entry?.file_name())).collect());
    let mut blobs: Vec<_> = blobs.map_err(failed(&directory))?;
    blobs.sort();
    names.extend(blobs.iter().map(|name| format!("{BLOBS}/{}", name.to_string_lossy())));
    for name in names {
        let path = layout.join(&name);
        let source = File::open(&path).map_err(failed(&path))?;
        let mut header = Header::new_ustar();
        header.set_size(source.metadata().map_err(failed(&path))?.len());
        header.set_mode(0o644);
        header.set_mtime(0);
        tar.append_data(&mut header, &name, source).map_err(failed(to))?;
    }
    let mut writer = tar.into_inner().map_err(failed(to))?;
    writer.flush().map_err(failed(to))?;
    let file = writer.into_inner().map_err(|error| failed(to)(error.into_error()))?;
    file.as_file().set_permissions(fs::Permissions::from_mode(0o644)).map_err(failed(to))?;
    file.persist(to).map_err(|error| failed(to)(error.error))?;
    Ok(())
}
