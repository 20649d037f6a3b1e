//! How much of a store each tenant uses, and whose files are removed if there is no room. No file is read here.
//!
//! A tenant uses what it pulled, what it began to pull, and the room that its pulls hold for what they will download.
//! Room is made where most is used, so a tenant that uses little keeps it, whatever others pull. Shares as in `fair`
//! would leave a quarter empty. They apply only to downloads under way, because that room cannot be taken back.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::SystemTime,
};

use boathook_core::fair::Share;

use super::{BLOBS, LAST, PARTIAL, StoreError, failed};

/// The directory of each tenant's own store.
pub(super) const TENANTS: &str = "tenants";

/// How many bytes the pulls of this process will still download, by the tenant's directory.
#[derive(Debug, Clone, Default)]
pub(crate) struct UnderWay(Arc<Mutex<BTreeMap<PathBuf, u64>>>);

/// The room for one pull. Dropping it gives the unused rest back.
#[derive(Debug, Default)]
pub(crate) struct Room(Option<Held>, Option<Share>);

#[derive(Debug)]
struct Held {
    under_way: UnderWay,
    owner: PathBuf,
    bytes: Mutex<u64>,
}

impl Room {
    /// Adds a share of all that may be under way. It is given back with the room.
    pub fn with(mut self, share: Share) -> Self {
        self.1 = Some(share);
        self
    }

    /// Notes that this many bytes were downloaded, and now count as a file.
    pub fn came(&self, bytes: u64) {
        let Some(Held { under_way, owner, bytes: held }) = &self.0 else { return };
        let mut held = held.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = bytes.min(*held);
        *held -= bytes;
        let mut all = under_way.all();
        if let Some(all_of_owner) = all.get_mut(owner) {
            *all_of_owner = all_of_owner.saturating_sub(bytes);
        }
        all.retain(|_, bytes| *bytes > 0);
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.came(u64::MAX);
    }
}

/// A file that may be removed.
struct Entry {
    path: PathBuf,
    /// What a start without the registry needs is removed last.
    late: bool,
    used: SystemTime,
    bytes: u64,
}

impl UnderWay {
    fn all(&self) -> MutexGuard<'_, BTreeMap<PathBuf, u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes room for more bytes of an owner, so that no more than `max` are used. Also returns how many bytes were
    /// freed.
    pub fn room(&self, base: &Path, owner: &Path, bytes: u64, max: u64) -> Result<(Room, u64), StoreError> {
        let mut under_way = self.all();
        let mut files = files_of_all(base)?;
        let mut used = under_way.clone();
        for (of, files) in &files {
            *used.entry(of.clone()).or_default() += files.iter().map(|file| file.bytes).sum::<u64>();
        }
        *used.entry(owner.to_owned()).or_default() += bytes;
        let (mut gone, mut freed) = (Vec::new(), 0);
        while used.values().sum::<u64>() > max {
            // Take from tenants that use more than the owner will use, or else from the owner itself.
            let own = used.get(owner).copied().unwrap_or_default();
            let has_files = |of: &Path| files.get(of).is_some_and(|files| !files.is_empty());
            let most = used.iter().filter(|(of, used)| has_files(of) && (**used > own || of.as_path() == owner));
            let most = most.max_by_key(|(_, used)| **used).map(|(of, _)| of.clone());
            let oldest = most.and_then(|most| Some((files.get_mut(&most)?.pop()?, used.get_mut(&most)?)));
            let Some((oldest, used)) = oldest else { return Err(StoreError::Full { bytes, max }) };
            *used = used.saturating_sub(oldest.bytes);
            gone.push(oldest);
        }
        // Files are removed only now that it is known to be enough.
        for Entry { path, bytes, .. } in gone {
            fs::remove_file(&path).or_else(gone_is_good).map_err(failed(&path))?;
            freed += bytes;
        }
        *under_way.entry(owner.to_owned()).or_default() += bytes;
        let held = Held { under_way: self.clone(), owner: owner.to_owned(), bytes: Mutex::new(bytes) };
        Ok((Room(Some(held), None), freed))
    }
}

fn gone_is_good(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) }
}

/// The files by the directory of their owner. In each list, the file to remove first is the last one.
fn files_of_all(base: &Path) -> Result<BTreeMap<PathBuf, Vec<Entry>>, StoreError> {
    let mut owners = vec![base.to_owned()];
    let tenants = base.join(TENANTS);
    match fs::read_dir(&tenants) {
        Ok(entries) => owners.extend(entries.flatten().map(|entry| entry.path())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(failed(&tenants)(error)),
    }
    let mut all = BTreeMap::new();
    for owner in owners {
        let mut files = Vec::new();
        for (directory, late) in [(BLOBS, false), (PARTIAL, false), (LAST, true)] {
            let directory = owner.join(directory);
            files.extend(files_in(&directory, late).or_else(none_is_good).map_err(failed(&directory))?);
        }
        files.sort_by_key(|file| std::cmp::Reverse((file.late, file.used)));
        all.insert(owner, files);
    }
    Ok(all)
}

fn none_is_good(error: io::Error) -> io::Result<Vec<Entry>> {
    if error.kind() == io::ErrorKind::NotFound { Ok(Vec::new()) } else { Err(error) }
}

fn files_in(directory: &Path, late: bool) -> io::Result<Vec<Entry>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        // Another process may remove the file in the meantime. A file that is being written is locked, and has its own
        // room.
        let Ok(file) = File::open(&path) else { continue };
        if let (Ok(()), Ok(data)) = (file.try_lock_shared(), file.metadata())
            && data.is_file()
        {
            found.push(Entry { path, late, used: data.modified()?, bytes: data.len() });
        }
    }
    Ok(found)
}
