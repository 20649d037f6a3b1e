//! Attestations: what a policy requires, who may attest it, and about what.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use boathook_bundle::{
    Attestation, BundleError, Digest, Document, Layout, NamedKey, Place, Policy, PrivateKey, Progress, TrustError,
    attach, copy, inspect, save, sign, verify,
};
use ring::{
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair},
};
use serde_json::{Value, json};

use super::{
    faulty::{Faults, Faulty},
    registry::Registry,
    send,
    trust::{p256, p256_der, pem, put_sigstore},
    version, words,
};

const SBOM: &str = r#"{"bomFormat": "CycloneDX", "specVersion": "1.6", "components": []}"#;
const SLSA: &str =
    r#"{"buildDefinition": {"buildType": "https://example.com/build"}, "runDetails": {"builder": {"id": "ci"}}}"#;

fn sbom() -> Document {
    Document { kind: Attestation::Sbom, bytes: SBOM.into() }
}

fn provenance() -> Document {
    Document { kind: Attestation::Provenance, bytes: SLSA.into() }
}

fn named(key: &PrivateKey) -> Vec<NamedKey> {
    vec![NamedKey { name: "team".to_owned(), key: key.public().into(), may: None }]
}

fn requiring(key: &PrivateKey, kinds: &[Attestation]) -> Policy {
    Policy::of(Vec::new(), named(key)).requiring(kinds)
}

async fn refused(place: &Place, policy: &Policy) -> String {
    match verify(place, policy).await {
        Err(error @ BundleError::Trust { source: TrustError::Unattested { .. }, .. }) => words(&error),
        other => panic!("{other:?}"),
    }
}

// mutant: crates/bundle/src/trust/verify.rs: `if by_key.iter().any(|one| one.about) {` => `if by_key.iter().any(|one| one.about || !of_kind.is_empty()) {`
// mutant: crates/bundle/src/trust/verify.rs: `of_kind.iter().filter(|one| (0..keys.len()).any(|key| one.is_by(key))).collect();` => `of_kind.iter().filter(|one| keys.len() < 100 || one.is_by(0)).collect();`
// mutant: crates/bundle/src/trust/verify.rs: `attested(&found, *kind, &rule.keys, digest, &trusted.wanted).map_err(refused)?;` => `let _ = attested(&found, *kind, &rule.keys, digest, &trusted.wanted);`
#[tokio::test]
async fn what_is_required_one_of_the_keys_attests_about_this_digest() {
    let registry = Registry::start();
    let (place, key, other) = (registry.place("team/hooks:v1"), p256(), p256());
    let (only, both) =
        (requiring(&key, &[Attestation::Sbom]), requiring(&key, &[Attestation::Sbom, Attestation::Provenance]));
    send(&version("v1"), &place).await;
    sign(&place, &key).await.unwrap();
    let text = refused(&place, &only).await;
    assert!(text.contains("needs sbom that \"team\" attests, and it has none"), "{text}");
    assert!(text.contains("bundle attach --sbom"), "{text}");

    attach(&place, &sbom(), "other.json", &other).await.unwrap();
    let text = refused(&place, &only).await;
    assert!(text.contains("the 1 that it has are by others, or were changed"), "{text}");
    attach(&place, &provenance(), "slsa.json", &key).await.unwrap();
    refused(&place, &only).await;
    attach(&place, &sbom(), "sbom.json", &key).await.unwrap();
    let verified = verify(&place, &only).await.unwrap().1;
    assert_eq!((verified.by_keys, verified.attested), (vec!["team".to_owned()], vec![Attestation::Sbom]));
    verify(&place, &both).await.unwrap();

    let seen = inspect(&place).await.unwrap().attestations;
    let mut kinds: Vec<_> = seen.iter().map(|one| (one.kind.unwrap(), one.about)).collect();
    kinds.sort_unstable();
    assert_eq!(kinds, [(Attestation::Sbom, true), (Attestation::Sbom, true), (Attestation::Provenance, true)]);

    // The next version has its own.
    send(&version("v2"), &place).await;
    sign(&place, &key).await.unwrap();
    refused(&place, &only).await;
}

/// A statement about a digest that the key signed, in a Sigstore bundle.
fn signed(about: &Digest, predicate_type: &str, der: &[u8]) -> Value {
    let random = SystemRandom::new();
    let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, der, &random).unwrap();
    let kind = "application/vnd.in-toto+json";
    let statement = json!({"_type": "https://in-toto.io/Statement/v1", "predicateType": predicate_type,
        "subject": [{"digest": {"sha256": about.hex()}}], "predicate": {}})
    .to_string();
    let message = format!("DSSEv1 {} {kind} {} {statement}", kind.len(), statement.len());
    let signature = STANDARD.encode(key.sign(&random, message.as_bytes()).unwrap());
    json!({"dsseEnvelope": {"payload": STANDARD.encode(&statement), "payloadType": kind, "signatures": [{"sig": signature}]}})
}

