//! Rules of services, network policies, ingresses and their classes.

use std::net::IpAddr;

use serde_json::{Value, json};

use super::pods::PROTOCOLS;
use crate::field::Field;
use crate::json::text;
use crate::names::{Naming, dns_label};

const IP: &str = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
const CIDR: &str = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";

pub(super) fn service(service: &Field<'_>, old: Option<&Value>) {
    let (spec, address) = (service.at("spec"), service.at("spec.clusterIP").named("spec.clusterIPs[0]"));
    let is_external = spec.at("type").text() == "ExternalName";
    if let Some(old) = old {
        // A service cannot change its address, unless it has none.
        let before = text(old, &["spec", "clusterIP"]);
        let was_external = text(old, &["spec", "type"]) == "ExternalName";
        if !is_external && !was_external && !before.is_empty() && before != address.text() {
            address.invalid_as(json!([address.text()]), "may not change once set");
        }
    }
    let count = spec.at("ports").list().len();
    if count == 0 && address.text() != "None" && !is_external {
        spec.at("ports").required("");
    }
    let mut seen = Vec::new();
    for port in spec.each("ports") {
        let name = port.at("name");
        if !name.is_empty() {
            name.check(dns_label);
            name.unique(&mut seen);
        } else if count > 1 {
            name.required("");
        }
        let number = port.at("port");
        if number.is_set() {
            number.port()
        } else {
            number.invalid_as(0, "must be between 1 and 65535, inclusive")
        }
        port.at("protocol").one_of(PROTOCOLS);
        port.at("targetPort").port();
    }
    spec.at("type").one_of(&["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"]);
    spec.at("sessionAffinity").one_of(&["ClientIP", "None"]);
    if is_external {
        spec.at("externalName").need("");
    }
    if !matches!(address.text(), "" | "None") {
        check_address(&address);
    }
}

fn check_address(address: &Field<'_>) {
    if address.text().parse::<IpAddr>().is_err() {
        address.invalid(IP);
    }
}

pub(super) fn network_policy(policy: &Field<'_>) {
    let spec = policy.at("spec");
    spec.at("podSelector").selector();
    for (direction, end) in [("ingress", "from"), ("egress", "to")] {
        for rule in spec.each(direction) {
            rule.each("ports").for_each(|port| policy_port(&port));
            rule.each(end).for_each(|peer| policy_peer(&peer));
        }
    }
    let kinds = ["Ingress", "Egress"];
    spec.each("policyTypes").filter(|kind| !kinds.contains(&kind.text())).for_each(|kind| kind.unsupported(&kinds));
}

fn policy_port(port: &Field<'_>) {
    port.at("protocol").one_of(PROTOCOLS);
    let (number, end) = (port.at("port"), port.at("endPort"));
    number.port();
    match (number.int(), end.int()) {
        (None, Some(_)) => end.invalid("must be specified when `endPort` is specified"),
        (Some(first), Some(last)) if last < first => end.invalid_as(first, "must be greater than or equal to `port`"),
        _ => {}
    }
}

fn policy_peer(peer: &Field<'_>) {
    let [pods, namespaces, block] = ["podSelector", "namespaceSelector", "ipBlock"].map(|key| peer.at(key));
    pods.selector();
    namespaces.selector();
    if block.is_set() {
        ip_block(&block);
    }
    match (pods.is_set() || namespaces.is_set(), block.is_set()) {
        (false, false) => peer.required("must specify a peer"),
        (true, true) => peer.forbidden("may not specify both ipBlock and another peer"),
        _ => {}
    }
}

fn ip_block(block: &Field<'_>) {
    let whole = block.at("cidr");
    if !whole.need("") {
        return;
    }
    let Some(range) = Range::parse(whole.text()) else { return whole.invalid(CIDR) };
    for part in block.each("except") {
        match Range::parse(part.text()) {
            None => part.invalid(CIDR),
            Some(inner) if inner.is_part_of(range) => {}
            Some(_) => part.invalid("must be a strict subset of `cidr`"),
        }
    }
}

