//! The directory of a module on its author's machine: read without other modules, and rendered without a cluster.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use boathook_core::{fair::Tenant, model::error_chain};
use boathook_modules::{
    Catalogue, InvalidName, Layout, LayoutError, Module, ModuleName,
    chart::{self, ChartFiles},
};
use boathook_sandbox::{
    Capabilities, Chart, ChartFile, KubeVersion, Manifest, NoCluster, Operation, Release, RenderRequest, Sandbox,
    Secret,
};
use serde_json::Value;
use similar::TextDiff;
use tempfile::TempDir;

use crate::author::Language;

/// What only the directory of a module has. A module has at least one of them.
const PARTS: [&str; 4] = ["module.yaml", "Chart.yaml", "templates", "openapi"];
/// The file with the values that the modules of a directory share.
const SHARED: &str = "values.yaml";
/// What charts see as `now`: the first second of 2026 in UTC. With the machine's time, they would differ each time.
const NOW: Duration = Duration::from_secs(1_767_225_600);
/// The lines around a change.
const CONTEXT: usize = 3;

/// A directory that cannot be used as a module.
#[derive(Debug, thiserror::Error)]
pub enum ModuleError {
    #[error("{} cannot be read", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("{} is not the directory of a module", path.display())]
    Name { path: PathBuf, source: InvalidName },
    #[error("cannot make a directory for the module {name}")]
    Scratch { name: ModuleName, source: io::Error },
}

/// Whether a directory is that of a module. The project of a hook may have a folder of the same name.
pub fn is_module(directory: &Path) -> bool {
    Language::of(directory).is_none() && PARTS.iter().any(|part| directory.join(part).exists())
}

/// The file with the values that a module shares with the other modules of its directory. It may be missing.
pub fn shared(module: &Path) -> PathBuf {
    match module.file_name() {
        Some(_) => module.with_file_name(SHARED),
        None => module.join("..").join(SHARED),
    }
}

/// A directory of modules in which one module is alone, with the shared values of its own directory of modules. It is
/// removed when this is dropped.
#[derive(Debug)]
pub struct Alone {
    scratch: TempDir,
    name: ModuleName,
    /// The module, where its author has it.
    own: PathBuf,
    /// The name of its directory.
    base: String,
}

impl Alone {
    /// # Errors
    /// The directory cannot be read, or has a name that no module has.
    pub fn new(directory: &Path) -> Result<Self, ModuleError> {
        let unreadable = |source| ModuleError::Unreadable { path: directory.to_owned(), source };
        let real = directory.canonicalize().map_err(unreadable)?;
        let (name, base) = named(directory)?;
        let scratch = |source| ModuleError::Scratch { name: name.clone(), source };
        let folder = tempfile::tempdir().map_err(scratch)?;
        let modules = folder.path().join("modules");
        fs::create_dir(&modules).and_then(|()| link(&real, &modules.join(&base))).map_err(scratch)?;
        let alone = Self { scratch: folder, name: name.clone(), own: directory.to_owned(), base };
        if alone.shared().is_file() {
            // A link out of the directory of modules would be refused.
            fs::copy(alone.shared(), modules.join(SHARED)).map_err(scratch)?;
        }
        Ok(alone)
    }

    pub fn name(&self) -> &ModuleName {
        &self.name
    }

    /// The directory of modules.
    pub fn directory(&self) -> PathBuf {
        self.scratch.path().join("modules")
    }

    /// The shared values, where the author has them.
    fn shared(&self) -> PathBuf {
        shared(&self.own)
    }

    /// Reads the module, with the schemas of a directory of global hooks.
    ///
    /// # Errors
    /// It cannot be used. The text names the file, what is wrong with it and what to do.
    pub fn read(&self, global: Option<&Path>) -> Result<(Module, Catalogue), String> {
        let modules = vec![self.directory()];
        let layout = Layout { modules, global: global.map(Path::to_owned), ..Layout::default() };
        let read = |error: &LayoutError| self.shown(&error_chain(error));
        let catalogue = Catalogue::read(&layout).map_err(|error| read(&error))?;
        match catalogue.module(self.name.as_str()).cloned() {
            Some(module) => Ok((module, catalogue)),
            None => {
                let why: Vec<_> = catalogue.broken.iter().map(|(_, error)| read(error)).collect();
                Err(format!("the module {} cannot be used: {}", self.name, why.join("; ")))
            }
        }
    }

    /// A text with the paths of the author.
    pub fn shown(&self, text: &str) -> String {
        let modules = self.directory();
        let path = |path: PathBuf| path.display().to_string();
        text.replace(&path(modules.join(&self.base)), &path(self.own.clone()))
            .replace(&path(modules.join(SHARED)), &path(self.shared()))
    }
}

