//! The command line of `boathook rbac`.

use std::path::PathBuf;

use clap::Args;

use super::{Connection, Output};

/// `boathook rbac`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  kubectl create namespace boathook                 # must exist before its roles
  boathook rbac hooks/ | kubectl apply -f -         # for the ServiceAccount boathook/boathook
  boathook rbac a.wasm b.wasm --namespace ops --per-hook
  boathook rbac hooks/ --crds crds/                 # for bindings to kinds that these CRDs define
  boathook rbac --hook-bundles --tenant team-a      # what the operator needs to run HookBundles there
  boathook rbac hooks/ --tenant team-a:hooks        # these hooks act as the ServiceAccount team-a/hooks
  boathook rbac hooks/ --check --kubeconfig operator.yaml
  boathook rbac hooks/ --check --as system:serviceaccount:boathook:boathook
  boathook rbac hooks/ --check --used records/      # what `serve --record` wrote
  boathook rbac hooks/ --check --used operator.log  # the log of `serve --log-format json`

Without --kubeconfig and --context, boathook queries no cluster for kinds. It knows the kinds of Kubernetes
itself.

Exit codes: 0 when there is nothing to fix, 1 when --check found differences, 2 when a hook, a file or the
command line is wrong, or when a cluster does not answer.")]
pub struct Rbac {
    /// Hooks: components, directories of them, or projects that `boathook build` has built
    #[arg(value_name = "DIR|FILE.wasm", required_unless_present_any = ["hook_bundles", "tenant", "console"])]
    pub hooks: Vec<PathBuf>,
    /// The operator's namespace [default: boathook; with --check, the namespace of --as or of the kubeconfig's context,
    /// as for `boathook serve`]
    #[arg(short, long, value_name = "NAME", value_parser = label)]
    pub namespace: Option<String>,
    /// The operator's ServiceAccount
    #[arg(long, value_name = "NAME", default_value = "boathook", value_parser = label)]
    pub service_account: String,
    /// Print a separate ServiceAccount with roles for each hook, and let the operator impersonate it
    #[arg(long)]
    pub per_hook: bool,
    /// Include what the operator needs to run HookBundles
    #[arg(long, conflicts_with = "per_hook")]
    pub hook_bundles: bool,
    /// Namespace with HookBundles, and the ServiceAccount that their hooks act as [default: default]. The given hooks
    /// belong to it and are confined to it. May be repeated
    #[arg(long, value_name = "NAMESPACE[:ACCOUNT]", conflicts_with = "per_hook", value_parser = tenant)]
    pub tenant: Vec<Tenant>,
    /// Include what an operator with several replicas needs: its Lease
    #[arg(long)]
    pub leader_elect: bool,
    /// Include what the operator needs for its console: it queries the API server about visitors
    #[arg(long)]
    pub console: bool,
    /// Name of the Lease, as for `boathook serve`
    #[arg(long, value_name = "NAME", default_value = "boathook", requires = "leader_elect")]
    pub lease_name: String,
    /// Secret with the webhooks' certificates, as for `boathook serve`; `none` if the certificates are in files
    #[arg(long, value_name = "NAME", default_value = "boathook-webhook-certificates")]
    pub webhook_secret: String,
    /// CustomResourceDefinitions of kinds that hooks watch; may be repeated
    #[arg(long, value_name = "FILE|DIR")]
    pub crds: Vec<PathBuf>,
    /// Flags for the cluster to query for its kinds, and with --check for rights.
    #[command(flatten)]
    pub connection: Connection,
    /// Instead of roles, print the rights that the kubeconfig's user, or the user of --as, needs but does not have
    #[arg(long)]
    pub check: bool,
    /// Check the rights of this user, for example system:serviceaccount:NAMESPACE:NAME
    #[arg(long = "as", value_name = "USER", requires = "check", conflicts_with = "used")]
    pub user: Option<String>,
    /// Query no cluster, but compare permissions with what runs did, from records of runs or from the operator's log in
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
    pub namespace: String,
    /// The ServiceAccount that their hooks act as.
    pub service_account: String,
}

fn tenant(text: &str) -> Result<Tenant, String> {
    let (namespace, service_account) = text.split_once(':').unwrap_or((text, "default"));
    Ok(Tenant { namespace: label(namespace)?, service_account: account(service_account)? })
}

/// Checks for a valid name of a Kubernetes ServiceAccount.
fn account(text: &str) -> Result<String, String> {
    text.split('.').try_for_each(|part| label(part).map(drop))?;
    Ok(text.to_owned())
}

/// Checks for a valid name of a Kubernetes namespace that leaves room for the names of hooks.
pub fn label(text: &str) -> Result<String, String> {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if !text.is_empty() && text.len() <= 63 && text.chars().all(inner) && !text.starts_with('-') && !text.ends_with('-')
    {
        return Ok(text.to_owned());
    }
    Err("use 1 to 63 lower-case letters, digits and '-', neither first nor last a '-'".to_owned())
}
