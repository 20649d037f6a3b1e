//! Rules of services, network policies, ingresses and their classes.

use serde_json::{Value, json};

use super::{Range, address, pods, range, selector};
use crate::json::{at, int, is_empty, list, text};
use crate::names;
use crate::status::Cause;

pub(super) fn service(object: &Value, old: Option<&Value>) -> Vec<Cause> {
    let mut causes: Vec<Cause> = old.and_then(|old| moved(object, old)).into_iter().collect();
    let ports = list(object, &["spec", "ports"]);
    let kind = text(object, &["spec", "type"]);
    let cluster_ip = text(object, &["spec", "clusterIP"]);
    if ports.is_empty() && cluster_ip != "None" && kind != "ExternalName" {
        causes.push(Cause::required("spec.ports", ""));
    }
    let mut seen = Vec::new();
    for (index, port) in ports.iter().enumerate() {
        let field = format!("spec.ports[{index}]");
        let name = text(port, &["name"]);
        if name.is_empty() && ports.len() > 1 {
            causes.push(Cause::required(format!("{field}.name"), ""));
        } else if !name.is_empty() {
            let wrong = names::dns_label(name);
            causes.extend(wrong.into_iter().map(|why| Cause::invalid(format!("{field}.name"), &name.into(), why)));
            if seen.contains(&name) {
                causes.push(Cause::duplicate(format!("{field}.name"), name));
            }
        }
        seen.push(name);
        pods::port_number(int(port, &["port"]).unwrap_or_default(), &format!("{field}.port"), &mut causes);
        pods::one_of(port, "protocol", &field, &["SCTP", "TCP", "UDP"], &mut causes);
        if let Some(number) = int(port, &["targetPort"]) {
            pods::port_number(number, &format!("{field}.targetPort"), &mut causes);
        }
    }
    if let Some(spec) = at(object, &["spec"]) {
        let kinds = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
        pods::one_of(spec, "type", "spec", &kinds, &mut causes);
        pods::one_of(spec, "sessionAffinity", "spec", &["ClientIP", "None"], &mut causes);
    }
    if kind == "ExternalName" && text(object, &["spec", "externalName"]).is_empty() {
        causes.push(Cause::required("spec.externalName", ""));
    }
    if !matches!(cluster_ip, "" | "None") {
        causes.extend(address(cluster_ip, "spec.clusterIPs[0]"));
    }
    causes
}

/// A service cannot change its address, unless it has none.
fn moved(object: &Value, old: &Value) -> Option<Cause> {
    let external = |service: &Value| text(service, &["spec", "type"]) == "ExternalName";
    let (before, after) = (text(old, &["spec", "clusterIP"]), text(object, &["spec", "clusterIP"]));
    if external(old) || external(object) || before.is_empty() || before == after {
        return None;
    }
    let addresses = json!([after]);
    Some(Cause::invalid("spec.clusterIPs[0]", &addresses, "may not change once set"))
}

pub(super) fn network_policy(object: &Value) -> Vec<Cause> {
    let mut causes = selector(at(object, &["spec", "podSelector"]), "spec.podSelector");
    for (direction, end) in [("ingress", "from"), ("egress", "to")] {
        for (rule, each) in list(object, &["spec", direction]).iter().enumerate() {
            for (index, port) in list(each, &["ports"]).iter().enumerate() {
                policy_port(port, &format!("spec.{direction}[{rule}].ports[{index}]"), &mut causes);
            }
            for (index, peer) in list(each, &[end]).iter().enumerate() {
                policy_peer(peer, &format!("spec.{direction}[{rule}].{end}[{index}]"), &mut causes);
            }
        }
    }
    for (index, kind) in list(object, &["spec", "policyTypes"]).iter().enumerate() {
        if kind != "Ingress" && kind != "Egress" {
            causes.push(Cause::unsupported(format!("spec.policyTypes[{index}]"), kind, &["Ingress", "Egress"]));
        }
    }
    causes
}

fn policy_port(port: &Value, field: &str, causes: &mut Vec<Cause>) {
    pods::one_of(port, "protocol", field, &["SCTP", "TCP", "UDP"], causes);
    let number = int(port, &["port"]);
    if let Some(number) = number {
        pods::port_number(number, &format!("{field}.port"), causes);
    }
    if let Some(end) = int(port, &["endPort"]) {
        let why = match number {
            None => "must be specified when `endPort` is specified",
            Some(number) if end < number => "must be greater than or equal to `port`",
            Some(_) => return,
        };
        let shown = number.unwrap_or(end);
        causes.push(Cause::invalid(format!("{field}.endPort"), &shown.into(), why));
    }
}

