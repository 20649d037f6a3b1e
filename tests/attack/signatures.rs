//! Cosign itself (`tools/build-node` makes it of its module): what it signs Boathook trusts, and what Boathook signs it
//! verifies. It asks no transparency log, as the node reaches nothing outside.

use std::sync::Arc;

use crate::node::{HOST, Node};

/// Makes no log entry and asks for none.
const OFFLINE: &str = "COSIGN_PASSWORD= cosign";
/// The forms in which cosign stores a signature: a Sigstore bundle as a referrer, and its own of before.
pub const FORMS: [&str; 2] = ["--new-bundle-format=true", "--new-bundle-format=false"];

/// The public key of cosign's key pair in the test's directory, which is made if there is none.
pub async fn key(node: &Node) -> String {
    let dir = node.dir.display();
    node.sh(&format!("cd {dir}; [ -e cosign.key ] || {OFFLINE} generate-key-pair 2>/dev/null; cat cosign.pub")).await
}

/// Signs as cosign does with the flags that keep it from all other services.
pub async fn sign(node: &Node, reference: &str, form: &str) {
    let key = node.dir.join("cosign.key");
    let flags = "--yes --tlog-upload=false --use-signing-config=false --allow-http-registry";
    let pinned = pinned(node, reference).await;
    node.sh(&format!("{OFFLINE} sign --key {} {flags} {form} {pinned}", key.display())).await;
}

/// The reference with its digest: cosign signs no tag.
async fn pinned(node: &Node, reference: &str) -> String {
    let shown = node.sh(&format!("boathook bundle inspect {reference} --plain-http --output json")).await;
    let shown: serde_json::Value = serde_json::from_str(&shown).unwrap_or_else(|error| panic!("{error}: {shown}"));
    let digest = shown["digest"].as_str().unwrap_or_else(|| panic!("it has a digest: {shown}"));
    let (name, _) = reference.rsplit_once(':').expect("a reference with a tag");
    format!("{name}@{digest}")
}

/// An SBOM, as a tool writes it.
const SBOM: &str = r#"{"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1, "components": []}"#;

/// Attestations likewise: what cosign attests a policy can require, and what Boathook attests cosign verifies.
pub async fn attestations_are_exchanged(node: Arc<Node>) {
    let cosigns = node.dir.join("cosign.pub");
    key(&node).await;
    let sbom = node.dir.join("sbom.cdx.json");
    std::fs::write(&sbom, SBOM).expect("write an SBOM");
    let flags = "--tlog-upload=false --use-signing-config=false --allow-http-registry";
    for (name, form) in [("attested-bundle", FORMS[0]), ("attested-simple", FORMS[1])] {
        let reference = format!("{HOST}/cosign/{name}:v1");
        node.pushed(&reference, &["test/noop"]).await;
        sign(&node, &reference, form).await;
        let verify = async |kind: &str| {
            let line =
                format!("boathook bundle verify {reference} --plain-http --key {} --require {kind}", cosigns.display());
            node.try_sh(&line).await
        };
        assert!(verify("sbom").await.is_err(), "nothing is attested yet");
        let (key, pinned) = (node.dir.join("cosign.key"), pinned(&node, &reference).await);
        node.sh(&format!(
            "{OFFLINE} attest --yes --key {} --type cyclonedx --predicate {} {flags} {form} {pinned}",
            key.display(),
            sbom.display()
        ))
        .await;
        verify("sbom").await.unwrap_or_else(|error| panic!("{form}: {error}"));
        assert!(verify("provenance").await.is_err(), "{form}: an SBOM is not provenance");
    }

    let reference = format!("{HOST}/cosign/attested-boathook:v1");
    node.pushed(&reference, &["test/noop"]).await;
    let (own, private) = (node.dir.join("attests.pub"), node.dir.join("attests.key"));
    node.sh(&format!(
        "openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out {private} 2>/dev/null; openssl pkey -in {private} -pubout -out {own}",
        private = private.display(),
        own = own.display()
    ))
    .await;
    node.sh(&format!(
        "boathook bundle attach {reference} --plain-http --sbom {} --key {}",
        sbom.display(),
        private.display()
    ))
    .await;
    let pinned = pinned(&node, &reference).await;
    let verify = async |key: &std::path::Path| {
        let flags = "--insecure-ignore-tlog --allow-http-registry --type cyclonedx";
        node.try_sh(&format!("{OFFLINE} verify-attestation {flags} --key {} {pinned}", key.display())).await
    };
    verify(&own).await.expect("cosign verifies what Boathook attached");
    assert!(verify(&cosigns).await.is_err(), "by the key that attested it, and no other");
}

pub async fn signatures_are_exchanged(node: Arc<Node>) {
    let cosigns = node.dir.join("cosign.pub");
    key(&node).await;
    // Somebody else's.
    node.sh(&format!("cd {}; openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out other.key 2>/dev/null; openssl pkey -in other.key -pubout -out other.pub", node.dir.display())).await;
    let other = node.dir.join("other.pub");

    for (name, form) in [("bundle", FORMS[0]), ("simple", FORMS[1])] {
        let reference = format!("{HOST}/cosign/{name}:v1");
        node.pushed(&reference, &["test/noop"]).await;
        let verify = async |key: &std::path::Path| {
            node.try_sh(&format!("boathook bundle verify {reference} --plain-http --key {}", key.display())).await
        };
        assert!(verify(&cosigns).await.is_err(), "nothing is signed yet");
        sign(&node, &reference, form).await;
        verify(&cosigns).await.unwrap_or_else(|error| panic!("{form}: {error}"));
        assert!(verify(&other).await.is_err(), "{form}: it is signed by cosign's key alone");
    }

    let reference = format!("{HOST}/cosign/boathook:v1");
    let key = node.push(&reference, &["test/noop"]).await;
    let own = node.dir.join("own.pub");
    std::fs::write(&own, key).expect("write a key");
    let pinned = pinned(&node, &reference).await;
    let verify = async |key: &std::path::Path| {
        let flags = "--insecure-ignore-tlog --allow-http-registry";
        node.try_sh(&format!("{OFFLINE} verify {flags} --key {} {pinned}", key.display())).await
    };
    verify(&own).await.expect("cosign verifies what Boathook signed");
    assert!(verify(&cosigns).await.is_err(), "by the key that signed it, and no other");
}
