//! Which modules are in directories with addon-operator's layout, and what belongs to each.
//!
//! ```text
//!  MODULES/values.yaml                       shared static values: global, sections, NAMEEnabled
//!  MODULES/010-NAME/values.yaml              the module's static values
//!                  /openapi/config-values.yaml, openapi/values.yaml
//!                  /Chart.yaml, templates/   the chart
//!                  /module.yaml              version, class, and the modules that it needs
//!                  /hooks/, enabled, check-settings, crds/
//!  GLOBAL/openapi/…                          schemas of the section global
//! ```

mod definition;

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde_json::Value;

use crate::{
    files::{FileError, Root},
    layers::Writer,
    names::{Flag, GLOBAL, InvalidName, ModuleName, flag, numbered},
    schema::Schema,
};

pub use definition::{Class, Definition, Dependency};

/// The most modules of all directories.
const MAX_MODULES: usize = 4096;
/// The most files and folders that are looked at in one folder of a module, with all that is in it.
const MAX_ENTRIES: usize = 10_000;
/// The deepest folder of a module that is looked at.
const MAX_FOLDERS: usize = 16;

/// A layout that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LayoutError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error("{} cannot be a module", .0.display())]
    Name(PathBuf, #[source] InvalidName),
    #[error("{} cannot be a module: write the number before its name with at most nine digits", .0.display())]
    Number(PathBuf),
    #[error("{}: {why}", .0.display(), why = .1)]
    Values(PathBuf, String),
    #[error("{} is missing, and a strict layout needs it: create the file", .0.display())]
    NoValues(PathBuf),
    #[error("{} {why}", .0.display(), why = .1)]
    Schema(PathBuf, String),
    #[error("{}: {why}", .0.display(), why = .1)]
    Definition(PathBuf, String),
    #[error("{} has more than {max} {what}: move some of them away", .0.display(), max = .1, what = .2)]
    TooMany(PathBuf, usize, &'static str),
}

/// What to read, and how.
#[derive(Debug, Clone)]
pub struct Layout {
    /// Directories of modules. The first one that has a module counts.
    pub modules: Vec<PathBuf>,
    /// The directory of global hooks.
    pub global: Option<PathBuf>,
    /// The place in the order of a module without a number.
    pub unnumbered: u32,
    /// Each directory and each module needs a `values.yaml`.
    pub strict: bool,
    /// Files of `crds/` whose names begin with these are not definitions.
    pub crd_filters: Vec<String>,
}

impl Default for Layout {
    fn default() -> Self {
        let crd_filters = ["doc-", "_"].map(str::to_owned).to_vec();
        Self { modules: Vec::new(), global: None, unnumbered: 1, strict: false, crd_filters }
    }
}

/// A section's static values and schemas.
#[derive(Debug, Clone, Default)]
pub struct Section {
    /// Static values, the lowest layer first.
    pub statics: Vec<(Writer, Value)>,
    /// The schema of the configuration and its file.
    pub config: Option<(PathBuf, Arc<Schema>)>,
    /// The schema of the values and its file.
    pub values: Option<(PathBuf, Arc<Schema>)>,
    /// The schema of the values that the chart is rendered with.
    pub helm: Option<Arc<Schema>>,
}

/// Where a module's templates come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Chart {
    /// It has a `Chart.yaml`.
    Own,
    /// It has `templates/` only.
    Templates,
}

/// A module.
#[derive(Debug, Clone)]
pub struct Module {
    pub name: ModuleName,
    /// The place in the order. Modules of one place are independent of each other.
    pub order: u32,
    pub path: PathBuf,
    pub section: Section,
    pub chart: Option<Chart>,
    pub definition: Definition,
    /// The script that decides whether the module is on.
    pub enabled: Option<PathBuf>,
    /// The script that says whether settings are right.
    pub settings_check: Option<PathBuf>,
    /// Executable files of `hooks/`.
    pub hooks: Vec<PathBuf>,
    /// Files of `crds/`.
    pub crds: Vec<PathBuf>,
}

/// All modules of a layout.
#[derive(Debug)]
pub struct Catalogue {
    pub global: Section,
    /// In the order in which they are started.
    pub modules: Vec<Module>,
    /// Which modules static values turn on or off, by key. Shared values win over a module's own.
    pub enabled: BTreeMap<String, (Writer, bool)>,
    /// Directories that cannot be modules, with their names if they have some. The others can.
    pub broken: Vec<(Option<ModuleName>, LayoutError)>,
    /// What is probably wrong, and does not matter to the rest.
    pub warnings: Vec<String>,
}

