//! Where the admin socket is, and how it is taken: a private directory, a lock that ends with its process, a stale
//! socket that is replaced, and a live one that is left alone.
//!
//! This module never reads the environment, and it does not serve.

use std::{
    ffi::{OsStr, OsString},
    fs::{self, DirBuilder, File, OpenOptions, TryLockError},
    io,
    os::unix::{
        fs::{DirBuilderExt as _, FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _},
        net::UnixStream,
    },
    path::{Path, PathBuf},
};

use tokio::net::UnixListener;

/// The maximum length of a socket's path in bytes. The kernel's `sun_path` has 108, with the terminating zero.
pub const LONGEST_PATH: usize = 107;

const FILE: &str = "admin.sock";

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Socket {
    /// At this path. Everything else is an error. Missing directories are created.
    At(PathBuf),
    /// At the first of these paths that can be used. If none can be used, there is no socket.
    FirstOf(Vec<PathBuf>),
}

/// Why a socket cannot be taken.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    #[error("the admin socket's path {path} has {} bytes; at most {LONGEST_PATH} are allowed: choose a shorter one with --admin-socket", path.as_os_str().len())]
    TooLong { path: PathBuf },
    #[error("the admin socket's directory {path} cannot be used: choose another place with --admin-socket, or `none`")]
    Directory {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error(
        "the admin socket's directory {path} is open to others ({why}): name a directory that only the socket is in with --admin-socket, or set its mode to 0700"
    )]
    NotPrivate {
        path: PathBuf,
        /// The directory's owner and mode.
        why: String,
    },
    #[error(
        "another operator serves the admin socket {path}: stop it, or give this one another with --admin-socket PATH, or `none`"
    )]
    Live { path: PathBuf },
    #[error("{path} exists and is not a socket: move it away, or choose another place with --admin-socket")]
    NoSocket { path: PathBuf },
    #[error("cannot listen on the admin socket {path}: choose another place with --admin-socket, or `none`")]
    Bind {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

/// The default paths of a socket, best first: in the user's runtime directory, in the system's, and in a directory of
/// the user's own among temporary files.
pub fn default_places(runtime_dir: Option<&OsStr>, temp_dir: &Path, uid: u32) -> Vec<PathBuf> {
    let runtime = runtime_dir.map(Path::new).filter(|path| path.is_absolute());
    let directories = [
        runtime.map(|path| path.join("boathook")),
        Some(PathBuf::from("/run/boathook")),
        Some(temp_dir.join(format!("boathook-{uid}"))),
    ];
    directories.into_iter().flatten().map(|directory| directory.join(FILE)).collect()
}

/// A socket that was taken. Dropping it removes the socket's file.
#[derive(Debug)]
pub(super) struct Taken {
    path: PathBuf,
    lock_path: PathBuf,
    /// Held as long as this process lives.
    _lock: File,
}

impl Taken {
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        // A file that cannot be removed is stale, and the next operator replaces it.
        let _ = fs::remove_file(&self.path);
        let _ = fs::remove_file(&self.lock_path);
    }
}

/// The result of a search for a usable path: nothing if none can be used, and the errors of those that were tried.
pub type Found<T> = (Option<T>, Vec<SocketError>);

pub(super) fn take(socket: &Socket) -> Result<Found<(Taken, UnixListener)>, SocketError> {
    let places = match socket {
        Socket::At(path) => {
            let directory = parent(path);
            let made = DirBuilder::new().recursive(true).mode(0o700).create(directory);
            made.map_err(|source| SocketError::Directory { path: directory.to_owned(), source })?;
            return Ok((Some(take_at(path)?), Vec::new()));
        }
        Socket::FirstOf(places) => places,
    };
    let mut errors = Vec::new();
    for path in places {
        // A runtime directory that does not exist is not created, because nobody would remove it.
        let made = DirBuilder::new().mode(0o700).create(parent(path));
        match made {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                errors.push(SocketError::Directory { path: parent(path).to_owned(), source: error });
            }
            _ => match take_at(path) {
                Ok(taken) => return Ok((Some(taken), errors)),
                Err(error @ SocketError::Live { .. }) => return Err(error),
                Err(error) => errors.push(error),
            },
        }
    }
    Ok((None, errors))
}

fn parent(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn take_at(path: &Path) -> Result<(Taken, UnixListener), SocketError> {
    if path.as_os_str().len() > LONGEST_PATH {
        return Err(SocketError::TooLong { path: path.to_owned() });
    }
    check_private(parent(path))?;
    let lock_path = beside(path, ".lock");
    let lock = lock(&lock_path, path)?;
    remove_stale(path)?;
    let bind = |path: &Path| {
        let listener = UnixListener::bind(path)?;
        fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
        Ok(listener)
    };
    let listener = bind(path).map_err(|source| SocketError::Bind { path: path.to_owned(), source })?;
    Ok((Taken { path: path.to_owned(), lock_path, _lock: lock }, listener))
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path.as_os_str());
    name.push(suffix);
    name.into()
}

fn check_private(directory: &Path) -> Result<(), SocketError> {
    let failed = |source| SocketError::Directory { path: directory.to_owned(), source };
    let metadata = fs::metadata(directory).map_err(failed)?;
    if !metadata.is_dir() {
        return Err(failed(io::ErrorKind::NotADirectory.into()));
    }
    let (owner, mode) = (metadata.uid(), metadata.mode() & 0o7777);
    if owner == own_uid() && mode & 0o077 == 0 {
        return Ok(());
    }
    Err(SocketError::NotPrivate { path: directory.to_owned(), why: format!("owner {owner}, mode {mode:04o}") })
}

/// The user of this process.
pub(super) fn own_uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Two operators that start at the same time must not both find the socket stale.
fn lock(lock_path: &Path, path: &Path) -> Result<File, SocketError> {
    let failed = |source| SocketError::Bind { path: path.to_owned(), source };
    loop {
        let file = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(lock_path);
        let file = file.map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(SocketError::Live { path: path.to_owned() }),
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        // The last holder may have removed the file between the opening and the locking.
        let held = file.metadata().map_err(failed)?.ino();
        if fs::metadata(lock_path).is_ok_and(|current| current.ino() == held) {
            return Ok(file);
        }
    }
}

fn remove_stale(path: &Path) -> Result<(), SocketError> {
    let failed = |source| SocketError::Bind { path: path.to_owned(), source };
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(failed(error)),
        Ok(metadata) if !metadata.file_type().is_socket() => Err(SocketError::NoSocket { path: path.to_owned() }),
        Ok(_) if UnixStream::connect(path).is_ok() => Err(SocketError::Live { path: path.to_owned() }),
        Ok(_) => fs::remove_file(path).map_err(failed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_places_are_the_users_own() {
        let places = |runtime: Option<&str>| default_places(runtime.map(OsStr::new), Path::new("/tmp"), 7);
        let fixed = ["/run/boathook/admin.sock", "/tmp/boathook-7/admin.sock"].map(PathBuf::from);
        assert_eq!(places(None), fixed);
        assert_eq!(places(Some("relative")), fixed);
        let with_runtime = places(Some("/run/user/7"));
        assert_eq!(with_runtime.first(), Some(&PathBuf::from("/run/user/7/boathook/admin.sock")));
        assert_eq!(with_runtime.get(1..), Some(&fixed[..]));
    }
}
