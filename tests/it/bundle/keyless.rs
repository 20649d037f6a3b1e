//! Keyless signatures: an authority certifies a signer for a key that is used once, and a log says when it was used.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use boathook_bundle::{
    Attestation, BundleError, Digest, Identity, IdentityError, IdentityParts, KeyError, Layout, NamedKey, Place,
    Policy, PrivateKey, Seen, TrustError, Verified, save, sign, verify,
};
use rcgen::{
    BasicConstraints, CertificateParams, CustomExtension, ExtendedKeyUsagePurpose as Purpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose as Usage, PublicKeyData as _, SanType, SigningKey as _, date_time_ymd,
};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{
    trust::{p256, put_sigstore},
    version, words,
};

const PROVIDER: &str = "https://login.example.com";
const WORKFLOW: &str = "https://git.example.com/team/hooks/release.yml@refs/tags/v1";
const SIGN: &str = "https://sigstore.dev/cosign/sign/v1";
const STATEMENT: &str = "application/vnd.in-toto+json";
/// Noon of the day on which certificates are valid that are not valid any more.
const NOON: u64 = 1_767_268_800;

/// A certificate authority with one below it, and a log.
struct Sigstore {
    /// Both certificates.
    pem: String,
    issues: Issuer<'static, KeyPair>,
    log: KeyPair,
}

fn authority(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![Usage::KeyCertSign, Usage::CrlSign];
    params.distinguished_name.push(rcgen::DnType::CommonName, name);
    params
}

impl Sigstore {
    fn new() -> Self {
        let (root, between, log) = (KeyPair::generate(), KeyPair::generate(), KeyPair::generate());
        let (root, between) = (root.unwrap(), between.unwrap());
        let above = authority("root").self_signed(&root).unwrap();
        let below = authority("between").signed_by(&between, &Issuer::new(authority("root"), &root)).unwrap();
        let pem = format!("{}{}", below.pem(), above.pem());
        Self { pem, issues: Issuer::new(authority("between"), between), log: log.unwrap() }
    }

    /// Whom the policy names. With the log, or without one.
    fn identity(&self, subject: &str, log: bool) -> NamedKey {
        let log = log.then(|| self.log.public_key_pem());
        let parts = IdentityParts { issuer: PROVIDER, subject, authority: &self.pem, log: log.as_deref() };
        NamedKey { name: "ci".to_owned(), key: Identity::new(parts).unwrap().into(), may: None }
    }

    fn policy(&self, log: bool) -> Policy {
        Policy::of(Vec::new(), vec![self.identity(WORKFLOW, log)])
    }
}

/// What a certificate says. By default what it should say, on one day.
struct Leaf {
    names: Vec<SanType>,
    extensions: Vec<CustomExtension>,
    usages: Vec<Usage>,
    purposes: Vec<Purpose>,
    years: std::ops::RangeInclusive<i32>,
}

fn uri(text: &str) -> SanType {
    SanType::URI(text.try_into().unwrap())
}

/// The issuer as Fulcio writes it, as a string of DER, and as it wrote it before.
fn issuer(text: &str) -> CustomExtension {
    let der = [&[12, u8::try_from(text.len()).unwrap()], text.as_bytes()].concat();
    CustomExtension::from_oid_content(&[1, 3, 6, 1, 4, 1, 57264, 1, 8], der)
}

fn old_issuer(text: &str) -> CustomExtension {
    CustomExtension::from_oid_content(&[1, 3, 6, 1, 4, 1, 57264, 1, 1], text.as_bytes().to_vec())
}

impl Default for Leaf {
    fn default() -> Self {
        Self {
            names: vec![uri(WORKFLOW)],
            extensions: vec![issuer(PROVIDER)],
            usages: vec![Usage::DigitalSignature],
            purposes: vec![Purpose::CodeSigning],
            years: 2026..=2026,
        }
    }
}

/// A signature of a statement, as the bundle of Sigstore has it, before a test changes it.
struct Signed {
    payload: String,
    certificate: Vec<u8>,
    signature: Vec<u8>,
    time: u64,
}

