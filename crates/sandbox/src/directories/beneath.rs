//! Opens files beneath a directory. The kernel resolves each path in one step (`openat2`), so that renames and links that
//! others make in the meantime never lead out of it.

use std::{
    fs::{File, Metadata, Permissions},
    io,
    os::{
        fd::OwnedFd,
        unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _, fchown},
    },
    path::Path,
};

use rustix::{
    fs::{AtFlags, Dir, Mode, OFlags, fstatfs, mkdirat, renameat, unlinkat},
    io::Errno,
};

use super::Offered;
use crate::limits;

/// How often a path is resolved again if somebody renames or creates something at that moment.
const ATTEMPTS: usize = 16;
/// The mode of a new file, that of a new directory, and what is kept of the mode of a file that is replaced.
const NEW: u32 = 0o600;
const NEW_DIRECTORY: u32 = 0o700;
const KEPT: u32 = 0o777;
/// The file systems whose files are made up by the kernel: procfs, sysfs, cgroup, cgroup2, debugfs, tracefs, securityfs.
const SPECIAL: [u64; 7] = [0x9fa0, 0x6265_6572, 0x0027_e0eb, 0x6367_7270, 0x6462_6720, 0x7472_6163, 0x7363_6673];

/// What to open.
#[derive(Debug, Clone)]
pub(crate) struct Want {
    pub path: String,
    /// Whether a link at the end of the path is followed.
    pub follow: bool,
    pub read: bool,
    pub write: bool,
    pub create: bool,
    pub exclusive: bool,
    pub directory: bool,
    pub truncate: bool,
}

/// What was opened.
#[derive(Debug)]
pub(crate) struct Opened {
    pub file: File,
    pub is_dir: bool,
    /// The file did not exist before.
    pub created: bool,
}

/// Why nothing was opened.
#[derive(Debug)]
pub(crate) enum Stop {
    System(io::Error),
    /// What is there is not opened, because of this.
    Special(&'static str),
    /// The directory may not grow.
    Full(String),
}

impl From<Errno> for Stop {
    fn from(error: Errno) -> Self {
        Self::System(error.into())
    }
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::System(error)
    }
}

/// Opens a directory at a path of the admin's, whose links are followed.
pub(crate) fn root(path: &Path) -> io::Result<File> {
    let flags = OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::RDONLY;
    Ok(File::from(rustix::fs::open(path, flags, Mode::empty())?))
}

/// Whether paths can be resolved here at all.
pub(crate) fn probe(root: &File) -> io::Result<()> {
    at(root, ".", OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), Links::Refused).map(drop).map_err(Into::into)
}

/// Whether the kernel makes up what is in this directory.
pub(crate) fn is_special(root: &File) -> io::Result<bool> {
    let kind = u64::try_from(fstatfs(root)?.f_type).unwrap_or_default();
    Ok(SPECIAL.contains(&kind))
}

/// Whether a path may have links in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Links {
    Followed,
    Refused,
}

#[cfg(target_os = "linux")]
fn at(dir: &File, path: &str, flags: OFlags, mode: Mode, links: Links) -> Result<OwnedFd, Errno> {
    use rustix::fs::{ResolveFlags, openat2};
    // A mount below the directory is something else than what the admin offers.
    let mut resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_XDEV;
    resolve.set(ResolveFlags::NO_SYMLINKS, links == Links::Refused);
    let mut last = Errno::AGAIN;
    for _ in 0..ATTEMPTS {
        match openat2(dir, path, flags, mode, resolve) {
            Err(error @ (Errno::AGAIN | Errno::INTR)) => last = error,
            other => return other,
        }
    }
    Err(last)
}

#[cfg(not(target_os = "linux"))]
fn at(_: &File, _: &str, _: OFlags, _: Mode, _: Links) -> Result<OwnedFd, Errno> {
    Err(Errno::NOSYS)
}

/// The directory that contains the last part of a path, and that part. No link leads to it, because what is changed there must be
/// in the place that the path names.
fn parent<'p>(dir: &File, path: &'p str) -> Result<(File, &'p str), Errno> {
    let path = path.trim_end_matches('/');
    let (parent, name) = path.rsplit_once('/').unwrap_or((".", path));
    if matches!(name, "" | "." | "..") {
        return Err(Errno::INVAL);
    }
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    // An absolute path has an empty parent, which the kernel refuses as well.
    let parent = if parent.is_empty() { "/" } else { parent };
    Ok((File::from(at(dir, parent, flags, Mode::empty(), Links::Refused)?), name))
}

/// The metadata of what is at a path, without opening it. A link at its end is not followed.
pub(crate) fn look(dir: &File, path: &str) -> io::Result<Metadata> {
    let (parent, name) = parent(dir, path)?;
    let flags = OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    File::from(rustix::fs::openat(parent, name, flags, Mode::empty())?).metadata()
}

pub(crate) fn create_directory(dir: &File, path: &str) -> Result<(), Stop> {
    let (parent, name) = parent(dir, path)?;
    Ok(mkdirat(parent, name, Mode::from_raw_mode(NEW_DIRECTORY))?)
}

pub(crate) fn remove(dir: &File, path: &str, directory: bool) -> Result<(), Stop> {
    let (parent, name) = parent(dir, path)?;
    Ok(unlinkat(parent, name, if directory { AtFlags::REMOVEDIR } else { AtFlags::empty() })?)
}

