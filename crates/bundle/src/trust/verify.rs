//! Checks a bundle against a policy: the digest, the signatures, and then what it requests. No layer is pulled.

use boathook_core::model::{Permission, error_chain};
use bytes::Bytes;

use super::{
    Attestation, BundledHook, Contents, Digest, NamedKey, Policy, TrustError,
    evidence::{Evidence, Search},
};
use crate::{BundleError, Place};

/// Why a bundle is trusted.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Verified {
    /// Whether its digest is on the list.
    pub by_digest: bool,
    /// The names of the keys that signed it and whose owners may request what it requests.
    pub by_keys: Vec<String>,
    /// The required attestations, each of which one of the keys made.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub attested: Vec<Attestation>,
}

impl Verified {
    /// Whether nothing was demanded of it.
    pub fn is_unchecked(&self) -> bool {
        !self.by_digest && self.by_keys.is_empty()
    }
}

/// A bundle whose origin is trusted. What it requests has not been checked yet.
#[derive(Debug)]
pub(crate) struct Trusted {
    digest: Digest,
    by_digest: bool,
    signers: Vec<NamedKey>,
    minimum: usize,
    wanted: String,
    may: Option<Vec<Permission>>,
    attested: Vec<Attestation>,
}

/// Verifies a manifest's origin.
pub(crate) async fn verify(
    at: &Place,
    digest: &Digest,
    manifest: &Bytes,
    policy: &Policy,
) -> Result<Trusted, BundleError> {
    let refused = |source| BundleError::Trust { at: at.name(), source };
    let source = at.source();
    let rule = policy.rule(&source).ok_or_else(|| refused(TrustError::NoRule(source)))?;
    let names: Vec<_> = rule.keys.iter().map(|key| format!("{:?}", key.name)).collect();
    let mut trusted = Trusted {
        digest: digest.clone(),
        by_digest: rule.digests.contains(digest),
        signers: Vec::new(),
        minimum: rule.minimum,
        wanted: names.join(", "),
        may: rule.may.clone(),
        attested: rule.require.clone(),
    };
    let signed = !trusted.by_digest && !rule.unsigned;
    if !signed {
        trusted.minimum = 0;
    }
    if !signed && rule.require.is_empty() {
        return Ok(trusted);
    }
    if rule.keys.is_empty() {
        return Err(refused(TrustError::NotListed { digest: digest.clone(), listed: rule.digests.len() }));
    }
    let mut search =
        Search { keys: &rule.keys, attestations: !rule.require.is_empty(), ..Search::new(at, digest, manifest) };
    let found = search.collect().await?;
    for kind in &rule.require {
        attested(&found, *kind, &rule.keys, digest, &trusted.wanted).map_err(refused)?;
    }
    if !signed {
        return Ok(trusted);
    }
    let tag = at.tag().filter(|_| rule.tag_must_match);
    trusted.signers = signers(&found, &rule.keys, digest, tag, &trusted.wanted).map_err(refused)?;
    trusted.enough(trusted.signers.iter().map(|key| key.name.clone()).collect()).map_err(refused)?;
    Ok(trusted)
}

/// Returns the keys that signed this digest, and this tag if it matters. If there are none, returns the most specific
/// reason.
fn signers(
    found: &[Evidence],
    keys: &[NamedKey],
    digest: &Digest,
    tag: Option<&str>,
    wanted: &str,
) -> Result<Vec<NamedKey>, TrustError> {
    let (wanted, digest) = (wanted.to_owned(), digest.clone());
    let found: Vec<_> = found.iter().filter(|one| one.attests.is_none()).collect();
    if found.is_empty() {
        return Err(TrustError::Unsigned { digest, wanted });
    }
    let mut signers = Vec::new();
    let mut reason = match found.iter().find_map(|one| one.why.clone()) {
        Some(error) => TrustError::NotIdentity { digest: digest.clone(), wanted, source: Box::new(error) },
        None => TrustError::WrongKey { digest: digest.clone(), found: found.len(), wanted },
    };
    for (n, key) in keys.iter().enumerate() {
        for one in found.iter().filter(|one| one.is_by(n)) {
            let other =
                |signed: Option<&String>| signed.cloned().unwrap_or_else(|| "nothing that can be read".to_owned());
            if !one.about {
                let signed = other(one.first.as_ref());
                reason = TrustError::OtherDigest { key: key.name.clone(), signed, digest: digest.clone() };
            } else if let Some(tag) = tag.filter(|tag| one.tag.as_deref() != Some(tag)) {
                let signed = one.tag.clone().unwrap_or_else(|| "none".to_owned());
                let (key, tag) = (key.name.clone(), tag.to_owned());
                reason = TrustError::OtherTag { key, signed, tag, digest: digest.clone() };
            } else {
                signers.push(key.clone());
                break;
            }
        }
    }
    if signers.is_empty() { Err(reason) } else { Ok(signers) }
}