impl Sigstore {
    fn certificate(&self, leaf: Leaf, key: &KeyPair) -> Vec<u8> {
        let mut params = CertificateParams::default();
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.subject_alt_names = leaf.names;
        params.custom_extensions = leaf.extensions;
        params.key_usages = leaf.usages;
        params.extended_key_usages = leaf.purposes;
        let until = if leaf.years.start() == leaf.years.end() { 2 } else { 1 };
        params.not_before = date_time_ymd(*leaf.years.start(), 1, 1);
        params.not_after = date_time_ymd(*leaf.years.end(), 1, until);
        params.signed_by(key, &self.issues).unwrap().der().to_vec()
    }

    fn sign(&self, leaf: Leaf, about: &Digest, predicate_type: &str) -> Signed {
        let key = KeyPair::generate().unwrap();
        let payload = json!({"_type": "https://in-toto.io/Statement/v1", "predicateType": predicate_type,
            "subject": [{"digest": {"sha256": about.hex()}}], "predicate": {}})
        .to_string();
        let message = format!("DSSEv1 {} {STATEMENT} {} {payload}", STATEMENT.len(), payload.len());
        let signature = key.sign(message.as_bytes()).unwrap();
        Signed { payload, certificate: self.certificate(leaf, &key), signature, time: NOON }
    }

    /// The log's entry about a signature.
    fn entry(&self, signed: &Signed) -> Value {
        let body = json!({"apiVersion": "0.0.1", "kind": "dsse", "spec": {
            "envelopeHash": {"algorithm": "sha256", "value": hex(b"envelope")},
            "payloadHash": {"algorithm": "sha256", "value": hex(signed.payload.as_bytes())},
            "signatures": [{"signature": STANDARD.encode(&signed.signature), "verifier": verifier(&signed.certificate)}],
        }});
        self.promise("dsse", &body, signed.time)
    }