impl Catalogue {
    /// Reads all modules of a layout. A module that cannot be used is left out.
    ///
    /// # Errors
    /// Something that all modules share cannot be used. The error names the file, what is wrong with it and what to do.
    pub fn read(layout: &Layout) -> Result<Self, LayoutError> {
        let mut reader = Reader {
            layout,
            modules: BTreeMap::new(),
            enabled: BTreeMap::new(),
            broken: Vec::new(),
            warnings: Vec::new(),
        };
        let mut global = Section::default();
        for directory in &layout.modules {
            reader.directory(directory, &mut global)?;
        }
        if let Some(directory) = &layout.global {
            schemas(&Root::new(directory)?, &mut global)?;
        }
        let mut modules: Vec<Module> = reader.modules.into_values().collect();
        modules.sort_by(|a, b| (a.order, &a.name).cmp(&(b.order, &b.name)));
        Ok(Self { global, modules, enabled: reader.enabled, broken: reader.broken, warnings: reader.warnings })
    }

    /// Reads one directory as the only module, whatever the directory's name is.
    ///
    /// # Errors
    /// The directory cannot be used as a module. The error names the file, what is wrong with it and what to do.
    pub fn of_one(name: &ModuleName, directory: &Path) -> Result<(Module, Vec<String>), LayoutError> {
        let layout = Layout::default();
        let mut reader = Reader {
            layout: &layout,
            modules: BTreeMap::new(),
            enabled: BTreeMap::new(),
            broken: Vec::new(),
            warnings: Vec::new(),
        };
        let root = Root::new(directory)?;
        reader.module(directory, name.as_str(), &root, &mut BTreeMap::new())?;
        let Reader { modules, warnings, .. } = reader;
        let module = modules.into_values().next();
        let missing = || FileError::Unreadable(directory.to_owned(), io::ErrorKind::NotFound.into());
        Ok((module.ok_or_else(missing)?, warnings))
    }

    /// The module of a name.
    pub fn module(&self, name: &str) -> Option<&Module> {
        self.modules.iter().find(|module| module.name.as_str() == name)
    }
}

struct Reader<'l> {
    layout: &'l Layout,
    modules: BTreeMap<ModuleName, Module>,
    enabled: BTreeMap<String, (Writer, bool)>,
    broken: Vec<(Option<ModuleName>, LayoutError)>,
    warnings: Vec<String>,
}

