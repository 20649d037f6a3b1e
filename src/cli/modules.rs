//! The command line of `boathook modules`.

use std::{
    path::PathBuf,
    time::{Duration, SystemTime},
};

use clap::{Args, Subcommand};

use super::{
    Connection, Output,
    admin::{At, Show},
};

/// `boathook modules`
#[derive(Debug, Args)]
pub struct Modules {
    /// What to do.
    #[command(subcommand)]
    pub command: ModulesCommand,
}

/// The commands for modules.
#[derive(Debug, Subcommand)]
pub enum ModulesCommand {
    /// List the modules of directories: their order, what they consist of, and whether they are on
    List(List),
    /// Print the values of a module and check them, or show who wrote a value
    Values(Values),
    /// Print what users configured of the values of a module, as the running operator has it
    Config(Section),
    /// Print what hooks changed of the values of a module, as the running operator has it
    Patches(Section),
    /// Print what the chart of a module renders, or any chart of a directory
    Render(Render),
    /// Show in which order modules run, which modules they need, and why they are on or off
    Graph(Graph),
    /// Show what the operator would do with all modules: what it would create, change and delete
    Plan(Plan),
    /// Show how the objects of a module would change, as `kubectl diff` does
    Diff(Diff),
    /// Take over what Helm, or addon-operator, has installed under the names of modules
    Adopt(Adopt),
    /// List the revisions of a module that are kept in the cluster
    History(History),
    /// Have the operator apply the manifests of an earlier revision of a module again
    Rollback(Rollback),
    /// Turn a module on in the ConfigMap
    Enable(Turn),
    /// Turn a module off in the ConfigMap
    Disable(Turn),
}

/// The operator whose modules are meant.
#[derive(Debug, Args)]
pub struct Place {
    /// The cluster.
    #[command(flatten)]
    pub connection: Connection,
    /// Namespace of the operator [default: that of the context]
    #[arg(long, value_name = "NAME")]
    pub namespace: Option<String>,
}

/// The ConfigMap with the configuration.
#[derive(Debug, Args)]
pub struct Configured {
    /// ConfigMap with the configuration of modules, in the operator's namespace
    #[arg(long, value_name = "NAME", default_value = "addon-operator", env = "BOATHOOK_MODULES_CONFIG_MAP")]
    pub modules_config_map: String,
}

/// What is compared with the cluster.
#[derive(Debug, Args)]
pub struct Compared {
    /// Directory of modules, in addon-operator's layout. May be repeated, and may be a list with `:`. If two directories
    /// have the same module, the first one wins
    #[arg(long, value_name = "DIR", required = true, value_delimiter = ':')]
    pub modules: Vec<PathBuf>,
    /// Directory of global hooks, for the schemas in its `openapi/`
    #[arg(long, value_name = "DIR")]
    pub global_hooks: Option<PathBuf>,
    /// The ConfigMap.
    #[command(flatten)]
    pub config: Configured,
    /// Place in the order of modules whose directories have no number
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub unnumbered_order: u32,
    /// Each directory of modules and each module needs a `values.yaml`
    #[arg(long)]
    pub strict: bool,
    /// The cluster and the namespace.
    #[command(flatten)]
    pub place: Place,
}

/// `boathook modules plan`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  boathook modules plan --modules modules/ --namespace boathook
  boathook modules plan --modules modules/ -o json

The charts are rendered here, from the directories, the ConfigMap and the Modules in the cluster and what hooks
wrote to values, and compared with what the operator applied. Nothing is written, and no hook runs: values that
hooks would write now are not known, and a module with an `enabled` script counts as on. Files of crds/ are not
compared. Nothing is pulled: a module from a registry needs a directory with its files (boathook bundle pull).

Exit codes: 0 when nothing would change, 1 when something would, 2 when it cannot be said.")]
pub struct Plan {
    /// What is compared with the cluster.
    #[command(flatten)]
    pub compared: Compared,
    /// Output format
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    pub output: Output,
}

/// `boathook modules diff`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  boathook modules diff web --modules modules/ --namespace boathook

`boathook modules plan --help` says what is compared. The values of Secrets are hidden.

