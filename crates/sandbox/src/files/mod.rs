//! `wasi:filesystem` of one run. Each call costs a host call and the bytes it passes, and nothing is done that the run's
//! permission does not allow. wasmtime-wasi does the rest.
//!
//! wasmtime-wasi resolves paths safely, too, but opens whatever is there: a FIFO that another program made would block a thread
//! of the operator for ever. It also reads a directory of any size into memory.

mod streams;

use std::{
    collections::{HashMap, HashSet},
    fs::{File as SystemFile, Metadata},
    os::unix::fs::MetadataExt as _,
    sync::Arc,
};

use boathook_core::model::{Caller, DirectoryAccess, DirectoryRule};
use rustix::io::Errno;
use tracing::Level;
use wasmtime::component::{HasData, Resource, ResourceTable};
use wasmtime_wasi::{
    FsPerms, OpenMode,
    filesystem::{Descriptor, Dir, File, WasiFilesystemCtx, WasiFilesystemCtxView},
    p2::{
        DynInputStream, DynOutputStream, FsError, FsResult, StreamError,
        bindings::filesystem::{
            preopens,
            types::{
                self, Advice, DescriptorFlags, DescriptorStat, DescriptorType, DirectoryEntry, DirectoryEntryStream,
                ErrorCode, Filesize, HostDescriptor, HostDirectoryEntryStream, MetadataHashValue, NewTimestamp,
                OpenFlags, PathFlags,
            },
        },
    },
};

use streams::{Position, Reading, Writing};

use crate::{
    budget::Budget,
    directories::{
        Directories, Offered,
        beneath::{self, Opened, Stop, Want},
    },
    error::Reached,
    limits::{self, Bounds},
    output::RunLog,
};

/// What the files of a run need of it.
struct Run {
    bounds: Bounds,
    budget: Budget,
    log: Arc<RunLog>,
}

/// Why a call has no effect.
#[derive(Debug)]
enum Refused {
    /// The guest receives this code, and the log has the reason.
    Code(ErrorCode),
    /// The run ends.
    Ended(Reached),
}

impl From<Refused> for FsError {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Code(code) => code.into(),
            Refused::Ended(reached) => Self::trap(reached),
        }
    }
}

impl From<Refused> for StreamError {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Code(code) => Self::LastOperationFailed(code.into()),
            Refused::Ended(reached) => Self::Trap(reached.into()),
        }
    }
}

impl Run {
    /// Takes calls and bytes from the run's budget.
    pub fn take(&self, calls: u64, bytes: usize) -> Result<(), Refused> {
        self.budget.take(calls, bytes).map_err(|reached| {
            let why = self.bounds.explain(reached.0);
            let refused = self.refuse(ErrorCode::Quota, &format!("a call on files was refused: {why}"));
            self.budget.refuse(reached).map_or_else(Refused::Ended, |_| refused)
        })
    }

    /// Logs the reason, because the guest gets a code alone.
    fn refuse(&self, code: ErrorCode, message: &str) -> Refused {
        self.log.line(Level::WARN, message, "");
        Refused::Code(code)
    }
}

/// A directory that a run has.
#[derive(Debug)]
struct Directory {
    offered: Arc<Offered>,
    /// Why nothing is written, if it is not.
    read_only: Option<&'static str>,
}

impl Directory {
    fn name(&self) -> &str {
        &self.offered.name
    }

    fn perms(&self) -> FsPerms {
        if self.read_only.is_some() { FsPerms::ReadOnly } else { FsPerms::ReadWrite }
    }

    fn may_write(&self, run: &Run) -> Result<(), Refused> {
        let Some(why) = self.read_only else { return Ok(()) };
        Err(run.refuse(ErrorCode::ReadOnly, &format!("nothing is written to directory {}: {why}", self.name())))
    }

    /// Notes that a file is written from `start`, or at its end.
    pub fn writes(&self, run: &Run, file: &SystemFile, start: Option<u64>, length: u64) -> Result<(), Refused> {
        let size = file.metadata().map_err(|error| Refused::Code(error.into()))?.len();
        self.resizes(run, size, start.unwrap_or(size).saturating_add(length).max(size))
    }

