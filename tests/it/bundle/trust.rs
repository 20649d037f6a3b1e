//! Signatures in a real registry: each way to be untrusted has its own reason.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use boathook_bundle::BundleError;
use boathook_bundle::{
    Digest, HookInput, Input, Layout, NamedKey, Place, Policy, PrivateKey, Progress, TrustError, Verified, copy, pack,
    save, sign, verify,
};
use boathook_core::model::{HttpRule, Permission};
use ring::{
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, Ed25519KeyPair},
};
use serde_json::json;

use super::{Local, definition, hook, registry::Registry, send, version, words};
use crate::support::guests::image_policy_asks;

pub fn pem(der: &[u8]) -> String {
    format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n", STANDARD.encode(der))
}

pub fn p256_der() -> Vec<u8> {
    EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &SystemRandom::new()).unwrap().as_ref().to_vec()
}

/// A private key as openssl writes it.
pub fn p256_pem() -> String {
    pem(&p256_der())
}

pub fn p256() -> PrivateKey {
    PrivateKey::from_pem(&p256_pem()).unwrap()
}

fn ed25519() -> PrivateKey {
    PrivateKey::from_pem(&pem(Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap().as_ref())).unwrap()
}

fn named(name: &str, key: &PrivateKey) -> NamedKey {
    NamedKey { name: name.to_owned(), key: key.public().into(), may: None }
}

fn by(key: &PrivateKey) -> Policy {
    Policy::of(Vec::new(), vec![named("team", key)])
}

