//! The files of a module's chart, as Helm and addon-operator take them.

use std::{
    fs::File,
    io::Read as _,
    path::{Path, PathBuf},
};

use super::{Chart, LayoutError, MAX_ENTRIES, MAX_FOLDERS, Module, entries};
use crate::{
    files::{FileError, Root},
    names::ModuleName,
};

/// The most bytes of a chart. Helm stores a release with its chart in a Secret of a MiB, compressed.
const MAX_BYTES: u64 = 64 << 20;
/// Folders of a module that are not parts of the chart that addon-operator makes for it.
const APART: [&str; 5] = ["crds", "docs", "hooks", "images", "lib"];

/// Where a module's chart and definitions are. Reading them takes time, so do it in a thread for that.
#[derive(Debug, Clone)]
pub struct ChartSource {
    name: ModuleName,
    path: PathBuf,
    chart: Option<Chart>,
    crds: Vec<PathBuf>,
}

impl Module {
    pub fn chart_source(&self) -> ChartSource {
        let Self { name, path, chart, crds, .. } = self;
        ChartSource { name: name.clone(), path: path.clone(), chart: *chart, crds: crds.clone() }
    }
}

impl ChartSource {
    /// The files of the chart: paths from the module's directory, with `/`, and contents. A module without a `Chart.yaml` has
    /// that of addon-operator. There are none if the module has no chart.
    ///
    /// # Errors
    /// A file cannot be read, leads out of the module, or the files are more than a chart may have.
    pub fn files(&self) -> Result<Vec<(String, Vec<u8>)>, LayoutError> {
        let Some(chart) = self.chart else { return Ok(Vec::new()) };
        let root = Root::new(&self.path)?;
        let (mut found, mut bytes) = (Vec::new(), 0);
        if chart == Chart::Templates {
            let definition = format!("apiVersion: v2\nname: {}\nversion: 0.2.0\n", self.name.as_str());
            found.push(("Chart.yaml".to_owned(), definition.into_bytes()));
        }
        let too_many = |max, what| LayoutError::TooMany(self.path.clone(), max, what);
        let mut folders = vec![(self.path.clone(), 0)];
        while let Some((folder, depth)) = folders.pop() {
            if depth == MAX_FOLDERS {
                return Err(too_many(MAX_FOLDERS, "levels of folders"));
            }
            for path in entries(&folder)? {
                // A link that leads nowhere is nothing.
                if !root.holds(&path)? {
                    continue;
                }
                let Ok(below) = path.strip_prefix(&self.path) else { continue };
                let name = below.to_string_lossy().into_owned();
                let is_apart = depth == 0 && chart == Chart::Templates && APART.contains(&name.as_str());
                if path.is_dir() {
                    if !is_apart {
                        folders.push((path, depth + 1));
                    }
                    continue;
                }
                // Components of hooks are large, and no template reads them.
                let is_hook = name.starts_with("hooks/") && name.ends_with(".wasm");
                if !path.is_file() || is_hook {
                    continue;
                }
                let content = read(&path, MAX_BYTES - bytes)?;
                bytes += content.len() as u64;
                if bytes >= MAX_BYTES {
                    return Err(too_many(usize::try_from(MAX_BYTES).unwrap_or(usize::MAX), "bytes in its chart"));
                }
                found.push((name, content));
                if found.len() > MAX_ENTRIES {
                    return Err(too_many(MAX_ENTRIES, "files in its chart"));
                }
            }
        }
        found.sort();
        Ok(found)
    }

    /// The files of `crds/` that are definitions, each with its text.
    ///
    /// # Errors
    /// A file cannot be read, or is not UTF-8 text.
    pub fn definitions(&self) -> Result<Vec<(String, String)>, LayoutError> {
        let one = |path: &PathBuf| {
            let text = String::from_utf8(read(path, MAX_BYTES)?);
            let invalid = |_| FileError::Invalid(path.clone(), "is not UTF-8 text".to_owned());
            Ok((path.display().to_string(), text.map_err(invalid)?))
        };
        self.crds.iter().map(one).collect()
    }
}

fn read(path: &Path, most: u64) -> Result<Vec<u8>, LayoutError> {
    let unreadable = |error| FileError::Unreadable(path.to_owned(), error);
    let mut content = Vec::new();
    File::open(path).map_err(unreadable)?.take(most).read_to_end(&mut content).map_err(unreadable)?;
    Ok(content)
}