/// Checks that one of the keys attests this kind of document about this digest.
fn attested(
    found: &[Evidence],
    kind: Attestation,
    keys: &[NamedKey],
    digest: &Digest,
    wanted: &str,
) -> Result<(), TrustError> {
    let of_kind: Vec<_> =
        found.iter().filter(|one| one.attests.as_ref().and_then(|attests| attests.kind()) == Some(kind)).collect();
    let by_key: Vec<_> = of_kind.iter().filter(|one| (0..keys.len()).any(|key| one.is_by(key))).collect();
    if by_key.iter().any(|one| one.about) {
        return Ok(());
    }
    let why = match (of_kind.len(), by_key.first().and_then(|one| one.first.as_deref())) {
        (0, _) => "it has none".to_owned(),
        (_, Some(other)) => format!("theirs is for {other}"),
        (count, None) if by_key.is_empty() => match of_kind.iter().find_map(|one| one.why.as_ref()) {
            Some(why) => error_chain(why),
            None => format!("the {count} that it has are by others, or were changed"),
        },
        (_, None) => "theirs names no digest".to_owned(),
    };
    Err(TrustError::Unattested { digest: digest.clone(), kind, wanted: wanted.to_owned(), why })
}

impl Trusted {
    fn enough(&self, got: Vec<String>) -> Result<(), TrustError> {
        if got.len() >= self.minimum {
            return Ok(());
        }
        let (digest, minimum, wanted) = (self.digest.clone(), self.minimum, self.wanted.clone());
        Err(TrustError::TooFew { digest, got, minimum, wanted })
    }

    /// Compares what the hooks request with what each owner may request. A signer that may request less does not count.
    pub fn within(self, contents: &Contents) -> Result<Verified, TrustError> {
        let defines: Vec<_> = contents.defines().into_iter().collect();
        contents.hooks.iter().try_for_each(bounded)?;
        // The limit is for all hooks and all signers together, because this runs without a pause and a stranger writes
        // the config.
        let mut left = Permission::MAX_WORK;
        if let Some(may) = &self.may {
            all_within(&contents.hooks, &defines, may, "this source", &mut left)?;
        }
        let mut by_keys = Vec::new();
        let mut first = None;
        for signer in &self.signers {
            let who = format!("the owner of key {:?}", signer.name);
            match signer.may.as_ref().map_or(Ok(()), |may| all_within(&contents.hooks, &defines, may, &who, &mut left))
            {
                Ok(()) => by_keys.push(signer.name.clone()),
                Err(error) => first = first.or(Some(error)),
            }
        }
        match first {
            Some(error) if by_keys.len() < self.minimum => Err(error),
            _ => Ok(Verified { by_digest: self.by_digest, by_keys, attested: self.attested }),
        }
    }
}

fn all_within(
    hooks: &[BundledHook],
    defines: &[Permission],
    may: &[Permission],
    who: &str,
    left: &mut usize,
) -> Result<(), TrustError> {
    let more = |missing: &Permission| {
        format!("more than {who} may request: {missing}: extend `may` in the policy, or request less")
    };
    let Some(missing) = Permission::first_missing(defines, may, left) else {
        return Err(TrustError::Defines(WORK.to_owned()));
    };
    if let Some(first) = missing.first() {
        return Err(TrustError::Defines(more(first)));
    }
    for hook in hooks {
        let Some(requested) = &hook.permissions else {
            return Err(TrustError::Silent { hook: hook.name.to_string(), who: who.to_owned() });
        };
        let Some(missing) = Permission::first_missing(requested, may, left) else {
            return Err(too_much(hook, WORK.to_owned()));
        };
        if let Some(first) = missing.first() {
            return Err(too_much(hook, more(first)));
        }
    }
    Ok(())
}

const WORK: &str = "more combinations of words than one bundle may have: write fewer words in the rules, or pack fewer hooks \
    into one bundle";

/// Checks the length of the permissions. If another tool packed the bundle, they do not come from a document, whose
/// length was checked.
fn bounded(hook: &BundledHook) -> Result<(), TrustError> {
    let Some((list, items)) = hook.permissions.as_deref().and_then(Permission::too_long) else { return Ok(()) };
    let most = Permission::MAX_ITEMS;
    let remedy = "divide it into several rules or hooks";
    Err(too_much(hook, format!("too much: its {list} has {items} items, and {most} are allowed: {remedy}")))
}

fn too_much(hook: &BundledHook, beyond: String) -> TrustError {
    TrustError::TooMuch { hook: hook.name.to_string(), beyond }
}