Exit codes: 0 when nothing would change, 1 when something would, 2 when it cannot be said.")]
pub struct Diff {
    /// The module
    #[arg(value_name = "NAME")]
    pub name: String,
    /// What is compared with the cluster.
    #[command(flatten)]
    pub compared: Compared,
}

/// `boathook modules adopt`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  boathook modules adopt web --modules modules/ --namespace boathook
  boathook modules adopt web api --modules modules/ --namespace boathook --yes

A release of Helm is taken over by the module of the same name, in the operator's namespace. Stop addon-operator first.
Without --yes, the command shows what it would take over, what the operator changes then, and what stands in the way, and
writes nothing. With it, the fields that Helm has become the module's, and the release becomes the revision that the
module's next one follows. No Pod restarts, unless the module's chart renders another one.

The release of Helm stays. The way back: turn the operator off, delete the Secrets boathook-module-NAME and
boathook-module-NAME.vREVISION, and run `helm upgrade`.

Exit codes: 0 when it was taken over, or is planned and nothing stands in the way, 1 when something does, 2 when it cannot
be taken over.")]
pub struct Adopt {
    /// The modules
    #[arg(value_name = "NAME", required = true)]
    pub names: Vec<String>,
    /// Another field manager whose fields become the module's. May be repeated
    #[arg(long, value_name = "NAME")]
    pub manager: Vec<String>,
    /// Take it over
    #[arg(long)]
    pub yes: bool,
    /// What is compared with the cluster.
    #[command(flatten)]
    pub compared: Compared,
}

/// `boathook modules history`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  boathook modules history web --namespace boathook
  boathook modules history web -o json

The last ten revisions are kept. CHANGED says why there is a revision: chart (its files), settings (the ConfigMap,
a Module), hook values, static values (values.yaml, defaults), cluster (what the chart looks up), rollback.

Exit codes: 0 when the module is installed, 2 when it is not, or the cluster cannot be read.")]
pub struct History {
    /// The module
    #[arg(value_name = "NAME")]
    pub name: String,
    /// The cluster and the namespace.
    #[command(flatten)]
    pub place: Place,
    /// Output format
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    pub output: Output,
}

/// `boathook modules rollback`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  boathook modules rollback web --namespace boathook
  boathook modules rollback web --to 3
  boathook modules rollback web --end

The operator applies the manifests of the revision as a new revision, also if the chart or its values are wrong now.
It stays there until the chart or the values of the module change, or until --end. The module's configuration stays
as it is: correct it before --end. Definitions of crds/ do not go back.

Exit codes: 0 when the operator was asked, 2 when there is no such revision, or the cluster cannot be written.")]
pub struct Rollback {
    /// The module
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Revision whose manifests are applied [default: the newest that was deployed and has other manifests]
    #[arg(long, value_name = "REVISION", conflicts_with = "end")]
    pub to: Option<u64>,
    /// End a rollback: apply what the chart and the values give
    #[arg(long)]
    pub end: bool,
    /// The cluster and the namespace.
    #[command(flatten)]
    pub place: Place,
}

/// `boathook modules enable` and `disable`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  boathook modules enable web --namespace boathook
  boathook modules disable web --namespace boathook

This writes the key NAMEEnabled of the ConfigMap, which wins over values.yaml and over global hooks. `enabled` of
a Module in the cluster wins over it. The script `enabled` of a module and the modules that it needs can still turn
it off.

Exit codes: 0 when the ConfigMap says so now, 2 when it cannot be written.")]
pub struct Turn {
    /// The module
    #[arg(value_name = "NAME")]
    pub name: String,
    /// The ConfigMap.
    #[command(flatten)]
    pub config: Configured,
    /// The cluster and the namespace.
    #[command(flatten)]
    pub place: Place,
}

/// Where modules and their values come from.
#[derive(Debug, Args)]
pub struct Sources {
    /// Directory of modules, in addon-operator's layout. May be repeated, and may be a list with `:`. If two directories
    /// have the same module, the first one wins
    #[arg(long, value_name = "DIR", required = true, value_delimiter = ':')]
    pub modules: Vec<PathBuf>,
    /// Directory of global hooks, for the schemas in its `openapi/`
    #[arg(long, value_name = "DIR")]
    pub global_hooks: Option<PathBuf>,
    /// ConfigMap with the configuration, as YAML or JSON
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// JSON patch that a global hook writes to VALUES_JSON_PATCH_PATH. May be repeated; patches are applied in this order
    #[arg(long, value_name = "FILE")]
    pub global_patch: Vec<PathBuf>,
    /// Place in the order of modules whose directories have no number
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub unnumbered_order: u32,
    /// Each directory of modules and each module needs a `values.yaml`
    #[arg(long)]
    pub strict: bool,
    /// Output format
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    pub output: Output,
}

