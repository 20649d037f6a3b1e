//! What is typed of webhooks.

use std::{net::SocketAddr, path::PathBuf};

use clap::{Args, Subcommand};

use super::{Connection, Log};

/// Flags of `boathook serve`.
#[derive(Debug, Args)]
pub struct Webhooks {
    /// Address for the API server's questions, over TLS; port 0 takes a free one. Listened on when a hook needs it
    #[arg(long, value_name = "ADDR", default_value = "0.0.0.0:9443", env = "BOATHOOK_WEBHOOK_LISTEN")]
    pub webhook_listen: SocketAddr,
    /// Service of the operator's namespace by which the API server reaches that address, at port 443
    #[arg(long, value_name = "NAME", env = "BOATHOOK_WEBHOOK_SERVICE", conflicts_with = "webhook_url")]
    pub webhook_service: Option<String>,
    /// Or the URL by which it does, for an operator outside of the cluster: https://HOST:PORT
    #[arg(long, value_name = "URL", value_parser = https, env = "BOATHOOK_WEBHOOK_URL")]
    pub webhook_url: Option<String>,
    /// Secret of the operator's namespace with the certificates that Boathook makes itself
    #[arg(long, value_name = "NAME", default_value = "boathook-webhook-certificates", env = "BOATHOOK_WEBHOOK_SECRET")]
    pub webhook_secret: String,
    /// Take certificates from this directory instead: tls.crt, tls.key and, unless the API server trusts them
    /// anyway, ca.crt; read again when they change
    #[arg(long, value_name = "DIR", env = "BOATHOOK_WEBHOOK_CERTS")]
    pub webhook_certs: Option<PathBuf>,
    /// Answer only clients with a certificate that one of these authorities signed
    #[arg(long, value_name = "FILE", env = "BOATHOOK_WEBHOOK_CLIENT_CA")]
    pub webhook_client_ca: Option<PathBuf>,
    /// Serve no webhooks, and register none
    #[arg(long, env = "BOATHOOK_NO_WEBHOOKS")]
    pub no_webhooks: bool,
    /// Tells this operator's registrations from those of others in the cluster [default: its namespace]
    #[arg(long, value_name = "NAME", env = "BOATHOOK_INSTANCE")]
    pub instance: Option<String>,
}

/// What takes an operator's traces out of a cluster.
#[derive(Debug, Subcommand)]
pub enum Remove {
    /// Take everything out of the cluster that an operator registered there
    Uninstall(Uninstall),
}

/// `boathook uninstall`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  boathook uninstall              # shows what would go
  boathook uninstall --yes        # after the operator was stopped: a running one registers its hooks again

Deletes the hooks' webhook configurations, gives CustomResourceDefinitions the conversion back that they had
before, and lets HookBundles go, so that they can be deleted without an operator.

Exit codes: 0 when nothing is left, 1 when something failed, 2 when there is something and --yes is missing.")]
pub struct Uninstall {
    /// Connection to the cluster.
    #[command(flatten)]
    pub connection: Connection,
    /// The operator's name, as given to `boathook serve` [default: the namespace of the connection]
    #[arg(long, value_name = "NAME", env = "BOATHOOK_INSTANCE")]
    pub instance: Option<String>,
    /// Do it
    #[arg(long)]
    pub yes: bool,
    /// Logging.
    #[command(flatten)]
    pub log: Log,
}

fn https(text: &str) -> Result<String, String> {
    let host = text.strip_prefix("https://").unwrap_or_default().trim_end_matches('/');
    if host.is_empty() || host.contains(['/', '?', '#', '@']) {
        return Err("must be https://HOST or https://HOST:PORT, without a path".to_owned());
    }
    Ok(format!("https://{host}"))
}

#[cfg(test)]
mod tests {
    use super::https;

    #[test]
    fn a_url_has_no_path() {
        assert_eq!(https("https://a.example.com:9443/").as_deref(), Ok("https://a.example.com:9443"));
        for bad in ["http://a", "https://", "a.example.com", "https://a/b", "https://u@a"] {
            assert!(https(bad).is_err(), "{bad}");
        }
    }
}
