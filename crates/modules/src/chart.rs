//! The files of a module's chart, read within bounds.

use std::{
    fs::{self, File},
    io::Read as _,
    path::Path,
};

use crate::{
    files::{FileError, Root},
    layout::{Chart, Module},
    names::ModuleName,
};

/// The largest file, which is Helm's bound.
const MAX_FILE: u64 = 5 << 20;
/// The most bytes of all files.
const MAX_BYTES: u64 = 64 << 20;
/// The most files.
const MAX_FILES: usize = 10_000;
/// The deepest folder.
const MAX_FOLDERS: usize = 32;
/// What is not a part of the chart of a module that has only templates, as for addon-operator.
const NOT_CHART: [&str; 5] = ["crds", "docs", "hooks", "images", "lib"];

/// Paths from the root of the chart, with `/`, and contents.
pub type ChartFiles = Vec<(String, Vec<u8>)>;

/// The files of a module's chart. A module without a `Chart.yaml` gets the one that addon-operator makes for it. Empty if the module
/// has no chart.
pub fn of_module(module: &Module) -> Result<ChartFiles, FileError> {
    match module.chart {
        None => Ok(Vec::new()),
        Some(Chart::Own) => of_directory(&module.path),
        Some(Chart::Templates) => {
            let mut found = Found::below(&module.path, &NOT_CHART)?;
            found.files.push(("Chart.yaml".to_owned(), metadata(&module.name).into_bytes()));
            Ok(found.files)
        }
    }
}

/// The files of a chart's directory. A link that leads out of it is refused.
pub fn of_directory(path: &Path) -> Result<ChartFiles, FileError> {
    Ok(Found::below(path, &[])?.files)
}

fn metadata(name: &ModuleName) -> String {
    format!("name: {name}\nversion: 0.2.0\n")
}

struct Found {
    files: ChartFiles,
    bytes: u64,
}

impl Found {
    fn below(path: &Path, without: &[&str]) -> Result<Self, FileError> {
        let mut found = Self { files: Vec::new(), bytes: 0 };
        found.folder(&Root::new(path)?, path, "", without, 0)?;
        Ok(found)
    }

