//! TokenRequest: a token for a service account, with a lifetime, audiences and a bound object. The minimum lifetime is
//! ten minutes.

use jiff::SignedDuration;
use serde_json::{Map, Value, json};

use super::{add, set_status};
use crate::auth::tokens::{Bound, Claims, ISSUER, Private};
use crate::context::Context;
use crate::json::{self, at, int, is_empty, list, text};
use crate::lifecycle::create;
use crate::server::Call;
use crate::status::{Cause, Failure, GroupResource};
use crate::store::key;

const GROUP: &str = "authentication.k8s.io";
const SHORTEST: i64 = 600;
const LONGEST: i64 = 1 << 32;
const USUAL: i64 = 3600;

/// The defaults of a request.
pub(super) fn set_defaults(spec: &mut Map<String, Value>) {
    if is_empty(spec.get("expirationSeconds")) {
        spec.insert("expirationSeconds".into(), USUAL.into());
    }
}

/// The response to a request, whose type is already checked.
pub(super) fn issue(call: &Call<'_>, mut request: Value, context: &Context) -> Result<Value, Failure> {
    let account = call.shared.store.get(&call.resource.storage, &call.key());
    let account = account.ok_or_else(|| Failure::not_found(call.resource.gr(), call.name))?;
    identify(call, &mut request, &account.uid, context)?;
    let spec = json::child(json::object(&mut request), "spec");
    spec.entry("boundObjectRef").or_insert(Value::Null);
    if is_empty(spec.get("audiences")) {
        spec.insert("audiences".into(), json!([ISSUER]));
    }
    let spec = Value::Object(spec.clone());
    let seconds = lifetime(&spec)?;
    let mut private = Private {
        namespace: call.namespace.to_owned(),
        serviceaccount: Bound { name: call.name.to_owned(), uid: (*account.uid).to_owned() },
        ..Private::default()
    };
    if let Some(reference) = at(&spec, &["boundObjectRef"]).filter(|r| !is_empty(Some(r))) {
        bind(call, reference, &mut private)?;
    }
    let now = context.now.as_second();
    let audiences = list(&spec, &["audiences"]).iter().filter_map(Value::as_str).map(str::to_owned);
    let claims = Claims {
        aud: audiences.collect(),
        exp: now.saturating_add(seconds),
        iat: now,
        iss: ISSUER.to_owned(),
        jti: create::uid(),
        kubernetes: private,
        nbf: now,
        sub: format!("system:serviceaccount:{}:{}", call.namespace, call.name),
    };
    let end = context.now.checked_add(SignedDuration::from_secs(seconds)).unwrap_or(context.now);
    let mut status = Map::new();
    add(&mut status, "token", call.shared.auth.signer.sign(&claims));
    add(&mut status, "expirationTimestamp", crate::time::seconds(end));
    set_status(&mut request, status);
    Ok(request)
}

/// The metadata of the request become those of the account.
fn identify(call: &Call<'_>, request: &mut Value, uid: &str, context: &Context) -> Result<(), Failure> {
    let refuse = |field: &str, given: &str, why: &str| {
        let cause = Cause::invalid(format!("metadata.{field}"), &given.into(), why);
        Err(Failure::invalid(GROUP, "TokenRequest", call.name, &[cause]))
    };
    let given = |key: &str| text(request, &["metadata", key]).to_owned();
    let (name, namespace, wanted) = (given("name"), given("namespace"), given("uid"));
    if !name.is_empty() && name != call.name {
        return refuse("name", &name, "must match the service account name if specified");
    }
    if !namespace.is_empty() && namespace != call.namespace {
        return refuse("namespace", &namespace, "must match the service account namespace if specified");
    }
    if !wanted.is_empty() && wanted != uid {
        let kind = GroupResource { group: GROUP, resource: "TokenRequest" };
        let why =
            format!("the UID in the token request ({wanted}) does not match the UID of the service account ({uid})");
        return Err(Failure::conflict(kind, call.name, &why));
    }
    let meta = json::metadata(request);
    meta.insert("name".into(), call.name.into());
    meta.insert("namespace".into(), call.namespace.into());
    meta.insert("uid".into(), uid.into());
    meta.insert("creationTimestamp".into(), context.stamp().into());
    Ok(())
}

fn lifetime(spec: &Value) -> Result<i64, Failure> {
    let seconds = int(spec, &["expirationSeconds"]).unwrap_or_default();
    let why = match seconds {
        ..SHORTEST => "may not specify a duration less than 10 minutes",
        SHORTEST..=LONGEST => return Ok(seconds),
        _ => "may not specify a duration larger than 2^32 seconds",
    };
    Err(Failure::invalid(GROUP, "TokenRequest", "", &[Cause::invalid("spec.expirationSeconds", &seconds.into(), why)]))
}

/// Binds the token to a pod, a secret or a node. It is valid only while that object exists.
fn bind(call: &Call<'_>, reference: &Value, private: &mut Private) -> Result<(), Failure> {
    let (kind, name) = (text(reference, &["kind"]), text(reference, &["name"]));
    let api_version = text(reference, &["apiVersion"]);
    let (plural, namespace) = match (api_version, kind) {
        ("v1" | "", "Pod") => ("pods", call.namespace),
        ("v1" | "", "Secret") => ("secrets", call.namespace),
        ("v1" | "", "Node") => ("nodes", ""),
        _ => {
            let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
            let what = format!("cannot bind token to object of type {group}/{version}, Kind={kind}");
            return Err(Failure::bad_request(what));
        }
    };
    let gr = GroupResource { group: "", resource: plural };
    let found = call.shared.store.get(plural, &key(namespace, name)).ok_or_else(|| Failure::not_found(gr, name))?;
    let wanted = text(reference, &["uid"]);
    if !wanted.is_empty() && *wanted != *found.uid {
        let why = format!(
            "the UID in the bound object reference ({wanted}) does not match the UID in record. The object might have been \
             deleted and then recreated"
        );
        return Err(Failure::conflict(GroupResource { group: "", resource: kind }, name, &why));
    }
    let bound = Bound { name: name.to_owned(), uid: (*found.uid).to_owned() };
    match kind {
        "Secret" => private.secret = Some(bound),
        "Node" => private.node = Some(bound),
        _ => {
            let pod = found.value();
            let account = text(&pod, &["spec", "serviceAccountName"]);
            if account != call.name {
                return Err(Failure::bad_request(format!(
                    "cannot bind token for serviceaccount {:?} to pod running with different serviceaccount name.",
                    call.name
                )));
            }
            private.pod = Some(bound);
            private.node = node_of(call, &pod);
        }
    }
    Ok(())
}

fn node_of(call: &Call<'_>, pod: &Value) -> Option<Bound> {
    let name = Some(text(pod, &["spec", "nodeName"])).filter(|name| !name.is_empty())?;
    let uid = call.shared.store.get("nodes", name).map(|node| (*node.uid).to_owned()).unwrap_or_default();
    Some(Bound { name: name.to_owned(), uid })
}