// mutant: crates/bundle/src/trust/evidence.rs: `about: digests.clone().any(|hex| hex == self.digest.hex()),` => `about: digests.clone().next().is_some(),`
#[tokio::test]
async fn an_attestation_that_was_copied_from_another_bundle_does_not_count() {
    let (directory, der) = (tempfile::tempdir().unwrap(), p256_der());
    let key = PrivateKey::from_pem(&pem(&der)).unwrap();
    let layout = Layout::create(directory.path()).unwrap();
    save(&version("v1"), &layout, None).unwrap();
    let (one, two) = (version("v1").manifest.digest, version("v2").manifest.digest);
    let here = Place::layout(layout);
    sign(&here, &key).await.unwrap();
    put_sigstore(directory.path(), &one, &signed(&two, "https://spdx.dev/Document/v2.3", &der));
    let policy = requiring(&key, &[Attestation::Sbom]);
    let text = refused(&here, &policy).await;
    assert!(text.contains(&format!("theirs is for {two}")), "{text}");
    assert!(!inspect(&here).await.unwrap().attestations[0].about);
    put_sigstore(directory.path(), &one, &signed(&one, "https://spdx.dev/Document/v2.3", &der));
    verify(&here, &policy).await.unwrap();
}

/// A key that is for SBOMs does not decide what runs.
// mutant: crates/bundle/src/trust/verify.rs: `let found: Vec<_> = found.iter().filter(|one| one.attests.is_none()).collect();` => `let found: Vec<_> = found.iter().collect();`
#[tokio::test]
async fn an_attestation_is_not_a_signature() {
    let registry = Registry::start();
    let (place, key) = (registry.place("team/hooks:v1"), p256());
    send(&version("v1"), &place).await;
    attach(&place, &sbom(), "sbom.json", &key).await.unwrap();
    let error = verify(&place, &requiring(&key, &[Attestation::Sbom])).await.unwrap_err();
    assert!(matches!(error, BundleError::Trust { source: TrustError::Unsigned { .. }, .. }), "{error:?}");
}

#[tokio::test]
async fn a_listed_digest_needs_what_is_required_too() {
    let registry = Registry::start();
    let (place, key) = (registry.place("team/hooks:v1"), p256());
    send(&version("v1"), &place).await;
    let policy = Policy::of(vec![version("v1").manifest.digest], named(&key)).requiring(&[Attestation::Provenance]);
    refused(&place, &policy).await;
    attach(&place, &provenance(), "slsa.json", &key).await.unwrap();
    assert!(verify(&place, &policy).await.unwrap().1.by_digest);
}

/// What somebody else attests, in thousands of documents, some of them large, each of which would be hashed for each key.
// mutant: crates/bundle/src/trust/evidence.rs: `for entry in bundles.take(MAX) {` => `for entry in bundles {`
// mutant: crates/bundle/src/trust/evidence.rs: `self.left = left;` => `let _ = left;`
#[tokio::test]
async fn a_registry_with_many_attestations_is_not_read_whole() {
    let der = p256_der();
    let key = PrivateKey::from_pem(&pem(&der)).unwrap();
    let one = version("v1").manifest.digest;
    let faulty = Faulty::start(&version("v1"), Faults::default()).await;
    let others = p256_der();
    let others = |numbers: std::ops::Range<usize>| {
        numbers.map(|n| {
            let mut bundle = signed(&one, "https://cyclonedx.org/bom", &others);
            bundle["number"] = n.into();
            bundle
        })
    };
    // Lists with the large ones first, and the one that counts last.
    faulty.refers(1 << 20, others(0..40));
    faulty.refers(0, others(40..3000));
    faulty.refers(0, [signed(&one, "https://cyclonedx.org/bom", &der)]);
    let place = faulty.place("");
    // Without its attestation among those that are read, the bundle is refused.
    refused(&place, &requiring(&key, &[Attestation::Sbom])).await;
    let asked = |part: &str| faulty.log().iter().filter(|line| line.contains(part)).count();
    assert_eq!(asked("/manifests/sha256:"), 64, "{:?}", faulty.log());
    // So many large ones are within 32 MiB, and then small ones fit.
    assert_eq!(asked("/blobs/"), 31 + 24, "{:?}", faulty.log());
}

#[tokio::test]
async fn attestations_go_with_the_bundle() {
    let registry = Registry::start();
    let directory = tempfile::tempdir().unwrap();
    let layout = Layout::create(directory.path()).unwrap();
    save(&version("v1"), &layout, None).unwrap();
    let (here, there, key) = (Place::layout(layout), registry.place("team/hooks:v1"), p256());
    sign(&here, &key).await.unwrap();
    for document in [sbom(), provenance()] {
        attach(&here, &document, "x.json", &key).await.unwrap();
    }
    let policy = requiring(&key, &[Attestation::Sbom, Attestation::Provenance]);
    verify(&here, &policy).await.unwrap();
    assert_eq!(copy(&here, &there, &Progress::default()).await.unwrap().companions, 3);
    verify(&there, &policy).await.unwrap();
}

#[tokio::test]
async fn what_is_no_such_document_is_not_attached() {
    let registry = Registry::start();
    let (place, key) = (registry.place("team/hooks:v1"), p256());
    send(&version("v1"), &place).await;
    let other = json!({"predicateType": "https://slsa.dev/provenance/v1", "subject": [{"digest": {"sha256": "00"}}]});
    for (kind, text, why) in [
        (Attestation::Sbom, "{", "x.json cannot be attached: it is not JSON"),
        (Attestation::Sbom, SLSA, "it is not an SBOM"),
        (Attestation::Provenance, SBOM, "it is not provenance"),
        (Attestation::Provenance, &other.to_string(), "its statement is for sha256:00"),
    ] {
        let document = Document { kind, bytes: text.into() };
        let error = words(&attach(&place, &document, "x.json", &key).await.unwrap_err());
        assert!(error.contains(why), "{error}");
    }
    assert!(inspect(&place).await.unwrap().attestations.is_empty());
}
