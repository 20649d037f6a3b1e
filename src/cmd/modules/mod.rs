//! `boathook modules`: what directories of modules have, where values come from, what charts render, and what the cluster has
//! of them. Runs no hook.

mod cluster;
mod develop;
mod render;

use std::{
    fmt::Write as _,
    fs::File,
    io::Read as _,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context as _, anyhow, bail};
use boathook_modules::{
    Catalogue, Config, Layout, Module, ModuleName, Patch, Refused, Step, Store,
    graph::{Answer, Graph, State, Unknown},
    layout::Chart,
};
use boathook_operator::{
    admin::{
        modules::{GraphView, Part},
        render::{Style, Text as _},
    },
    app::module_node,
};
use serde_json::{Map, Value, json};

pub(super) use develop::run as develop;

use super::{admin, table::aligned};
use crate::cli::{
    Output,
    modules::{self as grammar, List, Modules, ModulesCommand, Sources, Values},
};

/// The longest file that is read. The readers of its content have smaller bounds.
const MAX_BYTES: u64 = 4 * 1024 * 1024;
/// The longest value in a line of text.
const MAX_SHOWN: usize = 200;

pub(super) fn run(args: Modules) -> anyhow::Result<ExitCode> {
    let section = |args: grammar::Section, part| admin::section(&args.name, part, args.show_secrets, args.show);
    let done = match args.command {
        ModulesCommand::Config(args) => return section(args, Part::Config),
        ModulesCommand::Patches(args) => return section(args, Part::Patches),
        ModulesCommand::Values(args) if args.live.live => {
            let how = args.live.show(args.sources.output);
            return admin::section(&args.name, Part::Values, args.show_secrets, how);
        }
        ModulesCommand::Graph(args) if args.live.live => {
            return admin::graph(args.live.at, |view| print_graph(&view, args.dot, args.sources.output));
        }
        ModulesCommand::List(args) => list(&args),
        ModulesCommand::Values(args) => values(&args),
        ModulesCommand::Render(args) => render::run(&args),
        ModulesCommand::Graph(args) => graph(&args),
        ModulesCommand::Plan(args) => cluster::plan(args),
        ModulesCommand::Diff(args) => cluster::diff(args),
        ModulesCommand::Adopt(args) => cluster::adopt(args),
        ModulesCommand::History(args) => cluster::history(args),
        ModulesCommand::Rollback(args) => cluster::rollback(args),
        ModulesCommand::Enable(args) => cluster::turn(args, true),
        ModulesCommand::Disable(args) => cluster::turn(args, false),
    };
    Ok(super::exit_code(done))
}

/// Whether all modules can be used.
fn list(args: &List) -> anyhow::Result<bool> {
    let catalogue = catalogue(&args.sources)?;
    let mut loaded = Loaded::new(&catalogue);
    loaded.take(&args.sources, None)?;
    let rows: Vec<Value> = catalogue.modules.iter().map(|module| row(module, &loaded.store)).collect();
    super::print(args.sources.output, &Value::Array(rows), || table(&catalogue, &loaded.store))?;
    loaded.report();
    Ok(loaded.problems.is_empty() && catalogue.broken.is_empty())
}

/// Whether the values are valid.
fn values(args: &Values) -> anyhow::Result<bool> {
    let catalogue = catalogue(&args.sources)?;
    let module = named(&catalogue, &args.name)?;
    let mut loaded = Loaded::new(&catalogue);
    if let Some(path) = &args.previous_config {
        loaded.configure(path)?;
        // What was wrong before is not what this is about.
        loaded.problems.clear();
    }
    loaded.take(&args.sources, Some(&module.name))?;
    for path in &args.patch {
        loaded.patch(path, Some(&module.name))?;
    }
    for key in ["global", module.name.key()] {
        let found = loaded.store.problems(key, args.for_chart)?;
        loaded.problems.extend(found.iter().map(ToString::to_string));
    }
    let found = match &args.why {
        Some(path) => why(&loaded.store, module, path, args.sources.output)?,
        None => {
            let values = loaded.store.values(module.name.key()).context("the module has no values")??;
            // The text is YAML, too.
            super::print(args.sources.output, &values, || yaml_serde::to_string(&values).unwrap_or_default())?;
            true
        }
    };
    loaded.report();
    Ok(found && loaded.problems.is_empty())
}

