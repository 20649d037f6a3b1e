//! `boathook rbac`. Never reads a hook.

use std::path::PathBuf;

use clap::Args;

use super::{Connection, Output};

/// `boathook rbac`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  kubectl create namespace boathook                 # it must be there before its roles
  boathook rbac hooks/ | kubectl apply -f -         # for the ServiceAccount boathook in the namespace boathook
  boathook rbac a.wasm b.wasm --namespace ops --per-hook
  boathook rbac hooks/ --crds crds/                 # bindings to kinds that these definitions make
  boathook rbac --hook-bundles --tenant team-a      # what the operator needs to keep HookBundles there
  boathook rbac hooks/ --tenant team-a:hooks        # with these hooks, which act as the ServiceAccount team-a/hooks
  boathook rbac hooks/ --check --kubeconfig operator.yaml
  boathook rbac hooks/ --check --as system:serviceaccount:boathook:boathook
  boathook rbac hooks/ --check --used records/      # what `serve --record` wrote
  boathook rbac hooks/ --check --used operator.log  # the log of `serve --log-format json`

Without --kubeconfig and --context, no cluster is asked what kinds there are: those of Kubernetes itself are known.

Exit codes: 0 when there is nothing to mend, 1 when --check found differences, 2 when a hook, a file or the command
line is wrong, or a cluster gives no answer.")]
pub struct Rbac {
    /// Hooks: components, or directories of them
    #[arg(value_name = "DIR|FILE.wasm", required_unless_present_any = ["hook_bundles", "tenant"])]
    pub hooks: Vec<PathBuf>,
    /// The operator's namespace [default: boathook; with --check, that of --as or of the kubeconfig's context, which
    /// `boathook serve` takes, too]
    #[arg(short, long, value_name = "NAME", value_parser = label)]
    pub namespace: Option<String>,
    /// The operator's ServiceAccount
    #[arg(long, value_name = "NAME", default_value = "boathook", value_parser = label)]
    pub service_account: String,
    /// A ServiceAccount and roles for each hook, which the operator may act as
    #[arg(long)]
    pub per_hook: bool,
    /// What the operator needs to keep HookBundles, too
    #[arg(long, conflicts_with = "per_hook")]
    pub hook_bundles: bool,
    /// A namespace with HookBundles, and the ServiceAccount that their hooks act as [default: default]; the hooks are
    /// theirs, confined to it. May be repeated
    #[arg(long, value_name = "NAMESPACE[:ACCOUNT]", conflicts_with = "per_hook", value_parser = tenant)]
    pub tenant: Vec<Tenant>,
    /// What an operator of several replicas needs, too: its Lease
    #[arg(long)]
    pub leader_elect: bool,
    /// The Lease, as for `boathook serve`
    #[arg(long, value_name = "NAME", default_value = "boathook", requires = "leader_elect")]
    pub lease_name: String,
    /// Secret of the webhooks' certificates, as for `boathook serve`; `none` when these are in files
    #[arg(long, value_name = "NAME", default_value = "boathook-webhook-certificates")]
    pub webhook_secret: String,
    /// Definitions (CustomResourceDefinitions) of kinds that hooks bind; may be repeated
    #[arg(long, value_name = "FILE|DIR")]
    pub crds: Vec<PathBuf>,
    /// The cluster to ask for its kinds, and with --check for rights.
    #[command(flatten)]
    pub connection: Connection,
    /// Print no roles, but what the user of the kubeconfig, or --as, may not do and should
    #[arg(long)]
    pub check: bool,
    /// Ask about this user, like system:serviceaccount:NAMESPACE:NAME
    #[arg(long = "as", value_name = "USER", requires = "check", conflicts_with = "used")]
    pub user: Option<String>,
    /// Ask no cluster, but compare permissions with what runs did: by records of runs, or by the operator's log in
    /// JSON; may be repeated
    #[arg(long, value_name = "DIR|FILE", requires = "check")]
    pub used: Vec<PathBuf>,
    /// Output format [default: yaml, or text with --check]
    #[arg(short, long, value_enum)]
    pub output: Option<Output>,
}

/// A namespace with HookBundles.
#[derive(Debug, Clone)]
pub struct Tenant {
    /// The namespace.
    pub namespace: String,
    /// As whom their hooks act.
    pub service_account: String,
}

fn tenant(text: &str) -> Result<Tenant, String> {
    let (namespace, service_account) = text.split_once(':').unwrap_or((text, "default"));
    Ok(Tenant { namespace: label(namespace)?, service_account: account(service_account)? })
}

/// A name that Kubernetes takes for a ServiceAccount.
fn account(text: &str) -> Result<String, String> {
    text.split('.').try_for_each(|part| label(part).map(drop))?;
    Ok(text.to_owned())
}

/// A name that Kubernetes takes for a namespace, and that leaves room for the names of hooks.
fn label(text: &str) -> Result<String, String> {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if !text.is_empty() && text.len() <= 63 && text.chars().all(inner) && !text.starts_with('-') && !text.ends_with('-')
    {
        return Ok(text.to_owned());
    }
    Err("use 1 to 63 lower-case letters, digits and '-', neither first nor last a '-'".to_owned())
}
