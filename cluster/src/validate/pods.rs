//! Rules of pod specs, in pods and in templates. They cover common mistakes, and not every rule.

use serde_json::Value;

use super::quantity::Quantity;
use crate::json::{at, int, list, text};
use crate::names::{self, Naming};
use crate::status::Cause;

/// Problems of the spec at `shown`.
pub(super) fn spec(spec: &Value, shown: &str) -> Vec<Cause> {
    let mut causes = Vec::new();
    let volumes = volumes(spec, shown, &mut causes);
    if list(spec, &["containers"]).is_empty() {
        causes.push(Cause::required(format!("{shown}.containers"), ""));
    }
    let mut seen = Vec::new();
    for key in ["containers", "initContainers"] {
        for (index, each) in list(spec, &[key]).iter().enumerate() {
            let field = format!("{shown}.{key}[{index}]");
            container(each, &field, &volumes, &mut seen, &mut causes);
        }
    }
    one_of(spec, "restartPolicy", shown, &["Always", "OnFailure", "Never"], &mut causes);
    let policies = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];
    one_of(spec, "dnsPolicy", shown, &policies, &mut causes);
    if let Some(seconds) = int(spec, &["activeDeadlineSeconds"]).filter(|s| !(1..=i64::from(i32::MAX)).contains(s)) {
        let why = "must be between 1 and 2147483647, inclusive";
        causes.push(Cause::invalid(format!("{shown}.activeDeadlineSeconds"), &seconds.into(), why));
    }
    for key in ["nodeName", "serviceAccountName", "hostname"] {
        let name = text(spec, &[key]);
        let problems = if key == "hostname" { names::dns_label(name) } else { Naming::Subdomain.problems(name) };
        let problems = problems.into_iter().filter(|_| !name.is_empty());
        causes.extend(problems.map(|why| Cause::invalid(format!("{shown}.{key}"), &name.into(), why)));
    }
    for (index, toleration) in list(spec, &["tolerations"]).iter().enumerate() {
        let field = format!("{shown}.tolerations[{index}]");
        let value = text(toleration, &["value"]);
        if text(toleration, &["operator"]) == "Exists" && !value.is_empty() {
            let why = "value must be empty when `operator` is 'Exists'";
            causes.push(Cause::invalid(format!("{field}.operator"), &value.into(), why));
        }
        one_of(toleration, "effect", &field, &["NoSchedule", "PreferNoSchedule", "NoExecute"], &mut causes);
    }
    causes
}

/// Checks the volumes, and returns their names.
fn volumes<'a>(spec: &'a Value, shown: &str, causes: &mut Vec<Cause>) -> Vec<&'a str> {
    let mut seen = Vec::new();
    for (index, volume) in list(spec, &["volumes"]).iter().enumerate() {
        let field = format!("{shown}.volumes[{index}]");
        let name = text(volume, &["name"]);
        dns_label(name, &format!("{field}.name"), causes);
        if seen.contains(&name) {
            causes.push(Cause::duplicate(format!("{field}.name"), name));
        }
        let sources = volume.as_object().into_iter().flatten().filter(|(key, _)| *key != "name").skip(1);
        let why = "may not specify more than 1 volume type";
        causes.extend(sources.map(|(key, _)| Cause::forbidden(format!("{field}.{key}"), why)));
        seen.push(name);
    }
    seen
}

fn container<'a>(
    container: &'a Value,
    field: &str,
    volumes: &[&str],
    seen: &mut Vec<&'a str>,
    causes: &mut Vec<Cause>,
) {
    let of = |key: &str| format!("{field}.{key}");
    let name = text(container, &["name"]);
    dns_label(name, &of("name"), causes);
    if seen.contains(&name) {
        causes.push(Cause::duplicate(of("name"), name));
    }
    seen.push(name);
    let image = text(container, &["image"]);
    if image.is_empty() {
        causes.push(Cause::required(of("image"), ""));
    } else if image.trim() != image {
        causes.push(Cause::invalid(of("image"), &image.into(), "must not have leading or trailing whitespace"));
    }
    ports(container, field, causes);
    environment(container, field, causes);
    let mut paths = Vec::new();
    for (index, mount) in list(container, &["volumeMounts"]).iter().enumerate() {
        let field = of(&format!("volumeMounts[{index}]"));
        let (volume, path) = (text(mount, &["name"]), text(mount, &["mountPath"]));
        if volume.is_empty() {
            causes.push(Cause::required(format!("{field}.name"), ""));
        } else if !volumes.contains(&volume) {
            causes.push(Cause::not_found(format!("{field}.name"), volume));
        }
        if path.is_empty() {
            causes.push(Cause::required(format!("{field}.mountPath"), ""));
        } else if paths.contains(&path) {
            causes.push(Cause::invalid(format!("{field}.mountPath"), &path.into(), "must be unique"));
        }
        paths.push(path);
    }
    for probe in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if at(container, &[probe]).is_some_and(|p| handlers(p) == 0) {
            causes.push(Cause::required(of(probe), "must specify a handler type"));
        }
    }
    one_of(container, "imagePullPolicy", field, &["Always", "IfNotPresent", "Never"], causes);
    one_of(container, "terminationMessagePolicy", field, &["File", "FallbackToLogsOnError"], causes);
    resources(container, field, causes);
}

