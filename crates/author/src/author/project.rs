//! Puts a new project on the disk.
//!
//! Never overwrites anything, and never writes into a folder that has something in it.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::template::File;

/// Why a project was not written.
#[derive(Debug, thiserror::Error)]
pub enum ProjectError {
    /// It would get mixed with what is there.
    #[error("{} is not empty: name another folder with --dir", .0.display())]
    NotEmpty(PathBuf),
    /// There is a file with that name.
    #[error("{} is not a folder: name another one with --dir", .0.display())]
    NotAFolder(PathBuf),
    /// The system does not let it.
    #[error("can't write {}", path.display())]
    Write {
        /// What could not be written or read.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
}

/// Writes all files into a folder that is empty or not there.
pub fn write_project(folder: &Path, files: &[File]) -> Result<(), ProjectError> {
    free(folder)?;
    files.iter().try_for_each(|file| write(&folder.join(&file.path), &file.text))
}

fn free(folder: &Path) -> Result<(), ProjectError> {
    match fs::read_dir(folder).map(|mut entries| entries.next()) {
        Ok(None) => Ok(()),
        Ok(Some(_)) => Err(ProjectError::NotEmpty(folder.to_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => Err(ProjectError::NotAFolder(folder.to_owned())),
        Err(source) => Err(ProjectError::Write { path: folder.to_owned(), source }),
    }
}

fn write(path: &Path, text: &str) -> Result<(), ProjectError> {
    let folders = path.parent().map_or(Ok(()), fs::create_dir_all);
    // Whoever was faster keeps what they wrote.
    let written = folders.and_then(|()| {
        let mut file = fs::File::create_new(path)?;
        io::Write::write_all(&mut file, text.as_bytes())
    });
    written.map_err(|source| ProjectError::Write { path: path.to_owned(), source })
}