/// The name of the module in a directory, and the name of the directory.
fn named(directory: &Path) -> Result<(ModuleName, String), ModuleError> {
    let whole = match directory.file_name() {
        Some(_) => Ok(directory.to_owned()),
        None => directory.canonicalize(),
    };
    let whole = whole.map_err(|source| ModuleError::Unreadable { path: directory.to_owned(), source })?;
    let base = whole.file_name().unwrap_or_default().to_string_lossy().into_owned();
    match ModuleName::of_directory(&base) {
        Ok(name) => Ok((name, base)),
        Err(source) => Err(ModuleError::Name { path: directory.to_owned(), source }),
    }
}

/// The name of the module in a directory.
///
/// # Errors
/// The directory has a name that no module has.
pub fn name_of(directory: &Path) -> Result<ModuleName, ModuleError> {
    named(directory).map(|(name, _)| name)
}

#[cfg(unix)]
fn link(directory: &Path, to: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(directory, to)
}

/// The tools for modules run where their scripts do.
#[cfg(not(unix))]
fn link(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// A rendering that needs no cluster, and is the same each time.
pub fn request(files: ChartFiles, values: Value, release: &str) -> RenderRequest {
    let files = files.into_iter().map(|(path, content)| ChartFile { path, content }).collect();
    let kube = KubeVersion { version: "v1.36.0".to_owned(), major: "1".to_owned(), minor: "36".to_owned() };
    RenderRequest {
        chart: Arc::new(Chart::of_directory(files)),
        values,
        release: Release {
            name: release.to_owned(),
            namespace: "default".to_owned(),
            revision: 1,
            operation: Operation::Install,
        },
        capabilities: Arc::new(Capabilities::assumed(kube)),
        skip_schema: false,
        now: now(),
        secret: Secret([0; 32]),
    }
}

fn now() -> SystemTime {
    UNIX_EPOCH + NOW
}

/// What the chart of a module renders to with these values, as one text: its manifests and its hooks.
///
/// # Errors
/// It does not render. The text names the template and its line.
pub async fn manifests(sandbox: &Sandbox, module: &Module, values: Value) -> Result<String, String> {
    if module.chart.is_none() {
        let path = module.path.display();
        return Err(format!("it has no chart: it needs a Chart.yaml or a folder templates/ in {path}"));
    }
    let files = chart::of_module(module).map_err(|error| error_chain(&error))?;
    let request = request(files, values, module.name.as_str());
    // The name has a character that a module's name does not have.
    let tenant = Tenant::hook("module manifests");
    let rendered = sandbox.charts().render(&tenant, request, Arc::new(NoCluster)).await;
    let rendered = rendered.map_err(|error| error.to_string())?;
    let hooks = rendered.hooks.iter().map(|hook| &hook.manifest);
    Ok(rendered.manifests.iter().chain(hooks).map(shown).collect())
}

/// A manifest with its template in a comment.
pub fn shown(manifest: &Manifest) -> String {
    format!("---\n# Source: {}\n{}\n", manifest.source, manifest.text)
}

/// The difference of two texts as `diff -u` shows it, without names. Empty if they are equal.
pub fn unified(before: &str, after: &str) -> String {
    let difference = TextDiff::from_lines(before, after);
    let mut hunks = difference.unified_diff();
    hunks.context_radius(CONTEXT).to_string()
}

#[cfg(all(test, unix))]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn put(path: PathBuf, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn a_module_is_read_alone_with_the_shared_values_of_its_directory() {
        let folder = tempfile::tempdir().unwrap();
        let modules = folder.path().join("modules");
        put(modules.join("values.yaml"), "web: {port: 80}\nwebEnabled: true\n");
        put(modules.join("010-web/templates/a.yaml"), "");
        put(modules.join("020-broken/values.yaml"), "[");
        assert!(is_module(&modules.join("010-web")) && !is_module(&modules));
        let alone = Alone::new(&modules.join("010-web")).unwrap();
        let (module, catalogue) = alone.read(None).unwrap();
        assert_eq!((alone.name().as_str(), module.order, catalogue.modules.len()), ("web", 10, 1));
        assert!(catalogue.broken.is_empty() && catalogue.enabled.contains_key("web"), "{catalogue:?}");

        put(modules.join("010-web/openapi/values.yaml"), "type: 5\n");
        let error = alone.read(None).unwrap_err();
        let file = modules.join("010-web/openapi/values.yaml").display().to_string();
        assert!(error.starts_with("the module web cannot be used: ") && error.contains(&file), "{error}");
    }

    #[test]
    fn a_directory_without_a_modules_name_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let directory = folder.path().join("My_Module");
        fs::create_dir(&directory).unwrap();
        assert!(matches!(Alone::new(&directory), Err(ModuleError::Name { .. })));
        assert!(matches!(Alone::new(&folder.path().join("none")), Err(ModuleError::Unreadable { .. })));
        assert!(!is_module(&directory));
    }

    #[test]
    fn a_difference_has_three_lines_around_it() {
        assert_eq!(unified("a\n", "a\n"), "");
        assert_eq!(unified("1\n2\n3\n4\n5\n", "1\n2\n3\n4\nx\n"), "@@ -2,4 +2,4 @@\n 2\n 3\n 4\n-5\n+x\n");
    }
}
