//! `boathook bundle`. Never reads a bundle.

use std::{path::PathBuf, time::Duration};

use clap::{Args, Subcommand};

use super::Output;

/// `boathook bundle`
#[derive(Debug, Args)]
pub struct Bundle {
    /// What to do.
    #[command(subcommand)]
    pub command: BundleCommand,
}

/// The subcommands of `boathook bundle`.
#[derive(Debug, Subcommand)]
pub enum BundleCommand {
    /// Pack hooks into one artifact: an OCI image layout on disk
    Pack(Pack),
    /// Send a bundle, with its signatures, to a registry
    Push(Push),
    /// Bring a bundle's hooks into a directory, if it is trusted
    Pull(Pull),
    /// Show what is in a bundle and what its hooks ask for, without bringing them
    Inspect(InspectBundle),
    /// Say whether a bundle is trusted, without bringing its hooks
    Verify(Verify),
    /// Sign a bundle as cosign does
    Sign(Sign),
}

/// `boathook bundle pack`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  boathook bundle pack hooks/ -o team.bundle
  boathook bundle pack hooks/ -o team.bundle --tag v1 --source https://git.example.com/team/hooks

In DIR, each NAME.wasm is a hook; *.json (JSON Schemas) and *.md go with them. The same files give the same digest:
the time of creation is $SOURCE_DATE_EPOCH (seconds since 1970), or else 1970.

Exit codes: 0 when it was packed, 1 when a hook or a file is wrong.")]
pub struct Pack {
    /// Directory with the hooks
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
    /// Directory to write, new, empty or an OCI image layout
    #[arg(short, long, value_name = "LAYOUT")]
    pub output: PathBuf,
    /// Tag of the bundle in the layout
    #[arg(long, value_name = "TAG", default_value = "latest")]
    pub tag: String,
    /// Address of the source, for people who look at the bundle
    #[arg(long, value_name = "URL")]
    pub source: Option<String>,
}

/// `boathook bundle push`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  boathook bundle push hooks/ registry.example.com/team/hooks:v1        # packs it, too
  boathook bundle push team.bundle registry.example.com/team/hooks:v1   # with its signatures
  boathook bundle push hooks/ localhost:5000/hooks:dev --plain-http

Prints the pinned reference. Layers that the registry has are not sent.

Exit codes: 0 when it was pushed, 1 when not.")]
pub struct Push {
    /// Directory with hooks, or a layout of `boathook bundle pack`
    #[arg(value_name = "DIR|LAYOUT")]
    pub from: PathBuf,
    /// Where to: HOST/REPOSITORY:TAG
    #[arg(value_name = "REF")]
    pub to: String,
    /// Which bundle of a layout with several
    #[arg(long, value_name = "TAG")]
    pub tag: Option<String>,
    /// Address of the source, when hooks are packed
    #[arg(long, value_name = "URL")]
    pub source: Option<String>,
    /// The registry.
    #[command(flatten)]
    pub registry: Registry,
}

/// `boathook bundle pull`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  boathook bundle pull registry.example.com/team/hooks:v1 -o hooks/ --key team.pub
  boathook bundle pull registry.example.com/team/hooks:v1 -o hooks/ --policy trust.yaml
  boathook bundle pull registry.example.com/team/hooks@sha256:… -o hooks/ --unverified

Layers that the store has are not brought again, and a pull that broke off goes on. DIR must hold no other hooks;
those of the version before are removed.

Exit codes: 0 when the hooks are there, 1 when not: then DIR is as it was.")]
pub struct Pull {
    /// The bundle: HOST/REPOSITORY with :TAG, @DIGEST or both, or a layout
    #[arg(value_name = "REF|LAYOUT")]
    pub from: String,
    /// Directory for the hooks
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,
    /// Trust.
    #[command(flatten)]
    pub trust: Trust,
    /// Take it without any check of who made it
    #[arg(long, conflicts_with_all = ["key", "digest", "policy"])]
    pub unverified: bool,
    /// Directory that keeps layers [default: the user's cache directory]
    #[arg(long, value_name = "DIR", env = "BOATHOOK_BUNDLE_STORE")]
    pub store: Option<PathBuf>,
    /// The store is cut down to this many MiB afterwards
    #[arg(long, value_name = "MIB", default_value_t = 2048)]
    pub store_size: u64,
    /// The registry.
    #[command(flatten)]
    pub registry: Registry,
}

/// `boathook bundle inspect`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  boathook bundle inspect registry.example.com/team/hooks:v1
  boathook bundle inspect team.bundle -o json | jq -r .digest

What it shows is what the bundle says of itself: `boathook bundle verify` says whether to believe it.

