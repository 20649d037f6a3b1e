//! The content of the Secret with Boathook's own certificates, and the steps that renew it. The Secret is read and
//! written elsewhere.

use std::{sync::Arc, time::Duration};

use boathook_core::model::PathKey;
use jiff::Timestamp;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use time::OffsetDateTime;
use tokio_rustls::rustls::{
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
    sign::CertifiedKey,
};
use x509_parser::{extensions::GeneralName, prelude::X509Certificate};

use super::{
    CaBundle, CertificateError, Expiry, Lifetimes, PathKeys, Serving,
    decide::{Decision, State, Validity, decide, newest_path_is_registered},
};

/// The parts in PEM, as in the Secret. A missing part is empty.
#[derive(Clone, PartialEq, Eq, Default)]
pub(super) struct Material {
    /// The authorities, newest first.
    pub authorities: String,
    /// The key of the newest authority.
    pub signing_key: String,
    pub certificate: String,
    pub key: String,
    /// The keys of the webhooks' paths in hex, one in each line, newest first.
    pub paths: String,
}

impl Material {
    /// Does what is due. Returns whether anything was.
    pub fn renew(&mut self, now: Timestamp, names: &[String], lifetimes: &Lifetimes) -> Result<bool, CertificateError> {
        // An authority, a certificate, the end of older authorities, keys of paths: one check never needs more steps.
        const STEPS: usize = 6;
        for step in 0..STEPS {
            match decide(now, self.state(names), lifetimes) {
                Decision::Keep => return Ok(step > 0),
                Decision::AddAuthority => self.add_authority(now, lifetimes)?,
                Decision::RenewServing => {
                    let newest = (self.authorities.as_str(), self.signing_key.as_str());
                    let issued = issue_serving(now, lifetimes.serving, names, newest)?;
                    (self.certificate, self.key) = (issued.certificate, issued.key);
                    self.add_path();
                }
                Decision::DropOlder => self.keep_authorities(1, now),
                Decision::AddPath => self.add_path(),
                Decision::DropOlderPaths => self.keep_paths(1),
            }
        }
        Ok(true)
    }

    /// Checks and returns the parts that may be served.
    pub fn serving(&self, place: &str) -> Result<Serving, CertificateError> {
        let unusable = |why| CertificateError::Unusable { place: place.to_owned(), why };
        let (key, serving) = certified(self.certificate.as_bytes(), self.key.as_bytes()).map_err(unusable)?;
        let authorities = Certificate::all(self.authorities.as_bytes()).unwrap_or_default();
        let authority = authorities.first().map(|newest| newest.validity.until);
        Ok(Serving { key, expiry: Expiry { serving, authority } })
    }

    /// The keys of the webhooks' paths. `None` if there is none.
    pub fn path_keys(&self, now: Timestamp, lifetimes: &Lifetimes) -> Option<PathKeys> {
        let serving = Certificate::all(self.certificate.as_bytes()).unwrap_or_default();
        let serving = serving.first().map(|serving| since_issued(serving.validity));
        let newest = newest_path_is_registered(now, serving, lifetimes);
        PathKeys::new(self.paths(), if newest { 0 } else { 1 })
    }

    fn paths(&self) -> Vec<PathKey> {
        self.paths.lines().filter_map(PathKey::from_hex).collect()
    }

    fn add_path(&mut self) {
        let mut bytes = [0; PathKey::BYTES];
        rand::fill(&mut bytes);
        // Keep the previous key, because the API server uses it.
        self.keep_paths(1);
        self.paths = format!("{}\n{}", PathKey::new(bytes).to_hex(), self.paths);
    }

    /// Keeps only the newest `most`.
    fn keep_paths(&mut self, most: usize) {
        self.paths = self.paths().iter().take(most).map(|key| key.to_hex() + "\n").collect();
    }

    pub fn bundle(&self) -> CaBundle {
        CaBundle::new(self.authorities.as_str())
    }

