//! Finds the scenario files, and the hook or the module of each.

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
};

use boathook_core::model::HookName;

use super::{Problem, Scenario, play::Playable, subject::Subject};
use crate::module::{ModuleError, is_module, name_of};

/// The folder of the scenarios of a hook or of a module.
const FOLDER: &str = "scenarios";
/// Maximum depth of the search.
const MAX_DEPTH: usize = 6;

/// A scenario file that was read.
#[derive(Debug)]
pub struct Case {
    pub file: PathBuf,
    pub text: String,
    /// The scenario, or all problems of the file.
    pub scenario: Result<Scenario, Vec<Problem>>,
    pub subject: Subject,
}

impl Case {
    /// None if the file has problems.
    pub fn playable(&self) -> Option<Playable<'_>> {
        let scenario = self.scenario.as_ref().ok()?;
        Some(Playable { scenario, subject: &self.subject, folder: self.file.parent().unwrap_or(Path::new("")) })
    }
}

#[derive(Debug, thiserror::Error)]
pub enum FindError {
    #[error("{} cannot be read", .0.display())]
    Unreadable(PathBuf, #[source] io::Error),
    /// There are no scenarios.
    #[error("there are no scenarios at {}: put them at NAME/{FOLDER}/*.yaml, NAME being the hook's or the module's, or give --scenarios DIR", .0.display())]
    None(PathBuf),
    /// There are scenarios, but no component.
    #[error("the hook {hook} has scenarios in {}, but no component: build it first (looked for {})", .folder.display(), paths(.looked))]
    NoComponent {
        hook: String,
        /// The folder of its scenarios.
        folder: PathBuf,
        /// Possible paths of the component.
        looked: Vec<PathBuf>,
    },
    /// A folder or file has a name that is invalid for a hook.
    #[error("{} does not name a hook", .0.display())]
    Name(PathBuf, #[source] boathook_core::model::InvalidName),
    /// A directory with the files of a module has another name.
    #[error(transparent)]
    Module(#[from] ModuleError),
}

fn paths(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}

/// The scenarios below a directory or of a component, or a single one, ordered by file. `hooks` is the directory of
/// components, and `scenarios` is the directory of a component's scenarios. Without `hooks`, directories of modules count as
/// those.
pub fn find(path: &Path, hooks: Option<&Path>, scenarios: Option<&Path>) -> Result<Vec<Case>, FindError> {
    let only = [Some(path), scenarios].into_iter().flatten().find(|path| is_scenario(path)).and_then(Path::file_name);
    let (path, scenarios) = (&folder_of(path), scenarios.map(folder_of));
    let scenarios = scenarios.as_deref();
    let folders = if path.extension().is_some_and(|extension| extension == "wasm") {
        of_component(path, scenarios)?
    } else {
        of_directory(path, hooks, scenarios)?
    };
    let mut cases = Vec::new();
    for (folder, subject) in folders {
        for file in files(&folder)?.into_iter().filter(|file| only.is_none() || file.file_name() == only) {
            let text = std::fs::read_to_string(&file).map_err(|error| FindError::Unreadable(file.clone(), error))?;
            let scenario = Scenario::parse(&text);
            cases.push(Case { file, text, scenario, subject: subject.clone() });
        }
    }
    if cases.is_empty() { Err(FindError::None(path.to_owned())) } else { Ok(cases) }
}

fn is_scenario(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml")
}

/// The folder of a scenario file. Any other path is returned unchanged.
fn folder_of(path: &Path) -> PathBuf {
    if !is_scenario(path) {
        return path.to_owned();
    }
    let named = path.parent().filter(|parent| !parent.as_os_str().is_empty()).map(Path::to_owned);
    named.or_else(|| std::env::current_dir().ok()).unwrap_or_default()
}

type Folders = BTreeMap<PathBuf, Subject>;

fn of_component(component: &Path, scenarios: Option<&Path>) -> Result<Folders, FindError> {
    if let Err(error) = std::fs::metadata(component) {
        return Err(FindError::Unreadable(component.to_owned(), error));
    }
    let hook = name(component)?;
    let beside = component.parent().unwrap_or(Path::new(""));
    let mut places = vec![beside.join(hook.as_str()).join(FOLDER), beside.join(FOLDER)];
    places.extend(above(beside).map(|above| above.join(hook.as_str()).join(FOLDER)));
    let found = scenarios.map(Path::to_owned).or_else(|| places.into_iter().find(|place| place.is_dir()));
    let folder = found.ok_or_else(|| FindError::None(component.to_owned()))?;
    Ok([(folder, Subject::Hook { name: hook, component: component.to_owned() })].into())
}

/// The parent directory, from the path itself if possible.
fn above(path: &Path) -> Option<PathBuf> {
    match path.parent() {
        Some(parent) if path.file_name().is_some() => Some(parent.to_owned()),
        _ => path.canonicalize().ok()?.parent().map(Path::to_owned),
    }
}

fn of_directory(path: &Path, hooks: Option<&Path>, scenarios: Option<&Path>) -> Result<Folders, FindError> {
    let mut folders = Vec::new();
    match scenarios {
        Some(folder) => folders.push(folder.to_owned()),
        None => collect(path, 0, &mut folders)?,
    }
    let mut found = Folders::new();
    for folder in folders {
        let whole = folder.canonicalize().map_err(|error| FindError::Unreadable(folder.clone(), error))?;
        let above = whole.parent().unwrap_or(&whole);
        // A module may be a link, whose name counts.
        let named = folder.parent().filter(|directory| directory.file_name().is_some()).unwrap_or(above);
        let directory = if scenarios.is_some() && is_module(path) { path } else { named };
        let subject = if hooks.is_none() && is_module(directory) {
            Subject::Module { name: name_of(directory)?, directory: directory.to_owned() }
        } else {
            let name = name(above)?;
            Subject::Hook { component: component(&name, &folder, hooks)?, name }
        };
        found.insert(folder, subject);
    }
    Ok(found)
}

fn collect(path: &Path, depth: usize, folders: &mut Vec<PathBuf>) -> Result<(), FindError> {
    if path.file_name().is_some_and(|name| name == FOLDER) {
        folders.push(path.to_owned());
        return Ok(());
    }
    let unreadable = |error| FindError::Unreadable(path.to_owned(), error);
    for entry in std::fs::read_dir(path).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let name = entry.file_name();
        let skipped = ["target", "node_modules"].iter().any(|skipped| name == *skipped);
        let is_folder = entry.file_type().map_err(unreadable)?.is_dir();
        if is_folder && !skipped && !name.to_string_lossy().starts_with('.') && depth < MAX_DEPTH {
            collect(&entry.path(), depth + 1, folders)?;
        }
    }
    Ok(())
}

/// The component: in the given directory; otherwise next to the scenarios' folder, where `boathook build` puts it, or
/// in a `dist` at or above it.
fn component(hook: &HookName, folder: &Path, hooks: Option<&Path>) -> Result<PathBuf, FindError> {
    let file = format!("{hook}.wasm");
    let up = |levels: usize| {
        let up = [".."].repeat(levels).iter().fold(folder.to_owned(), |path, up| path.join(up));
        up.canonicalize().unwrap_or(up)
    };
    // As in `test/fail` and `dist/test/fail.wasm`.
    let group = up(2).file_name().map(|group| up(3).join("dist").join(group).join(&file));
    let looked = match hooks {
        Some(hooks) => vec![hooks.join(&file)],
        None => [
            up(1).join(&file),
            up(1).join("target/boathook").join(&file),
            up(1).join("dist").join(&file),
            up(2).join(&file),
            up(2).join("dist").join(&file),
            up(3).join("dist").join(&file),
        ]
        .into_iter()
        .chain(group)
        .collect(),
    };
    let found = looked.iter().find(|path| path.is_file()).cloned();
    found.ok_or_else(|| FindError::NoComponent { hook: hook.to_string(), folder: folder.to_owned(), looked })
}

fn name(path: &Path) -> Result<HookName, FindError> {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    HookName::new(&stem).map_err(|error| FindError::Name(path.to_owned(), error))
}

fn files(folder: &Path) -> Result<Vec<PathBuf>, FindError> {
    let unreadable = |error| FindError::Unreadable(folder.to_owned(), error);
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if is_scenario(&path) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
