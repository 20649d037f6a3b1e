//! The command line of `boathook bundle`, and the bundle flags of `boathook serve`.

use std::{path::PathBuf, time::Duration};

use boathook_bundle::Attestation;
use clap::{Args, Subcommand};

use super::Output;

/// `boathook bundle`
#[derive(Debug, Args)]
pub struct Bundle {
    /// The subcommand.
    #[command(subcommand)]
    pub command: BundleCommand,
}

/// The subcommands of `boathook bundle`.
#[derive(Debug, Subcommand)]
pub enum BundleCommand {
    /// Pack hooks into one artifact: an OCI image layout on disk
    Pack(Pack),
    /// Push a bundle, with its signatures, to a registry
    Push(Push),
    /// Pull a bundle's hooks into a directory, if the bundle is trusted
    Pull(Pull),
    /// Show the contents of a bundle and what its hooks request, without pulling them
    Inspect(InspectBundle),
    /// Check whether a bundle is trusted, without pulling its hooks
    Verify(Verify),
    /// Sign a bundle as cosign does
    Sign(Sign),
    /// Attach an SBOM or provenance to a bundle, as a signed attestation
    Attach(Attach),
    /// Save a bundle, with its signatures, as one file
    Save(Save),
    /// Push what `boathook bundle save` saved
    Load(Load),
    /// Pack the WIT package of hooks as the artifact that wkg fetches
    Wit(Wit),
}

/// `boathook bundle pack`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  boathook bundle pack hooks/ -o team.bundle
  boathook bundle pack hooks/ -o team.tar                            # as one file
  boathook bundle pack hooks/ -o team.bundle --tag v1 --source https://git.example.com/team/hooks
  boathook bundle pack project/ -o team.bundle --annotation \"revision=$(git rev-parse HEAD)\"