    /// Notes that a file gets another size.
    fn resizes(&self, run: &Run, from: u64, to: u64) -> Result<(), Refused> {
        if to > from && to > limits::FILE {
            let most = limits::bytes(limits::FILE);
            let message = format!("directory {}: a file may not grow beyond {most}: write several files", self.name());
            return Err(run.refuse(ErrorCode::FileTooLarge, &message));
        }
        match to.checked_sub(from) {
            Some(more) => self.grows(run, more, 0),
            None => {
                self.offered.shrink(from - to, 0);
                Ok(())
            }
        }
    }

    fn grows(&self, run: &Run, bytes: u64, entries: u64) -> Result<(), Refused> {
        self.offered.grow(bytes, entries).map_err(|why| self.full(run, &why))
    }

    fn full(&self, run: &Run, why: &str) -> Refused {
        run.refuse(ErrorCode::Quota, &format!("directory {}: {why}", self.name()))
    }
}

/// The directories and open files of one run.
pub(crate) struct Files {
    run: Arc<Run>,
    directories: Vec<Arc<Directory>>,
    /// The directory of each open handle.
    handles: HashMap<u32, Arc<Directory>>,
    /// The files that the run created.
    created: HashSet<(u64, u64)>,
    ctx: WasiFilesystemCtx,
}

const PLAN: &str = "a plan writes nothing";
const READS: &str = "the hook requests it with access: read; request access: write";

impl Files {
    pub fn new(offered: &Directories, caller: &Caller, bounds: Bounds, budget: Budget, log: Arc<RunLog>) -> Self {
        let rules = caller.permissions.iter().filter_map(|permission| permission.directory.as_ref());
        let have = |DirectoryRule { name, access }: &DirectoryRule| {
            let offered = offered.get(name)?.clone();
            let read_only = match (*access).min(offered.access) {
                DirectoryAccess::Read => Some(READS),
                DirectoryAccess::Write if caller.dry_run => Some(PLAN),
                DirectoryAccess::Write => None,
            };
            Some(Arc::new(Directory { offered, read_only }))
        };
        let directories = rules.filter_map(have).collect();
        let (handles, created, ctx) = Default::default();
        Self { run: Arc::new(Run { bounds, budget, log }), directories, handles, created, ctx }
    }

    pub fn view<'a>(&'a mut self, table: &'a mut ResourceTable) -> View<'a> {
        let Self { run, directories, handles, created, ctx } = self;
        View { inner: WasiFilesystemCtxView { ctx, table }, run, directories, handles, created }
    }
}

/// What the functions of `wasi:filesystem` work on.
pub(crate) struct View<'a> {
    inner: WasiFilesystemCtxView<'a>,
    run: &'a Arc<Run>,
    directories: &'a [Arc<Directory>],
    handles: &'a mut HashMap<u32, Arc<Directory>>,
    created: &'a mut HashSet<(u64, u64)>,
}

impl HasData for View<'static> {
    type Data<'a> = View<'a>;
}

type Fd = Resource<Descriptor>;

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> FsResult<T> {
    tokio::task::spawn_blocking(work).await.map_err(FsError::trap)
}

