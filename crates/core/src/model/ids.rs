//! Names of hooks, bindings, queues, runs and objects. They are parsed once, and trusted afterwards.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::BundleId;

/// A name that Boathook cannot accept.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{what} name {name:?} is not valid: use 1 to {max} characters out of letters, digits, '-', '_', '.', beginning with a letter or digit"
)]
pub struct InvalidName {
    what: &'static str,
    name: String,
    max: usize,
}

/// A hook's name: the file name of its component without `.wasm`. It is cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HookName(Arc<str>);

impl HookName {
    /// The longest name. The length matters because the name becomes a part of field managers and metric labels.
    pub const MAX: usize = 63;

    pub fn new(name: &str) -> Result<Self, InvalidName> {
        let valid = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        let first = name.chars().next().is_some_and(|c| c.is_ascii_alphanumeric());
        if first && name.len() <= Self::MAX && name.chars().all(valid) {
            Ok(Self(name.into()))
        } else {
            Err(InvalidName { what: "hook", name: name.to_owned(), max: Self::MAX })
        }
    }

    /// The name of a bundle's hook in the operator: `HOOK.BUNDLE.NAMESPACE`, or `HOOK.BUNDLE` for a bundle without a
    /// namespace. No two hooks of bundles have the same name. If the name would be too long, or a part has a dot of its
    /// own, the parts are cut, dots in them become dashes, and a digest of the whole follows.
    pub fn in_bundle(&self, bundle: &BundleId) -> Self {
        let parts = [Some(self.as_str()), Some(bundle.name.as_str()), bundle.namespace.as_deref()];
        let plain: Vec<&str> = parts.into_iter().flatten().collect();
        let text = plain.join(".");
        if text.len() <= Self::MAX && plain.iter().all(|part| !part.contains('.')) {
            return Self(text.into());
        }
        // No name contains `/`.
        let digest = digest(&plain.join("/"));
        // This form always has four parts, which the plain form never has.
        let cut = |part: &str, max: usize| {
            let cut: String = part.chars().take(max).map(|c| if c == '.' { '-' } else { c }).collect();
            cut.trim_end_matches(['-', '_']).to_owned()
        };
        let namespace = bundle.namespace.as_deref().unwrap_or("bundle");
        let (hook, bundle, namespace) = (cut(self.as_str(), 12), cut(&bundle.name, 8), cut(namespace, 8));
        Self(format!("{hook}.{bundle}.{namespace}.{digest}").into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name as a part of an object's name in Kubernetes, and of a webhook's path: a DNS subdomain. A name that is
    /// not a subdomain gets a digest of the name. Therefore no two hooks have the same subdomain, and nobody can choose
    /// a name to get another hook's subdomain.
    pub fn subdomain(&self) -> String {
        let plain = self.0.to_ascii_lowercase().replace('_', "-");
        let fits = |part: &str| !part.is_empty() && !part.starts_with('-') && !part.ends_with('-');
        if *plain == *self.0 && plain.split('.').all(fits) {
            return plain;
        }
        let readable = plain.replace('.', "-");
        format!("{}-{}", readable.trim_end_matches('-'), digest(&self.0))
    }

    /// The name of the hook's webhook configurations.
    pub fn configuration(&self) -> String {
        format!("boathook-{}", self.subdomain())
    }
}

/// 128 bits in hex. A tenant chooses names, and must not be able to find one with another's digest.
fn digest(text: &str) -> String {
    Sha256::digest(text).iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

impl fmt::Display for HookName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A binding of a hook. Authors need not give bindings different names: the second one called `kubernetes` is
/// `kubernetes#2` wherever the two must be distinguished. It is cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "NthOfName", from = "NthOfName")]
pub struct BindingName {
    unique: Arc<str>,
    /// How many bytes of `unique` are the name.
    name: usize,
}

impl BindingName {
    /// Accepts any text, because shell-operator does.
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        let unique = name.into();
        Self { name: unique.len(), unique }
    }

    /// The `n`th binding of this name in its document, counted from 1.
    pub fn nth(name: &str, n: usize) -> Self {
        let unique = if n <= 1 { name.into() } else { format!("{name}#{n}").into() };
        Self { unique, name: name.len() }
    }

    /// The `name` in the document, which contexts show.
    pub fn as_str(&self) -> &str {
        self.unique.get(..self.name).unwrap_or(&self.unique)
    }

    /// A text that no other binding of the same kind has in this hook, for snapshots, logs and metrics.
    pub fn unique(&self) -> &str {
        &self.unique
    }
}

/// A binding's name in data.
#[derive(Serialize, Deserialize)]
struct NthOfName {
    name: String,
    /// The number among bindings of the same name, counted from 1.
    #[serde(default = "first", skip_serializing_if = "is_first")]
    nth: usize,
}

fn first() -> usize {
    1
}

fn is_first(nth: &usize) -> bool {
    *nth <= 1
}

impl From<BindingName> for NthOfName {
    fn from(binding: BindingName) -> Self {
        let nth = binding.unique.get(binding.name + 1..).and_then(|nth| nth.parse().ok());
        Self { name: binding.as_str().to_owned(), nth: nth.unwrap_or(1) }
    }
}

impl From<NthOfName> for BindingName {
    fn from(NthOfName { name, nth }: NthOfName) -> Self {
        Self::nth(&name, nth)
    }
}

impl fmt::Display for BindingName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.unique)
    }
}

