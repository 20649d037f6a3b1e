//! Issues authorities and serving certificates. Keys are ECDSA on P-256, because every API server can verify them, and
//! creating one takes no time.

use std::time::Duration;

use jiff::Timestamp;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use time::OffsetDateTime;

/// How far the validity of certificates reaches back, because clocks of others may be behind.
pub(super) const SKEW: Duration = Duration::from_secs(300);

/// A certificate and its key in PEM.
pub(super) struct Issued {
    pub certificate: String,
    pub key: String,
}

/// Issues a new authority. Its name contains the time, so that two of them are never confused.
pub(super) fn authority(now: Timestamp, life: Duration) -> Result<Issued, rcgen::Error> {
    let mut params = params(now, life, Vec::new(), &format!("Boathook webhooks, {now}"))?;
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let key = KeyPair::generate()?;
    let certificate = params.self_signed(&key)?;
    Ok(Issued { certificate: certificate.pem(), key: key.serialize_pem() })
}

/// Issues a serving certificate for `names`, signed by the authority in PEM.
pub(super) fn serving(
    now: Timestamp,
    life: Duration,
    names: &[String],
    (certificate, key): (&str, &str),
) -> Result<Issued, rcgen::Error> {
    let issuer = Issuer::from_ca_cert_pem(certificate, KeyPair::from_pem(key)?)?;
    let mut params = params(now, life, names.to_vec(), "Boathook webhooks")?;
    params.use_authority_key_identifier_extension = true;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let key = KeyPair::generate()?;
    let certificate = params.signed_by(&key, &issuer)?;
    Ok(Issued { certificate: certificate.pem(), key: key.serialize_pem() })
}

fn params(now: Timestamp, life: Duration, names: Vec<String>, name: &str) -> Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::new(names)?;
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    params.not_before = date(now.as_second().saturating_sub_unsigned(SKEW.as_secs()))?;
    params.not_after = date(now.as_second().saturating_add_unsigned(life.as_secs()))?;
    Ok(params)
}

fn date(second: i64) -> Result<OffsetDateTime, rcgen::Error> {
    OffsetDateTime::from_unix_timestamp(second).map_err(|_| rcgen::Error::Time)
}
