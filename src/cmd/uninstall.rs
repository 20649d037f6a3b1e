//! `boathook uninstall`: removes what an operator left in the cluster. It does not stop a running operator.

use std::process::ExitCode;

use boathook_kube::election::lease_name;
use boathook_operator::app::{Left, release, uninstall};

use super::{connect, runtime::block_on, serve};
use crate::cli::webhooks::Uninstall;

/// Exit code if there is something to remove and `--yes` is missing.
const UNCONFIRMED: u8 = 2;

pub(super) fn run(args: Uninstall) -> anyhow::Result<ExitCode> {
    block_on(async {
        serve::init_log(&args.log)?;
        let (client, server) = connect::client(&args.connection).await?;
        let namespace = args.namespace.unwrap_or_else(|| client.default_namespace().to_owned());
        let lease = args.lease_name.unwrap_or_else(|| lease_name(args.instance.as_deref()));
        let instance = args.instance.unwrap_or_else(|| namespace.clone());
        let left = Left { instance: &instance, namespace: &namespace, secret: &args.webhook_secret, lease: &lease };
        let removed = uninstall(client.clone(), left, !args.yes).await?;
        let (deleted, restored, let_go) = if args.yes {
            ("deleted", "restored the conversion of", "no longer keeps")
        } else {
            ("would delete", "would restore the conversion of", "would no longer keep")
        };
        // Printed before the next step, which may fail.
        removed.deleted.iter().for_each(|what| println!("{deleted} {what}"));
        removed.restored.iter().for_each(|name| println!("{restored} {name}"));
        let released = release(&client, !args.yes).await?;
        released.iter().for_each(|name| println!("{let_go} {name}"));
        if removed.is_nothing() && released.is_empty() {
            println!(
                "operator {instance} has left nothing at {server}; its Secret {} and its Lease {} were looked for in \
                 namespace {namespace}: --namespace names another",
                args.webhook_secret, lease
            );
            removed.others.iter().for_each(|other| println!("operator {other} has: --instance {other}"));
            return Ok(ExitCode::SUCCESS);
        }
        if args.yes {
            return Ok(ExitCode::SUCCESS);
        }
        eprintln!("nothing was changed: stop the operator {instance}, and give --yes");
        Ok(ExitCode::from(UNCONFIRMED))
    })
}
