//! The webhook flags of `boathook serve`, and the command line of `boathook uninstall`.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use clap::{Args, Subcommand};

use super::{Connection, Log};

/// Flags for webhooks.
#[derive(Debug, Args)]
pub struct Webhooks {
    /// Address for the API server's requests, over TLS; port 0 picks a free port. The operator listens only if a hook
    /// needs it
    #[arg(long, value_name = "ADDR", default_value = "0.0.0.0:9443", env = "BOATHOOK_WEBHOOK_LISTEN")]
    pub webhook_listen: SocketAddr,
    /// Service in the operator's namespace through which the API server reaches that address, at port 443
    #[arg(long, value_name = "NAME", env = "BOATHOOK_WEBHOOK_SERVICE", conflicts_with = "webhook_url")]
    pub webhook_service: Option<String>,
    /// URL at which the API server reaches that address, for an operator outside the cluster: https://HOST:PORT
    #[arg(long, value_name = "URL", value_parser = https, env = "BOATHOOK_WEBHOOK_URL")]
    pub webhook_url: Option<String>,
    /// Secret in the operator's namespace for the certificates that Boathook creates
    #[arg(long, value_name = "NAME", default_value = "boathook-webhook-certificates", env = "BOATHOOK_WEBHOOK_SECRET")]
    pub webhook_secret: String,
    /// Lifetime of a certificate that Boathook creates, from 1m to 365d. Boathook renews it when a third of that time
    /// is left. Its CA is valid four times as long
    #[arg(long, value_name = "DURATION", default_value = "90d", value_parser = lifetime, env = "BOATHOOK_WEBHOOK_CERTIFICATE_LIFETIME")]
    pub webhook_certificate_lifetime: Duration,
    /// Use the certificates in this directory instead: tls.crt, tls.key and, unless the API server already trusts them,
    /// ca.crt; reloaded when they change
    #[arg(long, value_name = "DIR", env = "BOATHOOK_WEBHOOK_CERTS")]
    pub webhook_certs: Option<PathBuf>,
    /// Accept only clients with a certificate that one of these CAs signed
    #[arg(long, value_name = "FILE", env = "BOATHOOK_WEBHOOK_CLIENT_CA")]
    pub webhook_client_ca: Option<PathBuf>,
    /// Serve and register no webhooks
    #[arg(long, env = "BOATHOOK_NO_WEBHOOKS")]
    pub no_webhooks: bool,
    /// Name that distinguishes this operator's registrations from others in the cluster [default: its namespace]
    #[arg(long, value_name = "NAME", value_parser = label, env = "BOATHOOK_INSTANCE")]
    pub instance: Option<String>,
}

/// The command that removes an operator from a cluster.
#[derive(Debug, Subcommand)]
pub enum Remove {
    /// Remove from the cluster everything that an operator left there
    Uninstall(Uninstall),
}

/// `boathook uninstall`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  boathook uninstall --namespace boathook          # shows what would be removed
  boathook uninstall --namespace boathook --yes    # stop the operator first, or it registers its hooks again

Deletes the hooks' webhook configurations, the Lease, and the Secret with Boathook's own certificates.
Restores the previous conversion of CustomResourceDefinitions. Releases HookBundles and Modules, so that
they can be deleted without an operator.

Exit codes: 0 when nothing is left, 1 when something failed, 2 when something is left and --yes is missing.")]
pub struct Uninstall {
    /// Flags for the connection to the cluster.
    #[command(flatten)]
    pub connection: Connection,
    /// The operator's namespace, which contains the Secret and the Lease [default: the namespace of the kubeconfig's
    /// context, or the Pod's]
    #[arg(short, long, value_name = "NAME")]
    pub namespace: Option<String>,
    /// Name of the operator, as given to `boathook serve` [default: its namespace]
    #[arg(long, value_name = "NAME", value_parser = label, env = "BOATHOOK_INSTANCE")]
    pub instance: Option<String>,
    /// Name of the Secret, as given to `boathook serve`
    #[arg(long, value_name = "NAME", default_value = "boathook-webhook-certificates", env = "BOATHOOK_WEBHOOK_SECRET")]
    pub webhook_secret: String,
    /// Name of the replicas' Lease [default: boathook, or boathook-INSTANCE with --instance, as for `boathook serve`]
    #[arg(long, value_name = "NAME", env = "BOATHOOK_LEASE_NAME")]
    pub lease_name: Option<String>,
    /// Remove what was found
    #[arg(long)]
    pub yes: bool,
    /// Flags for the log.
    #[command(flatten)]
    pub log: Log,
}

