//! One request to a resource, with everything that its handlers need, except the body.

use std::sync::Arc;

use http::header::USER_AGENT;
use http::{HeaderMap, HeaderValue, Response};

use super::respond::{Accept, Body};
use crate::auth::User;
use crate::context::{Context, Validation};
use crate::conversion;
use crate::kinds::{Resource, Sub};
use crate::shared::Shared;
use crate::status::Failure;
use crate::store::{Stored, key};

pub(crate) struct Call<'a> {
    pub shared: &'a Arc<Shared>,
    pub resource: &'a Arc<Resource>,
    /// Empty for cluster-scoped resources and for all namespaces.
    pub namespace: &'a str,
    /// Empty for collections.
    pub name: &'a str,
    pub sub: Option<Sub>,
    pub params: &'a Params,
    pub accept: &'a Accept,
    pub user: &'a User,
}

pub(crate) struct Found {
    /// As it is stored.
    pub raw: Arc<Stored>,
    /// In the version of the request, if the resource has a converter.
    pub seen: Arc<Stored>,
}

impl Call<'_> {
    pub(crate) fn key(&self) -> String {
        key(self.namespace, self.name)
    }

    /// The object of the path, if it exists.
    pub(crate) async fn find(&self) -> Result<Option<Found>, Failure> {
        let Some(raw) = self.shared.store.get(&self.resource.storage, &self.key()) else {
            return Ok(None);
        };
        let seen = conversion::shown(self.shared, self.resource, raw.clone()).await?;
        Ok(Some(Found { raw, seen }))
    }

    /// The object of the path, which must exist.
    pub(crate) async fn found(&self) -> Result<Found, Failure> {
        let found = self.find().await?;
        found.ok_or_else(|| Failure::not_found(self.resource.gr(), self.name))
    }

    pub(crate) fn sub_name(&self) -> &'static str {
        self.sub.map_or("", Sub::name)
    }

    /// The context of a write. The manager is the fieldManager parameter, or the client's name from its User-Agent.
    pub(crate) fn context(&self, headers: &HeaderMap) -> Context {
        let manager = if self.params.field_manager.is_empty() {
            let agent = headers.get(USER_AGENT).and_then(|v| v.to_str().ok()).unwrap_or("unknown");
            agent.split('/').next().unwrap_or(agent).chars().take(128).collect()
        } else {
            self.params.field_manager.clone()
        };
        Context {
            now: crate::time::now(),
            manager,
            dry_run: self.params.dry_run,
            validation: self.params.field_validation,
        }
    }
}

/// Adds `Warning` headers, which kubectl prints.
pub(crate) fn warn(mut response: Response<Body>, warnings: &[impl AsRef<str>]) -> Response<Body> {
    for warning in warnings.iter().map(AsRef::as_ref) {
        let text = format!("299 - \"{}\"", warning.replace('\\', "\\\\").replace('"', "\\\""));
        if let Ok(value) = HeaderValue::from_str(&text) {
            response.headers_mut().append(http::header::WARNING, value);
        }
    }
    response
}

/// The parameters of all verbs. Missing ones are empty.
#[derive(Debug, Default)]
pub(crate) struct Params {
    pub label_selector: String,
    pub field_selector: String,
    pub limit: usize,
    pub continue_token: String,
    pub resource_version: String,
    pub resource_version_match: String,
    pub watch: bool,
    pub bookmarks: bool,
    pub send_initial_events: Option<bool>,
    pub timeout_seconds: Option<u64>,
    pub dry_run: bool,
    pub field_manager: String,
    pub force: Option<bool>,
    pub include_object: String,
    pub field_validation: Validation,
    /// The same, as the client wrote it.
    pub given_validation: String,
    pub propagation: String,
    pub orphan_dependents: Option<bool>,
    pub grace: Option<i64>,
}

fn flag(value: &str) -> bool {
    // As on the real server: present, and not clearly false.
    !matches!(value, "false" | "0")
}

impl Params {
    pub(crate) fn parse(query: &str) -> Result<Self, Failure> {
        let mut p = Self::default();
        for (key, value) in form_urlencoded::parse(query.as_bytes()) {
            let text = value.clone().into_owned();
            match &*key {
                "labelSelector" => p.label_selector = text,
                "fieldSelector" => p.field_selector = text,
                "limit" if !text.is_empty() => p.limit = number(&text)?,
                "continue" => p.continue_token = text,
                "resourceVersion" => p.resource_version = text,
                "resourceVersionMatch" => p.resource_version_match = text,
                "watch" => p.watch = flag(&text),
                "allowWatchBookmarks" => p.bookmarks = flag(&text),
                "sendInitialEvents" => p.send_initial_events = Some(flag(&text)),
                "timeoutSeconds" if !text.is_empty() => p.timeout_seconds = Some(number(&text)? as u64),
                "dryRun" => p.dry_run = dry_run(&text)?,
                "fieldManager" => p.field_manager = text,
                "force" => p.force = Some(flag(&text)),
                "includeObject" => p.include_object = text,
                "fieldValidation" => {
                    p.field_validation = validation(&text)?;
                    p.given_validation = text;
                }
                "orphanDependents" => p.orphan_dependents = Some(flag(&text)),
                "gracePeriodSeconds" if !text.is_empty() => p.grace = Some(signed(&text)?),
                "propagationPolicy" => p.propagation = text,
                _ => {}
            }
        }
        if p.field_manager.len() > 128 {
            return Err(Failure::bad_request("fieldManager: Too long: may not be more than 128 bytes"));
        }
        Ok(p)
    }
}

fn number(text: &str) -> Result<usize, Failure> {
    signed(text).map(|n| usize::try_from(n).unwrap_or_default())
}

fn signed(text: &str) -> Result<i64, Failure> {
    let parsed: Result<i64, _> = text.parse();
    parsed.map_err(|_| Failure::bad_request(format!("strconv.ParseInt: parsing \"{text}\": invalid syntax")))
}

/// `All` is the only dry-run directive.
pub(crate) fn dry_run(text: &str) -> Result<bool, Failure> {
    match text {
        "" => Ok(false),
        "All" => Ok(true),
        other => Err(Failure::invalid(
            "meta.k8s.io",
            "CreateOptions",
            "",
            &[crate::status::Cause::unsupported("dryRun", &serde_json::json!([other]), &["All"])],
        )),
    }
}

fn validation(text: &str) -> Result<Validation, Failure> {
    match text {
        "" | "Warn" => Ok(Validation::Warn),
        "Strict" => Ok(Validation::Strict),
        "Ignore" => Ok(Validation::Ignore),
        other => {
            let supported = ["", "Ignore", "Strict", "Warn"];
            let cause = crate::status::Cause::unsupported("fieldValidation", &other.into(), &supported);
            Err(Failure::invalid("meta.k8s.io", "CreateOptions", "", &[cause]))
        }
    }
}