fn handlers(probe: &Value) -> usize {
    ["exec", "httpGet", "tcpSocket", "grpc"].iter().filter(|key| probe.get(**key).is_some()).count()
}

fn ports(container: &Value, field: &str, causes: &mut Vec<Cause>) {
    let mut seen = Vec::new();
    for (index, port) in list(container, &["ports"]).iter().enumerate() {
        let field = format!("{field}.ports[{index}]");
        let name = text(port, &["name"]);
        if !name.is_empty() {
            causes.extend(
                names::port_name(name)
                    .into_iter()
                    .map(|why| Cause::invalid(format!("{field}.name"), &name.into(), why)),
            );
            if seen.contains(&name) {
                causes.push(Cause::duplicate(format!("{field}.name"), name));
            }
            seen.push(name);
        }
        match int(port, &["containerPort"]).unwrap_or_default() {
            0 => causes.push(Cause::required(format!("{field}.containerPort"), "")),
            number => port_number(number, &format!("{field}.containerPort"), causes),
        }
        if let Some(number) = int(port, &["hostPort"]).filter(|n| *n != 0) {
            port_number(number, &format!("{field}.hostPort"), causes);
        }
        one_of(port, "protocol", &field, &["SCTP", "TCP", "UDP"], causes);
    }
}

fn environment(container: &Value, field: &str, causes: &mut Vec<Cause>) {
    for (index, variable) in list(container, &["env"]).iter().enumerate() {
        let field = format!("{field}.env[{index}]");
        let name = text(variable, &["name"]);
        if name.is_empty() {
            causes.push(Cause::required(format!("{field}.name"), ""));
        } else if !name.chars().all(|c| (' '..='~').contains(&c) && c != '=') {
            let why =
                "a valid environment variable name must consist only of printable ASCII characters other than '='";
            causes.push(Cause::invalid(format!("{field}.name"), &name.into(), why));
        }
        if !text(variable, &["value"]).is_empty() && at(variable, &["valueFrom"]).is_some() {
            let why = "may not be specified when `value` is not empty";
            causes.push(Cause::invalid(format!("{field}.valueFrom"), &"".into(), why));
        }
    }
}

/// Checks requests and limits.
fn resources(container: &Value, field: &str, causes: &mut Vec<Cause>) {
    let limits = at(container, &["resources", "limits"]);
    for kind in ["limits", "requests"] {
        for (name, value) in at(container, &["resources", kind]).and_then(Value::as_object).into_iter().flatten() {
            let size = value.as_str().and_then(Quantity::parse);
            if size.is_some_and(Quantity::is_negative) {
                let field = format!("{field}.resources.{kind}[{name}]");
                causes.push(Cause::invalid(field, value, "must be greater than or equal to 0"));
            }
            let limit = limits.and_then(|l| l.get(name)).and_then(Value::as_str);
            if kind == "requests" && limit.is_some_and(|limit| size > Quantity::parse(limit)) {
                let why = format!("must be less than or equal to {name} limit of {}", limit.unwrap_or_default());
                causes.push(Cause::invalid(format!("{field}.resources.requests"), value, why));
            }
        }
    }
}

/// Checks that a port number is valid.
pub(super) fn port_number(number: i64, field: &str, causes: &mut Vec<Cause>) {
    if !(1..=65535).contains(&number) {
        causes.push(Cause::invalid(field, &number.into(), "must be between 1 and 65535, inclusive"));
    }
}

/// Checks an optional field that must have one of these values.
pub(super) fn one_of(object: &Value, key: &str, shown: &str, allowed: &[&str], causes: &mut Vec<Cause>) {
    let value = text(object, &[key]);
    if !value.is_empty() && !allowed.contains(&value) {
        causes.push(Cause::unsupported(format!("{shown}.{key}"), &value.into(), allowed));
    }
}

fn dns_label(name: &str, field: &str, causes: &mut Vec<Cause>) {
    if name.is_empty() {
        causes.push(Cause::required(field, ""));
        return;
    }
    causes.extend(names::dns_label(name).into_iter().map(|why| Cause::invalid(field, &name.into(), why)));
}
