//! Logs of pods, which are always empty. A pod without a node has no logs at all. `follow` has no effect.

use http::{Method, Request, Response};
use hyper::body::Incoming;
use serde_json::Value;

use super::call::Call;
use super::respond::{self, Body};
use crate::json;
use crate::status::{Cause, Failure};

pub(super) async fn read(call: &Call<'_>, request: &Request<Incoming>) -> Result<Response<Body>, Failure> {
    if *request.method() != Method::GET {
        return Err(Failure::method_not_allowed());
    }
    let query = request.uri().query().unwrap_or_default();
    let wanted =
        |key: &str| form_urlencoded::parse(query.as_bytes()).find(|(k, _)| k == key).map(|(_, v)| v.into_owned());
    let causes = problems(&wanted);
    if !causes.is_empty() {
        return Err(Failure::invalid("", "PodLogOptions", call.name, &causes));
    }
    let pod = call.found().await?.raw.value();
    check_container(&pod, call.name, &wanted("container").unwrap_or_default())?;
    if json::text(&pod, &["spec", "nodeName"]).is_empty() {
        return Ok(respond::empty(204));
    }
    Ok(respond::plain(200, ""))
}

fn problems(wanted: &impl Fn(&str) -> Option<String>) -> Vec<Cause> {
    let mut causes = Vec::new();
    for (key, least) in [("tailLines", 0), ("limitBytes", 1), ("sinceSeconds", 1)] {
        let number: Option<i64> = wanted(key).and_then(|text| text.parse().ok());
        if let Some(number) = number.filter(|number| *number < least) {
            let why = if least == 0 { "must be greater than or equal to 0" } else { "must be greater than 0" };
            causes.push(Cause::invalid(key, &number.into(), why));
        }
    }
    causes
}

fn check_container(pod: &Value, name: &str, wanted: &str) -> Result<(), Failure> {
    let names = |key: &str| -> Vec<String> {
        json::list(pod, &["spec", key]).iter().map(|c| json::text(c, &["name"]).to_owned()).collect()
    };
    let (containers, init) = (names("containers"), names("initContainers"));
    if wanted.is_empty() {
        if containers.len() == 1 {
            return Ok(());
        }
        let more = if init.is_empty() {
            String::new()
        } else {
            format!(" or one of the init containers: [{}]", init.join(" "))
        };
        let why = format!(
            "a container name must be specified for pod {name}, choose one of: [{}]{more}",
            containers.join(" ")
        );
        return Err(Failure::bad_request(why));
    }
    let known =
        containers.iter().chain(&init).chain(&names("ephemeralContainers")).any(|container| container == wanted);
    if known { Ok(()) } else { Err(Failure::bad_request(format!("container {wanted} is not valid for pod {name}"))) }
}
