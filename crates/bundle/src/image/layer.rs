//! Reads a layer: a tar, which may be compressed. Headers that would be read into memory whole have a bound.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read, Seek as _, SeekFrom},
};

use flate2::read::MultiGzDecoder;
use ruzstd::decoding::{
    BlockDecodingStrategy, FrameDecoder,
    errors::{FrameDecoderError, ReadFrameHeaderError},
};
use tar::{Archive, EntryType, PaxExtensions};

use super::Layer;

/// The most bytes of all layers, unpacked.
const MAX_UNPACKED: u64 = 8 << 30;
/// The most entries of all layers.
const MAX_ENTRIES: usize = 1_000_000;
/// The most bytes of a long name or of an extended header.
const MAX_EXTENDED: u64 = 64 << 10;
/// The most bytes of all names together.
const MAX_NAMES: usize = 128 << 20;

/// How a layer is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    None,
    Gzip,
    Zstd,
    /// As the first bytes say.
    Detect,
}

impl Compression {
    /// By the media type of a layer.
    pub fn of(media_type: &str) -> Result<Self, String> {
        match media_type {
            "application/vnd.oci.image.layer.v1.tar" | "application/vnd.oci.image.layer.nondistributable.v1.tar" => {
                Ok(Self::None)
            }
            "application/vnd.oci.image.layer.v1.tar+gzip"
            | "application/vnd.oci.image.layer.nondistributable.v1.tar+gzip"
            | "application/vnd.docker.image.rootfs.diff.tar.gzip" => Ok(Self::Gzip),
            "application/vnd.oci.image.layer.v1.tar+zstd"
            | "application/vnd.oci.image.layer.nondistributable.v1.tar+zstd" => Ok(Self::Zstd),
            other => Err(format!("its type {other:?} is not that of a layer: name an image of shell-operator")),
        }
    }
}

impl Compression {
    fn detect(start: &[u8]) -> Self {
        if start.starts_with(&[0x1f, 0x8b]) {
            Self::Gzip
        } else if start.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
            Self::Zstd
        } else {
            Self::None
        }
    }
}

/// Unpacks zstd: frames one after the other, of which some hold nothing for us. The decoder refuses a window of more than
/// 100 MiB.
struct Frames<R> {
    source: R,
    decoder: FrameDecoder,
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            while self.decoder.can_collect() < into.len() && !self.decoder.is_finished() {
                let wanted = into.len() - self.decoder.can_collect();
                let some = BlockDecodingStrategy::UptoBytes(wanted);
                self.decoder.decode_blocks(&mut self.source, some).map_err(io::Error::other)?;
            }
            if self.decoder.can_collect() > 0 || into.is_empty() {
                return self.decoder.read(into);
            }
            if self.source.fill_buf()?.is_empty() {
                return Ok(0);
            }
            match self.decoder.reset(&mut self.source) {
                Ok(()) => {}
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame { length, .. })) => {
                    let length = u64::from(length);
                    if io::copy(&mut self.source.by_ref().take(length), &mut io::sink())? < length {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                }
                Err(error) => return Err(io::Error::other(error)),
            }
        }
    }
}

/// What is left for all layers of an image.
#[derive(Debug)]
pub struct Budget {
    bytes: u64,
    entries: usize,
    names: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self { bytes: MAX_UNPACKED, entries: MAX_ENTRIES, names: MAX_NAMES }
    }
}

#[cfg(test)]
impl Budget {
    pub fn left_for_tests(&mut self, bytes: u64) {
        self.bytes = bytes;
    }
}

/// One entry of a layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// As it is written in the layer.
    pub path: Vec<u8>,
    pub kind: Kind,
}

/// What an entry is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    File {
        size: u64,
        executable: bool,
    },
    Directory,
    /// A symbolic link.
    Link(Vec<u8>),
    /// A second name of a file.
    HardLink(Vec<u8>),
    /// A device and the like.
    Other,
}

/// All entries of a layer, in order.
pub fn entries(layer: &Layer, budget: &mut Budget) -> Result<Vec<Entry>, String> {
    let mut all = Vec::new();
    read(layer, budget, |entry, _, _| {
        all.push(entry);
        Ok(())
    })?;
    Ok(all)
}

/// Calls a function with each entry's number, size and content.
pub fn contents(
    layer: &Layer,
    budget: &mut Budget,
    mut each: impl FnMut(usize, u64, &mut dyn Read) -> io::Result<()>,
) -> Result<(), String> {
    let mut number = 0;
    read(layer, budget, |_, size, content| {
        each(number, size, content)?;
        number += 1;
        Ok(())
    })
}

