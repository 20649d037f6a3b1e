//! One version of a bundle that is in the store and trusted, and how it has to run. Pure.

use std::{collections::BTreeMap, sync::Arc};

use boathook_bundle::{ModuleSource, Policy, Pulled, Ready, Reference, Verified};
use boathook_core::model::{
    self, BundleId, CredentialValues, DefinitionSource, HookSource, HttpRule, Identity, Installation, LimitCaps,
    Permission, parse_duration,
};

use super::{Grant, HookBundleSpec, HttpCredential, HttpGrant, Limits};

/// The number of digits of a digest that people see.
const SHOWN: usize = 12;

/// A version of a bundle.
#[derive(Debug, Clone)]
pub(crate) struct Version {
    /// The digest of its manifest, `sha256:…`.
    pub digest: String,
    /// The version in readable form: its tag, and the beginning of its digest.
    pub label: String,
    pub hooks: Vec<HookSource>,
    /// The files of the module, if it is one.
    pub module: Option<ModuleSource>,
    pub definitions: Vec<DefinitionSource>,
    pub schema: Option<String>,
    pub verified: Verified,
    /// Whether the source names its digest.
    pub pinned: bool,
    /// The names of hooks, and what they request.
    pub requested: BTreeMap<String, Vec<Permission>>,
    /// The version as it was pulled, to remember it when it runs. `None` if it came from the store.
    pub pulled: Option<Arc<(Pulled, Policy)>>,
}

impl Version {
    /// The permissions of a single component are not known yet.
    pub fn new(ready: Ready, at: &Reference, verified: Verified) -> Self {
        let digest = ready.digest.to_string();
        let requested = ready.hooks.iter().filter_map(|hook| Some((hook.name.to_string(), hook.declared.clone()?)));
        Self {
            label: label(at.tag(), &digest),
            requested: requested.collect(),
            hooks: ready.hooks,
            module: ready.module,
            definitions: ready.definitions,
            schema: ready.settings_schema,
            verified,
            pinned: at.digest().is_some(),
            pulled: None,
            digest,
        }
    }

    /// How the HookBundle wants the version to run. `confined` says that its hooks may act only in its own namespace.
    pub fn installation(&self, namespace: &str, name: &str, spec: &HookBundleSpec, confined: bool) -> Installation {
        let id = BundleId { namespace: Some(namespace.to_owned()), name: name.to_owned() };
        let settings = spec.settings.as_ref().map(|settings| settings.text().to_owned());
        Installation {
            definitions: self.definitions.clone(),
            identity: Some(Identity {
                namespace: namespace.to_owned(),
                service_account: spec.service_account_name.clone(),
            }),
            grants: Some(permissions(&spec.grants)),
            credentials: credentials(&spec.http_credentials, &id),
            settings,
            settings_schema: self.schema.clone(),
            limits: caps(spec.limits.as_ref()),
            confined_to: confined.then(|| namespace.to_owned()),
            suspended: spec.suspend,
            ..Installation::new(id, self.digest.clone(), self.hooks.clone())
        }
    }
}

/// For example `v1@0123456789ab`.
pub(super) fn label(tag: Option<&str>, digest: &str) -> String {
    let hex = digest.strip_prefix("sha256:").unwrap_or(digest);
    let short = hex.get(..SHOWN).unwrap_or(hex);
    match tag {
        Some(tag) => format!("{tag}@{short}"),
        None => short.to_owned(),
    }
}

pub(crate) fn permissions(grants: &[Grant]) -> Vec<Permission> {
    let each = grants.iter().map(|grant| match &grant.http {
        Some(HttpGrant { hosts, methods, paths }) => {
            Permission::of_http(HttpRule { hosts: hosts.clone(), methods: methods.clone(), paths: paths.clone() })
        }
        None => Permission {
            api_groups: grant.api_groups.clone(),
            resources: grant.resources.clone(),
            verbs: grant.verbs.clone(),
            resource_names: grant.resource_names.clone(),
            namespaces: grant.namespaces.clone(),
            http: None,
            directory: None,
        },
    });
    each.collect()
}

/// The definition of HookBundles allows one form for each. One without it is left out, and so nothing of it is sent.
fn credentials(all: &[HttpCredential], id: &BundleId) -> Vec<model::HttpCredential> {
    let each = all.iter().filter_map(|HttpCredential { host, secret_name, form }| {
        Some(model::HttpCredential {
            host: host.clone(),
            values: CredentialValues::Secret(secret_name.clone()),
            form: form.one()?,
            place: format!("spec.httpCredentials of HookBundle {id}"),
        })
    });
    each.collect()
}

/// Returns rules that can be pasted into `spec.grants`. There are none for directories, which hooks of HookBundles cannot
/// have.
pub(super) fn grants(permissions: &[Permission]) -> Vec<Grant> {
    let grantable = permissions.iter().filter(|permission| permission.directory.is_none());
    let each = grantable.flat_map(|permission| {
        let kubernetes = Grant {
            api_groups: permission.api_groups.clone(),
            resources: permission.resources.clone(),
            verbs: permission.verbs.clone(),
            resource_names: permission.resource_names.clone(),
            namespaces: permission.namespaces.clone(),
            http: None,
        };
        match &permission.http {
            Some(rule) => {
                http_grants(rule).into_iter().map(|http| Grant { http: Some(http), ..kubernetes.clone() }).collect()
            }
            None => vec![kubernetes],
        }
    });
    each.collect()
}