/// An ordered line of triggers.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum QueueName {
    /// The hook's own queue, which is the default. No other hook can block it.
    Own(HookName),
    /// A queue that hooks share by name. Names are global. `main` is one of them.
    Shared(Arc<str>),
}

impl QueueName {
    /// The queue `main`, which keeps `onStartup` runs in order.
    pub fn main() -> Self {
        Self::Shared("main".into())
    }

    /// The queue with this name that only hooks of one bundle share: `BUNDLE:NAME`. A hook's own queue stays, under the
    /// hook's name in the operator.
    pub fn in_bundle(&self, bundle: &BundleId) -> Self {
        match self {
            Self::Own(hook) => Self::Own(hook.clone()),
            Self::Shared(name) => Self::Shared(format!("{bundle}:{name}").into()),
        }
    }
}

impl fmt::Display for QueueName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Own(hook) => write!(f, "hook/{hook}"),
            Self::Shared(name) => f.write_str(name),
        }
    }
}

/// Identifies one run of a hook in logs and audit records. It is unique within and between processes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RunId(Arc<str>);

impl RunId {
    /// From a prefix that is unique to the process, and a number that is unique in it.
    pub fn new(process: &str, number: u64) -> Self {
        Self(format!("{process}-{number}").into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// An object's place among the objects of its kind, ordered by namespace, then name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ObjectKey {
    /// `None` for cluster-scoped objects.
    pub namespace: Option<Arc<str>>,
    /// `metadata.name`.
    pub name: Arc<str>,
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(namespace) = &self.namespace {
            write!(f, "{namespace}/")?;
        }
        f.write_str(&self.name)
    }
}

/// Names one object of the cluster.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ObjectRef {
    /// `v1`, `apps/v1`.
    pub api_version: String,
    /// `Secret`.
    pub kind: String,
    /// `None` for cluster-scoped objects.
    pub namespace: Option<String>,
    /// `metadata.name`.
    pub name: String,
}

impl ObjectRef {
    /// The object that this JSON is. What it does not say is empty.
    pub fn of(object: &Value) -> Self {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        Self {
            api_version: text("/apiVersion").unwrap_or_default(),
            kind: text("/kind").unwrap_or_default(),
            namespace: text("/metadata/namespace"),
            name: text("/metadata/name").unwrap_or_default(),
        }
    }
}

impl fmt::Display for ObjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} ", self.api_version, self.kind)?;
        if let Some(namespace) = &self.namespace {
            write!(f, "{namespace}/")?;
        }
        f.write_str(&self.name)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;

    fn named(hook: &str, bundle: &str, namespace: Option<&str>) -> String {
        let id = BundleId { namespace: namespace.map(str::to_owned), name: bundle.to_owned() };
        HookName::new(hook).unwrap().in_bundle(&id).to_string()
    }

    #[test]
    fn hooks_of_bundles_are_named_by_all_three() {
        assert_eq!(named("sync", "team", Some("prod")), "sync.team.prod");
        assert_eq!(named("sync", "team", None), "sync.team");
        let long = named("sync", &"b".repeat(60), Some("prod"));
        assert!(long.starts_with("sync.bbbbbbbb.prod.") && long.len() <= HookName::MAX, "{long}");
        assert!(named("a.b", "c", Some("d")).starts_with("a-b.c.d."));
        let longest = named(&"h".repeat(63), &"b".repeat(60), Some(&"n".repeat(63)));
        assert_eq!(longest.len(), HookName::MAX);
    }

    // mutant: crates/core/src/model/ids.rs: `.take(16).map(|byte| format!("{byte:02x}"))` => `.take(4).map(|byte| format!("{byte:02x}"))`
    #[test]
    fn digests_in_names_have_128_bits() {
        let odd = HookName::new("Odd_One.").unwrap().subdomain();
        let (readable, digest) = odd.rsplit_once('-').unwrap();
        assert_eq!((readable, digest.len()), ("odd-one", 32));
        let long = named("sync", &"b".repeat(60), Some("prod"));
        assert_eq!(long.rsplit_once('.').unwrap().1.len(), 32);
    }

    fn name() -> impl Strategy<Value = String> {
        prop_oneof!["[ab.]{1,3}", "[ab-]{1,70}", "[a-b.]{1,30}"]
    }

    proptest! {
        #[test]
        fn no_two_hooks_of_bundles_have_the_same_name(
            a in ("[ab][ab._-]{0,62}", name(), proptest::option::of("[ab][ab-]{0,62}")),
            b in ("[ab][ab._-]{0,62}", name(), proptest::option::of("[ab][ab-]{0,62}")),
        ) {
            let of = |(hook, bundle, namespace): &(String, String, Option<String>)| {
                named(hook, bundle, namespace.as_deref())
            };
            prop_assert!(HookName::new(&of(&a)).is_ok(), "{}", of(&a));
            prop_assert_eq!(of(&a) == of(&b), a == b, "{} {}", of(&a), of(&b));
        }

        #[test]
        fn not_even_short_ones(
            a in ("[ab][ab.]{0,2}", "[ab][ab.]{0,2}", proptest::option::of("[ab]{1,2}")),
            b in ("[ab][ab.]{0,2}", "[ab][ab.]{0,2}", proptest::option::of("[ab]{1,2}")),
        ) {
            let of = |(hook, bundle, namespace): &(String, String, Option<String>)| {
                named(hook, bundle, namespace.as_deref())
            };
            prop_assert_eq!(of(&a) == of(&b), a == b, "{} {}", of(&a), of(&b));
        }
    }
}