    fn state(&self, names: &[String]) -> State {
        let authorities = Certificate::all(self.authorities.as_bytes()).unwrap_or_default();
        let key = rcgen::KeyPair::from_pem(&self.signing_key).ok();
        let signer = authorities.first().filter(|newest| key.is_some_and(|key| newest.is_of(&key)));
        let chain = Certificate::all(self.certificate.as_bytes()).unwrap_or_default();
        let serving = chain.first().filter(|serving| {
            names.iter().all(|name| serving.names.contains(name))
                && authorities.iter().any(|authority| serving.is_signed_by(authority))
                && certified(self.certificate.as_bytes(), self.key.as_bytes()).is_ok()
        });
        State {
            signer: signer.map(|signer| since_issued(signer.validity)),
            older: authorities.len() > 1,
            serving: serving.map(|serving| since_issued(serving.validity)),
            paths: self.paths().len(),
            by_newest: serving.zip(authorities.first()).is_some_and(|(serving, newest)| serving.is_signed_by(newest)),
        }
    }

    fn add_authority(&mut self, now: Timestamp, lifetimes: &Lifetimes) -> Result<(), CertificateError> {
        /// The maximum number of authorities, because the Secret must not grow by what somebody puts into it.
        const KEPT: usize = 3;
        let issued = issue_authority(now, lifetimes.authority)?;
        self.keep_authorities(KEPT - 1, now);
        self.authorities = format!("{}{}", issued.certificate, self.authorities);
        self.signing_key = issued.key;
        Ok(())
    }

    /// Keeps only the newest `most` that have not expired.
    fn keep_authorities(&mut self, most: usize, now: Timestamp) {
        let authorities = Certificate::all(self.authorities.as_bytes()).unwrap_or_default();
        let kept = authorities.iter().filter(|authority| authority.validity.until > now).take(most);
        self.authorities = kept.map(|authority| pem(authority.der())).collect();
    }
}

/// Removes the time by which the validity reaches back.
fn since_issued(validity: Validity) -> Validity {
    let from = validity.from.checked_add(SKEW).unwrap_or(validity.from);
    Validity { from, ..validity }
}

fn pem(der: &CertificateDer<'_>) -> String {
    use base64::{Engine as _, engine::general_purpose::STANDARD};
    let mut text = String::from("-----BEGIN CERTIFICATE-----\n");
    let encoded = STANDARD.encode(der);
    let mut rest = encoded.as_str();
    while !rest.is_empty() {
        let (line, more) = rest.split_at(rest.len().min(64));
        text.push_str(line);
        text.push('\n');
        rest = more;
    }
    text.push_str("-----END CERTIFICATE-----\n");
    text
}

/// One certificate.
#[derive(Debug, Clone)]
pub(super) struct Certificate {
    der: CertificateDer<'static>,
    pub validity: Validity,
    /// DNS names and addresses.
    pub names: Vec<String>,
}

impl Certificate {
    /// All certificates of a text, in their order. `None` if one of them cannot be read.
    pub fn all(pem: &[u8]) -> Option<Vec<Self>> {
        CertificateDer::pem_slice_iter(pem).map(|der| Self::new(der.ok()?)).collect()
    }

    fn new(der: CertificateDer<'static>) -> Option<Self> {
        let (validity, names) = {
            let parsed = parse(&der)?;
            let at = |time: x509_parser::time::ASN1Time| Timestamp::from_second(time.timestamp()).ok();
            let validity =
                Validity { from: at(parsed.validity().not_before)?, until: at(parsed.validity().not_after)? };
            (validity, names(&parsed))
        };
        Some(Self { der, validity, names })
    }

    /// Whether `issuer` signed this certificate.
    pub fn is_signed_by(&self, issuer: &Self) -> bool {
        let (Some(own), Some(other)) = (parse(&self.der), parse(&issuer.der)) else { return false };
        own.issuer() == other.subject() && own.verify_signature(Some(other.public_key())).is_ok()
    }

    /// Whether `key` belongs to this certificate.
    pub fn is_of(&self, key: &rcgen::KeyPair) -> bool {
        use rcgen::PublicKeyData as _;
        parse(&self.der).is_some_and(|own| own.public_key().raw == key.subject_public_key_info())
    }