impl View<'_> {
    fn directory(&self, fd: &Fd) -> FsResult<Arc<Directory>> {
        self.handles.get(&fd.rep()).cloned().ok_or_else(|| ErrorCode::BadDescriptor.into())
    }

    /// Takes a call, and refuses it if the directory is read-only.
    fn writes(&self, fd: &Fd, bytes: usize) -> FsResult<Arc<Directory>> {
        self.run.take(1, bytes)?;
        let directory = self.directory(fd)?;
        directory.may_write(self.run)?;
        Ok(directory)
    }

    fn dir(&self, fd: &Fd) -> FsResult<Arc<SystemFile>> {
        match self.inner.table.get(fd)? {
            Descriptor::Dir(dir) => Ok(dir.dir.clone()),
            Descriptor::File(_) => Err(ErrorCode::NotDirectory.into()),
        }
    }

    fn file(&self, fd: &Fd) -> FsResult<Arc<SystemFile>> {
        match self.inner.table.get(fd)? {
            Descriptor::File(file) => Ok(file.file.clone()),
            Descriptor::Dir(_) => Err(ErrorCode::IsDirectory.into()),
        }
    }

    fn push(&mut self, descriptor: Descriptor, directory: Arc<Directory>) -> FsResult<Fd> {
        let fd = self.inner.table.push(descriptor)?;
        self.handles.insert(fd.rep(), directory);
        Ok(fd)
    }

    fn stopped(&self, directory: &Directory, path: &str, stop: Stop) -> FsError {
        let refused = match stop {
            Stop::System(error) if error.raw_os_error() == Some(Errno::XDEV.raw_os_error()) => {
                let message = format!("directory {}: {path:?} leads out of it", directory.name());
                self.run.refuse(ErrorCode::NotPermitted, &message)
            }
            Stop::System(error) if error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => {
                let message =
                    format!("directory {}: {path:?} has a link in it, which is not followed", directory.name());
                self.run.refuse(ErrorCode::Loop, &message)
            }
            Stop::System(error) => Refused::Code(error.into()),
            Stop::Special(what) => {
                let message = format!("directory {}: {path:?} {what}, and is not opened", directory.name());
                self.run.refuse(ErrorCode::NotPermitted, &message)
            }
            Stop::Full(why) => directory.full(self.run, &why),
        };
        refused.into()
    }
}

/// What is freed if the file at a path is removed: its bytes, unless it has another name.
async fn freed(dir: Arc<SystemFile>, path: &str) -> FsResult<Option<u64>> {
    let path = path.to_owned();
    let seen = blocking(move || beneath::look(&dir, &path).ok()).await?;
    Ok(seen.map(|seen| if seen.is_file() && seen.nlink() == 1 { seen.len() } else { 0 }))
}

impl preopens::Host for View<'_> {
    fn get_directories(&mut self) -> wasmtime::Result<Vec<(Fd, String)>> {
        let mut all = Vec::with_capacity(self.directories.len());
        for directory in self.directories {
            let root = directory.offered.root.try_clone()?;
            let perms = directory.perms();
            let mode = if perms == FsPerms::ReadOnly { OpenMode::READ } else { OpenMode::READ | OpenMode::WRITE };
            let fd = self.inner.table.push(Descriptor::Dir(Dir::new(root, perms, mode, false)))?;
            self.handles.insert(fd.rep(), directory.clone());
            all.push((fd, format!("/{}", directory.name())));
        }
        Ok(all)
    }
}

impl types::Host for View<'_> {
    fn convert_error_code(&mut self, error: FsError) -> wasmtime::Result<ErrorCode> {
        types::Host::convert_error_code(&mut self.inner, error)
    }

    fn filesystem_error_code(&mut self, error: Resource<wasmtime::Error>) -> wasmtime::Result<Option<ErrorCode>> {
        if let Some(code) = self.inner.table.get(&error)?.downcast_ref::<ErrorCode>() {
            return Ok(Some(*code));
        }
        types::Host::filesystem_error_code(&mut self.inner, error)
    }
}