Exit codes: 0 when it is a bundle, 1 when not.")]
pub struct InspectBundle {
    /// The bundle: HOST/REPOSITORY with :TAG, @DIGEST or both, or a layout
    #[arg(value_name = "REF|LAYOUT")]
    pub from: String,
    /// Output format
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    pub output: Output,
    /// The registry.
    #[command(flatten)]
    pub registry: Registry,
}

/// `boathook bundle verify`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  boathook bundle verify registry.example.com/team/hooks:v1 --key team.pub
  boathook bundle verify registry.example.com/team/hooks:v1 --policy trust.yaml -o json
  cosign sign --key cosign.key registry.example.com/team/hooks@sha256:…    # its signatures are read

Exit codes: 0 when it is trusted, 1 when it is refused, 2 when nothing can be said.")]
pub struct Verify {
    /// The bundle: HOST/REPOSITORY with :TAG, @DIGEST or both, or a layout
    #[arg(value_name = "REF|LAYOUT")]
    pub from: String,
    /// Trust.
    #[command(flatten)]
    pub trust: Trust,
    /// Output format
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    pub output: Output,
    /// The registry.
    #[command(flatten)]
    pub registry: Registry,
}

/// `boathook bundle sign`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out team.key
  openssl pkey -in team.key -pubout -out team.pub
  boathook bundle sign registry.example.com/team/hooks:v1 --key team.key

The signature is stored beside the bundle, under the tag sha256-DIGEST.sig. A tag that names the bundle is signed, too.

Exit codes: 0 when it was signed, 1 when not.")]
pub struct Sign {
    /// The bundle: HOST/REPOSITORY with :TAG, @DIGEST or both, or a layout
    #[arg(value_name = "REF|LAYOUT")]
    pub from: String,
    /// Private key: unencrypted PKCS #8 in PEM, ECDSA on P-256 or Ed25519
    #[arg(long, value_name = "FILE")]
    pub key: PathBuf,
    /// The registry.
    #[command(flatten)]
    pub registry: Registry,
}

/// Bundles that `boathook serve` runs.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Bundles")]
pub struct Served {
    /// Bundle to run: HOST/REPOSITORY with :TAG, @DIGEST or both, or a layout; may be repeated. Its hooks are called
    /// HOOK.NAME; the repository's last part is the name unless one is given
    #[arg(long = "bundle", value_name = "[NAME=]REF", env = "BOATHOOK_BUNDLES", value_delimiter = ',')]
    pub bundles: Vec<String>,
    /// Settings of a bundle: a YAML or JSON file; may be repeated
    #[arg(long = "bundle-settings", value_name = "NAME=FILE", requires = "bundles")]
    pub settings: Vec<String>,
    /// Time between two looks at tags and settings
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = super::pause, env = "BOATHOOK_BUNDLE_INTERVAL")]
    pub bundle_interval: Duration,
    /// Directory that keeps layers, and the last version of each bundle for a start without its registry [default: in
    /// the user's cache directory]
    #[arg(long, value_name = "DIR", env = "BOATHOOK_BUNDLE_STORE")]
    pub bundle_store: Option<PathBuf>,
    /// Run bundles without any check of who made them
    #[arg(long, requires = "bundles", conflicts_with_all = ["key", "digest", "policy"])]
    pub unverified: bool,
    /// Trust.
    #[command(flatten)]
    pub trust: Trust,
    /// Registries.
    #[command(flatten)]
    pub registry: Registry,
}

impl Served {
    /// What was typed, which is gone here then.
    pub fn take(&mut self) -> Self {
        std::mem::take(self)
    }
}

/// What is trusted. One is needed.
#[derive(Debug, Default, Args)]
pub struct Trust {
    /// Public key (PEM) whose signature is enough; may be repeated
    #[arg(long, value_name = "FILE")]
    pub key: Vec<PathBuf>,
    /// Digest that is allowed, sha256:…; may be repeated
    #[arg(long, value_name = "DIGEST")]
    pub digest: Vec<String>,
    /// Policy file (BundlePolicy)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["key", "digest"])]
    pub policy: Option<PathBuf>,
}

/// How to reach a registry.
#[derive(Debug, Default, Args)]
pub struct Registry {
    /// Docker config or pull secret with logins [default: $DOCKER_CONFIG/config.json, ~/.docker/config.json]
    #[arg(long, value_name = "FILE")]
    pub docker_config: Option<PathBuf>,
    /// Certificates (PEM) of the registry's own authority
    #[arg(long, value_name = "FILE")]
    pub ca: Option<PathBuf>,
    /// Speak HTTP without TLS
    #[arg(long)]
    pub plain_http: bool,
}