    fn promise(&self, kind: &str, body: &Value, time: u64) -> Value {
        let (body, id) = (STANDARD.encode(body.to_string()), Sha256::digest(self.log.subject_public_key_info()));
        let shown: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
        let message = format!(r#"{{"body":"{body}","integratedTime":{time},"logID":"{shown}","logIndex":7}}"#);
        json!({
            "logIndex": "7", "logId": {"keyId": STANDARD.encode(id)}, "kindVersion": {"kind": kind, "version": "0.0.1"},
            "integratedTime": time.to_string(), "canonicalizedBody": body,
            "inclusionPromise": {"signedEntryTimestamp": STANDARD.encode(self.log.sign(message.as_bytes()).unwrap())},
        })
    }
}

fn hex(bytes: &[u8]) -> String {
    Digest::of(bytes).hex().to_owned()
}

/// The certificate as the log has it: PEM in base64.
fn verifier(der: &[u8]) -> String {
    STANDARD.encode(format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", STANDARD.encode(der)))
}

impl Signed {
    fn bundle(&self, entries: &[Value]) -> Value {
        json!({
            "mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json",
            "verificationMaterial": {
                "certificate": {"rawBytes": STANDARD.encode(&self.certificate)}, "tlogEntries": entries,
            },
            "dsseEnvelope": {"payload": STANDARD.encode(&self.payload), "payloadType": STATEMENT,
                "signatures": [{"sig": STANDARD.encode(&self.signature)}]},
        })
    }
}

fn this() -> Digest {
    version("v1").manifest.digest
}

/// Verifies a layout in which these refer to the bundle.
async fn tried(policy: &Policy, bundles: &[Value]) -> Result<(Seen, Verified), BundleError> {
    let directory = tempfile::tempdir().unwrap();
    let layout = Layout::create(directory.path()).unwrap();
    save(&version("v1"), &layout, None).unwrap();
    for bundle in bundles {
        put_sigstore(directory.path(), &this(), bundle);
    }
    verify(&Place::layout(layout), policy).await
}

async fn reason(policy: &Policy, bundle: Value) -> IdentityError {
    match tried(policy, &[bundle]).await {
        Err(BundleError::Trust { source: TrustError::NotIdentity { source, .. }, .. }) => *source,
        other => panic!("{other:?}"),
    }
}

/// With both forms of the issuer, a name that the pattern covers, and over the manifest itself.
#[tokio::test]
async fn a_certified_signer_is_enough() {
    let store = Sigstore::new();
    for extensions in [vec![issuer(PROVIDER)], vec![old_issuer(PROVIDER)], vec![old_issuer("x"), issuer(PROVIDER)]] {
        let signed = store.sign(Leaf { extensions, ..Leaf::default() }, &this(), SIGN);
        let bundle = signed.bundle(&[store.entry(&signed)]);
        let (_, verified) = tried(&store.policy(true), &[bundle]).await.unwrap();
        assert_eq!(verified.by_keys, ["ci"]);
    }
    let signed = store.sign(Leaf::default(), &this(), SIGN);
    let below = Policy::of(Vec::new(), vec![store.identity("https://git.example.com/team/*", true)]);
    tried(&below, &[signed.bundle(&[store.entry(&signed)])]).await.unwrap();

    let (key, manifest) = (KeyPair::generate().unwrap(), version("v1").bytes);
    let certificate = store.certificate(Leaf::default(), &key);
    let signature = STANDARD.encode(key.sign(&manifest).unwrap());
    let body = json!({"apiVersion": "0.0.1", "kind": "hashedrekord", "spec": {
        "data": {"hash": {"algorithm": "sha256", "value": hex(&manifest)}},
        "signature": {"content": signature, "publicKey": {"content": verifier(&certificate)}},
    }});
    let bundle = json!({
        "verificationMaterial": {
            "certificate": {"rawBytes": STANDARD.encode(&certificate)},
            "tlogEntries": [store.promise("hashedrekord", &body, NOON)],
        },
        "messageSignature": {"signature": signature},
    });
    tried(&store.policy(true), &[bundle]).await.unwrap();
}

/// Without a log, nobody says when a certificate was used.
// mutant: crates/bundle/src/trust/identity.rs: `UnixTime::since_unix_epoch(time.unwrap_or_else(now))` => `UnixTime::since_unix_epoch(time.unwrap_or(Duration::from_secs(1_767_268_800)))`
#[tokio::test]
async fn without_a_log_a_certificate_must_be_valid_now() {
    let store = Sigstore::new();
    let lasting = Leaf { years: 2020..=2999, ..Leaf::default() };
    let signed = store.sign(lasting, &this(), SIGN);
    tried(&store.policy(false), &[signed.bundle(&[])]).await.unwrap();
    let signed = store.sign(Leaf::default(), &this(), SIGN);
    let entry = store.entry(&signed);
    let error = reason(&store.policy(false), signed.bundle(&[entry])).await;
    assert!(matches!(error, IdentityError::Now(_)) && error.to_string().contains("transparencyLog"), "{error}");
}

// mutant: crates/bundle/src/trust/identity.rs: `self.issued(der, time)?;` => `let _ = self.issued(der, time);`
// mutant: crates/bundle/src/trust/identity.rs: `if issuer != self.issuer || !self.covers(&subject) {` => `if issuer != self.issuer {`
// mutant: crates/bundle/src/trust/identity.rs: `if issuer != self.issuer || !self.covers(&subject) {` => `if !self.covers(&subject) {`
// mutant: crates/bundle/src/trust/identity.rs: `if !signs || !code {` => `if !signs {`
// mutant: crates/bundle/src/trust/identity.rs: `if !signs || !code {` => `if !code {`
// mutant: crates/bundle/src/trust/identity.rs: `if key.verifies(proof.message, proof.signature) { Ok(()) }` => `if !proof.signature.is_empty() || key.verifies(&[], &[]) { Ok(()) }`
#[tokio::test]
async fn each_certificate_that_does_not_count_has_its_reason() {
    let (store, other) = (Sigstore::new(), Sigstore::new());
    let policy = store.policy(true);
    let leaf = |change: fn(&mut Leaf)| {
        let mut leaf = Leaf::default();
        change(&mut leaf);
        leaf
    };
    let why = async |leaf: Leaf| {
        let signed = store.sign(leaf, &this(), SIGN);
        reason(&policy, signed.bundle(&[store.entry(&signed)])).await
    };
    let error = why(leaf(|leaf| leaf.names = vec![uri("https://git.example.com/team/evil")])).await;
    assert!(matches!(&error, IdentityError::Other { subject, .. } if subject.ends_with("evil")), "{error:?}");
    let error = why(leaf(|leaf| leaf.extensions = vec![issuer("https://other.example.com")])).await;
    assert!(matches!(&error, IdentityError::Other { issuer, .. } if issuer.contains("other")), "{error:?}");
    let nameless = why(leaf(|leaf| leaf.extensions.clear())).await;
    assert_eq!(nameless, IdentityError::Nameless);
    let of_two = why(leaf(|leaf| leaf.names.push(uri("https://git.example.com/other")))).await;
    assert_eq!(of_two, IdentityError::Nameless);
    let error = why(leaf(|leaf| leaf.purposes = vec![Purpose::ServerAuth])).await;
    assert!(matches!(error, IdentityError::Chain(_)), "{error:?}");
    assert_eq!(why(leaf(|leaf| leaf.purposes.clear())).await, IdentityError::Usage);
    assert_eq!(why(leaf(|leaf| leaf.usages = vec![Usage::KeyEncipherment])).await, IdentityError::Usage);
    let error = why(leaf(|leaf| leaf.years = 2020..=2020)).await;
    assert!(matches!(error, IdentityError::Then(_)), "{error:?}");

    // By another authority of the same name.
    let mut signed = store.sign(Leaf::default(), &this(), SIGN);
    let key = KeyPair::generate().unwrap();
    signed.certificate = other.certificate(Leaf::default(), &key);
    let error = reason(&policy, signed.bundle(&[store.entry(&signed)])).await;
    assert!(matches!(error, IdentityError::Chain(_)), "{error:?}");
    // With a certificate that another got for another key.
    signed.certificate = store.certificate(Leaf::default(), &key);
    assert_eq!(reason(&policy, signed.bundle(&[store.entry(&signed)])).await, IdentityError::Signature);
    signed.certificate.push(0);
    let error = reason(&policy, signed.bundle(&[store.entry(&signed)])).await;
    assert_eq!(error, IdentityError::Unreadable);
}

// mutant: crates/bundle/src/trust/identity.rs: `log.verifies(message.as_bytes(), signature)` => `log.verifies(message.as_bytes(), signature) || !signature.is_empty()`
// mutant: crates/bundle/src/trust/identity.rs: `about(&body, proof, certificate).unwrap_or_default()` => `about(&body, proof, certificate).is_some()`
// mutant: crates/bundle/src/trust/identity.rs: `tlog_entries.iter().take(ENTRIES)` => `tlog_entries.iter()`
#[tokio::test]
async fn a_logs_entry_must_be_about_this_signature() {
    let (store, other) = (Sigstore::new(), Sigstore::new());
    let policy = store.policy(true);
    let signed = store.sign(Leaf::default(), &this(), SIGN);
    let unlogged = async |entries: &[Value]| {
        assert_eq!(reason(&policy, signed.bundle(entries)).await, IdentityError::Unlogged);
    };
    unlogged(&[]).await;
    unlogged(&[other.entry(&signed)]).await;
    // An entry about what the same signer signed before, and one whose time was changed.
    let before = store.sign(Leaf::default(), &this(), SIGN);
    unlogged(&[store.entry(&before)]).await;
    for (kept, name) in [(0, "certificate"), (1, "signature"), (2, "payload")] {
        let mixed = Signed {
            payload: if kept == 2 { "{}".to_owned() } else { signed.payload.clone() },
            certificate: if kept == 0 { before.certificate.clone() } else { signed.certificate.clone() },
            signature: if kept == 1 { before.signature.clone() } else { signed.signature.clone() },
            time: NOON,
        };
        let error = reason(&policy, signed.bundle(&[store.entry(&mixed)])).await;
        assert_eq!(error, IdentityError::Unlogged, "{name}");
    }
    let mut later = store.entry(&signed);
    later["integratedTime"] = json!((NOON + 1).to_string());
    unlogged(&[later.clone()]).await;
    // One that counts is enough.
    tried(&policy, &[signed.bundle(&[later, store.entry(&signed)])]).await.unwrap();
    // Each entry costs a check, so a registry cannot have thousands of them checked.
    let mut many = vec![other.entry(&signed); 8];
    many.push(store.entry(&signed));
    unlogged(&many).await;
    // An old signature, by a certificate of a later day: the log's time decides.
    let late = Signed { time: NOON + 86_400, ..store.sign(Leaf::default(), &this(), SIGN) };
    let error = reason(&policy, late.bundle(&[store.entry(&late)])).await;
    assert!(matches!(error, IdentityError::Then(_)), "{error:?}");
}

#[tokio::test]
async fn a_certified_attestation_is_one_and_no_signature() {
    let store = Sigstore::new();
    let policy = store.policy(true).requiring(&[Attestation::Sbom]);
    let signature = store.sign(Leaf::default(), &this(), SIGN);
    let sbom = store.sign(Leaf::default(), &this(), "https://cyclonedx.org/bom");
    let [signature, sbom] = [&signature, &sbom].map(|one| one.bundle(&[store.entry(one)]));
    let unsigned = tried(&policy, std::slice::from_ref(&sbom)).await.unwrap_err();
    assert!(matches!(unsigned, BundleError::Trust { source: TrustError::Unsigned { .. }, .. }), "{unsigned:?}");
    let unattested = tried(&policy, std::slice::from_ref(&signature)).await.unwrap_err();
    assert!(matches!(unattested, BundleError::Trust { source: TrustError::Unattested { .. }, .. }), "{unattested:?}");
    let (_, verified) = tried(&policy, &[signature, sbom]).await.unwrap();
    assert_eq!(verified.attested, [Attestation::Sbom]);
    let late = Signed { time: NOON + 86_400, ..store.sign(Leaf::default(), &this(), "https://cyclonedx.org/bom") };
    let text = words(&tried(&policy, &[late.bundle(&[store.entry(&late)])]).await.unwrap_err());
    assert!(text.contains("was not valid at the time of its log entry"), "{text}");
}

/// Keys and identities are in one list, of which some must have signed.
#[tokio::test]
async fn an_identity_counts_next_to_a_key() {
    let (store, key) = (Sigstore::new(), p256());
    let owner = NamedKey { name: "team".to_owned(), key: PrivateKey::public(&key).into(), may: None };
    let policy = Policy::demanding(boathook_bundle::Demand {
        keys: vec![owner, store.identity(WORKFLOW, true)],
        minimum: 2,
        ..boathook_bundle::Demand::default()
    });
    let directory = tempfile::tempdir().unwrap();
    let layout = Layout::create(directory.path()).unwrap();
    save(&version("v1"), &layout, None).unwrap();
    let here = Place::layout(layout);
    let signed = store.sign(Leaf::default(), &this(), SIGN);
    put_sigstore(directory.path(), &this(), &signed.bundle(&[store.entry(&signed)]));
    let error = verify(&here, &policy).await.unwrap_err();
    assert!(matches!(error, BundleError::Trust { source: TrustError::TooFew { .. }, .. }), "{error:?}");
    sign(&here, &key).await.unwrap();
    assert_eq!(verify(&here, &policy).await.unwrap().1.by_keys, ["team", "ci"]);
}

#[test]
fn an_identity_that_cannot_be_used_says_why() {
    let store = Sigstore::new();
    let only = store.pem.split_inclusive("-----END CERTIFICATE-----\n").next().unwrap();
    let made = |subject: &str, authority: &str, log: Option<&str>| {
        Identity::new(IdentityParts { issuer: PROVIDER, subject, authority, log }).unwrap_err()
    };
    for subject in ["", "*", "/*", "https://git.example.com/team*", "https://*/team"] {
        assert_eq!(made(subject, &store.pem, None), KeyError::Identity, "{subject}");
    }
    for authority in ["", "x", only, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"] {
        assert_eq!(made(WORKFLOW, authority, None), KeyError::Authority, "{authority}");
    }
    assert_eq!(made(WORKFLOW, &store.pem, Some("x")), KeyError::NoPem);
}

/// One signature must not count as two.
#[test]
fn identities_that_cover_each_other_are_one_signer() {
    let store = Sigstore::new();
    let below = store.identity("https://git.example.com/team/*", true).key;
    assert!(below.overlaps(&store.identity(WORKFLOW, false).key));
    assert!(store.identity(WORKFLOW, false).key.overlaps(&below));
    assert!(!below.overlaps(&store.identity("https://git.example.com/team-two/x", true).key));
    assert!(!below.overlaps(&p256().public().into()));
}
