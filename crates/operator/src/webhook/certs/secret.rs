//! Converts between the Secret and the material. It never changes other keys of the Secret, or a Secret that others
//! made.

use std::collections::BTreeMap;

use k8s_openapi::{ByteString, api::core::v1::Secret};

use super::material::Material;

const AUTHORITIES: &str = "ca.crt";
const SIGNING_KEY: &str = "ca.key";
const CERTIFICATE: &str = "tls.crt";
const KEY: &str = "tls.key";
const PATHS: &str = "path.keys";

const MANAGED_BY: (&str, &str) = ("app.kubernetes.io/managed-by", "boathook");

/// Reads the Secret. Returns `None` if it contains certificates of others.
pub(super) fn read(secret: &Secret) -> Option<Material> {
    let text = |key: &str| {
        let bytes = secret.data.as_ref().and_then(|data| data.get(key));
        bytes.and_then(|bytes| String::from_utf8(bytes.0.clone()).ok()).unwrap_or_default()
    };
    let material = Material {
        authorities: text(AUTHORITIES),
        signing_key: text(SIGNING_KEY),
        certificate: text(CERTIFICATE),
        key: text(KEY),
        paths: text(PATHS),
    };
    // A chart may have created an empty Secret.
    let empty = material.certificate.trim().is_empty() && material.key.trim().is_empty();
    (is_ours(secret) || empty).then_some(material)
}

/// Whether Boathook made the Secret's certificates.
pub(super) fn is_ours(secret: &Secret) -> bool {
    let labels = secret.metadata.labels.as_ref();
    labels.and_then(|labels| labels.get(MANAGED_BY.0)).is_some_and(|by| by == MANAGED_BY.1)
}

/// Writes the material into the Secret.
pub(super) fn write(secret: &mut Secret, material: &Material) {
    let data = secret.data.get_or_insert_with(BTreeMap::new);
    for (key, text) in [
        (AUTHORITIES, &material.authorities),
        (SIGNING_KEY, &material.signing_key),
        (CERTIFICATE, &material.certificate),
        (KEY, &material.key),
        (PATHS, &material.paths),
    ] {
        data.insert(key.to_owned(), ByteString(text.as_bytes().to_vec()));
    }
    let labels = secret.metadata.labels.get_or_insert_with(BTreeMap::new);
    labels.insert(MANAGED_BY.0.to_owned(), MANAGED_BY.1.to_owned());
}

/// A Secret that does not exist yet.
pub(super) fn new(namespace: &str, name: &str) -> Secret {
    let mut secret = Secret { type_: Some("kubernetes.io/tls".to_owned()), ..Secret::default() };
    secret.metadata.namespace = Some(namespace.to_owned());
    secret.metadata.name = Some(name.to_owned());
    secret
}