/// The running operator instead of directories.
#[derive(Debug, Args)]
pub struct Live {
    /// Ask the running operator instead of reading directories
    #[arg(long, conflicts_with_all = ["modules", "global_hooks", "config", "global_patch", "strict"])]
    pub live: bool,
    /// Which operator to contact.
    #[command(flatten)]
    pub at: At,
}

impl Live {
    /// Shows once what the operator answers.
    pub fn show(self, output: Output) -> Show {
        Show { output, watch: false, interval: Duration::ZERO, at: self.at }
    }
}

/// `boathook modules config` and `patches`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  boathook modules config web
  boathook modules patches web --show-secrets -o json
  boathook modules patches global

The running operator answers: what users wrote to the ConfigMap and to the Module, or what hooks changed, in the
order of their runs. Texts and numbers may be secret, so they are hidden unless --show-secrets is given.

Exit codes: 0 on success, 1 when the operator refused the request, 4 when no operator answers.")]
pub struct Section {
    /// The module, or `global`
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Show texts and numbers
    #[arg(long)]
    pub show_secrets: bool,
    /// How to print the response.
    #[command(flatten)]
    pub show: Show,
}

/// `boathook modules list`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  boathook modules list --modules modules/
  boathook modules list --modules modules/:more/ --config addon-operator.yaml -o json

Nothing is run: whether a module is on is what static values, --global-patch and --config say. A module with
an `enabled` script that is on can still be turned off by the script.

Exit codes: 0 when all modules can be used, 1 when some cannot, 2 when a file, a directory or the command line
is wrong.")]
pub struct List {
    /// Where modules and their values come from.
    #[command(flatten)]
    pub sources: Sources,
}

/// `boathook modules values`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  boathook modules values web --modules modules/
  boathook modules values web --modules modules/ --config addon-operator.yaml --why web.replicas
  boathook modules values web --modules modules/ --patch discovered.json --for-chart
  boathook modules values web --modules modules/ --config new.yaml --previous-config old.yaml
  boathook modules values web --live --show-secrets

Values come from these layers, and later ones win: `values.yaml` of the directory and of the module, defaults
of config-values.yaml, the configuration, defaults of values.yaml, patches of hooks.

With --live, the running operator answers with the values that hooks and the chart see now. Texts and numbers may be
secret, so they are hidden unless --show-secrets is given.

Exit codes: 0 when the values are valid, 1 when a schema refuses something (the values are printed without it),
or when --why names nothing, 2 when a file, a directory, the module or the command line is wrong. With --live: 0 on
success, 1 when the operator refused the request, 4 when no operator answers.")]
#[command(mut_arg("modules", |arg| arg.required(false).required_unless_present("live")))]
pub struct Values {
    /// The module
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Where modules and their values come from.
    #[command(flatten)]
    pub sources: Sources,
    /// The running operator instead.
    #[command(flatten)]
    pub live: Live,
    /// Show texts and numbers, with --live
    #[arg(long, requires = "live")]
    pub show_secrets: bool,
    /// JSON patch that a hook of the module writes to VALUES_JSON_PATCH_PATH. May be repeated; patches are applied in this
    /// order
    #[arg(long, value_name = "FILE", conflicts_with = "live")]
    pub patch: Vec<PathBuf>,
    /// ConfigMap that --config replaces, for the rules of schemas that compare with the old value
    #[arg(long, value_name = "FILE", requires = "config")]
    pub previous_config: Option<PathBuf>,
    /// Also require what the schema requires for the chart (x-required-for-helm)
    #[arg(long, conflicts_with = "live")]
    pub for_chart: bool,
    /// Show which layers wrote this value: its path, such as web.ports.0 or /web/ports/0
    #[arg(long, value_name = "PATH", conflicts_with = "live")]
    pub why: Option<String>,
}