impl HostDescriptor for View<'_> {
    fn read_via_stream(&mut self, fd: Fd, offset: Filesize) -> FsResult<Resource<DynInputStream>> {
        self.run.take(1, 0)?;
        let stream = HostDescriptor::read_via_stream(&mut self.inner, fd, offset)?;
        let inner = self.inner.table.delete(stream)?;
        let reading: DynInputStream = Box::new(Reading { inner, run: self.run.clone() });
        Ok(self.inner.table.push(reading)?)
    }

    fn write_via_stream(&mut self, fd: Fd, offset: Filesize) -> FsResult<Resource<DynOutputStream>> {
        let (directory, file) = (self.writes(&fd, 0)?, self.file(&fd)?);
        let stream = HostDescriptor::write_via_stream(&mut self.inner, fd, offset)?;
        self.counted(stream, Position::At(offset), file, directory)
    }

    fn append_via_stream(&mut self, fd: Fd) -> FsResult<Resource<DynOutputStream>> {
        let (directory, file) = (self.writes(&fd, 0)?, self.file(&fd)?);
        let stream = HostDescriptor::append_via_stream(&mut self.inner, fd)?;
        self.counted(stream, Position::End, file, directory)
    }

    async fn advise(&mut self, fd: Fd, offset: Filesize, length: Filesize, advice: Advice) -> FsResult<()> {
        self.run.take(1, 0)?;
        HostDescriptor::advise(&mut self.inner, fd, offset, length, advice).await
    }

    async fn sync_data(&mut self, fd: Fd) -> FsResult<()> {
        self.run.take(1, 0)?;
        HostDescriptor::sync_data(&mut self.inner, fd).await
    }

    async fn get_flags(&mut self, fd: Fd) -> FsResult<DescriptorFlags> {
        HostDescriptor::get_flags(&mut self.inner, fd).await
    }

    async fn get_type(&mut self, fd: Fd) -> FsResult<DescriptorType> {
        HostDescriptor::get_type(&mut self.inner, fd).await
    }

    async fn set_size(&mut self, fd: Fd, size: Filesize) -> FsResult<()> {
        let (directory, file) = (self.writes(&fd, 0)?, self.file(&fd)?);
        let before = file.metadata()?.len();
        directory.resizes(self.run, before, size)?;
        HostDescriptor::set_size(&mut self.inner, fd, size).await
    }

    async fn set_times(&mut self, fd: Fd, access: NewTimestamp, modification: NewTimestamp) -> FsResult<()> {
        self.writes(&fd, 0)?;
        HostDescriptor::set_times(&mut self.inner, fd, access, modification).await
    }

    async fn read(&mut self, fd: Fd, length: Filesize, offset: Filesize) -> FsResult<(Vec<u8>, bool)> {
        let (bytes, end) = HostDescriptor::read(&mut self.inner, fd, length, offset).await?;
        self.run.take(1, bytes.len())?;
        Ok((bytes, end))
    }

    async fn write(&mut self, fd: Fd, bytes: Vec<u8>, offset: Filesize) -> FsResult<Filesize> {
        let (directory, file) = (self.writes(&fd, bytes.len())?, self.file(&fd)?);
        directory.writes(self.run, &file, Some(offset), bytes.len() as u64)?;
        HostDescriptor::write(&mut self.inner, fd, bytes, offset).await
    }

    async fn read_directory(&mut self, fd: Fd) -> FsResult<Resource<DirectoryEntryStream>> {
        self.run.take(1, 0)?;
        let (dir, directory) = (self.dir(&fd)?, self.directory(&fd)?);
        if blocking(move || beneath::is_too_large(&dir)).await?? {
            let most = limits::LISTED;
            let message =
                format!("directory {}: a directory with more than {most} entries is not listed", directory.name());
            return Err(self.run.refuse(ErrorCode::Quota, &message).into());
        }
        HostDescriptor::read_directory(&mut self.inner, fd).await
    }

    async fn sync(&mut self, fd: Fd) -> FsResult<()> {
        self.run.take(1, 0)?;
        HostDescriptor::sync(&mut self.inner, fd).await
    }

    async fn create_directory_at(&mut self, fd: Fd, path: String) -> FsResult<()> {
        let (directory, dir) = (self.writes(&fd, path.len())?, self.dir(&fd)?);
        directory.grows(self.run, 0, 1)?;
        let place = path.clone();
        let made = blocking(move || beneath::create_directory(&dir, &place)).await?;
        made.map_err(|stop| {
            directory.offered.shrink(0, 1);
            self.stopped(&directory, &path, stop)
        })
    }

    async fn stat(&mut self, fd: Fd) -> FsResult<DescriptorStat> {
        self.run.take(1, 0)?;
        HostDescriptor::stat(&mut self.inner, fd).await
    }

    async fn stat_at(&mut self, fd: Fd, flags: PathFlags, path: String) -> FsResult<DescriptorStat> {
        self.run.take(1, path.len())?;
        HostDescriptor::stat_at(&mut self.inner, fd, flags, path).await
    }

    async fn set_times_at(
        &mut self,
        fd: Fd,
        flags: PathFlags,
        path: String,
        access: NewTimestamp,
        modification: NewTimestamp,
    ) -> FsResult<()> {
        // It would follow links. An open file has its own function for it.
        let _ = (flags, access, modification);
        self.writes(&fd, path.len())?;
        Err(ErrorCode::Unsupported.into())
    }

    async fn link_at(&mut self, fd: Fd, _: PathFlags, path: String, _: Fd, _: String) -> FsResult<()> {
        self.no_links(&fd, &path)
    }

    async fn symlink_at(&mut self, fd: Fd, _: String, path: String) -> FsResult<()> {
        self.no_links(&fd, &path)
    }

    async fn open_at(
        &mut self,
        fd: Fd,
        path_flags: PathFlags,
        path: String,
        open_flags: OpenFlags,
        flags: DescriptorFlags,
    ) -> FsResult<Fd> {
        self.run.take(1, path.len())?;
        let (dir, directory) = (self.dir(&fd)?, self.directory(&fd)?);
        let synced = [
            DescriptorFlags::FILE_INTEGRITY_SYNC,
            DescriptorFlags::DATA_INTEGRITY_SYNC,
            DescriptorFlags::REQUESTED_WRITE_SYNC,
        ];
        if synced.into_iter().any(|flag| flags.contains(flag)) {
            return Err(ErrorCode::Unsupported.into());
        }
        let has = |flag| open_flags.contains(flag);
        let writes = has(OpenFlags::CREATE) || has(OpenFlags::TRUNCATE) || flags.contains(DescriptorFlags::WRITE);
        if writes {
            directory.may_write(self.run)?;
        }
        if has(OpenFlags::DIRECTORY) && (has(OpenFlags::CREATE) || has(OpenFlags::TRUNCATE)) {
            return Err(ErrorCode::Invalid.into());
        }
        if self.handles.len() >= limits::OPEN_FILES {
            let message = format!("a run has at most {} files and directories open at a time", limits::OPEN_FILES);
            return Err(self.run.refuse(ErrorCode::Quota, &message).into());
        }
        let want = Want {
            path: path.clone(),
            follow: path_flags.contains(PathFlags::SYMLINK_FOLLOW),
            read: flags.contains(DescriptorFlags::READ),
            write: writes,
            create: has(OpenFlags::CREATE),
            exclusive: has(OpenFlags::EXCLUSIVE),
            directory: has(OpenFlags::DIRECTORY),
            truncate: has(OpenFlags::TRUNCATE),
        };
        let offered = directory.offered.clone();
        let opened = blocking(move || beneath::open(&dir, &want, &offered)).await?;
        let Opened { file, is_dir, created } = opened.map_err(|stop| self.stopped(&directory, &path, stop))?;
        if created {
            self.created.insert(beneath::identity(&file.metadata()?));
        }
        let mut mode = OpenMode::empty();
        mode.set(OpenMode::READ, !writes || flags.contains(DescriptorFlags::READ));
        mode.set(OpenMode::WRITE, writes);
        let perms = directory.perms();
        let descriptor = match is_dir {
            true => Descriptor::Dir(Dir::new(file, perms, mode, false)),
            false => Descriptor::File(File::new(file, perms, mode, false)),
        };
        self.push(descriptor, directory)
    }

    async fn readlink_at(&mut self, fd: Fd, path: String) -> FsResult<String> {
        self.run.take(1, path.len())?;
        HostDescriptor::readlink_at(&mut self.inner, fd, path).await
    }

    async fn remove_directory_at(&mut self, fd: Fd, path: String) -> FsResult<()> {
        self.removes(fd, path, true).await
    }

    async fn rename_at(&mut self, fd: Fd, old: String, new_fd: Fd, new: String) -> FsResult<()> {
        let (from, to) = (self.writes(&fd, old.len())?, self.writes(&new_fd, new.len())?);
        if !Arc::ptr_eq(&from.offered, &to.offered) {
            return Err(ErrorCode::CrossDevice.into());
        }
        let (from_dir, to_dir) = (self.dir(&fd)?, self.dir(&new_fd)?);
        let freed = freed(to_dir.clone(), &new).await?;
        let (target, created) = (new.clone(), self.created.clone());
        let is_ours = move |seen: &Metadata| created.contains(&beneath::identity(seen));
        let renamed = blocking(move || beneath::rename(&from_dir, &old, &to_dir, &target, is_ours)).await?;
        renamed.map_err(|stop| self.stopped(&to, &new, stop))?;
        if let Some(bytes) = freed {
            to.offered.shrink(bytes, 1);
        }
        Ok(())
    }

    async fn unlink_file_at(&mut self, fd: Fd, path: String) -> FsResult<()> {
        self.removes(fd, path, false).await
    }

    async fn is_same_object(&mut self, a: Fd, b: Fd) -> wasmtime::Result<bool> {
        HostDescriptor::is_same_object(&mut self.inner, a, b).await
    }

    async fn metadata_hash(&mut self, fd: Fd) -> FsResult<MetadataHashValue> {
        self.run.take(1, 0)?;
        HostDescriptor::metadata_hash(&mut self.inner, fd).await
    }

    async fn metadata_hash_at(&mut self, fd: Fd, flags: PathFlags, path: String) -> FsResult<MetadataHashValue> {
        self.run.take(1, path.len())?;
        HostDescriptor::metadata_hash_at(&mut self.inner, fd, flags, path).await
    }

    fn drop(&mut self, fd: Fd) -> wasmtime::Result<()> {
        self.handles.remove(&fd.rep());
        HostDescriptor::drop(&mut self.inner, fd)
    }
}