/// The same rule with lists that are as short as those of a grant.
fn http_grants(rule: &HttpRule) -> Vec<HttpGrant> {
    let mut methods = rule.methods.clone();
    methods.sort_by_key(|method| rule.methods.iter().position(|known| known == method));
    methods.dedup();
    let paths = if rule.paths.is_empty() { vec![&[][..]] } else { rule.paths.chunks(HttpGrant::MAX_ITEMS).collect() };
    let hosts = rule.hosts.chunks(HttpGrant::MAX_ITEMS);
    let each = hosts.flat_map(|hosts| paths.iter().map(move |paths| (hosts.to_vec(), paths.to_vec())));
    each.map(|(hosts, paths)| HttpGrant { hosts, methods: methods.clone(), paths }).collect()
}

/// The limits of runs. An invalid limit counts as zero and not as unlimited.
fn caps(limits: Option<&Limits>) -> LimitCaps {
    let Some(limits) = limits else { return LimitCaps::default() };
    let amount = |text: &Option<String>| text.as_deref().map(|text| bytes(text).unwrap_or_default());
    LimitCaps {
        memory: amount(&limits.memory),
        time: limits.time.as_deref().map(|text| parse_duration(text).unwrap_or_default()),
        host_calls: limits.host_calls.map(|calls| calls.try_into().unwrap_or_default()),
        host_bytes: amount(&limits.host_bytes),
        log_bytes: amount(&limits.log_bytes),
        concurrency: limits.concurrency.map(|runs| runs.try_into().unwrap_or_default()),
    }
}

/// Parses `64Mi`, `1G`, `4096`.
fn bytes(text: &str) -> Option<u64> {
    const UNITS: [(&str, u64); 6] =
        [("Ki", 1 << 10), ("Mi", 1 << 20), ("Gi", 1 << 30), ("k", 1_000), ("M", 1_000_000), ("G", 1_000_000_000)];
    let unit = UNITS.iter().find_map(|(suffix, unit)| text.strip_suffix(suffix).map(|digits| (digits, *unit)));
    let (digits, unit) = unit.unwrap_or((text, 1));
    digits.parse::<u64>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn bounds_are_read() {
        let text = |text: &str| Some(text.to_owned());
        let limits = Limits {
            memory: text("64Mi"),
            time: text("1.5s"),
            host_calls: Some(7),
            host_bytes: text("1k"),
            log_bytes: text("no"),
            concurrency: Some(3),
        };
        let caps = caps(Some(&limits));
        assert_eq!(caps.memory, Some(64 << 20));
        assert_eq!(caps.time, Some(Duration::from_millis(1500)));
        assert_eq!((caps.host_calls, caps.host_bytes, caps.log_bytes), (Some(7), Some(1000), Some(0)));
        assert_eq!(caps.concurrency, Some(3));
        assert_eq!(super::caps(None), LimitCaps::default());
    }

    #[test]
    fn grants_and_permissions_are_the_same_words() {
        let list = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let grant = Grant {
            api_groups: list(&[""]),
            resources: list(&["pods/*"]),
            verbs: list(&["get", "list"]),
            resource_names: list(&["a"]),
            namespaces: list(&["team"]),
            http: None,
        };
        let http = HttpGrant { hosts: list(&["*.a.io"]), methods: list(&["POST"]), paths: list(&["/v1/*"]) };
        let [api_groups, resources, verbs, resource_names, namespaces] = std::array::from_fn(|_| Vec::new());
        let http = Grant { api_groups, resources, verbs, resource_names, namespaces, http: Some(http) };
        let both = [grant, http];
        assert_eq!(grants(&permissions(&both)), both);
        // A document may have longer lists than the definition of HookBundles.
        let many = |what: &str| (0..65).map(|n| format!("{what}{n}")).collect::<Vec<_>>();
        let rule = HttpRule { hosts: many("a"), methods: list(&["GET", "PUT", "GET"]), paths: many("/") };
        let rule = [Permission::of_http(rule)];
        let rules = grants(&rule);
        let lengths: Vec<_> =
            rules.iter().flat_map(|rule| &rule.http).map(|http| (http.hosts.len(), http.paths.len())).collect();
        assert_eq!(lengths, [(64, 64), (64, 1), (1, 64), (1, 1)]);
        assert!(rules.iter().flat_map(|rule| &rule.http).all(|http| http.methods == ["GET", "PUT"]));
        let rule = HttpRule { hosts: many("a"), methods: list(&["GET"]), paths: list(&["/"]) };
        let rule = [Permission::of_http(rule)];
        assert_eq!(boathook_core::model::missing(&rule, &permissions(&grants(&rule))), []);
    }
}
