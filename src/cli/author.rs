//! The command line of the commands for authors of hooks, and shell completion.

use std::path::PathBuf;

use clap::{Args, Command, CommandFactory as _, Subcommand, ValueEnum};

use super::{Cli, Output, bundle::Registry};

/// Commands for authors of hooks.
#[derive(Debug, Subcommand)]
pub enum Author {
    /// Create the project of a hook, or a module, that is ready to build and test
    New(New),
    /// Build a component from a project, and check that it is a valid hook
    Build(Build),
    /// Read hooks of shell-operator from a directory or an image, report what runs, and write their permissions
    Import(Box<Import>),
    /// Print a completion script for a shell
    Completion(Completion),
}

/// `boathook new`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  boathook new copy-secrets                         # in ./copy-secrets
  boathook new nightly --from schedule --dir hooks/nightly
  boathook new copy-secrets --lang go
  boathook new copy-secrets --lang python
  boathook new copy-secrets --lang ts
  boathook new copy-secrets --lang shell
  boathook new shop --from module --dir modules/010-shop   # a chart with values and a shell hook

Exit codes: 0 when the project was created, 1 when it cannot be created, 2 when the command line is wrong.")]
pub struct New {
    /// Name of the project and of the hook, or of the module: lower-case letters, digits and `-`
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Language of the hook [default: rust; for a module, shell]
    #[arg(long, value_enum)]
    pub lang: Option<Language>,
    /// Folder of the project; created if missing, otherwise it must be empty [default: NAME]
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Template to start with
    #[arg(long, value_name = "TEMPLATE", value_enum, default_value_t = Template::LabelWatcher)]
    pub from: Template,
    /// Use the SDK in this folder instead of the one that `boathook` puts into the project
    #[arg(long, value_name = "DIR")]
    pub sdk_path: Option<PathBuf>,
    /// Use the SDK from the language's package registry, in the version of this program
    #[arg(long, conflicts_with = "sdk_path")]
    pub published_sdk: bool,
}

/// Languages with a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Language {
    /// Rust, built by Cargo.
    Rust,
    /// Go, built by the Go toolchain.
    Go,
    /// TypeScript, run by the shared interpreter
    #[value(name = "ts", alias = "typescript")]
    TypeScript,
    /// JavaScript, run by the shared interpreter
    #[value(name = "js", alias = "javascript")]
    JavaScript,
    /// Python, run by the shared interpreter.
    Python,
    /// bash as shell-operator runs it, run by the shared interpreter.
    #[value(alias = "bash")]
    Shell,
}

/// Templates of projects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Template {
    /// Keep a ConfigMap in each Namespace with a label
    LabelWatcher,
    /// A module: a chart whose values users configure and a shell hook writes
    Module,
    /// Turn a custom resource into a Deployment and a Service
    Operator,
    /// Count Pods on a schedule
    Schedule,
    /// Create a Namespace when the operator starts
    Startup,
    /// Reject Namespaces without a label
    Validating,
}

/// `boathook build`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  boathook build                                    # the project in this folder
  boathook build hooks/nightly --out hooks-dir/     # hooks-dir/nightly.wasm
  boathook build -o json | jq -r .path

The files of a project determine its language. Cargo builds Rust, for the target wasm32-wasip2. Go 1.24 or
newer builds Go, and boathook turns the result into a component. For TypeScript and JavaScript, the project's
own esbuild bundles the hook into one script. The modules of a Python project are packed as they are, which
needs no Python. CARGO and GO name other programs to use.

Exit codes: 0 when the component was built, 1 when it cannot be built (the reason is on stderr), 2 when the
command line is wrong, 3 if the build succeeded but the component is not a valid hook.")]
pub struct Build {
    /// Folder of the project
    #[arg(value_name = "PATH", default_value = ".")]
    pub path: PathBuf,
    /// Where to put the component: a file, or an existing folder [default: target/boathook/NAME.wasm in the project]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Write the custom resources that the hook defines by its types into the project's crd.yaml. Without it, a
    /// crd.yaml that differs is an error
    #[arg(long)]
    pub write_crd: bool,
    /// Output format
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    pub output: Output,
}

/// `boathook import`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  boathook import hooks/                            # reports, and writes NAME.boathook.yaml files
  boathook import hooks/ --dry-run -o json | jq '.hooks[] | select(.runs | not)'
  boathook import registry.example.com/team/shell-operator:v1 --out hooks
  docker save team/hooks:v1 -o image.tar && boathook import image.tar --out hooks
  boathook import hooks/ --records records/         # adds what recorded runs needed
  boathook import hooks/ --bundle team.bundle       # packs the hooks, if all of them run

Tries the commands of a script one by one, without a cluster. If there are scenarios in NAME/scenarios, it
plays them with all permissions, on a cluster in this process, and adds what they needed. An existing
permissions file is kept, and the difference is shown; --force replaces it.

Exit codes: 0 when all hooks run as they are, 1 when one does not, 2 when the input cannot be used.")]
pub struct Import {
    /// Directory with hooks; or an image of shell-operator: HOST/REPOSITORY:TAG, an OCI image layout, or a file of `docker
    /// save`
    #[arg(value_name = "DIR|IMAGE")]
    pub from: String,
    /// Directory for the hooks of an image; new or empty
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Folder of the hooks in an image
    #[arg(long, value_name = "PATH", default_value = "/hooks")]
    pub hooks_dir: String,
    /// Records of runs, as `boathook serve --plan --record DIR` writes them; may be repeated
    #[arg(long, value_name = "DIR|FILE")]
    pub records: Vec<PathBuf>,
    /// CustomResourceDefinitions of kinds that the hooks use; may be repeated
    #[arg(long, value_name = "FILE|DIR")]
    pub crds: Vec<PathBuf>,
    /// Queue for the bindings that name none, so that the hooks run one after the other
    #[arg(long, value_name = "NAME")]
    pub queue: Option<String>,
    /// Replace the permissions in files that are there, and the queue if --queue is given
    #[arg(long)]
    pub force: bool,
    /// Write no files of permissions
    #[arg(long, conflicts_with_all = ["force", "bundle"])]
    pub dry_run: bool,
    /// Pack the hooks into this OCI image layout, or FILE.tar, if all of them run
    #[arg(long, value_name = "LAYOUT")]
    pub bundle: Option<PathBuf>,
    /// Flags for the registry of an image.
    #[command(flatten)]
    pub registry: Registry,
    /// Output format
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    pub output: Output,
}

/// `boathook completion`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  boathook completion bash > ~/.local/share/bash-completion/completions/boathook
  boathook completion fish > ~/.config/fish/completions/boathook.fish
  source <(boathook completion zsh)                 # only for this shell")]
pub struct Completion {
    /// Shell to complete for
    #[arg(value_name = "SHELL", value_enum)]
    pub shell: clap_complete::Shell,
}

impl Completion {
    pub fn script(&self) -> Vec<u8> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut typed_by_people(), "boathook", &mut script);
        script
    }
}

/// The whole command line without the hidden subcommands, which only programs use.
fn typed_by_people() -> Command {
    let all = Cli::command();
    let shown = all.get_subcommands().filter(|subcommand| !subcommand.is_hide_set()).cloned();
    let empty = Command::new("boathook").version(env!("CARGO_PKG_VERSION")).propagate_version(true);
    empty.args(all.get_arguments().cloned()).subcommands(shown)
}
