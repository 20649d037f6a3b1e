//! The files of a module: one layer of a bundle, as an uncompressed tar. Its hooks are other layers, as in each bundle.
//!
//! The layer is written by strangers. Each entry is checked before anything of it is written: a name is a plain path, and an
//! entry is a regular file.

use std::{
    collections::BTreeSet,
    fs, io,
    io::Read as _,
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _},
    path::{Component, Path, PathBuf},
};

use boathook_core::model::HookSource;
use bytes::Bytes;
use tar::{Archive, Builder, EntryType, Header};

/// The folder of a module with its hooks, which are other layers.
const HOOKS: &str = "hooks";
/// What is in a directory and not in the module.
const LEFT_OUT: [&str; 3] = [HOOKS, ".git", "bundle.json"];
/// The most files.
const MAX_FILES: usize = 10_000;
/// The most bytes of all files.
const MAX_BYTES: u64 = 64 << 20;
/// The deepest folder.
const MAX_DEPTH: usize = 32;
/// The longest path. The header of a tar has room for it without extensions.
const MAX_PATH: usize = 100;

/// Why the files of a module cannot be packed or unpacked.
#[derive(Debug, thiserror::Error)]
pub enum ModuleError {
    #[error("{} cannot be read or written", .0.display())]
    Io(PathBuf, #[source] io::Error),
    #[error("{} is a link: put a copy of the file in its place", .0.display())]
    Link(PathBuf),
    #[error("{} is neither a file nor a folder: leave it out", .0.display())]
    Special(PathBuf),
    #[error("the module has {what}: {remedy}")]
    TooLarge { what: String, remedy: &'static str },
    #[error("the layer with the module's files is damaged: pack it again")]
    Damaged(#[source] io::Error),
    #[error("the layer with the module's files has {name:?}, which {why}: pack the module with `boathook bundle pack`")]
    Entry { name: String, why: &'static str },
}

/// A file of a module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModuleFile {
    /// The path in the module, with `/`.
    pub path: String,
    pub content: Bytes,
    pub executable: bool,
}

/// The files of a module to pack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModuleInput {
    /// The module's name.
    pub name: String,
    pub files: Vec<ModuleFile>,
}

fn too_many() -> ModuleError {
    ModuleError::TooLarge { what: format!("more than {MAX_FILES} files"), remedy: "leave some of them out" }
}

fn too_large() -> ModuleError {
    ModuleError::TooLarge { what: format!("more than {MAX_BYTES} bytes"), remedy: "leave large files out" }
}

/// Reads the files of a module's directory, except its hooks.
///
/// # Errors
/// Names the file that cannot be a part of the module.
pub fn module_files(directory: &Path) -> Result<Vec<ModuleFile>, ModuleError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |error| ModuleError::Io(path, error)
    };
    let (mut found, mut total) = (Vec::new(), 0_u64);
    let mut folders = vec![(directory.to_owned(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        for entry in fs::read_dir(&folder).map_err(failed(&folder))? {
            let path = entry.map_err(failed(&folder))?.path();
            let Ok(below) = path.strip_prefix(directory) else { continue };
            if LEFT_OUT.iter().any(|name| below == Path::new(name)) {
                continue;
            }
            let metadata = fs::symlink_metadata(&path).map_err(failed(&path))?;
            if metadata.is_symlink() {
                return Err(ModuleError::Link(path));
            }
            if metadata.is_dir() {
                if depth == MAX_DEPTH {
                    let what = format!("folders in more than {MAX_DEPTH} levels");
                    return Err(ModuleError::TooLarge { what, remedy: "move the files up" });
                }
                folders.push((path, depth + 1));
                continue;
            }
            if !metadata.is_file() {
                return Err(ModuleError::Special(path));
            }
            total = total.saturating_add(metadata.len());
            if total > MAX_BYTES {
                return Err(too_large());
            }
            if found.len() == MAX_FILES {
                return Err(too_many());
            }
            let name = below.to_str().filter(|name| name.len() <= MAX_PATH).ok_or_else(|| ModuleError::TooLarge {
                what: format!("the path {}", below.display()),
                remedy: "use a path of at most 100 bytes of UTF-8",
            })?;
            let content = fs::read(&path).map_err(failed(&path))?.into();
            let executable = metadata.permissions().mode() & 0o111 != 0;
            found.push(ModuleFile { path: name.to_owned(), content, executable });
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

/// The layer. The same files give the same bytes.
pub(super) fn pack(mut files: Vec<ModuleFile>) -> Result<Bytes, ModuleError> {
    files.sort_by(|a, b| a.path.cmp(&b.path));
    let mut tar = Builder::new(Vec::new());
    for file in files {
        let mut header = Header::new_ustar();
        header.set_entry_type(EntryType::Regular);
        header.set_mode(if file.executable { 0o755 } else { 0o644 });
        header.set_size(file.content.len() as u64);
        header.set_mtime(0);
        header.set_path(&file.path).map_err(ModuleError::Damaged)?;
        header.set_cksum();
        tar.append(&header, &*file.content).map_err(ModuleError::Damaged)?;
    }
    Ok(tar.into_inner().map_err(ModuleError::Damaged)?.into())
}

/// Writes a module's files and its hooks into an empty directory, where nobody may change them.
///
/// # Errors
/// Names the entry that is refused. The directory may then have a part of the files.
pub fn unpack_module(layer: &Path, hooks: &[HookSource], to: &Path) -> Result<(), ModuleError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |error| ModuleError::Io(path, error)
    };
    let file = fs::File::open(layer).map_err(failed(layer))?;
    let mut tar = Archive::new(file);
    let (mut names, mut total) = (BTreeSet::new(), 0_u64);
    // Raw entries: the library itself would read an extended header of any size into memory.
    for entry in tar.entries().map_err(ModuleError::Damaged)?.raw(true) {
        let mut entry = entry.map_err(ModuleError::Damaged)?;
        let bytes = entry.path_bytes().into_owned();
        let name = String::from_utf8_lossy(&bytes).into_owned();
        let refused = |why| ModuleError::Entry { name: name.chars().take(MAX_PATH).collect(), why };
        if entry.header().entry_type() != EntryType::Regular {
            return Err(refused("is not a regular file"));
        }
        if std::str::from_utf8(&bytes).is_err() || name.is_empty() || bytes.contains(&0) {
            return Err(refused("is not a path"));
        }
        let path = Path::new(&name);
        if !path.components().all(|part| matches!(part, Component::Normal(_))) || name.ends_with('/') {
            return Err(refused("leads out of the module"));
        }
        if path.starts_with(HOOKS) {
            return Err(refused("is a hook, and hooks are layers of their own"));
        }
        if path.components().count() > MAX_DEPTH {
            return Err(refused("is in too many folders"));
        }
        total = total.saturating_add(entry.size());
        if total > MAX_BYTES {
            return Err(too_large());
        }
        if names.len() == MAX_FILES {
            return Err(too_many());
        }
        if !names.insert(name.clone()) {
            return Err(refused("is in it twice"));
        }
        let executable = entry.header().mode().map_err(ModuleError::Damaged)? & 0o111 != 0;
        let mut content = Vec::new();
        entry.read_to_end(&mut content).map_err(ModuleError::Damaged)?;
        write(&to.join(path), &content, executable)?;
    }
    for hook in hooks {
        let content = fs::read(&hook.path).map_err(failed(&hook.path))?;
        write(&to.join(HOOKS).join(format!("{}.wasm", hook.name)), &content, false)?;
    }
    Ok(())
}

/// Writes a file that nobody may change, in folders that only the owner may enter.
fn write(path: &Path, content: &[u8], executable: bool) -> Result<(), ModuleError> {
    let failed = |error| ModuleError::Io(path.to_owned(), error);
    if let Some(folder) = path.parent() {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
    }
    let mode = if executable { 0o500 } else { 0o400 };
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(path).map_err(failed)?;
    io::Write::write_all(&mut file, content).map_err(failed)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn file(path: &str, content: &str, executable: bool) -> ModuleFile {
        ModuleFile { path: path.to_owned(), content: Bytes::copy_from_slice(content.as_bytes()), executable }
    }

    /// Writes a layer, and unpacks it.
    fn unpacked(layer: &[u8]) -> Result<tempfile::TempDir, ModuleError> {
        let dir = tempfile::tempdir().unwrap();
        let (path, to) = (dir.path().join("layer"), dir.path().join("to"));
        fs::write(&path, layer).unwrap();
        fs::create_dir(&to).unwrap();
        let hook = HookSource {
            name: boathook_core::model::HookName::new("main").unwrap(),
            path: path.clone(),
            digest: None,
            declared: None,
        };
        unpack_module(&path, &[hook], &to).map(|()| dir)
    }

    /// A tar with one entry, whose name no builder would take.
    fn entry(name: &str, kind: EntryType) -> Vec<u8> {
        let mut header = Header::new_ustar();
        header.set_entry_type(kind);
        header.set_mode(0o644);
        header.set_size(1);
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_cksum();
        let mut tar = Builder::new(Vec::new());
        tar.append(&header, &b"x"[..]).unwrap();
        tar.into_inner().unwrap()
    }

    #[test]
    fn what_is_packed_is_unpacked_and_nobody_may_change_it() {
        let from = tempfile::tempdir().unwrap();
        for (path, content) in
            [("templates/a.yaml", "a"), ("enabled", "#!/bin/bash"), ("hooks/x.sh", "no"), (".helmignore", "b")]
        {
            let path = from.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        fs::set_permissions(from.path().join("enabled"), fs::Permissions::from_mode(0o755)).unwrap();
        let files = module_files(from.path()).unwrap();
        let expected = [
            file(".helmignore", "b", false),
            file("enabled", "#!/bin/bash", true),
            file("templates/a.yaml", "a", false),
        ];
        assert_eq!(files, expected);
        let layer = pack(files.clone()).unwrap();
        assert_eq!(layer, pack(files.into_iter().rev().collect()).unwrap(), "the same files give the same bytes");
        let dir = unpacked(&layer).unwrap();
        let mode = |path: &str| dir.path().join("to").join(path).metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!((mode("enabled"), mode("templates/a.yaml"), mode("hooks/main.wasm")), (0o500, 0o400, 0o400));
    }

    // mutant: crates/bundle/src/module.rs: `return Err(refused("leads out of the module"));` => ``
    #[test]
    fn entries_that_are_no_files_of_a_module_are_refused() {
        for (name, kind, why) in [
            ("../x", EntryType::Regular, "leads out"),
            ("/etc/x", EntryType::Regular, "leads out"),
            ("a/../../x", EntryType::Regular, "leads out"),
            ("./x", EntryType::Regular, "leads out"),
            ("a/", EntryType::Regular, "leads out"),
            ("hooks/a.sh", EntryType::Regular, "is a hook"),
            ("a", EntryType::Symlink, "is not a regular file"),
            ("a", EntryType::Link, "is not a regular file"),
            ("a", EntryType::XHeader, "is not a regular file"),
            ("a", EntryType::GNULongName, "is not a regular file"),
        ] {
            let error = unpacked(&entry(name, kind)).unwrap_err().to_string();
            assert!(error.contains(why), "{name}: {error}");
        }
        let twice = [file("a", "x", false), file("a", "y", false)].to_vec();
        assert!(unpacked(&pack(twice).unwrap()).unwrap_err().to_string().contains("is in it twice"));
        assert!(matches!(unpacked(b"no tar at all, and a text of some length").unwrap_err(), ModuleError::Damaged(_)));
        let many = (0..=MAX_FILES).map(|n| file(&format!("f{n}"), "", false)).collect();
        assert!(unpacked(&pack(many).unwrap()).unwrap_err().to_string().contains("more than 10000 files"));
    }

    #[test]
    fn links_of_a_directory_are_refused() {
        let from = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/etc/hostname", from.path().join("values.yaml")).unwrap();
        let error = module_files(from.path()).unwrap_err().to_string();
        assert!(error.contains("is a link: put a copy"), "{error}");
    }
}