    pub fn der(&self) -> &CertificateDer<'static> {
        &self.der
    }
}

fn parse<'a>(der: &'a CertificateDer<'_>) -> Option<X509Certificate<'a>> {
    x509_parser::parse_x509_certificate(der).ok().map(|(_, certificate)| certificate)
}

fn names(certificate: &X509Certificate<'_>) -> Vec<String> {
    let Ok(Some(found)) = certificate.subject_alternative_name() else { return Vec::new() };
    let name = |name: &GeneralName<'_>| match name {
        GeneralName::DNSName(name) => Some((*name).to_owned()),
        GeneralName::IPAddress(bytes) => address(bytes),
        _ => None,
    };
    found.value.general_names.iter().filter_map(name).collect()
}

fn address(bytes: &[u8]) -> Option<String> {
    let v4 = <[u8; 4]>::try_from(bytes).map(|bytes| std::net::IpAddr::from(bytes).to_string());
    v4.ok().or_else(|| Some(std::net::IpAddr::from(<[u8; 16]>::try_from(bytes).ok()?).to_string()))
}

/// A chain and its key, ready to be served, and when the first certificate of the chain expires.
fn certified(chain: &[u8], key: &[u8]) -> Result<(Arc<CertifiedKey>, Timestamp), String> {
    let certificates = Certificate::all(chain).ok_or("tls.crt is not a chain of certificates in PEM")?;
    let until = certificates.first().ok_or("tls.crt has no certificate")?.validity.until;
    let key = PrivateKeyDer::from_pem_slice(key).map_err(|error| format!("tls.key has no private key: {error}"))?;
    let chain = certificates.into_iter().map(|certificate| certificate.der).collect();
    // This checks that they belong together.
    let certified = CertifiedKey::from_der(chain, key, &ring::default_provider()).map_err(|error| error.to_string())?;
    Ok((Arc::new(certified), until))
}

/// How far the validity of certificates reaches back, because clocks of others may be behind.
const SKEW: Duration = Duration::from_secs(300);

/// A certificate and its key in PEM.
pub(super) struct Issued {
    pub certificate: String,
    pub key: String,
}

/// Issues a new authority. Keys are ECDSA on P-256, because every API server can verify them, and creating one takes no
/// time. Its name contains the time, so that two of them are never confused.
fn issue_authority(now: Timestamp, life: Duration) -> Result<Issued, rcgen::Error> {
    let mut params = params(now, life, Vec::new(), &format!("Boathook webhooks, {now}"))?;
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let key = KeyPair::generate()?;
    let certificate = params.self_signed(&key)?;
    Ok(Issued { certificate: certificate.pem(), key: key.serialize_pem() })
}

