//! Rules of pod specs, in pods and in templates. They cover common mistakes, and not every rule.

use super::quantity::Quantity;
use crate::field::Field;
use crate::field::NOT_NEGATIVE;
use crate::names::{Naming, dns_label, port_name};

pub(super) const PROTOCOLS: &[&str] = &["SCTP", "TCP", "UDP"];

/// Checks a pod's spec.
pub(super) fn spec(spec: &Field<'_>) {
    let volumes = volumes(spec);
    spec.at("containers").need("");
    let mut seen = Vec::new();
    for each in ["containers", "initContainers"].into_iter().flat_map(|key| spec.each(key)) {
        container(&each, &volumes, &mut seen);
    }
    spec.at("restartPolicy").one_of(&["Always", "OnFailure", "Never"]);
    spec.at("dnsPolicy").one_of(&["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"]);
    let seconds = 1..=i64::from(i32::MAX);
    spec.at("activeDeadlineSeconds").within(seconds, "must be between 1 and 2147483647, inclusive");
    for key in ["nodeName", "serviceAccountName", "hostname"] {
        let name = spec.at(key);
        if !name.is_empty() {
            name.check(|name| if key == "hostname" { dns_label(name) } else { Naming::Subdomain.problems(name) });
        }
    }
    for toleration in spec.each("tolerations") {
        let (operator, value) = (toleration.at("operator"), toleration.at("value"));
        if operator.text() == "Exists" && !value.is_empty() {
            operator.invalid_as(value.text(), "value must be empty when `operator` is 'Exists'");
        }
        toleration.at("effect").one_of(&["NoSchedule", "PreferNoSchedule", "NoExecute"]);
    }
}

/// Checks the volumes, and returns their names.
fn volumes<'a>(spec: &Field<'a>) -> Vec<&'a str> {
    let mut seen = Vec::new();
    for volume in spec.each("volumes") {
        label(&volume.at("name"));
        volume.at("name").unique(&mut seen);
        for source in volume.keys().filter(|key| *key != "name").skip(1) {
            volume.at(source).forbidden("may not specify more than 1 volume type");
        }
    }
    seen
}

fn container<'a>(container: &Field<'a>, volumes: &[&str], seen: &mut Vec<&'a str>) {
    label(&container.at("name"));
    container.at("name").unique(seen);
    let image = container.at("image");
    if image.need("") && image.text().trim() != image.text() {
        image.invalid("must not have leading or trailing whitespace");
    }
    ports(container);
    environment(container);
    let mut paths = Vec::new();
    for mount in container.each("volumeMounts") {
        let (volume, path) = (mount.at("name"), mount.at("mountPath"));
        if volume.need("") && !volumes.contains(&volume.text()) {
            volume.not_found();
        }
        if path.need("") && paths.contains(&path.text()) {
            path.invalid("must be unique");
        }
        paths.push(path.text());
    }
    for probe in ["livenessProbe", "readinessProbe", "startupProbe"].map(|key| container.at(key)) {
        let handlers = ["exec", "httpGet", "tcpSocket", "grpc"];
        if probe.is_set() && !handlers.iter().any(|key| probe.at(key).is_set()) {
            probe.required("must specify a handler type");
        }
    }
    container.at("imagePullPolicy").one_of(&["Always", "IfNotPresent", "Never"]);
    container.at("terminationMessagePolicy").one_of(&["File", "FallbackToLogsOnError"]);
    resources(container);
}

fn ports(container: &Field<'_>) {
    let mut seen = Vec::new();
    for port in container.each("ports") {
        let (name, number, host) = (port.at("name"), port.at("containerPort"), port.at("hostPort"));
        if !name.is_empty() {
            name.check(port_name);
            name.unique(&mut seen);
        }
        if number.int().unwrap_or_default() == 0 {
            number.required("");
        } else {
            number.port();
        }
        if host.int() != Some(0) {
            host.port();
        }
        port.at("protocol").one_of(PROTOCOLS);
    }
}

fn environment(container: &Field<'_>) {
    for variable in container.each("env") {
        let (name, source) = (variable.at("name"), variable.at("valueFrom"));
        if name.need("") && !name.text().chars().all(|c| (' '..='~').contains(&c) && c != '=') {
            name.invalid(
                "a valid environment variable name must consist only of printable ASCII characters other than '='",
            );
        }
        if source.is_set() && !variable.at("value").is_empty() {
            source.invalid_as("", "may not be specified when `value` is not empty");
        }
    }
}

/// Checks requests and limits.
fn resources(container: &Field<'_>) {
    let (limits, requests) = (container.at("resources.limits"), container.at("resources.requests"));
    for all in [&limits, &requests] {
        for (name, quantity) in all.keys().map(|name| (name, all.entry(name))) {
            let size = Quantity::parse(quantity.text());
            if size.is_some_and(Quantity::is_negative) {
                quantity.invalid(NOT_NEGATIVE);
            }
            let limit = limits.entry(name);
            if limit.is_set() && size > Quantity::parse(limit.text()) {
                let why = format!("must be less than or equal to {name} limit of {}", limit.text());
                requests.invalid_as(quantity.text(), why);
            }
        }
    }
}

/// A name that must be set, and be a DNS label.
fn label(name: &Field<'_>) {
    if name.need("") {
        name.check(dns_label);
    }
}