/// Whether all modules can be used.
fn graph(args: &grammar::Graph) -> anyhow::Result<bool> {
    let catalogue = catalogue(&args.sources)?;
    let mut loaded = Loaded::new(&catalogue);
    loaded.take(&args.sources, None)?;
    let graph = Graph::of(&catalogue)?;
    let vote = |name: &ModuleName| loaded.store.decision(name.key());
    let script = |name: &ModuleName, _: &[ModuleName]| {
        let asks = catalogue.module(name.as_str()).is_some_and(|module| module.enabled.is_some());
        if asks { Answer::Waiting } else { Answer::None }
    };
    let states = graph.states(vote, script);
    let placed = graph.order().iter().filter_map(|name| Some((catalogue.module(name.as_str())?, states.get(name)?)));
    let modules = placed.map(|(module, state)| {
        let (on, why) = decided(state);
        module_node(module, on, why)
    });
    print_graph(&GraphView { modules: modules.collect() }, args.dot, args.sources.output)?;
    loaded.report();
    Ok(loaded.problems.is_empty() && catalogue.broken.is_empty())
}

fn print_graph(view: &GraphView, dot: bool, output: Output) -> anyhow::Result<()> {
    if dot {
        print!("{}", view.dot());
        return Ok(());
    }
    super::print(output, &serde_json::to_value(&view.modules)?, || view.text(Style::Plain))
}

/// Whether a module is on as far as it is known without its script, and why.
fn decided(state: &State) -> (Option<bool>, String) {
    match state {
        State::On(decision) => (Some(true), decision.by.as_ref().map_or_else(String::new, ToString::to_string)),
        State::Off(why) => (Some(false), why.to_string()),
        State::Unknown(Unknown::Script) => (None, "its script `enabled` decides".to_owned()),
        State::Unknown(why) => (None, why.to_string()),
    }
}

fn catalogue(sources: &Sources) -> anyhow::Result<Catalogue> {
    read_catalogue(&Layout {
        modules: sources.modules.clone(),
        global: sources.global_hooks.clone(),
        unnumbered: sources.unnumbered_order,
        strict: sources.strict,
        ..Layout::default()
    })
}

fn read_catalogue(layout: &Layout) -> anyhow::Result<Catalogue> {
    let catalogue = Catalogue::read(layout)?;
    for (_, error) in &catalogue.broken {
        eprintln!("boathook: this module cannot be used: {}", chain(error));
    }
    for warning in &catalogue.warnings {
        eprintln!("boathook: warning: {warning}");
    }
    Ok(catalogue)
}

fn named<'a>(catalogue: &'a Catalogue, name: &str) -> anyhow::Result<&'a Module> {
    catalogue.module(name).ok_or_else(|| {
        let known: Vec<&str> = catalogue.modules.iter().map(|module| module.name.as_str()).collect();
        anyhow!("there is no usable module {name:?}; usable: {}", known.join(", "))
    })
}

/// An error with its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let _ = write!(text, ": {error}");
        cause = error.source();
    }
    text
}

/// Values, and what is wrong with them.
struct Loaded {
    store: Store,
    problems: Vec<String>,
}

impl Loaded {
    fn new(catalogue: &Catalogue) -> Self {
        Self { store: Store::new(catalogue), problems: Vec::new() }
    }

    /// Takes the configuration and the patches of global hooks. Of one module only, if it is given.
    fn take(&mut self, sources: &Sources, of: Option<&ModuleName>) -> anyhow::Result<()> {
        if let Some(path) = &sources.config {
            self.configure_for(path, of)?;
        }
        sources.global_patch.iter().try_for_each(|path| self.patch(path, None))
    }

    fn configure(&mut self, path: &Path) -> anyhow::Result<()> {
        self.configure_for(path, None)
    }

    fn configure_for(&mut self, path: &Path, of: Option<&ModuleName>) -> anyhow::Result<()> {
        let config = Config::of_config_map(&path.display().to_string(), &read(path)?)?;
        let problems = self.store.configure(&config);
        let ours = |key: &str| of.is_none_or(|name| key == name.key() || key == "global");
        self.problems.extend(problems.iter().filter(|problem| ours(&problem.key)).map(ToString::to_string));
        for key in config.keys().filter(|key| self.store.values(key).is_none()) {
            eprintln!("boathook: warning: {} has the key {key}, and there is no module with this key", path.display());
        }
        Ok(())
    }

    fn patch(&mut self, path: &Path, of: Option<&ModuleName>) -> anyhow::Result<()> {
        let patch = Patch::parse(&read(path)?).with_context(|| path.display().to_string())?;
        match self.store.commit(&path.display().to_string(), of, patch) {
            Ok(_) => {}
            Err(Refused::Invalid(problems)) => self.problems.extend(problems.iter().map(ToString::to_string)),
            Err(refused) => self.problems.push(format!("{}: {refused}", path.display())),
        }
        Ok(())
    }