fn reason(result: Result<(boathook_bundle::Seen, Verified), BundleError>) -> TrustError {
    match result {
        Err(BundleError::Trust { source, .. }) => source,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_signature_by_the_key_is_enough() {
    let registry = Registry::start();
    let place = registry.place("team/hooks:v1");
    send(&version("v1"), &place).await;
    for (n, key) in [p256(), ed25519()].iter().enumerate() {
        assert_eq!(sign(&place, key).await.unwrap().signatures, n + 1);
        let (_, verified) = verify(&place, &by(key)).await.unwrap();
        assert_eq!(verified, Verified { by_keys: vec!["team".to_owned()], ..Verified::default() });
    }
}

// mutant: crates/bundle/src/trust/verify.rs: `for one in found.iter().filter(|one| one.is_by(n)) {` => `for one in found.iter().filter(|_| n < 100) {`
// mutant: crates/bundle/src/trust/verify.rs: `by_digest: rule.digests.contains(digest),` => `by_digest: !rule.digests.is_empty(),`
// mutant: crates/bundle/src/trust/verify.rs: `let signed = !trusted.by_digest && !rule.unsigned;` => `let signed = false;`
#[tokio::test]
async fn each_way_to_be_untrusted_has_its_reason() {
    let registry = Registry::start();
    let (place, key, other) = (registry.place("team/hooks:v1"), p256(), p256());
    send(&version("v1"), &place).await;
    let unsigned = reason(verify(&place, &by(&key)).await);
    assert!(matches!(unsigned, TrustError::Unsigned { .. }), "{unsigned}");

    sign(&place, &other).await.unwrap();
    let wrong = reason(verify(&place, &by(&key)).await);
    assert!(matches!(wrong, TrustError::WrongKey { found: 1, .. }), "{wrong}");

    sign(&place, &key).await.unwrap();
    verify(&place, &by(&key)).await.unwrap();
    // The tag moves to something that nobody signed.
    send(&version("v2"), &place).await;
    let moved = reason(verify(&place, &by(&key)).await);
    assert!(
        matches!(&moved, TrustError::Unsigned { digest, .. } if *digest == version("v2").manifest.digest),
        "{moved}"
    );

    let listed = Policy::of(vec![version("v1").manifest.digest], Vec::new());
    let listed = reason(verify(&place, &listed).await);
    assert!(matches!(listed, TrustError::NotListed { .. }), "{listed}");
    let listed = Policy::of(vec![version("v2").manifest.digest], Vec::new());
    assert!(verify(&place, &listed).await.unwrap().1.by_digest);
}

/// Puts the signatures of one bundle beside another, on disk.
fn copy_signature(layout: &std::path::Path, from: &Digest, to: &Digest) {
    let path = layout.join("index.json");
    let index = std::fs::read_to_string(&path).unwrap();
    std::fs::write(path, index.replace(&format!("sha256-{}.sig", from.hex()), &format!("sha256-{}.sig", to.hex())))
        .unwrap();
}

// mutant: crates/bundle/src/trust/verify.rs: `if !one.about {` => `if false {`
#[tokio::test]
async fn a_signature_of_another_bundle_is_found() {
    let directory = tempfile::tempdir().unwrap();
    let layout = Layout::create(directory.path()).unwrap();
    let key = p256();
    save(&version("v1"), &layout, Some("v1")).unwrap();
    save(&version("v2"), &layout, Some("v2")).unwrap();
    let at = |tag| Place::layout(Layout::open(directory.path(), Some(tag)).unwrap());
    sign(&at("v1"), &key).await.unwrap();
    verify(&at("v1"), &by(&key)).await.unwrap();
    copy_signature(directory.path(), &version("v1").manifest.digest, &version("v2").manifest.digest);
    let copied = reason(verify(&at("v2"), &by(&key)).await);
    assert!(matches!(copied, TrustError::OtherDigest { .. }), "{copied}");
}

fn policy(text: &str, keys: &[(&str, &PrivateKey)]) -> Policy {
    let directory = tempfile::tempdir().unwrap();
    for (name, key) in keys {
        std::fs::write(directory.path().join(format!("{name}.pub")), key.public().to_pem()).unwrap();
    }
    let path = directory.path().join("policy.yaml");
    let head = "apiVersion: boathook.dev/v1alpha1\nkind: BundlePolicy\nsources:\n";
    std::fs::write(&path, format!("{head}{text}")).unwrap();
    Policy::read(&path).unwrap()
}

// mutant: crates/bundle/src/trust/verify.rs: `tag.filter(|tag| one.tag.as_deref() != Some(tag))` => `tag.filter(|_| false)`
#[tokio::test]
async fn an_old_bundle_under_a_new_tag_is_found_where_tags_must_match() {
    let registry = Registry::start();
    let (one, two, key) = (registry.place("team/hooks:v1"), registry.place("team/hooks:v2"), p256());
    send(&version("v1"), &one).await;
    sign(&one, &key).await.unwrap();
    let strict =
        policy("- {match: '*', tagMustMatch: true, keys: [{name: team, file: team.pub}]}\n", &[("team", &key)]);
    verify(&one, &strict).await.unwrap();
    send(&version("v1"), &two).await;
    verify(&two, &by(&key)).await.unwrap();
    let moved = reason(verify(&two, &strict).await);
    assert!(matches!(&moved, TrustError::OtherTag { signed, tag, .. } if signed == "v1" && tag == "v2"), "{moved}");
    sign(&two, &key).await.unwrap();
    verify(&two, &strict).await.unwrap();
}

#[tokio::test]
async fn two_signers_where_two_are_needed() {
    let registry = Registry::start();
    let (place, a, b) = (registry.place("team/hooks:v1"), p256(), ed25519());
    send(&version("v1"), &place).await;
    let text = "- {match: '*', minimum: 2, keys: [{name: a, file: a.pub}, {name: b, file: b.pub}]}\n";
    let both = policy(text, &[("a", &a), ("b", &b)]);
    sign(&place, &a).await.unwrap();
    sign(&place, &a).await.unwrap();
    let few = reason(verify(&place, &both).await);
    assert!(matches!(&few, TrustError::TooFew { got, .. } if *got == ["a"]), "{few}");
    sign(&place, &b).await.unwrap();
    assert_eq!(verify(&place, &both).await.unwrap().1.by_keys, ["a", "b"]);
}

// mutant: crates/bundle/src/trust/verify.rs: `match signer.may.as_ref().map_or(Ok(()), |may| all_within(&contents.hooks, &defines, may, &who, &mut left))` => `match signer.may.as_ref().map_or(Ok(()), |_| all_within(&[], &[], &[], &who, &mut left))`
// mutant: crates/bundle/src/pull.rs: `Some(declared) if declared.as_slice() != requested =>` => `Some(_) if false && !requested.is_empty() =>`
#[tokio::test]
async fn a_signer_may_ask_only_for_what_the_policy_says() {
    let registry = Registry::start();
    let (place, key) = (registry.place("team/hooks:v1"), p256());
    send(&version("v1"), &place).await;
    sign(&place, &key).await.unwrap();
    let capped = |resources: &str| {
        let may = format!("[{{apiGroups: [''], resources: [{resources}], verbs: [get, list]}}]");
        policy(&format!("- {{match: '*', keys: [{{name: team, file: team.pub, may: {may}}}]}}\n"), &[("team", &key)])
    };
    verify(&place, &capped("configmaps, secrets")).await.unwrap();
    let error = verify(&place, &capped("configmaps")).await.unwrap_err();
    let text = words(&error);
    assert!(text.contains("hook \"own\" requests more than") && text.contains("may request: get secrets: "), "{text}");
    assert!(matches!(reason(Err(error)), TrustError::TooMuch { .. }));

    // What the hook asks for when it is loaded is held against what was signed.
    let pulled = Local::new().pull(&place).await.unwrap();
    let own = &pulled.hooks[0];
    own.check(&hook("own", b"", "secrets").asks).unwrap();
    assert!(matches!(own.check(&hook("own", b"", "nodes").asks), Err(TrustError::Understated { .. })));
}

// mutant: crates/core/src/model/requested.rs: `BindingRef::Admission(binding) => binding.asks(),` => `BindingRef::Admission(_) => Vec::new(),`
// mutant: crates/core/src/model/requested.rs: `BindingRef::Kubernetes(binding) => vec![binding.asks()],` => `BindingRef::Kubernetes(_) => Vec::new(),`
#[tokio::test]
async fn a_signer_may_have_hooks_watch_and_answer_only_for_what_the_policy_says() {
    let registry = Registry::start();
    let (place, key) = (registry.place("team/hooks:v1"), p256());
    let asked = HookInput { asks: image_policy_asks(), ..hook("image-policy", b"any", "any") };
    let packed = pack(Input { hooks: vec![asked], ..Input::default() }).unwrap();
    send(&packed, &place).await;
    sign(&place, &key).await.unwrap();
    let watch = "{apiGroups: [''], resources: [configmaps], verbs: [watch]}";
    let validate = "{apiGroups: [''], resources: [pods, pods/ephemeralcontainers], verbs: [validate]}";
    let calls = "{apiGroups: ['*'], resources: ['*'], verbs: [get, list, create, update, patch, delete]}";
    let capped = |may: &[&str]| {
        let may = may.join(", ");
        policy(&format!("- {{match: '*', keys: [{{name: team, file: team.pub, may: [{may}]}}]}}\n"), &[("team", &key)])
    };
    verify(&place, &capped(&[watch, validate])).await.unwrap();
    for (may, beyond) in [([calls, watch], "validate pods"), ([calls, validate], "watch configmaps named image-policy")]
    {
        let error = verify(&place, &capped(&may)).await.unwrap_err();
        let text = words(&error);
        assert!(text.contains("requests more than") && text.contains(&format!("may request: {beyond}")), "{text}");
    }
}

/// A registry with a bundle of so many hooks that share one layer and ask for the same, signed by the key.
async fn asking(hooks: usize, asks: &[Permission], key: &PrivateKey) -> (Registry, Place) {
    let registry = Registry::start();
    let place = registry.place("team/hooks:v1");
    let each = |n| HookInput { asks: asks.to_vec(), ..hook(&format!("h{n}"), b"any", "any") };
    let packed = pack(Input { hooks: (0..hooks).map(each).collect(), ..Input::default() }).unwrap();
    send(&packed, &place).await;
    sign(&place, key).await.unwrap();
    (registry, place)
}

/// A wide rule of Kubernetes allows nothing of HTTP.
#[tokio::test]
async fn a_signer_may_send_http_requests_only_where_the_policy_says() {
    let key = p256();
    let rule = HttpRule { hosts: vec!["a.io".to_owned()], methods: vec!["GET".to_owned()], paths: Vec::new() };
    let (_registry, place) = asking(1, &[Permission::of_http(rule)], &key).await;
    let capped = |may: &str| {
        policy(&format!("- {{match: '*', keys: [{{name: team, file: team.pub, may: [{may}]}}]}}\n"), &[("team", &key)])
    };
    for may in ["{http: {hosts: [a.io]}}", "{http: {hosts: [b.io, a.io], methods: ['*']}}"] {
        verify(&place, &capped(may)).await.unwrap();
    }
    for may in [
        "{http: {hosts: [b.io, '*.a.io', 'http://a.io', 'a.io:8443']}}",
        "{http: {hosts: [a.io], methods: [POST]}}",
        "{http: {hosts: [a.io], paths: [/v1/*]}}",
        "{apiGroups: ['*'], resources: ['*'], verbs: ['*']}",
    ] {
        let text = words(&verify(&place, &capped(may)).await.unwrap_err());
        assert!(text.contains("requests more than the owner of key \"team\" may request: GET at a.io: "), "{text}");
    }
}

fn asked(words: usize) -> Permission {
    let many = |what: &str| (0..words).map(|n| format!("{what}{n}")).collect::<Vec<_>>();
    let (verbs, namespaces) = (vec!["get".to_owned()], Vec::new());
    Permission {
        api_groups: many("g"),
        resources: many("r"),
        verbs,
        resource_names: many("n"),
        namespaces,
        http: None,
        directory: None,
    }
}

/// A stranger writes the config, and all of it is compared in one go.
// mutant: crates/bundle/src/trust/verify.rs: `Permission::first_missing(requested, may, left)` => `Permission::first_missing(requested, may, &mut Permission::MAX_WORK.clone())`
// mutant: crates/bundle/src/trust/verify.rs: `|may| all_within(&contents.hooks, &defines, may, &who, &mut left)` => `|may| all_within(&contents.hooks, &defines, may, &who, &mut Permission::MAX_WORK.clone())`
#[tokio::test]
async fn the_hooks_of_a_bundle_and_its_signers_share_one_bound_of_work() {
    let key = p256();
    let all = "may: [{apiGroups: ['*'], resources: ['*'], verbs: ['*']}]";
    let by_the_key =
        policy(&format!("- {{match: '*', keys: [{{name: team, file: team.pub, {all}}}]}}\n"), &[("team", &key)]);
    let by_both =
        policy(&format!("- {{match: '*', {all}, keys: [{{name: team, file: team.pub, {all}}}]}}\n"), &[("team", &key)]);
    // One hook alone is about a tenth of what is looked at.
    for (hooks, policy, good) in [(10, &by_the_key, true), (11, &by_the_key, false), (6, &by_both, false)] {
        let (_registry, place) = asking(hooks, &[asked(46)], &key).await;
        match verify(&place, policy).await {
            Ok(_) => assert!(good, "{hooks}"),
            Err(error) => {
                let text = words(&error);
                assert!(
                    !good && text.contains("requests more combinations of words than one bundle may have"),
                    "{text}"
                );
            }
        }
    }
}

// mutant: crates/bundle/src/trust/verify.rs: `contents.hooks.iter().try_for_each(bounded)?;` => ``
#[tokio::test]
async fn a_bundle_asks_in_no_longer_lists_than_a_document() {
    let key = p256();
    let long = Permission { api_groups: vec!["g".to_owned(); 1001], ..asked(1) };
    for (asks, part) in [(vec![long], "apiGroups"), (vec![asked(1); 1001], "permissions")] {
        let (_registry, place) = asking(1, &asks, &key).await;
        let text = words(&verify(&place, &by(&key)).await.unwrap_err());
        assert!(text.contains(&format!("hook \"h0\" requests too much: its {part} has 1001 items")), "{text}");
    }
    let (_registry, place) = asking(1, &vec![asked(1); 1000], &key).await;
    verify(&place, &by(&key)).await.unwrap();
}

#[tokio::test]
async fn only_sources_of_the_policy() {
    let registry = Registry::start();
    let place = registry.place("team/hooks:v1");
    send(&version("v1"), &place).await;
    let here = policy(&format!("- {{match: {}/team/*, unsigned: true}}\n", registry.host), &[]);
    verify(&place, &here).await.unwrap();
    let other = registry.place("team-evil/hooks:v1");
    send(&version("v1"), &other).await;
    assert!(matches!(reason(verify(&other, &here).await), TrustError::NoRule(_)));
}

/// What is not trusted is not brought.
#[tokio::test]
async fn signatures_go_with_a_layout() {
    let registry = Registry::start();
    let directory = tempfile::tempdir().unwrap();
    let layout = Layout::create(directory.path()).unwrap();
    let (key, place) = (p256(), registry.place("team/hooks:v1"));
    save(&version("v1"), &layout, Some("v1")).unwrap();
    let here = Place::layout(layout);
    sign(&here, &key).await.unwrap();
    let pushed = copy(&here, &place, &Progress::default()).await.unwrap();
    assert_eq!(pushed.companions, 1);
    verify(&place, &by(&key)).await.unwrap();
    let local = Local::new();
    let refused = boathook_bundle::pull(&place, &local.store, &by(&p256()), &Progress::default()).await;
    assert!(matches!(refused, Err(BundleError::Trust { .. })));
    assert_eq!(local.pull(&place).await.unwrap().reused, 0);
}

const SIGN: &str = "https://sigstore.dev/cosign/sign/v1";

/// A Sigstore bundle that refers to a manifest: a signed statement, put into a layout by hand.
fn sigstore(root: &std::path::Path, of: &Digest, der: &[u8], says: &Digest, predicate: &str) {
    let kind = "application/vnd.in-toto+json";
    let statement = json!({"_type": "https://in-toto.io/Statement/v1", "predicateType": predicate,
        "subject": [{"digest": {"sha256": says.hex()}}], "predicate": {}})
    .to_string();
    let message = format!("DSSEv1 {} {kind} {} {statement}", kind.len(), statement.len());
    let random = SystemRandom::new();
    let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, der, &random).unwrap();
    let signature = pair.sign(&random, message.as_bytes()).unwrap();
    let bundle = json!({"mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json", "verificationMaterial": {"publicKey": {"hint": ""}},
        "dsseEnvelope": {"payload": STANDARD.encode(&statement), "payloadType": kind,
            "signatures": [{"sig": STANDARD.encode(signature.as_ref())}]}});
    put_sigstore(root, of, &bundle);
}

/// Puts a Sigstore bundle that refers to a manifest into a layout.
pub fn put_sigstore(root: &std::path::Path, of: &Digest, bundle: &serde_json::Value) {
    let media_type = "application/vnd.dev.sigstore.bundle.v0.3+json";
    let put = |bytes: &[u8], kind: &str| {
        let digest = Digest::of(bytes);
        std::fs::write(root.join("blobs/sha256").join(digest.hex()), bytes).unwrap();
        json!({"mediaType": kind, "digest": digest.as_str(), "size": bytes.len()})
    };
    let manifest_type = "application/vnd.oci.image.manifest.v1+json";
    let manifest = json!({"schemaVersion": 2, "mediaType": manifest_type, "artifactType": media_type,
        "config": put(b"{}", "application/vnd.oci.empty.v1+json"), "layers": [put(bundle.to_string().as_bytes(), media_type)],
        "subject": {"mediaType": manifest_type, "digest": of.as_str(), "size": 1}});
    let entry = put(manifest.to_string().as_bytes(), manifest_type);
    let path = root.join("index.json");
    let mut index: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    index["manifests"].as_array_mut().unwrap().push(entry);
    std::fs::write(path, index.to_string()).unwrap();
}

#[tokio::test]
async fn a_sigstore_bundle_is_a_signature() {
    let registry = Registry::start();
    let der = p256_der();
    let key = PrivateKey::from_pem(&pem(&der)).unwrap();
    let (one, two) = (version("v1").manifest.digest, version("v2").manifest.digest);
    for (says, trusted) in [(&one, true), (&two, false)] {
        let directory = tempfile::tempdir().unwrap();
        let layout = Layout::create(directory.path()).unwrap();
        save(&version("v1"), &layout, None).unwrap();
        sigstore(directory.path(), &one, &der, says, SIGN);
        let here = Place::layout(layout);
        let place = registry.place(if trusted { "team/good:v1" } else { "team/bad:v1" });
        assert_eq!(copy(&here, &place, &Progress::default()).await.unwrap().companions, 1);
        for at in [&here, &place] {
            match (trusted, verify(at, &by(&key)).await) {
                (true, result) => assert_eq!(result.unwrap().1.by_keys, ["team"]),
                (false, result) => assert!(matches!(reason(result), TrustError::OtherDigest { .. })),
            }
            let wrong = reason(verify(at, &by(&p256())).await);
            assert!(matches!(wrong, TrustError::WrongKey { .. }), "{wrong}");
        }
    }
}

// mutant: crates/bundle/src/trust/verify.rs: `let Some(missing) = Permission::first_missing(defines, may, left) else {` => `let Some(missing) = Permission::first_missing(&[], may, left) else {`
#[tokio::test]
async fn a_signer_may_define_only_what_the_policy_says() {
    let registry = Registry::start();
    let (place, key) = (registry.place("team/hooks:v1"), p256());
    let packed =
        Input { hooks: vec![hook("a", b"1", "secrets")], definitions: vec![definition("apps")], ..Input::default() };
    send(&pack(packed).unwrap(), &place).await;
    sign(&place, &key).await.unwrap();
    let calls = "{apiGroups: [''], resources: [secrets], verbs: [get]}";
    let defines = |name: &str| {
        format!(
            "{{apiGroups: [apiextensions.k8s.io], resources: [customresourcedefinitions], verbs: ['*'], resourceNames: [{name}]}}"
        )
    };
    let capped = |may: &[&str]| {
        let may = may.join(", ");
        policy(&format!("- {{match: '*', keys: [{{name: team, file: team.pub, may: [{may}]}}]}}\n"), &[("team", &key)])
    };
    for may in [vec![calls.to_owned()], vec![calls.to_owned(), defines("others.example.com")]] {
        let may: Vec<_> = may.iter().map(String::as_str).collect();
        let text = words(&verify(&place, &capped(&may)).await.unwrap_err());
        assert!(text.contains("may request: get, create, patch") && text.contains("apps.example.com"), "{text}");
    }
    verify(&place, &capped(&[calls, &defines("apps.example.com")])).await.unwrap();
}

/// A key that only attests what is in a bundle has not said that the bundle may run.
// mutant: crates/bundle/src/trust/evidence.rs: `attests: (statement.predicate_type != SIGN)` => `attests: false`
#[tokio::test]
async fn an_attestation_is_no_signature() {
    let der = p256_der();
    let key = PrivateKey::from_pem(&pem(&der)).unwrap();
    let one = version("v1").manifest.digest;
    for (predicate, trusted) in [(SIGN, true), ("https://cyclonedx.org/bom", false), ("", false)] {
        let directory = tempfile::tempdir().unwrap();
        let layout = Layout::create(directory.path()).unwrap();
        save(&version("v1"), &layout, None).unwrap();
        sigstore(directory.path(), &one, &der, &one, predicate);
        assert_eq!(verify(&Place::layout(layout), &by(&key)).await.is_ok(), trusted, "{predicate}");
    }
}