/// A Service, and the address that replaces it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapped {
    pub namespace: String,
    pub name: String,
    /// Address at which webhooks are called.
    pub address: SocketAddr,
}

pub(super) fn mapped(text: &str) -> Result<Mapped, String> {
    let parts = text.split_once('=').and_then(|(service, address)| Some((service.split_once('/')?, address)));
    let wrong = || "must be NAMESPACE/NAME=ADDRESS:PORT, like policy/webhook=127.0.0.1:9443".to_owned();
    let ((namespace, name), address) = parts.ok_or_else(wrong)?;
    if namespace.is_empty() || name.is_empty() || name.contains('/') {
        return Err(wrong());
    }
    let address = address.parse().map_err(|_| wrong())?;
    Ok(Mapped { namespace: namespace.to_owned(), name: name.to_owned(), address })
}

pub(super) fn https(text: &str) -> Result<String, String> {
    let host = text.strip_prefix("https://").unwrap_or_default().trim_end_matches('/');
    if host.is_empty() || host.contains(['/', '?', '#', '@']) {
        return Err("must be https://HOST or https://HOST:PORT, without a path".to_owned());
    }
    Ok(format!("https://{host}"))
}

/// Checks for a valid value of a Kubernetes label.
fn label(text: &str) -> Result<String, String> {
    let (inner, edge) = (|c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'), char::is_alphanumeric);
    if text.len() <= 63 && text.chars().all(inner) && text.starts_with(edge) && text.ends_with(edge) {
        return Ok(text.to_owned());
    }
    Err("use 1 to 63 letters, digits, '-', '_' and '.', a letter or digit first and last".to_owned())
}

fn lifetime(text: &str) -> Result<Duration, String> {
    let life = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    const DAY: u64 = 24 * 60 * 60;
    if (60..=365 * DAY).contains(&life.as_secs()) { Ok(life) } else { Err("must be from 1m to 365d".to_owned()) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::{https, label, lifetime, mapped};

    #[test]
    fn a_service_stands_for_an_address() {
        let service = mapped("policy/webhook=127.0.0.1:9443").unwrap();
        assert_eq!((service.namespace.as_str(), service.name.as_str()), ("policy", "webhook"));
        assert_eq!(service.address.port(), 9443);
        for bad in ["webhook=127.0.0.1:1", "a/b", "a/b=127.0.0.1", "/b=127.0.0.1:1", "a/b/c=127.0.0.1:1", "a/=[::1]:1"]
        {
            assert!(mapped(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_instance_is_the_value_of_a_label() {
        for (text, fits) in [("ops", true), ("Team_a.2", true), ("", false), ("a-", false), ("two words", false)] {
            assert_eq!(label(text).is_ok(), fits, "{text}");
        }
    }

    #[test]
    fn certificates_live_neither_too_short_nor_for_ever() {
        for (text, fits) in [("1m", true), ("365d", true), ("59s", false), ("366d", false), ("0", false), ("90", false)]
        {
            assert_eq!(lifetime(text).is_ok(), fits, "{text}");
        }
    }

    #[test]
    fn a_url_has_no_path() {
        assert_eq!(https("https://a.example.com:9443/").as_deref(), Ok("https://a.example.com:9443"));
        for bad in ["http://a", "https://", "a.example.com", "https://a/b", "https://u@a"] {
            assert!(https(bad).is_err(), "{bad}");
        }
    }
}
