//! The leader election flags of `boathook serve`.

use std::time::Duration;

use clap::Args;

/// Flags for replicas.
#[derive(Debug, Args)]
pub struct Election {
    /// Run as one of several replicas: a Lease elects the replica that runs hooks. The others answer webhooks and are
    /// ready to take over
    #[arg(long, conflicts_with = "plan", env = "BOATHOOK_LEADER_ELECT")]
    pub leader_elect: bool,
    /// Name of the Lease that all replicas of this operator share [default: boathook, with --instance
    /// boathook-INSTANCE]
    #[arg(long, value_name = "NAME", value_parser = object_name, env = "BOATHOOK_LEASE_NAME")]
    pub lease_name: Option<String>,
    /// Namespace of the Lease [default: the operator's own]
    #[arg(long, value_name = "NAME", value_parser = object_name, env = "BOATHOOK_LEASE_NAMESPACE")]
    pub lease_namespace: Option<String>,
    /// Lease duration, from 2s to 5m: how long standbys wait after the last observed renewal. A leader that cannot
    /// renew the Lease for two thirds of this time ends
    #[arg(long, value_name = "DURATION", default_value = "15s", value_parser = duration, env = "BOATHOOK_LEASE_DURATION")]
    pub lease_duration: Duration,
}

/// Checks for a valid name of a Kubernetes object.
fn object_name(text: &str) -> Result<String, String> {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '.');
    let edge = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    if text.len() <= 253 && text.chars().all(inner) && text.starts_with(edge) && text.ends_with(edge) {
        return Ok(text.to_owned());
    }
    Err("use lower-case letters, digits, '-' and '.', a letter or digit first and last".to_owned())
}

fn duration(text: &str) -> Result<Duration, String> {
    let duration = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    if (2..=300).contains(&duration.as_secs()) { Ok(duration) } else { Err("must be from 2s to 5m".to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::{duration, object_name};

    #[test]
    fn a_lease_is_neither_too_short_nor_too_long() {
        for (text, fits) in [("2s", true), ("15s", true), ("5m", true), ("1s", false), ("6m", false), ("15", false)] {
            assert_eq!(duration(text).is_ok(), fits, "{text}");
        }
    }

    #[test]
    fn a_lease_has_the_name_of_an_object() {
        for (text, fits) in
            [("boathook", true), ("a.b-1", true), ("", false), ("A", false), ("-a", false), ("a/b", false)]
        {
            assert_eq!(object_name(text).is_ok(), fits, "{text}");
        }
    }
}