    fn report(&self) {
        for problem in &self.problems {
            eprintln!("boathook: {problem}");
        }
    }
}

fn read(path: &Path) -> anyhow::Result<String> {
    let file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut text = String::new();
    file.take(MAX_BYTES + 1).read_to_string(&mut text).with_context(|| format!("cannot read {}", path.display()))?;
    if text.len() as u64 > MAX_BYTES {
        bail!("{} is larger than {MAX_BYTES} bytes: make it smaller", path.display());
    }
    Ok(text)
}

fn row(module: &Module, store: &Store) -> Value {
    let decision = store.decision(module.name.key());
    let paths = |paths: &[PathBuf]| paths.iter().map(|path| json!(path)).collect::<Value>();
    json!({
        "name": module.name.as_str(),
        "key": module.name.key(),
        "order": module.order,
        "path": module.path,
        "on": decision.on,
        "by": decision.by.map(|writer| writer.to_string()),
        "enabledScript": module.enabled,
        "maintenance": maintenance(module, store),
        "chart": module.chart.map(chart),
        "hooks": paths(&module.hooks),
        "crds": paths(&module.crds),
    })
}

fn maintenance(module: &Module, store: &Store) -> &'static str {
    store.maintenance(module.name.key()).as_str()
}

fn chart(chart: Chart) -> &'static str {
    match chart {
        Chart::Own => "Chart.yaml",
        Chart::Templates => "templates",
    }
}

fn table(catalogue: &Catalogue, store: &Store) -> String {
    let mut rows =
        vec![["ORDER", "NAME", "ON", "CHART", "HOOKS", "CRDS", "MAINTENANCE", "DECIDED BY"].map(str::to_owned)];
    for module in &catalogue.modules {
        let decision = store.decision(module.name.key());
        let mut by = decision.by.map_or_else(|| "nobody".to_owned(), |writer| writer.to_string());
        if decision.on && module.enabled.is_some() {
            by.push_str(", unless its script says no");
        }
        rows.push([
            module.order.to_string(),
            module.name.to_string(),
            if decision.on { "yes" } else { "no" }.to_owned(),
            module.chart.map_or("-", chart).to_owned(),
            module.hooks.len().to_string(),
            module.crds.len().to_string(),
            maintenance(module, store).to_owned(),
            by,
        ]);
    }
    aligned(&rows)
}

/// Shows which layers wrote a value. Whether there is one.
fn why(store: &Store, module: &Module, path: &str, output: Output) -> anyhow::Result<bool> {
    let keys: Vec<String> = match path.strip_prefix('/') {
        Some(pointer) => pointer.split('/').map(|key| key.replace("~1", "/").replace("~0", "~")).collect(),
        None => path.split('.').map(str::to_owned).collect(),
    };
    let (section, below) = keys.split_first().context("--why needs a path")?;
    if section != module.name.key() && section != "global" {
        bail!("--why {path}: begin the path with {} or global", module.name.key());
    }
    let steps = store.trace(section, below).context("the module has no values")??;
    let value = steps.last().and_then(|step| step.value.clone());
    let writers: Vec<Value> = steps.iter().map(written).collect();
    let data = json!({"path": path, "set": value.is_some(), "value": value, "writers": writers});
    super::print(output, &data, || {
        let mut text = String::new();
        let Some((last, before)) = steps.split_last() else {
            return format!("{path} has no value, and nothing wrote one\n");
        };
        let _ = writeln!(text, "{path} {}", said(last));
        for step in before.iter().rev() {
            let _ = writeln!(text, "  before: it {}", said(step));
        }
        text
    })?;
    Ok(value.is_some())
}

fn written(step: &Step) -> Value {
    let mut entry = Map::new();
    entry.insert("writer".to_owned(), step.writer.to_string().into());
    entry.insert("value".to_owned(), step.value.clone().unwrap_or_default());
    entry.insert("removed".to_owned(), step.value.is_none().into());
    Value::Object(entry)
}

fn said(step: &Step) -> String {
    match &step.value {
        None => format!("is removed by {}", step.writer),
        Some(value) => {
            let mut text = value.to_string();
            if text.len() > MAX_SHOWN {
                text.truncate(text.floor_char_boundary(MAX_SHOWN));
                text.push_str(" ...");
            }
            format!("is {text}, written by {}", step.writer)
        }
    }
}
