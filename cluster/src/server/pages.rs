//! Refuses requests from web pages, because a browser on this machine can reach loopback for any page that it shows. A
//! browser is recognized by headers that it adds itself, and that a page can neither change nor remove. Other clients
//! are not affected.

use std::net::IpAddr;

use http::header::{HOST, ORIGIN};
use http::uri::Authority;
use http::{HeaderMap, Uri};

use crate::status::Failure;
use crate::tls::NAMES;

/// The header in which a browser describes the page that sent the request.
const FETCH_SITE: &str = "sec-fetch-site";

/// Refuses requests that only a browser sends for a page.
///
/// A missing content type is not refused, although a page can also leave it out: `kubectl create --raw` sends none, and
/// every browser sends the origin of a request that is not a GET.
pub(super) fn refuse(uri: &Uri, headers: &HeaderMap) -> Result<(), Failure> {
    // A page whose own name was made to resolve to loopback counts as same-origin, but its request still contains that
    // name.
    for host in hosts(uri, headers) {
        if !host.as_deref().is_some_and(ours) {
            let host = host.unwrap_or_default();
            return Err(Failure::page(&format!("the request is for the host {host:?}, not for this machine")));
        }
    }
    if let Some(origin) = headers.get(ORIGIN) {
        return Err(Failure::page(&format!("the request comes from the web page {origin:?}")));
    }
    match headers.get(FETCH_SITE).map(|site| site.as_bytes()) {
        // What the user typed, and what such a page loads.
        None | Some(b"none" | b"same-origin") => Ok(()),
        Some(_) => Err(Failure::page("the request comes from a web page of another site")),
    }
}

/// Every host that the request names. `None` for a host that cannot be parsed. HTTP/1.0 requires none.
fn hosts(uri: &Uri, headers: &HeaderMap) -> impl Iterator<Item = Option<String>> {
    let bare = |authority: &Authority| authority.host().trim_matches(['[', ']']).to_ascii_lowercase();
    let named = headers.get_all(HOST).iter().map(move |host| host.to_str().ok()?.parse().ok().as_ref().map(bare));
    named.chain(uri.authority().map(bare).map(Some)).collect::<Vec<_>>().into_iter()
}

fn ours(host: &str) -> bool {
    NAMES.contains(&host) || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn allowed(uri: &str, headers: &[(&'static str, &str)]) -> bool {
        let headers = headers
            .iter()
            .map(|(name, value)| (http::HeaderName::from_static(name), http::HeaderValue::from_str(value).unwrap()));
        refuse(&uri.parse().unwrap(), &headers.collect()).is_ok()
    }

    #[test]
    fn only_names_of_this_machine_are_hosts() {
        for host in ["localhost", "LocalHost:80", "127.0.0.1:1", "127.1.2.3", "[::1]:8001", "kubernetes.default.svc"] {
            assert!(allowed("/", &[("host", host)]), "{host}");
        }
        for host in ["evil.example", "evil.example:80", "localhost.evil.example", "10.0.0.1", "", "[::2]", "a@b@c"] {
            assert!(!allowed("/", &[("host", host)]), "{host}");
        }
        assert!(allowed("/", &[]));
        assert!(allowed("http://127.0.0.1:80/", &[]));
        assert!(!allowed("http://evil.example/", &[]));
        assert!(!allowed("http://127.0.0.1/", &[("host", "evil.example")]));
        assert!(!allowed("/", &[("host", "localhost"), ("host", "evil.example")]));
    }

    #[test]
    fn what_a_page_asks_for_is_refused_and_what_the_user_typed_is_not() {
        assert!(allowed("/", &[("sec-fetch-site", "none")]));
        for site in ["cross-site", "same-site", "new-word"] {
            assert!(!allowed("/", &[("sec-fetch-site", site)]), "{site}");
        }
        for origin in ["https://evil.example", "null", "http://127.0.0.1:3000"] {
            assert!(!allowed("/", &[("origin", origin)]), "{origin}");
        }
    }
}
