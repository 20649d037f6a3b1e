//! `boathook rbac`: prints the least roles for a set of hooks, and the differences from them. `rbac` decides about
//! rights. Nothing here changes a cluster.

mod check;
mod kinds;
mod load;
mod records;
mod used;

use std::process::ExitCode;

use anyhow::bail;

pub(super) use kinds::local;
pub(super) use records::note;

use boathook_author::rbac::{self, Kinds, Layout, Needs, Tenant};
use boathook_core::model::{HookSpec, error_chain};

use super::{connect, runtime::block_on};
use crate::cli::{Output, rbac::Rbac};

/// Exit code if `--check` found differences.
const DIFFERENCES: u8 = 1;
/// Exit code if an input is invalid, so that no result is possible.
const UNUSABLE: u8 = 2;

pub(super) fn run(args: Rbac) -> anyhow::Result<ExitCode> {
    match block_on(act(&args)) {
        Ok(true) => Ok(ExitCode::SUCCESS),
        Ok(false) => Ok(ExitCode::from(DIFFERENCES)),
        Err(error) => {
            eprintln!("error: {}", error_chain(error.as_ref()));
            Ok(ExitCode::from(UNUSABLE))
        }
    }
}

/// The hooks, and what is known about them.
struct Subject {
    hooks: Vec<HookSpec>,
    kinds: Kinds,
    layout: Layout,
}

impl Subject {
    fn needs(&self) -> anyhow::Result<Needs> {
        Ok(rbac::needs(&self.hooks, &self.kinds, &self.layout)?)
    }
}

/// Returns whether nothing differs.
async fn act(args: &Rbac) -> anyhow::Result<bool> {
    let hooks = load::hooks(&args.hooks).await?;
    let kinds = kinds::of(args, &hooks).await?;
    let layout = Layout {
        namespace: namespace(args).await?,
        service_account: args.service_account.clone(),
        per_hook: args.per_hook,
        webhook_secret: Some(args.webhook_secret.clone()).filter(|name| name != "none"),
        hook_bundles: args.hook_bundles || !args.tenant.is_empty(),
        lease: args.leader_elect.then(|| args.lease_name.clone()),
        tenants: args.tenant.iter().map(tenant).collect(),
    };
    let subject = Subject { hooks, kinds, layout };
    match (args.check, args.used.is_empty()) {
        (false, _) => generate(args, &subject).map(|()| true),
        (true, true) => check::run(args, &subject).await,
        (true, false) => used::run(args, &subject),
    }
}

/// The operator's namespace, for the roles. For a check, the namespace that an operator with this user or kubeconfig
/// would assume.
async fn namespace(args: &Rbac) -> anyhow::Result<String> {
    const INSTALLED: &str = "boathook";
    let account = args.user.as_deref().and_then(|user| user.strip_prefix("system:serviceaccount:"));
    let of_account = account.and_then(|account| account.split_once(':')).map(|(namespace, _)| namespace.to_owned());
    Ok(match (args.namespace.clone().or(of_account), args.check && args.used.is_empty() && args.user.is_none()) {
        (Some(namespace), _) => namespace,
        (None, true) => connect::client(&args.connection).await?.0.default_namespace().to_owned(),
        (None, false) => INSTALLED.to_owned(),
    })
}

fn generate(args: &Rbac, subject: &Subject) -> anyhow::Result<()> {
    let needs = subject.needs()?;
    let manifest = rbac::manifest(&subject.hooks, &needs, &subject.layout);
    match args.output {
        None | Some(Output::Yaml) => print!("{}", rbac::yaml(&manifest)),
        Some(Output::Json) => {
            println!("{:#}", rbac::json(&manifest));
            manifest.notes.iter().for_each(|note| eprintln!("note: {note}"));
        }
        Some(Output::Text) => bail!("roles are printed with -o yaml or -o json; text is for --check"),
    }
    Ok(())
}

fn tenant(args: &crate::cli::rbac::Tenant) -> Tenant {
    Tenant { namespace: args.namespace.clone(), service_account: args.service_account.clone() }
}

fn tell(args: &Rbac, data: &serde_json::Value, text: &str) -> anyhow::Result<()> {
    match args.output {
        None | Some(Output::Text) => print!("{text}"),
        Some(Output::Json) => println!("{data:#}"),
        Some(Output::Yaml) => print!("{}", yaml_serde::to_string(data)?),
    }
    Ok(())
}
