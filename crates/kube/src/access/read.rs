//! The calls `get`, `list`, `resolve` and `kinds`. They leave no audit record.

use std::collections::BTreeMap;

use boathook_core::model::{CallError, CallReason, Caller, KindListing, ListQuery, ObjectRef, Page, Resource};
use k8s_openapi::ByteString;
use secrecy::SecretSlice;
use serde::Deserialize;

use super::{
    Access, answer, errors,
    request::Named,
    send::{ApiRequest, RequestStats},
    text::{self, encoded},
};

/// The number of objects on a page, if the hook does not set it.
const PAGE: u32 = 500;

impl Access {
    /// Reads one object, or a subresource of it. This needs the verb `get`.
    pub async fn get(
        &self,
        caller: &Caller,
        target: &ObjectRef,
        subresource: Option<&str>,
    ) -> Result<String, CallError> {
        let place = self.place(Named::object(target, subresource)).await?;
        place.require(caller, &["get"])?;
        let read =
            self.fetch(caller, &format!("get {}", place.named), place.uri(""), &mut RequestStats::default()).await;
        read.map_err(|error| self.dry_run_objects.explain(caller, target, error))
    }

    /// Reads one page of objects. This needs the verb `list`.
    pub async fn list(&self, caller: &Caller, query: &ListQuery) -> Result<Page, CallError> {
        let named = Named {
            api_version: &query.api_version,
            kind: &query.kind,
            namespace: query.namespace.as_deref().filter(|namespace| !namespace.is_empty()),
            name: None,
            subresource: None,
        };
        let what = format!("list {named}");
        if query.limit == Some(0) {
            return Err(errors::invalid(format!("{what}: a limit of 0 is no page; use at least 1")));
        }
        let place = self.collection(named).await?;
        place.require_list(caller, query.field_selector.as_deref())?;
        let wire = ApiRequest { list: true, ..ApiRequest::get(place.uri(&list_query(query))) };
        let body = self.sender.send(Some(caller), &what, &wire, &mut RequestStats::default()).await?;
        readable(&what, &body, |text| answer::page(text, named.api_version, named.kind))
    }

    /// Finds a kind by a name that people give it. This needs no permission, because kinds are no secret of a cluster.
    pub async fn resolve(&self, name: &str, api_version: Option<&str>) -> Result<Resource, CallError> {
        let api_version = api_version.filter(|version| !version.is_empty());
        text::check("kind", name)?;
        // Discovery remembers what it was asked for.
        api_version.map_or(Ok(()), |version| text::check("apiVersion", version))?;
        let found = async {
            match api_version {
                Some(version) => self.discovery.find(Some(version), name).await,
                None => self.discovery.named(name).await,
            }
        };
        let found = self.within_time(&format!("kind {name}"), found).await?;
        Ok(Resource::clone(&found))
    }

    /// Lists the kinds that the API server serves. This needs no permission, either.
    pub async fn kinds(&self) -> Result<KindListing, CallError> {
        self.within_time(&"the list of kinds", self.discovery.all()).await
    }

    /// Reads values of a Secret for the operator's own use. The Secret is in the namespace of the hook's ServiceAccount,
    /// and is read with the rights of that ServiceAccount, so that nobody uses a Secret through the operator who may not
    /// read it. The hook's grants do not count, because the hook does not receive the values. `None`: no such key.
    pub async fn secret_values(
        &self,
        caller: &Caller,
        name: &str,
        keys: &[&str],
    ) -> Result<Vec<Option<SecretSlice<u8>>>, CallError> {
        #[derive(Deserialize)]
        struct Secret {
            #[serde(default)]
            data: BTreeMap<String, ByteString>,
        }
        let what = format!("get Secret {}", text::quoted(name));
        let identity = caller.identity.as_deref();
        let identity = identity.ok_or_else(|| errors::invalid(format!("{what}: the hook has no ServiceAccount")))?;
        text::check_segment("name", name)?;
        let secrets = Resource::of("v1", "Secret", "secrets", true);
        let wire = ApiRequest::get(secrets.path(Some(&identity.namespace), Some(name), None));
        let mut sent = RequestStats::default();
        let answer = self.sender.send(Some(caller), &what, &wire, &mut sent).await?;
        let unread = |_| errors::refused(CallReason::Other, format!("{what}: the answer is not a Secret"));
        let Secret { data } = serde_json::from_slice(&answer).map_err(unread)?;
        Ok(keys.iter().map(|key| data.get(*key).map(|ByteString(value)| value.clone().into())).collect())
    }

    /// Sends a GET whose response is an object.
    pub(super) async fn fetch(
        &self,
        caller: &Caller,
        what: &str,
        uri: String,
        meter: &mut RequestStats,
    ) -> Result<String, CallError> {
        let body = self.sender.send(Some(caller), what, &ApiRequest::get(uri), meter).await?;
        object(what, &body)
    }
}

fn list_query(query: &ListQuery) -> String {
    let limit = query.limit.unwrap_or(PAGE).to_string();
    let given = |value: &'_ Option<String>| value.clone().filter(|value| !value.is_empty());
    let pairs = [
        ("labelSelector", given(&query.label_selector)),
        ("fieldSelector", given(&query.field_selector)),
        ("limit", Some(limit)),
        ("continue", given(&query.continue_token)),
    ];
    encoded(pairs.iter().filter_map(|(key, value)| Some((*key, value.as_deref()?))))
}

/// Returns a response as the hook gets it.
pub(super) fn object(what: &str, body: &[u8]) -> Result<String, CallError> {
    readable(what, body, answer::object)
}

fn readable<T>(
    what: &str,
    body: &[u8],
    read: impl FnOnce(&str) -> Result<T, serde_json::Error>,
) -> Result<T, CallError> {
    let text = std::str::from_utf8(body).map_err(|error| error.to_string());
    let answer = text.and_then(|text| read(text).map_err(|error| error.to_string()));
    answer.map_err(|error| {
        errors::refused(CallReason::Other, format!("{what}: the answer is not the JSON of an object: {error}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_asks_for_a_page() {
        let mut query = ListQuery {
            api_version: "v1".into(),
            kind: "Pod".into(),
            namespace: None,
            label_selector: None,
            field_selector: Some(String::new()),
            limit: None,
            continue_token: None,
        };
        assert_eq!(list_query(&query), "limit=500");
        query.label_selector = Some("app=web".into());
        query.limit = Some(2);
        query.continue_token = Some("a/b=".into());
        assert_eq!(list_query(&query), "labelSelector=app%3Dweb&limit=2&continue=a%2Fb%3D");
    }
}