/// `boathook modules render`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  boathook modules render web --modules modules/ --config addon-operator.yaml
  boathook modules render web --modules modules/ --patch discovered.json --show-only templates/deployment.yaml
  boathook modules render --chart charts/web --values production.yaml --kube-version 1.33

Helm's own library renders the chart, in a sandbox and without a cluster: `lookup` finds nothing. The
passwords and keys that the chart generates are the same each time. They are predictable, so never apply
them. In `boathook serve`, those of a module depend on a secret.

Exit codes: 0 when the chart renders, 1 when the chart or its values are wrong, 2 when a file, a directory, the
module, the engine or the command line is wrong.")]
pub struct Render {
    /// The module
    #[arg(value_name = "NAME", required_unless_present = "chart")]
    pub name: Option<String>,
    /// Directory of modules. May be repeated, and may be a list with `:`
    #[arg(long, value_name = "DIR", required_unless_present = "chart", value_delimiter = ':')]
    pub modules: Vec<PathBuf>,
    /// Directory of global hooks, for the schemas in its `openapi/`
    #[arg(long, value_name = "DIR", conflicts_with = "chart")]
    pub global_hooks: Option<PathBuf>,
    /// ConfigMap with the configuration, as YAML or JSON
    #[arg(long, value_name = "FILE", conflicts_with = "chart")]
    pub config: Option<PathBuf>,
    /// JSON patch that a global hook writes to VALUES_JSON_PATCH_PATH. May be repeated
    #[arg(long, value_name = "FILE", conflicts_with = "chart")]
    pub global_patch: Vec<PathBuf>,
    /// JSON patch that a hook of the module writes to VALUES_JSON_PATCH_PATH. May be repeated
    #[arg(long, value_name = "FILE", conflicts_with = "chart")]
    pub patch: Vec<PathBuf>,
    /// Directory of a chart that is not a module
    #[arg(long, value_name = "DIR", conflicts_with_all = ["name", "modules"])]
    pub chart: Option<PathBuf>,
    /// File with values for --chart, as YAML or JSON. May be repeated; later files win
    #[arg(long, value_name = "FILE", requires = "chart")]
    pub values: Vec<PathBuf>,
    /// Name of the release [default: the name of the module; `release-name` with --chart]
    #[arg(long, value_name = "NAME")]
    pub release: Option<String>,
    /// Namespace of the release
    #[arg(long, value_name = "NAMESPACE", default_value = "default")]
    pub namespace: String,
    /// Version of Kubernetes that the chart sees
    #[arg(long, value_name = "VERSION", default_value = "1.36")]
    pub kube_version: String,
    /// API version that the cluster serves, in addition to those of Kubernetes: monitoring.coreos.com/v1. May be repeated
    #[arg(long, value_name = "VERSION")]
    pub api_versions: Vec<String>,
    /// Print only what this template renders: templates/deployment.yaml. May be repeated
    #[arg(long, value_name = "PATH")]
    pub show_only: Vec<String>,
    /// Also print the files of `crds/`
    #[arg(long)]
    pub include_crds: bool,
    /// Time that the chart sees, in RFC 3339 [default: the current time]
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_rfc3339_weak)]
    pub now: Option<SystemTime>,
}

/// `boathook modules graph`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  boathook modules graph --modules modules/
  boathook modules graph --modules modules/ --config addon-operator.yaml -o json
  boathook modules graph --modules modules/ --dot | dot -Tsvg > modules.svg
  boathook modules graph --live

A module needs those that its module.yaml names in requirements.modules. Without such modules, it waits until
modules with smaller numbers have been tried. Nothing is run, so the state of modules with an `enabled`
script is unknown. With --live, the running operator knows it.

Exit codes: 0 when all modules can be used, 1 when some cannot, 2 when a file, a directory, the graph or the
command line is wrong. With --live: 0 on success, 1 when the operator refused the request, 4 when no operator answers.")]
#[command(mut_arg("modules", |arg| arg.required(false).required_unless_present("live")))]
pub struct Graph {
    /// Where modules and their values come from.
    #[command(flatten)]
    pub sources: Sources,
    /// The running operator instead.
    #[command(flatten)]
    pub live: Live,
    /// Print the graph in the DOT language
    #[arg(long, conflicts_with = "output")]
    pub dot: bool,
}