/// Counts what is read.
struct Counted<'b, R> {
    from: R,
    left: &'b mut u64,
}

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.from.read(into)?;
        match self.left.checked_sub(read as u64) {
            Some(left) => *self.left = left,
            None => return Err(io::Error::other(format!("the image has more than {MAX_UNPACKED} bytes, unpacked"))),
        }
        Ok(read)
    }
}

fn read(
    layer: &Layer,
    budget: &mut Budget,
    mut each: impl FnMut(Entry, u64, &mut dyn Read) -> io::Result<()>,
) -> Result<(), String> {
    let damaged = |error: io::Error| format!("it cannot be read: {error}");
    let mut file = File::open(&layer.path).map_err(damaged)?;
    let length = match layer.range {
        Some((start, length)) => {
            file.seek(SeekFrom::Start(start)).map_err(damaged)?;
            length
        }
        None => u64::MAX,
    };
    let mut packed = BufReader::new(file.take(length));
    let compression = match layer.compression {
        Compression::Detect => Compression::detect(packed.fill_buf().map_err(damaged)?),
        known => known,
    };
    let unpacked: Box<dyn Read> = match compression {
        Compression::Gzip => Box::new(MultiGzDecoder::new(packed)),
        Compression::Zstd => Box::new(Frames { source: packed, decoder: FrameDecoder::new() }),
        Compression::None | Compression::Detect => Box::new(packed),
    };
    let Budget { bytes, entries, names } = budget;
    let mut tar = Archive::new(Counted { from: unpacked, left: bytes });
    let mut before = Before::default();
    // Raw entries: the library itself would read a long name of any size into memory.
    for entry in tar.entries().map_err(damaged)?.raw(true) {
        let mut entry = entry.map_err(damaged)?;
        *entries = entries.checked_sub(1).ok_or_else(|| format!("the image has more than {MAX_ENTRIES} files"))?;
        let kind = entry.header().entry_type();
        match kind {
            EntryType::GNULongName | EntryType::GNULongLink | EntryType::XHeader => {
                before.read(kind, entry.size(), &mut entry)?;
                continue;
            }
            EntryType::XGlobalHeader => continue,
            _ => {}
        }
        let Before { path, link, size } = std::mem::take(&mut before);
        let path = path.unwrap_or_else(|| entry.path_bytes().into_owned());
        let link = link.or_else(|| entry.link_name_bytes().map(|link| link.into_owned())).unwrap_or_default();
        *names = names
            .checked_sub(path.len().saturating_add(link.len()).saturating_add(64))
            .ok_or_else(|| "the names of its files are too long".to_owned())?;
        let own = entry.size();
        if size.is_some_and(|size| size != own) {
            return Err("it has a file whose extended header changes its size".to_owned());
        }
        let executable = entry.header().mode().is_ok_and(|mode| mode & 0o111 != 0);
        let kind = match kind {
            EntryType::Regular | EntryType::Continuous => Kind::File { size: own, executable },
            EntryType::Directory => Kind::Directory,
            EntryType::Symlink => Kind::Link(link),
            EntryType::Link => Kind::HardLink(link),
            EntryType::GNUSparse => return Err("it has a sparse file, which is not read".to_owned()),
            _ => Kind::Other,
        };
        each(Entry { path, kind }, own, &mut entry).map_err(damaged)?;
    }
    Ok(())
}

/// What the entries before an entry say of it.
#[derive(Default)]
struct Before {
    path: Option<Vec<u8>>,
    link: Option<Vec<u8>>,
    size: Option<u64>,
}

impl Before {
    fn read(&mut self, kind: EntryType, size: u64, from: &mut impl Read) -> Result<(), String> {
        let damaged = |error: io::Error| format!("it cannot be read: {error}");
        if size > MAX_EXTENDED {
            return Err(format!("the header of a file has {size} bytes, and {MAX_EXTENDED} are read"));
        }
        let mut bytes = Vec::new();
        from.read_to_end(&mut bytes).map_err(damaged)?;
        let text = || bytes.split(|byte| *byte == 0).next().unwrap_or_default().to_vec();
        match kind {
            EntryType::GNULongName => self.path = Some(text()),
            EntryType::GNULongLink => self.link = Some(text()),
            _ => {
                for record in PaxExtensions::new(&bytes) {
                    let record = record.map_err(damaged)?;
                    let value = record.value_bytes().to_vec();
                    match record.key_bytes() {
                        b"path" => self.path = Some(value),
                        b"linkpath" => self.link = Some(value),
                        b"size" => self.size = std::str::from_utf8(&value).ok().and_then(|size| size.parse().ok()),
                        key if key.starts_with(b"GNU.sparse") => {
                            return Err("it has a sparse file, which is not read".to_owned());
                        }
                        _ => {}
                    }
                }
            }
        }
        Ok(())
    }
}
