//! The client of hooks' HTTP requests, from the flags.

use std::{
    collections::HashSet,
    net::{IpAddr, Ipv6Addr},
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::Context as _;
use boathook_bundle::{Allowed, Reach};
use boathook_core::model::{CredentialValues, HookName, HttpCredential, is_dns_name};
use boathook_egress::{Client, HookCredential, HttpConfig};
use boathook_operator::hookbundle::{AwsSigV4Form, BasicForm, BearerForm, CredentialForm, HeaderForm};
use ipnet::IpNet;
use serde::Deserialize;

use crate::cli::http::Http;

/// `networks` count as not public, too.
pub(super) fn client(args: &Http, networks: &[IpNet]) -> anyhow::Result<Client> {
    let read =
        |file: &std::path::PathBuf| std::fs::read(file).with_context(|| format!("cannot read {}", file.display()));
    let ca = args.http_ca.as_ref().map(read).transpose()?.unwrap_or_default();
    for (flag, hosts) in
        [("--http-private-host", &args.http_private_host), ("--http-insecure-host", &args.http_insecure_host)]
    {
        for host in hosts {
            anyhow::ensure!(
                is_host(host),
                "{flag}: {host:?} is not a host: write HOST or HOST:PORT, such as api.tools.svc:8443"
            );
        }
    }
    let reach = Reach::Public(Arc::new(Allowed {
        private: args.http_private_host.iter().cloned().collect(),
        insecure: args.http_insecure_host.iter().cloned().collect(),
        networks: networks.iter().copied().chain(api_server().map(Into::into)).collect(),
    }));
    let credentials = args.http_credentials.as_deref().map(credentials).transpose()?.unwrap_or_default();
    let declared: Vec<_> = credentials.iter().map(|one| one.credential.clone()).collect();
    let client = Client::new(HttpConfig { reach, ca, credentials, ..HttpConfig::default() }).context("--http-ca")?;
    declared.iter().try_for_each(|one| client.check_declared(one)).context("--http-credentials")?;
    Ok(client)
}

/// The file of `--http-credentials`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct CredentialsFile {
    api_version: String,
    kind: String,
    credentials: Vec<FileCredential>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct FileCredential {
    hooks: Vec<String>,
    host: String,
    /// It has a file for each key, as a mounted Secret has.
    directory: PathBuf,
    header: Option<HeaderForm>,
    basic: Option<BasicForm>,
    bearer: Option<BearerForm>,
    #[serde(rename = "awsSigV4")]
    aws_sig_v4: Option<AwsSigV4Form>,
}

const API_VERSION: &str = "boathook.dev/v1alpha1";
const KIND: &str = "HttpCredentials";

fn credentials(file: &Path) -> anyhow::Result<Vec<HookCredential>> {
    let shown = file.display();
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {shown}"))?;
    let read: CredentialsFile = yaml_serde::from_str(&text).with_context(|| format!("{shown} has no credentials"))?;
    anyhow::ensure!(
        read.api_version == API_VERSION && read.kind == KIND,
        "{shown}: write apiVersion: {API_VERSION} and kind: {KIND}"
    );
    let beside = file.parent().unwrap_or(Path::new(""));
    let mut known = HashSet::new();
    let each = read.credentials.into_iter().enumerate().map(|(at, one)| {
        let place = format!("credentials[{at}] of {shown}");
        let credential = credential(one, beside, &place).with_context(|| place.clone())?;
        for hook in &credential.hooks {
            let host = credential.credential.host.clone();
            let twice = format!("{place}: {host} has another credential for the hook {hook}: leave one of them out");
            anyhow::ensure!(known.insert((hook.clone(), host)), twice);
        }
        Ok(credential)
    });
    each.collect()
}

fn credential(one: FileCredential, beside: &Path, place: &str) -> anyhow::Result<HookCredential> {
    let FileCredential { hooks, host, directory, header, basic, bearer, aws_sig_v4 } = one;
    let hooks = hooks.iter().map(|hook| HookName::new(hook).with_context(|| format!("hooks: {hook:?}")));
    let hooks = hooks.collect::<anyhow::Result<Vec<_>>>()?;
    anyhow::ensure!(!hooks.is_empty(), "hooks is empty: name the hooks whose requests get the credential");
    let form = CredentialForm { header, basic, bearer, aws_sig_v4 }.one();
    let form = form.context("it needs exactly one of header, basic, bearer and awsSigV4")?;
    let values = CredentialValues::Directory(beside.join(directory));
    let credential = HttpCredential { host, values, form, place: place.to_owned() };
    let is_name = |key: &str| {
        let inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        !key.is_empty() && key != "." && key != ".." && key.chars().all(inner)
    };
    if let Some(key) = credential.keys().into_iter().find(|key| !is_name(key)) {
        anyhow::bail!("{key:?} is not a key: write the name of a file in the directory");
    }
    Ok(HookCredential { hooks, credential })
}

/// Whether the text can be the host of a URL. A text that is not one would open nothing, and nobody would notice.
fn is_host(text: &str) -> bool {
    let (host, port) = match text.rsplit_once(':').filter(|(host, _)| !host.starts_with('[') || host.ends_with(']')) {
        Some((host, port)) => (host, port.parse::<u16>().is_ok_and(|port| port != 0)),
        None => (text, true),
    };
    let address = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    port && address
        .map_or_else(|| is_dns_name(&host.to_ascii_lowercase()), |address| address.parse::<Ipv6Addr>().is_ok())
}

/// The one address of a Service that the kubelet sets in each Pod.
pub(super) fn api_server() -> Option<IpAddr> {
    std::env::var("KUBERNETES_SERVICE_HOST").ok().and_then(|host| host.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(private: &[&str], insecure: &[&str]) -> Http {
        let list = |hosts: &[&str]| hosts.iter().map(|host| (*host).to_owned()).collect();
        Http {
            http_private_host: list(private),
            http_insecure_host: list(insecure),
            http_ca: None,
            http_credentials: None,
        }
    }

    #[test]
    fn what_opens_nothing_is_refused() {
        let good = ["api.tools.svc", "API.tools.svc:8443", "10.0.0.1:443", "[::1]", "[::1]:8443", "tools_1"];
        assert!(client(&flags(&good, &good), &[]).is_ok());
        for wrong in
            ["", "*", "*.svc", "http://api.svc", "api.svc/v1", "api.svc:", "api.svc:0", "u@api.svc", "[::1", "::1"]
        {
            for (flag, flags) in
                [("--http-private-host", flags(&[wrong], &[])), ("--http-insecure-host", flags(&[], &[wrong]))]
            {
                let error = client(&flags, &[]).map(|_| ()).map_err(|error| error.to_string());
                assert_eq!(
                    error,
                    Err(format!(
                        "{flag}: {wrong:?} is not a host: write HOST or HOST:PORT, such as api.tools.svc:8443"
                    ))
                );
            }
        }
    }

    fn read(entries: &str, insecure: &[&str]) -> Result<(), String> {
        let directory = tempfile::tempdir().map_err(|error| error.to_string())?;
        let file = directory.path().join("credentials.yaml");
        let text = format!("apiVersion: boathook.dev/v1alpha1\nkind: HttpCredentials\ncredentials:\n{entries}");
        std::fs::write(&file, text).map_err(|error| error.to_string())?;
        let flags = Http { http_credentials: Some(file), ..flags(&[], insecure) };
        client(&flags, &[]).map(drop).map_err(|error| format!("{error:#}"))
    }

    #[test]
    fn credentials_of_the_admins_hooks_are_read_and_what_is_wrong_is_named() {
        let good = "- {hooks: [a, b], host: a.io, directory: a, bearer: {key: token}}
- {hooks: [a], host: \"b.io:8443\", directory: /etc/b, header: {name: X-Api-Key, key: .token}}
- {hooks: [c], host: a.io, directory: a, basic: {}}
- {hooks: [a], host: \"http://c.svc\", directory: a, awsSigV4: {region: r, service: s3}}";
        assert_eq!(read(good, &["c.svc"]), Ok(()));
        for (entries, part) in [
            (good, "--http-insecure-host c.svc"),
            ("- {hooks: [], host: a.io, directory: a, basic: {}}", "credentials[0] of"),
            ("- {hooks: [], host: a.io, directory: a, basic: {}}", "hooks is empty"),
            ("- {hooks: [\"A b\"], host: a.io, directory: a, basic: {}}", "hooks: \"A b\""),
            ("- {hooks: [a], host: a.io, directory: a}", "exactly one of header, basic, bearer and awsSigV4"),
            ("- {hooks: [a], host: a.io, directory: a, basic: {}, bearer: {key: a}}", "exactly one of"),
            ("- {hooks: [a], host: \"*.a.io\", directory: a, basic: {}}", "\"*.a.io\" is not one host"),
            ("- {hooks: [a], host: a.io, directory: a, bearer: {key: ../a}}", "\"../a\" is not a key"),
            ("- {hooks: [a], host: a.io, directory: a, bearer: {key: ..}}", "\"..\" is not a key"),
            ("- {hooks: [a], host: a.io, directory: a, header: {name: Host, key: a}}", "the operator's own"),
            ("- {hooks: [a], host: a.io, directory: a, bearer: {}}", "missing field `key`"),
            ("- {hooks: [a], host: a.io, secretName: a, bearer: {key: a}}", "unknown field `secretName`"),
            (
                "- {hooks: [a, b], host: a.io, directory: a, basic: {}}\n- {hooks: [b], host: a.io, directory: b, basic: {}}",
                "credentials[1] of",
            ),
            (
                "- {hooks: [a, b], host: a.io, directory: a, basic: {}}\n- {hooks: [b], host: a.io, directory: b, basic: {}}",
                "a.io has another credential for the hook b",
            ),
        ] {
            let error = read(entries, &[]).unwrap_err();
            assert!(error.contains(part), "{part:?} is not in {error:?}");
        }
    }
}