In DIR, each NAME.wasm and each executable bash script is a hook. The bundle also includes *.json (JSON
Schemas) and *.md files, and the CustomResourceDefinitions in crd.yaml and crds/*.yaml. If DIR is a project,
the hooks are what `boathook build` has built, and the bundle includes the project's settings.schema.json and
README.md; the annotations title, version, description, licenses, url and source come from its Cargo.toml,
package.json or pyproject.toml, unless flags set them. The same files give the same digest: the creation time
is $SOURCE_DATE_EPOCH (seconds since 1970), or else 1970.

Exit codes: 0 when the bundle was packed, 1 when a hook or a file is invalid.")]
pub struct Pack {
    /// Directory with the hooks, or a project
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
    /// Directory to write: new, empty, or an OCI image layout; or a new FILE.tar
    #[arg(short, long, value_name = "LAYOUT")]
    pub output: PathBuf,
    /// Tag of the bundle in the layout
    #[arg(long, value_name = "TAG", default_value = "latest")]
    pub tag: String,
    /// Pack the only hook as a single component's artifact, which wkg and other tools for components read
    #[arg(long)]
    pub wasm: bool,
    /// Flags for annotations.
    #[command(flatten)]
    pub annotations: Annotations,
}

/// `boathook bundle wit`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  boathook bundle wit -o hook.wit.tar
  boathook bundle push hook.wit.tar registry.example.com/boathook/hook:0.1.0   # then, with wkg:
  wkg get boathook:hook@0.1.0 --format wit

The artifact has the WIT package of this program's version, and is reproducible: the creation time is
$SOURCE_DATE_EPOCH (seconds since 1970), or else 1970.

Exit codes: 0 when the package was packed, 1 when it was not.")]
pub struct Wit {
    /// Directory to write: new, empty, or an OCI image layout; or a new FILE.tar
    #[arg(short, long, value_name = "LAYOUT")]
    pub output: PathBuf,
}

/// `boathook bundle push`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  boathook bundle push hooks/ registry.example.com/team/hooks:v1        # also packs it
  boathook bundle push team.bundle registry.example.com/team/hooks:v1   # with its signatures
  boathook bundle push hooks/ localhost:5000/hooks:dev --plain-http
  boathook bundle push project/ registry.example.com/team/web:v1 --wasm # for wkg and the like

Prints the pinned reference. Layers that the registry already has are not sent.

Exit codes: 0 when the bundle was pushed, 1 when it was not.")]
pub struct Push {
    /// Directory with hooks, a project, or a layout: a directory or a tar of it
    #[arg(value_name = "DIR|LAYOUT")]
    pub from: PathBuf,
    /// Destination: HOST/REPOSITORY:TAG
    #[arg(value_name = "REF")]
    pub to: String,
    /// Bundle to push, for a layout with several
    #[arg(long, value_name = "TAG")]
    pub tag: Option<String>,
    /// Pack the only hook as a single component's artifact, which wkg and other tools for components read
    #[arg(long)]
    pub wasm: bool,
    /// Flags for annotations.
    #[command(flatten)]
    pub annotations: Annotations,
    /// Flags for the registry.
    #[command(flatten)]
    pub registry: Registry,
}

/// `boathook bundle pull`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  boathook bundle pull registry.example.com/team/hooks:v1 -o hooks/ --key team.pub
  boathook bundle pull registry.example.com/team/hooks:v1 -o hooks/ --policy trust.yaml
  boathook bundle pull registry.example.com/team/hooks@sha256:… -o hooks/ --unverified

Layers in the store are not pulled again, and an interrupted pull resumes. DIR must not contain other hooks.
Hooks of the previous version are removed. All files of a module are written, into a DIR that is empty.

Exit codes: 0 when the hooks were pulled, 1 when they were not. In that case DIR is unchanged.")]
pub struct Pull {
    /// The bundle: HOST/REPOSITORY with :TAG, @DIGEST or both, or a layout
    #[arg(value_name = "REF|LAYOUT")]
    pub from: String,
    /// Directory for the hooks
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,
    /// Flags for trust.
    #[command(flatten)]
    pub trust: Trust,
    /// Accept the bundle without checking who made it
    #[arg(long, conflicts_with_all = ["key", "digest", "policy"])]
    pub unverified: bool,
    /// Directory for layers [default: the user's cache directory]
    #[arg(long, value_name = "DIR", env = "BOATHOOK_BUNDLE_STORE")]
    pub store: Option<PathBuf>,
    /// Shrink the store to this size afterwards, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 2048)]
    pub store_size: u64,
    /// Flags for the registry.
    #[command(flatten)]
    pub registry: Registry,
}

/// `boathook bundle inspect`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  boathook bundle inspect registry.example.com/team/hooks:v1
  boathook bundle inspect team.bundle -o json | jq -r .digest

The output is what the bundle claims. To check the claims, run `boathook bundle verify`.

Exit codes: 0 when it is a bundle, 1 when it is not.")]
pub struct InspectBundle {
    /// The bundle: HOST/REPOSITORY with :TAG, @DIGEST or both, or a layout
    #[arg(value_name = "REF|LAYOUT")]
    pub from: String,
    /// Output format
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    pub output: Output,
    /// Flags for the registry.
    #[command(flatten)]
    pub registry: Registry,
}

/// `boathook bundle verify`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  boathook bundle verify registry.example.com/team/hooks:v1 --key team.pub
  boathook bundle verify registry.example.com/team/hooks:v1 --policy trust.yaml -o json
  cosign sign --key cosign.key registry.example.com/team/hooks@sha256:…    # verify reads its signatures

Exit codes: 0 when the bundle is trusted, 1 when it is refused, 2 when verification is not possible.")]
pub struct Verify {
    /// The bundle: HOST/REPOSITORY with :TAG, @DIGEST or both, or a layout
    #[arg(value_name = "REF|LAYOUT")]
    pub from: String,
    /// Flags for trust.
    #[command(flatten)]
    pub trust: Trust,
    /// Output format
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    pub output: Output,
    /// Flags for the registry.
    #[command(flatten)]
    pub registry: Registry,
}

/// `boathook bundle sign`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out team.key
  openssl pkey -in team.key -pubout -out team.pub
  boathook bundle sign registry.example.com/team/hooks:v1 --key team.key

The signature is stored next to the bundle, under the tag sha256-DIGEST.sig. If you name the bundle by a tag,
the tag is signed, too.

Exit codes: 0 when the bundle was signed, 1 when it was not.")]
pub struct Sign {
    /// The bundle: HOST/REPOSITORY with :TAG, @DIGEST or both, or a layout
    #[arg(value_name = "REF|LAYOUT")]
    pub from: String,
    /// Private key: unencrypted PKCS #8 in PEM, ECDSA on P-256 or Ed25519
    #[arg(long, value_name = "FILE")]
    pub key: PathBuf,
    /// Flags for the registry.
    #[command(flatten)]
    pub registry: Registry,
}

/// `boathook bundle attach`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  boathook bundle attach registry.example.com/team/hooks:v1 --sbom hooks.cdx.json --key team.key
  boathook bundle attach registry.example.com/team/hooks:v1 --provenance slsa.json --key team.key
  boathook bundle verify registry.example.com/team/hooks:v1 --key team.pub --require sbom --require provenance
  cosign verify-attestation --type cyclonedx --key team.pub registry.example.com/team/hooks@sha256:…

The attestation is an in-toto statement in a Sigstore bundle that refers to the bundle. An SBOM is CycloneDX or SPDX
in JSON. Provenance is a predicate of SLSA, or a whole statement about this bundle.

Exit codes: 0 when all documents are attached, 1 when one is not.")]
pub struct Attach {
    /// The bundle: HOST/REPOSITORY with :TAG, @DIGEST or both, or a layout
    #[arg(value_name = "REF|LAYOUT")]
    pub from: String,
    /// SBOM to attach; may be repeated
    #[arg(long, value_name = "FILE", required_unless_present = "provenance")]
    pub sbom: Vec<PathBuf>,
    /// Provenance to attach; may be repeated
    #[arg(long, value_name = "FILE")]
    pub provenance: Vec<PathBuf>,
    /// Private key: unencrypted PKCS #8 in PEM, ECDSA on P-256 or Ed25519
    #[arg(long, value_name = "FILE")]
    pub key: PathBuf,
    /// Flags for the registry.
    #[command(flatten)]
    pub registry: Registry,
}

/// `boathook bundle save`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  boathook bundle save registry.example.com/team/hooks:v1 -o hooks.tar
  boathook bundle verify hooks.tar --key team.pub
  boathook bundle load hooks.tar registry.internal/team/hooks:v1

The file is an OCI image layout in a tar. It contains the bundle and what the registry has about it: signatures,
attestations and other referrers. Commands take it in place of a layout, and tools such as skopeo read it as an
oci-archive. An existing file is replaced. The contents are not verified.

Exit codes: 0 when the bundle was saved, 1 when it was not.")]
pub struct Save {
    /// The bundle: HOST/REPOSITORY with :TAG, @DIGEST or both, or a layout
    #[arg(value_name = "REF|LAYOUT")]
    pub from: String,
    /// File to write
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Flags for the registry.
    #[command(flatten)]
    pub registry: Registry,
}

/// `boathook bundle load`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  boathook bundle load hooks.tar registry.internal/team/hooks:v1
  boathook bundle load hooks.tar                                     # back to the original reference

Pushes the bundle with its signatures, attestations and other referrers, and prints the pinned reference.

Exit codes: 0 when the bundle was pushed, 1 when it was not.")]
pub struct Load {
    /// File of `boathook bundle save`, or of another tool that writes an oci-archive
    #[arg(value_name = "FILE")]
    pub from: PathBuf,
    /// Destination: HOST/REPOSITORY:TAG [default: the reference that the bundle was saved from]
    #[arg(value_name = "REF")]
    pub to: Option<String>,
    /// Bundle to push, for a file with several
    #[arg(long, value_name = "TAG")]
    pub tag: Option<String>,
    /// Flags for the registry.
    #[command(flatten)]
    pub registry: Registry,
}

/// Bundles that `boathook serve` runs.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Bundles")]
pub struct Served {
    /// Bundle to run: HOST/REPOSITORY with :TAG, @DIGEST or both, or a layout; may be repeated. Its hooks are named
    /// HOOK.BUNDLE, where BUNDLE defaults to the last part of the repository
    #[arg(long = "bundle", value_name = "[BUNDLE=]REF", env = "BOATHOOK_BUNDLES", value_delimiter = ',')]
    pub bundles: Vec<String>,
    /// Settings of a bundle, in a YAML or JSON file; may be repeated
    #[arg(long = "bundle-settings", value_name = "BUNDLE=FILE", requires = "bundles")]
    pub settings: Vec<String>,
    /// How often to re-check tags and settings
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = super::pause, env = "BOATHOOK_BUNDLE_INTERVAL")]
    pub bundle_interval: Duration,
    /// Directory for layers, and for the last version of each bundle, so that the operator can start without the
    /// registry [default: in the user's cache directory]
    #[arg(long, value_name = "DIR", env = "BOATHOOK_BUNDLE_STORE")]
    pub bundle_store: Option<PathBuf>,
    /// Run bundles without checking who made them
    #[arg(long, requires = "bundles", conflicts_with_all = ["key", "digest", "policy"])]
    pub unverified: bool,
    /// Flags for trust.
    #[command(flatten)]
    pub trust: Trust,
    /// Flags for the registries.
    #[command(flatten)]
    pub registry: Registry,
}

impl Served {
    /// Takes the values, and leaves none.
    pub fn take(&mut self) -> Self {
        std::mem::take(self)
    }
}

/// What to trust. At least one is required.
#[derive(Debug, Default, Args)]
pub struct Trust {
    /// Public key (PEM); a signature by any of the given keys is enough; may be repeated
    #[arg(long, value_name = "FILE")]
    pub key: Vec<PathBuf>,
    /// Digest to trust, sha256:…; may be repeated
    #[arg(long, value_name = "DIGEST")]
    pub digest: Vec<String>,
    /// Attestation that one of the keys must have made: sbom or provenance; may be repeated
    #[arg(long, value_name = "KIND", requires = "key")]
    pub require: Vec<Attestation>,
    /// Policy file (BundlePolicy)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["key", "digest", "require"])]
    pub policy: Option<PathBuf>,
}

/// What registries and tools that update references show of a bundle.
#[derive(Debug, Default, Args)]
pub struct Annotations {
    /// URL of the source code
    #[arg(long, value_name = "URL")]
    pub source: Option<String>,
    /// OCI annotation of the bundle, such as version=1.2.0 (for org.opencontainers.image.version) or
    /// com.example.team=web; may be repeated
    #[arg(long = "annotation", value_name = "KEY=VALUE")]
    pub annotations: Vec<String>,
}

/// Flags for a registry.
#[derive(Debug, Default, Args)]
pub struct Registry {
    /// Docker config or pull secret with credentials; commands other than `serve` also run the credential helper that
    /// it names [default: $DOCKER_CONFIG/config.json, ~/.docker/config.json]
    #[arg(long, value_name = "FILE")]
    pub docker_config: Option<PathBuf>,
    /// CA certificates of the registry (PEM)
    #[arg(long, value_name = "FILE")]
    pub ca: Option<PathBuf>,
    /// Connect to the registry over HTTP, without TLS. (For HookBundles, use `insecure` and `boathook serve
    /// --insecure-registry`.)
    #[arg(long)]
    pub plain_http: bool,
}