/// Issues a serving certificate for `names`, signed by the authority in PEM.
fn issue_serving(
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const LIVES: Lifetimes = Lifetimes {
        authority: Duration::from_secs(3000),
        serving: Duration::from_secs(900),
        overlap: Duration::from_secs(10),
    };

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_700_000_000 + second).unwrap()
    }

    fn names() -> Vec<String> {
        ["boathook.ops.svc", "127.0.0.1", "::1"].map(str::to_owned).to_vec()
    }

    fn authorities(material: &Material) -> usize {
        Certificate::all(material.authorities.as_bytes()).unwrap().len()
    }

    #[test]
    fn a_life_of_certificates() {
        let mut material = Material::default();
        let renew = |material: &mut Material, second: i64| {
            let before = material.clone();
            let changed = material.renew(at(second), &names(), &LIVES).unwrap();
            assert_eq!(changed, *material != before);
            (material.authorities != before.authorities, material.certificate != before.certificate)
        };
        assert_eq!(renew(&mut material, 0), (true, true));
        assert_eq!(material.serving("x").unwrap().expiry, Expiry { serving: at(900), authority: Some(at(3000)) });
        assert_eq!(renew(&mut material, 599), (false, false));
        assert_eq!(renew(&mut material, 600), (false, true));
        assert_eq!(renew(&mut material, 1500), (false, true));

        // The new authority is known before it signs anything, and the old one for a while afterwards.
        assert_eq!(renew(&mut material, 2000), (true, false));
        assert_eq!(authorities(&material), 2);
        assert_eq!(renew(&mut material, 2009), (false, false));
        assert_eq!(renew(&mut material, 2010), (false, true));
        assert_eq!(renew(&mut material, 2019), (false, false));
        assert_eq!(renew(&mut material, 2020), (true, false));
        assert_eq!(authorities(&material), 1);
        assert_eq!(renew(&mut material, 2021), (false, false));

        // Nothing was renewed for a long time.
        assert_eq!(renew(&mut material, 100_000), (true, true));
        assert_eq!(authorities(&material), 1);
    }

    #[test]
    fn what_is_lost_or_broken_is_made_anew() {
        let mut fresh = Material::default();
        fresh.renew(at(0), &names(), &LIVES).unwrap();
        let mended = |broken: Material| {
            let mut mended = broken;
            mended.renew(at(1), &names(), &LIVES).unwrap();
            assert!(mended.serving("x").is_ok());
            (authorities(&mended), mended.certificate == fresh.certificate)
        };
        let mut other = Material::default();
        other.renew(at(0), &names(), &LIVES).unwrap();
        assert_eq!(mended(Material { key: other.key.clone(), ..fresh.clone() }), (1, false));
        assert_eq!(mended(Material { certificate: String::new(), ..fresh.clone() }), (1, false));
        assert_eq!(mended(Material { certificate: "rubbish".into(), ..fresh.clone() }), (1, false));
        // An authority whose key is lost stays known until what it signed is replaced.
        assert_eq!(mended(Material { signing_key: String::new(), ..fresh.clone() }), (2, true));
        assert_eq!(mended(Material { signing_key: other.signing_key.clone(), ..fresh.clone() }), (2, true));
        // The authority of the certificate is unknown.
        assert_eq!(mended(Material { authorities: other.authorities, ..fresh.clone() }), (2, false));

        let mut more = names();
        more.push("boathook.other.svc".to_owned());
        assert!(fresh.renew(at(1), &more, &LIVES).unwrap());
    }

    #[test]
    fn keys_of_paths_come_with_certificates_and_overlap() {
        let mut material = Material::default();
        let path = |material: &mut Material, second: i64| {
            material.renew(at(second), &names(), &LIVES).unwrap();
            let keys = material.path_keys(at(second), &LIVES).unwrap();
            (keys.sign("/x"), keys)
        };
        let secret = |signed: &str| signed.strip_prefix("/x/").unwrap().to_owned();
        let (first, _) = path(&mut material, 0);
        assert_eq!(path(&mut material, 599).0, first);
        // A new key is known at once, and registered later.
        let (still, keys) = path(&mut material, 600);
        assert_eq!(still, first);
        let (second, both) = path(&mut material, 610);
        assert_ne!(second, first);
        assert!(keys.accepts("/x", &secret(&second)) && both.accepts("/x", &secret(&first)));
        assert!(path(&mut material, 619).1.accepts("/x", &secret(&first)));
        let (third, one) = path(&mut material, 620);
        assert!(third == second && !one.accepts("/x", &secret(&first)) && one.accepts("/x", &secret(&second)));
        // Invalid text in the Secret is not a key.
        material.paths = "secret\n".to_owned();
        assert!(path(&mut material, 621).1.accepts("/x", &secret(&material_path(&material))));
    }

    fn material_path(material: &Material) -> String {
        material.path_keys(at(621), &LIVES).unwrap().sign("/x")
    }

    #[test]
    fn authorities_do_not_pile_up() {
        let mut material = Material::default();
        for second in 0..8 {
            material.signing_key.clear();
            material.renew(at(second), &names(), &LIVES).unwrap();
        }
        assert_eq!(authorities(&material), 3);
    }
}