impl Reader<'_> {
    fn directory(&mut self, directory: &Path, global: &mut Section) -> Result<(), LayoutError> {
        let root = Root::new(directory)?;
        let mut shared = self.shared(&root, global)?;
        for path in entries(directory)? {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            match fs::metadata(&path) {
                Ok(metadata) if metadata.is_dir() => match self.module(&path, &name, &root, &mut shared) {
                    Ok(()) => {}
                    Err(error @ LayoutError::TooMany(_, MAX_MODULES, _)) => return Err(error),
                    Err(error) => self.broken.push((numbered(&name).1.parse().ok(), error)),
                },
                Ok(_) if name == "values.yaml" => {}
                Ok(_) => self.warn(&path, "is not a directory, and is ignored"),
                Err(error) if error.kind() == io::ErrorKind::NotFound && !name.starts_with('.') => {
                    // Were it only ignored, the module would count as gone, and its objects would be deleted.
                    let error = FileError::Unreadable(path, error).into();
                    self.broken.push((numbered(&name).1.parse().ok(), error));
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(FileError::Unreadable(path, error).into()),
            }
        }
        let values = directory.join("values.yaml");
        for key in shared.keys() {
            self.warn(&values, &format!("has the section {key}, and there is no module with this key"));
        }
        Ok(())
    }

    /// The shared values of a directory. Returns the sections of its modules.
    fn shared(&mut self, root: &Root, global: &mut Section) -> Result<BTreeMap<String, Value>, LayoutError> {
        let path = root.path().join("values.yaml");
        let mut sections = BTreeMap::new();
        for (key, value) in values(root, self.layout.strict)? {
            if key == GLOBAL {
                global.statics.push((Writer::Static(path.clone()), object(&path, &key, value)?));
            } else if let Some((of, Flag::Enabled)) = flag(&key) {
                let on = boolean(&path, &key, &value)?;
                self.enabled.insert(of.to_owned(), (Writer::Static(path.clone()), on));
            } else {
                sections.insert(key.clone(), object(&path, &key, value)?);
            }
        }
        Ok(sections)
    }

    fn module(
        &mut self,
        path: &Path,
        directory: &str,
        above: &Root,
        shared: &mut BTreeMap<String, Value>,
    ) -> Result<(), LayoutError> {
        if directory.starts_with('.') {
            // Volumes of ConfigMaps have such directories.
            return Ok(());
        }
        let (number, name) = numbered(directory);
        let name: ModuleName = name.parse().map_err(|error| LayoutError::Name(path.to_owned(), error))?;
        if number.is_some_and(|digits| digits.len() > 9) {
            return Err(LayoutError::Number(path.to_owned()));
        }
        let from_shared = shared.remove(name.key());
        if let Some(known) = self.modules.get(&name) {
            let why = format!("is ignored: {} is the module {name}", known.path.display());
            self.warn(path, &why);
            return Ok(());
        }
        if self.modules.len() == MAX_MODULES {
            return Err(LayoutError::TooMany(above.path().to_owned(), MAX_MODULES, "modules"));
        }
        // A module may be a link to a directory elsewhere. What is in it may not leave it.
        let root = Root::new(path)?;
        let definition = self.definition(&root, &name)?;
        let of_number = number.and_then(|digits| digits.parse().ok());
        let order = of_number.or(definition.weight).unwrap_or(self.layout.unnumbered);
        let mut section = Section::default();
        if let Some(values) = from_shared {
            section.statics.push((Writer::Static(above.path().join("values.yaml")), values));
        }
        let file = path.join("values.yaml");
        let mut own_vote = None;
        for (key, value) in values(&root, self.layout.strict)? {
            if key == name.key() {
                section.statics.push((Writer::Static(file.clone()), object(&file, &key, value)?));
            } else if flag(&key) == Some((name.key(), Flag::Enabled)) {
                // addon-operator's pages and examples say so, and its code counts shared values only, which win here.
                own_vote = Some(boolean(&file, &key, &value)?);
            } else {
                self.warn(&file, &format!("has the key {key}, and only the section {} counts", name.key()));
            }
        }
        schemas(&root, &mut section)?;
        let is = |below: &str| root.holds(&path.join(below)).map(|there| there.then(|| path.join(below)));
        let chart = match (is("Chart.yaml")?, is("templates")?) {
            (Some(file), _) if file.is_file() => Some(Chart::Own),
            (_, Some(folder)) if folder.is_dir() => Some(Chart::Templates),
            _ => None,
        };
        let mut enabled = is("enabled")?.filter(|file| file.is_file());
        let mut settings_check = is("check-settings")?.filter(|file| file.is_file());
        for found in [&mut enabled, &mut settings_check] {
            if let Some(script) = found.take_if(|script| !executable(script)) {
                self.warn(&script, "is not executable, and decides nothing: make it executable, or remove it");
            }
        }
        let mut hooks = Vec::new();
        for file in files(&root, "hooks", |name| matches!(name, "lib" | "venv"))? {
            let skipped = [".yaml", ".json", ".md", ".txt"].iter().any(|end| file.to_string_lossy().ends_with(end));
            match (skipped, executable(&file)) {
                (true, _) => {}
                (false, true) => hooks.push(file),
                (false, false) => {
                    self.warn(&file, "is not executable, and is not a hook: make it executable, or move it")
                }
            }
        }
        let mut crds = files(&root, "crds", |_| false)?;
        crds.retain(|file| {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            name.ends_with(".yaml") && !self.layout.crd_filters.iter().any(|prefix| name.starts_with(prefix.as_str()))
        });
        if let Some(on) = own_vote {
            self.enabled.entry(name.key().to_owned()).or_insert((Writer::Static(file), on));
        }
        let path = path.to_owned();
        let name_of = name.clone();
        let module = Module { name, order, path, section, chart, definition, enabled, settings_check, hooks, crds };
        self.modules.insert(name_of, module);
        Ok(())
    }

    /// What `module.yaml` says, with the version of the chart if it has none.
    fn definition(&mut self, root: &Root, name: &ModuleName) -> Result<Definition, LayoutError> {
        let path = root.path().join("module.yaml");
        let read = Definition::read(name, root.yaml("module.yaml")?.as_ref());
        let mut definition = read.map_err(|why| LayoutError::Definition(path.clone(), why))?;
        for key in &definition.ignored {
            self.warn(&path, &format!("has requirements.{key}, and only requirements.modules is looked at"));
        }
        if definition.version.is_none() {
            // A chart's file is Helm's business: what is wrong in it, the render says.
            let chart = root.yaml("Chart.yaml").ok().flatten();
            let text = chart.as_ref().and_then(|chart| chart.get("version")?.as_str());
            definition.version = text.and_then(|text| definition::version(text).ok());
        }
        Ok(definition)
    }

    fn warn(&mut self, path: &Path, what: &str) {
        // Many are no more use than some.
        if self.warnings.len() < 1000 {
            self.warnings.push(format!("{} {what}", path.display()));
        }
    }
}