    fn folder(
        &mut self,
        root: &Root,
        path: &Path,
        below: &str,
        without: &[&str],
        depth: usize,
    ) -> Result<(), FileError> {
        let wrong = |why: String| FileError::Invalid(path.to_owned(), why);
        let unreadable = |error| FileError::Unreadable(path.to_owned(), error);
        if depth > MAX_FOLDERS {
            return Err(wrong(format!("is deeper than {MAX_FOLDERS} folders in the chart: move it up")));
        }
        let mut entries = fs::read_dir(path).map_err(unreadable)?.collect::<Result<Vec<_>, _>>().map_err(unreadable)?;
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let (path, name) = (entry.path(), entry.file_name());
            let name = name.to_str().ok_or_else(|| {
                FileError::Invalid(path.clone(), "has a name that is not UTF-8: rename it".to_owned())
            })?;
            // A link that leads nowhere is an error of the chart.
            if !root.holds(&path)? {
                return Err(FileError::Invalid(path, "is a link that leads nowhere: remove it".to_owned()));
            }
            let meta = fs::metadata(&path).map_err(|error| FileError::Unreadable(path.clone(), error))?;
            if meta.is_dir() {
                if !without.contains(&name) {
                    self.folder(root, &path, &format!("{below}{name}/"), &[], depth + 1)?;
                }
            } else {
                self.file(&path, format!("{below}{name}"))?;
            }
        }
        Ok(())
    }

    fn file(&mut self, path: &Path, name: String) -> Result<(), FileError> {
        let wrong = |why: String| Err(FileError::Invalid(path.to_owned(), why));
        let unreadable = |error| FileError::Unreadable(path.to_owned(), error);
        if self.files.len() == MAX_FILES {
            return wrong(format!("is one file too many: a chart has {MAX_FILES} at most"));
        }
        let meta = fs::metadata(path).map_err(unreadable)?;
        if !meta.is_file() {
            return wrong("is not a file: remove it from the chart".to_owned());
        }
        let mut content = Vec::new();
        let most = MAX_FILE.min(MAX_BYTES - self.bytes);
        File::open(path).map_err(unreadable)?.take(most + 1).read_to_end(&mut content).map_err(unreadable)?;
        if content.len() as u64 > MAX_FILE {
            return wrong(format!("is larger than {MAX_FILE} bytes, which Helm does not load: make it smaller"));
        }
        if content.len() as u64 > most {
            return wrong(format!("is too much: the files of a chart have {MAX_BYTES} bytes at most"));
        }
        self.bytes += content.len() as u64;
        self.files.push((name, content));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use tempfile::tempdir;

    use super::*;

    fn put(folder: &Path, file: &str, text: &str) {
        let path = folder.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn names(files: &ChartFiles) -> Vec<&str> {
        files.iter().map(|(name, _)| name.as_str()).collect()
    }

    #[test]
    fn a_module_without_a_chart_yaml_gets_that_of_addon_operator() {
        let folder = tempdir().unwrap();
        let module = folder.path().join("010-web");
        for file in [
            "templates/a.yaml",
            "templates/lib/b.yaml",
            "crds/c.yaml",
            "hooks/h.sh",
            "lib/x",
            "docs/d",
            "images/i",
            "charts/x/y",
            "values.yaml",
        ] {
            put(&module, file, "{}");
        }
        let layout = crate::Layout { modules: vec![folder.path().to_owned()], ..crate::Layout::default() };
        let catalogue = crate::Catalogue::read(&layout).unwrap();
        let files = of_module(catalogue.module("web").unwrap()).unwrap();
        assert_eq!(
            names(&files),
            ["charts/x/y", "templates/a.yaml", "templates/lib/b.yaml", "values.yaml", "Chart.yaml"]
        );
        assert_eq!(files.last().unwrap().1, b"name: web\nversion: 0.2.0\n");

        put(&module, "Chart.yaml", "name: other\nversion: 1.0.0\n");
        let catalogue = crate::Catalogue::read(&layout).unwrap();
        let files = of_module(catalogue.module("web").unwrap()).unwrap();
        assert_eq!(files.len(), 10, "all files of its own chart: {:?}", names(&files));
        assert_eq!(files[0], ("Chart.yaml".to_owned(), b"name: other\nversion: 1.0.0\n".to_vec()));
    }

    #[test]
    fn no_file_of_a_chart_is_read_from_elsewhere() {
        let folder = tempdir().unwrap();
        let (chart, secret) = (folder.path().join("chart"), folder.path().join("secret"));
        put(&chart, "templates/a.yaml", "a");
        fs::write(&secret, "secret").unwrap();
        symlink(chart.join("templates/a.yaml"), chart.join("inside")).unwrap();
        assert_eq!(names(&of_directory(&chart).unwrap()), ["inside", "templates/a.yaml"]);
        symlink(&secret, chart.join("templates/b.yaml")).unwrap();
        let error = of_directory(&chart).unwrap_err().to_string();
        assert!(error.contains("templates/b.yaml leads out of"), "{error}");
    }

    #[test]
    fn what_is_too_large_or_endless_is_refused() {
        let folder = tempdir().unwrap();
        put(folder.path(), "a", &"a".repeat(5 << 20));
        assert_eq!(of_directory(folder.path()).unwrap().len(), 1);
        put(folder.path(), "a", &"a".repeat((5 << 20) + 1));
        let error = of_directory(folder.path()).unwrap_err().to_string();
        assert!(error.contains("larger than 5242880 bytes"), "{error}");
        fs::remove_file(folder.path().join("a")).unwrap();
        symlink(folder.path(), folder.path().join("again")).unwrap();
        let error = of_directory(folder.path()).unwrap_err().to_string();
        assert!(error.contains("deeper than 32 folders"), "{error}");
    }
}
