//! The content of the Secret with Boathook's own certificates, and the steps that renew it. The Secret is read and
//! written elsewhere.

use boathook_core::model::PathKey;
use jiff::Timestamp;
use tokio_rustls::rustls::pki_types::CertificateDer;

use super::{
    CaBundle, CertificateError, Expiry, Lifetimes, PathKeys, Serving,
    decide::{Decision, State, Validity, decide, newest_path_is_registered},
    issue,
    x509::{Certificate, certified},
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
                    let issued = issue::serving(now, lifetimes.serving, names, newest)?;
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
        let issued = issue::authority(now, lifetimes.authority)?;
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
    let from = validity.from.checked_add(issue::SKEW).unwrap_or(validity.from);
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
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