impl View<'_> {
    fn counted(
        &mut self,
        stream: Resource<DynOutputStream>,
        position: Position,
        file: Arc<SystemFile>,
        directory: Arc<Directory>,
    ) -> FsResult<Resource<DynOutputStream>> {
        let inner = self.inner.table.delete(stream)?;
        let writing: DynOutputStream = Box::new(Writing { inner, file, position, directory, run: self.run.clone() });
        Ok(self.inner.table.push(writing)?)
    }

    async fn removes(&mut self, fd: Fd, path: String, is_dir: bool) -> FsResult<()> {
        let (directory, dir) = (self.writes(&fd, path.len())?, self.dir(&fd)?);
        let freed = freed(dir.clone(), &path).await?;
        let place = path.clone();
        let removed = blocking(move || beneath::remove(&dir, &place, is_dir)).await?;
        removed.map_err(|stop| self.stopped(&directory, &path, stop))?;
        directory.offered.shrink(freed.unwrap_or_default(), 1);
        Ok(())
    }

    /// Programs outside of the sandbox would follow a link to places that the directory does not have.
    fn no_links(&self, fd: &Fd, path: &str) -> FsResult<()> {
        let directory = self.writes(fd, path.len())?;
        let message = format!("directory {}: {path:?} was not created: hooks create no links", directory.name());
        Err(self.run.refuse(ErrorCode::NotPermitted, &message).into())
    }
}

impl HostDirectoryEntryStream for View<'_> {
    async fn read_directory_entry(
        &mut self,
        stream: Resource<DirectoryEntryStream>,
    ) -> FsResult<Option<DirectoryEntry>> {
        let entry = HostDirectoryEntryStream::read_directory_entry(&mut self.inner, stream).await?;
        self.run.take(0, entry.as_ref().map_or(0, |entry| entry.name.len()))?;
        Ok(entry)
    }

    fn drop(&mut self, stream: Resource<DirectoryEntryStream>) -> wasmtime::Result<()> {
        HostDirectoryEntryStream::drop(&mut self.inner, stream)
    }
}
