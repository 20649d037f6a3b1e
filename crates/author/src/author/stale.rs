//! Checks whether a project has changed since its component was built, by modification times.

use std::{
    fs,
    path::{Path, PathBuf},
    time::SystemTime,
};

use super::{language::Language, sdk};

/// The folder of components, in a project.
const OUTPUT: &str = "target/boathook";
/// Extensions of the files that a component is built from.
const SOURCES: [&str; 10] = ["rs", "toml", "go", "mod", "ts", "mts", "js", "mjs", "json", "py"];
/// Folders without sources.
const OTHERS: [&str; 6] = ["target", "node_modules", "scenarios", "tests", "__pycache__", sdk::FOLDER];
/// Maximum depth of the search.
const DEPTH: usize = 8;

/// The folder of a project's components, if this folder contains a project that was built.
pub fn output(folder: &Path) -> Option<PathBuf> {
    let output = folder.join(OUTPUT);
    (Language::of(folder).is_some() && output.is_dir()).then_some(output)
}

/// A source of the project that is newer than its component, if the component is where `boathook build` puts it.
pub fn newer_source(component: &Path) -> Option<PathBuf> {
    let (output, project) = (component.parent()?, component.ancestors().nth(3)?);
    if !output.ends_with(OUTPUT) || Language::of(project).is_none() {
        return None;
    }
    newer(project, fs::metadata(component).ok()?.modified().ok()?, DEPTH)
}

fn newer(folder: &Path, than: SystemTime, depth: usize) -> Option<PathBuf> {
    let entries = fs::read_dir(folder).ok()?.filter_map(Result::ok);
    let mut paths: Vec<_> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths.into_iter().find_map(|path| {
        let name = path.file_name()?.to_str()?;
        let hidden = name.starts_with('.') || OTHERS.contains(&name);
        let meta = path.symlink_metadata().ok().filter(|_| !hidden)?;
        if meta.is_dir() {
            return newer(&path, than, depth.checked_sub(1)?);
        }
        let source = path.extension().and_then(|it| it.to_str()).is_some_and(|it| SOURCES.contains(&it));
        (source && meta.modified().ok()? > than).then_some(path)
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_component_is_stale_when_a_source_is_newer() {
        let folder = tempfile::tempdir().unwrap();
        let now = SystemTime::now();
        let write = |file: &str, ago: u64| {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, "").unwrap();
            fs::File::options().write(true).open(&path).unwrap().set_modified(now - Duration::from_secs(ago)).unwrap();
            path
        };
        let component = write("target/boathook/web.wasm", 50);
        // Does not belong to a project.
        write("main.py", 10);
        assert_eq!((newer_source(&component), output(folder.path())), (None, None));
        fs::remove_file(folder.path().join("main.py")).unwrap();
        for (file, ago) in
            [("pyproject.toml", 90), ("src/hook.py", 60), ("README.md", 1), (".x.py", 1), ("tests/a.py", 1)]
        {
            write(file, ago);
        }
        write("boathook-sdk/src/boathook/hook.py", 1);
        assert_eq!(newer_source(&component), None);
        assert_eq!(output(folder.path()), Some(folder.path().join(OUTPUT)));
        let changed = write("src/deep/part.py", 40);
        assert_eq!(newer_source(&component), Some(changed));
        // For a component in another folder, the time of its build is unknown.
        assert_eq!(newer_source(&write("web.wasm", 90)), None);
    }
}