fn policy_peer(peer: &Value, field: &str, causes: &mut Vec<Cause>) {
    let parts: Vec<&str> =
        ["podSelector", "namespaceSelector", "ipBlock"].into_iter().filter(|key| peer.get(*key).is_some()).collect();
    for key in ["podSelector", "namespaceSelector"] {
        causes.extend(selector(peer.get(key), &format!("{field}.{key}")));
    }
    if let Some(block) = peer.get("ipBlock") {
        blocks(block, &format!("{field}.ipBlock"), causes);
    }
    if parts.is_empty() {
        causes.push(Cause::required(field, "must specify a peer"));
    } else if parts.len() > 1 && parts.contains(&"ipBlock") {
        causes.push(Cause::forbidden(field, "may not specify both ipBlock and another peer"));
    }
}

fn blocks(block: &Value, field: &str, causes: &mut Vec<Cause>) {
    let whole = text(block, &["cidr"]);
    if whole.is_empty() {
        causes.push(Cause::required(format!("{field}.cidr"), ""));
        return;
    }
    causes.extend(range(whole, &format!("{field}.cidr")));
    let Some(whole) = Range::parse(whole) else { return };
    for (index, part) in list(block, &["except"]).iter().enumerate() {
        let (field, text) = (format!("{field}.except[{index}]"), part.as_str().unwrap_or_default());
        match Range::parse(text) {
            None => causes.extend(range(text, &field)),
            Some(part) if part.is_part_of(whole) => {}
            Some(_) => causes.push(Cause::invalid(field, part, "must be a strict subset of `cidr`")),
        }
    }
}

pub(super) fn ingress(object: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let rules = list(object, &["spec", "rules"]);
    let default = at(object, &["spec", "defaultBackend"]);
    if rules.is_empty() && default.is_none() {
        let why = "either `defaultBackend` or `rules` must be specified";
        causes.push(Cause::invalid("spec", &Value::Null, why));
    }
    for (index, rule) in rules.iter().enumerate() {
        let field = format!("spec.rules[{index}]");
        let host = text(rule, &["host"]);
        let plain = host.strip_prefix("*.").unwrap_or(host);
        if !host.is_empty() {
            let wrong = names::Naming::Subdomain.problems(plain).into_iter();
            causes.extend(wrong.map(|why| Cause::invalid(format!("{field}.host"), &host.into(), why)));
        }
        for (index, path) in list(rule, &["http", "paths"]).iter().enumerate() {
            ingress_path(path, &format!("{field}.http.paths[{index}]"), &mut causes);
        }
    }
    if let Some(backend) = default {
        causes.extend(ingress_backend(backend, "spec.defaultBackend"));
    }
    causes
}

fn ingress_path(path: &Value, field: &str, causes: &mut Vec<Cause>) {
    let (place, kind) = (text(path, &["path"]), text(path, &["pathType"]));
    let kinds = ["Exact", "ImplementationSpecific", "Prefix"];
    match kind {
        "" => causes.push(Cause::required(format!("{field}.pathType"), "pathType must be specified")),
        "Exact" | "Prefix" if !place.starts_with('/') => {
            causes.push(Cause::invalid(format!("{field}.path"), &place.into(), "must be an absolute path"));
        }
        kind if kinds.contains(&kind) => {}
        kind => causes.push(Cause::unsupported(format!("{field}.pathType"), &kind.into(), &kinds)),
    }
    if let Some(backend) = path.get("backend") {
        causes.extend(ingress_backend(backend, &format!("{field}.backend")));
    }
}

fn ingress_backend(backend: &Value, field: &str) -> Option<Cause> {
    let service = backend.get("service")?;
    if text(service, &["name"]).is_empty() {
        return Some(Cause::required(format!("{field}.service.name"), ""));
    }
    let by_name = !text(service, &["port", "name"]).is_empty();
    let by_number = int(service, &["port", "number"]).is_some_and(|number| number != 0);
    match (by_name, by_number) {
        (false, false) => Some(Cause::required(field, "port name or number is required")),
        (true, true) => Some(Cause::invalid(field, &"".into(), "cannot set both port name & port number")),
        _ => None,
    }
}

pub(super) fn ingress_class(object: &Value) -> Vec<Cause> {
    let controller = text(object, &["spec", "controller"]);
    let prefixed = controller.split_once('/').is_some_and(|(domain, path)| !domain.is_empty() && !path.is_empty());
    let wrong = if is_empty(at(object, &["spec", "controller"])) {
        Some(Cause::required("spec.controller", ""))
    } else if prefixed {
        None
    } else {
        let why = "must be a domain-prefixed path (such as \"acme.io/foo\")";
        Some(Cause::invalid("spec.controller", &controller.into(), why))
    };
    wrong.into_iter().collect()
}

/// Checks the addresses in the status of an ingress.
pub(super) fn balanced(object: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    for (index, entry) in list(object, &["status", "loadBalancer", "ingress"]).iter().enumerate() {
        let ip = text(entry, &["ip"]);
        if !ip.is_empty() {
            causes.extend(address(ip, &format!("status.loadBalancer.ingress[{index}].ip")));
        }
    }
    causes
}