/// Renames a file or a directory. A file that `created` knows gets the owner and the mode of the file that it replaces.
pub(crate) fn rename(
    from: &File,
    old: &str,
    to: &File,
    new: &str,
    created: impl Fn(&Metadata) -> bool,
) -> Result<(), Stop> {
    let ((from, old), (to, new)) = (parent(from, old)?, parent(to, new)?);
    take_place(&from, old, &to, new, created);
    Ok(renameat(from, old, to, new)?)
}

/// Opens a regular file or a directory, and nothing else.
pub(crate) fn open(dir: &File, want: &Want, offered: &Offered) -> Result<Opened, Stop> {
    let links = offered.links();
    let mut common = OFlags::CLOEXEC;
    common.set(OFlags::NOFOLLOW, !want.follow);
    common.set(OFlags::DIRECTORY, want.directory);
    let access = match (want.read, want.write) {
        (_, false) => OFlags::RDONLY,
        (false, true) => OFlags::WRONLY,
        (true, true) => OFlags::RDWR,
    };
    // The file may become a FIFO between the two calls: without this, opening it would wait for another program.
    let access = access | OFlags::NONBLOCK | OFlags::NOCTTY;
    for _ in 0..ATTEMPTS {
        match at(dir, &want.path, common | OFlags::PATH, Mode::empty(), links) {
            Ok(_) if want.create && want.exclusive => return Err(Errno::EXIST.into()),
            // A device may do something when it is opened, so it is looked at first.
            Ok(seen) => is_openable(&File::from(seen).metadata()?)?,
            Err(Errno::NOENT) if want.create => match create(dir, want, access, offered) {
                Err(Stop::System(error)) if error.kind() == io::ErrorKind::AlreadyExists && !want.exclusive => continue,
                other => return other,
            },
            Err(error) => return Err(error.into()),
        }
        match at(dir, &want.path, common | access, Mode::empty(), links) {
            Ok(file) => return opened(File::from(file), want, offered),
            Err(Errno::NOENT) if want.create => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(Errno::AGAIN.into())
}

fn opened(file: File, want: &Want, offered: &Offered) -> Result<Opened, Stop> {
    let seen = file.metadata()?;
    is_openable(&seen)?;
    if want.truncate && seen.is_file() {
        file.set_len(0)?;
        offered.shrink(seen.len(), 0);
    }
    Ok(Opened { file, is_dir: seen.is_dir(), created: false })
}

fn create(dir: &File, want: &Want, access: OFlags, offered: &Offered) -> Result<Opened, Stop> {
    offered.grow(0, 1).map_err(Stop::Full)?;
    let flags = access | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let made = parent(dir, &want.path).and_then(|(parent, name)| {
        let file = rustix::fs::openat(&parent, name, flags, Mode::from_raw_mode(NEW))?;
        Ok((parent, File::from(file)))
    });
    match made {
        Ok((parent, file)) => {
            belongs_to(&parent, &file);
            Ok(Opened { file, is_dir: false, created: true })
        }
        Err(error) => {
            offered.shrink(0, 1);
            Err(error.into())
        }
    }
}

/// Gives a new file the owner of its directory, so that a program of that owner can read it. An operator without the right to do
/// so stays the owner.
fn belongs_to(parent: &File, file: &File) {
    if let Ok(owner) = parent.metadata() {
        let _ = fchown(file, Some(owner.uid()), Some(owner.gid()));
    }
}

/// Gives a file that this run created the owner and the mode of the file that it is about to replace.
fn take_place(from: &File, old: &str, to: &File, new: &str, created: impl Fn(&Metadata) -> bool) {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let Ok(replaced) = look(to, new) else { return };
    let Ok(file) = rustix::fs::openat(from, old, flags, Mode::empty()).map(File::from) else { return };
    // Others may have exchanged the file, and must not get one that is not theirs.
    if !replaced.is_file() || !file.metadata().is_ok_and(|seen| seen.is_file() && created(&seen)) {
        return;
    }
    let _ = fchown(&file, Some(replaced.uid()), Some(replaced.gid()));
    let _ = file.set_permissions(Permissions::from_mode(replaced.mode() & KEPT));
}

/// What a file has as its identity while it exists.
pub(crate) fn identity(seen: &Metadata) -> (u64, u64) {
    (seen.dev(), seen.ino())
}

fn is_openable(seen: &Metadata) -> Result<(), Stop> {
    let kind = seen.file_type();
    if kind.is_dir() {
        Ok(())
    } else if kind.is_symlink() {
        Err(Errno::LOOP.into())
    } else if kind.is_fifo() || !kind.is_file() {
        Err(Stop::Special("is neither a regular file nor a directory"))
    } else if seen.nlink() > 1 {
        // The other name may be outside of the directory, with another owner in mind.
        Err(Stop::Special("has more than one name (hard links)"))
    } else {
        Ok(())
    }
}

/// Whether the directory has more entries than may be listed.
pub(crate) fn is_too_large(dir: &File) -> io::Result<bool> {
    let mut entries = 0;
    for entry in Dir::read_from(dir)? {
        entry?;
        entries += 1;
        // Two of them are `.` and `..`.
        if entries > limits::LISTED + 2 {
            return Ok(true);
        }
    }
    Ok(false)
}