/// The values of a directory, by key.
fn values(root: &Root, strict: bool) -> Result<Vec<(String, Value)>, LayoutError> {
    let path = root.path().join("values.yaml");
    match root.yaml("values.yaml")? {
        Some(Value::Object(values)) => Ok(values.into_iter().collect()),
        Some(Value::Null) => Ok(Vec::new()),
        Some(_) => Err(LayoutError::Values(path, "the file is not a mapping: write keys of modules".to_owned())),
        None if strict => Err(LayoutError::NoValues(path)),
        None => Ok(Vec::new()),
    }
}

/// A section, which may be empty.
fn object(path: &Path, key: &str, value: Value) -> Result<Value, LayoutError> {
    match value {
        Value::Null => Ok(Value::Object(serde_json::Map::new())),
        value @ (Value::Object(_) | Value::Array(_)) => Ok(value),
        _ => Err(LayoutError::Values(
            path.to_owned(),
            format!("{key} is neither a mapping nor a list: write keys below it"),
        )),
    }
}

fn boolean(path: &Path, key: &str, value: &Value) -> Result<bool, LayoutError> {
    let wrong = || LayoutError::Values(path.to_owned(), format!("{key} is not a boolean: write true or false"));
    value.as_bool().ok_or_else(wrong)
}

fn schemas(root: &Root, section: &mut Section) -> Result<(), LayoutError> {
    let path = |below: &str| root.path().join(below);
    let (of_config, of_values) = ("openapi/config-values.yaml", "openapi/values.yaml");
    let invalid = |below: &str| {
        let path = path(below);
        move |why| LayoutError::Schema(path, why)
    };
    if let Some(written) = root.yaml(of_config)? {
        let schema = Schema::of_config(&written).map_err(invalid(of_config))?;
        section.config = Some((path(of_config), Arc::new(schema)));
    }
    if let Some(written) = root.yaml(of_values)? {
        let config = section.config.as_ref().map(|(_, schema)| schema.as_ref());
        let schema = Schema::of_values(&written, config).map_err(invalid(of_values))?;
        let helm = Schema::of_helm(&written, config).map_err(invalid(of_values))?;
        section.values = Some((path(of_values), Arc::new(schema)));
        section.helm = Some(Arc::new(helm));
    }
    Ok(())
}

/// What is in a folder, by name.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, LayoutError> {
    let unreadable = |error| LayoutError::File(FileError::Unreadable(folder.to_owned(), error));
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        if found.len() == MAX_ENTRIES {
            return Err(LayoutError::TooMany(folder.to_owned(), MAX_ENTRIES, "files and folders"));
        }
        found.push(entry.map_err(unreadable)?.path());
    }
    found.sort();
    Ok(found)
}

/// All files below a folder of a module, except hidden ones and those in folders that are skipped.
fn files(root: &Root, below: &str, skip: impl Fn(&str) -> bool) -> Result<Vec<PathBuf>, LayoutError> {
    let top = root.path().join(below);
    let mut found = Vec::new();
    let mut seen = 0;
    if !root.holds(&top)? || !top.is_dir() {
        return Ok(found);
    }
    let mut folders = vec![(top.clone(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        if depth == MAX_FOLDERS {
            return Err(LayoutError::TooMany(top, MAX_FOLDERS, "levels of folders"));
        }
        for path in entries(&folder)? {
            seen += 1;
            if seen > MAX_ENTRIES {
                return Err(LayoutError::TooMany(top, MAX_ENTRIES, "files and folders"));
            }
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            // A link that leads nowhere is nothing.
            if name.starts_with('.') || !root.holds(&path)? {
                continue;
            }
            if path.is_file() {
                found.push(path);
            } else if path.is_dir() && !skip(&name) {
                folders.push((path, depth + 1));
            }
        }
    }
    found.sort();
    Ok(found)
}

fn executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests;