/// A range of addresses: its prefix, and the prefix length.
#[derive(Clone, Copy)]
struct Range {
    bits: u128,
    length: u32,
    v4: bool,
}

impl Range {
    fn parse(text: &str) -> Option<Self> {
        let (address, length) = text.split_once('/')?;
        let (bits, v4) = match address.parse().ok()? {
            IpAddr::V4(address) => (u128::from(u32::from(address)) << 96, true),
            IpAddr::V6(address) => (u128::from(address), false),
        };
        let length: u32 = length.parse().ok()?;
        (length <= if v4 { 32 } else { 128 }).then_some(Self { bits, length, v4 })
    }

    /// Whether this is a proper part of `whole`.
    fn is_part_of(self, whole: Self) -> bool {
        let shift = 128_u32.saturating_sub(whole.length);
        let same = self.bits.checked_shr(shift) == whole.bits.checked_shr(shift);
        self.v4 == whole.v4 && self.length > whole.length && (whole.length == 0 || same)
    }
}

pub(super) fn ingress(ingress: &Field<'_>) {
    let (spec, default) = (ingress.at("spec"), ingress.at("spec.defaultBackend"));
    if spec.at("rules").is_empty() && !default.is_set() {
        spec.invalid_as(Value::Null, "either `defaultBackend` or `rules` must be specified");
    }
    for rule in spec.each("rules") {
        let host = rule.at("host");
        if !host.is_empty() {
            host.check(|host| Naming::Subdomain.problems(host.strip_prefix("*.").unwrap_or(host)));
        }
        rule.each("http.paths").for_each(|path| ingress_path(&path));
    }
    ingress_backend(&default);
}

fn ingress_path(path: &Field<'_>) {
    let (place, kind) = (path.at("path"), path.at("pathType"));
    match kind.text() {
        "" => kind.required("pathType must be specified"),
        "Exact" | "Prefix" if !place.text().starts_with('/') => {
            place.invalid_as(place.text(), "must be an absolute path");
        }
        _ => kind.one_of(&["Exact", "ImplementationSpecific", "Prefix"]),
    }
    ingress_backend(&path.at("backend"));
}

fn ingress_backend(backend: &Field<'_>) {
    let service = backend.at("service");
    if !service.is_set() || !service.at("name").need("") {
        return;
    }
    let by_number = service.at("port.number").int().is_some_and(|number| number != 0);
    match (!service.at("port.name").is_empty(), by_number) {
        (false, false) => backend.required("port name or number is required"),
        (true, true) => backend.invalid_as("", "cannot set both port name & port number"),
        _ => {}
    }
}

pub(super) fn ingress_class(class: &Field<'_>) {
    let controller = class.at("spec.controller");
    let prefixed =
        controller.text().split_once('/').is_some_and(|(domain, path)| !domain.is_empty() && !path.is_empty());
    if controller.need("") && !prefixed {
        controller.invalid("must be a domain-prefixed path (such as \"acme.io/foo\")");
    }
}

/// Checks the addresses in the status of an ingress.
pub(super) fn balanced(ingress: &Field<'_>) {
    let addresses = ingress.each("status.loadBalancer.ingress").map(|entry| entry.at("ip"));
    addresses.filter(|ip| !ip.is_empty()).for_each(|ip| check_address(&ip));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_a_strict_part_of_a_wider_one() {
        let part = |inner: &str, outer: &str| Range::parse(inner).unwrap().is_part_of(Range::parse(outer).unwrap());
        assert!(part("192.0.2.8/29", "192.0.2.0/24"));
        assert!(part("2001:db8:1::/48", "2001:db8::/32"));
        assert!(part("10.0.0.0/8", "0.0.0.0/0"));
        assert!(!part("192.0.2.0/24", "192.0.2.0/24"));
        assert!(!part("198.51.100.0/25", "192.0.2.0/24"));
        assert!(!part("::/64", "0.0.0.0/0"));
        assert!(["10.0.0.1", "10.0.0.0/33", "x/8", "10.0.0.0/"].iter().all(|text| Range::parse(text).is_none()));
    }
}
