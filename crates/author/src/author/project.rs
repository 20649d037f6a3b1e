//! Writes a new project to disk. It never overwrites a file, and never writes into a folder that is not empty.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::template::File;

#[derive(Debug, thiserror::Error)]
pub enum ProjectError {
    /// The files would be mixed with existing ones.
    #[error("{} is not empty: name another folder with --dir", .0.display())]
    NotEmpty(PathBuf),
    /// There is a file with that name.
    #[error("{} is not a folder: name another one with --dir", .0.display())]
    NotAFolder(PathBuf),
    #[error("can't write {}", path.display())]
    Write { path: PathBuf, source: io::Error },
}

/// Writes all files into a folder that is empty or missing.
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
    // If another process has created the file in the meantime, its content is kept.
    let written = folders.and_then(|()| {
        let mut file = fs::File::create_new(path)?;
        io::Write::write_all(&mut file, text.as_bytes())
    });
    written.map_err(|source| ProjectError::Write { path: path.to_owned(), source })
}
