//! The identity of an object in a body. Nothing else of a body is parsed before it is sent. Pure.

use boathook_core::model::{CallError, ObjectRef};
use serde::Deserialize;

use super::{super::text::clipped, Named};
use crate::access::errors;

/// The identity that a body states. Empty texts count as absent, as they do in Kubernetes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(in crate::access) struct Head {
    api_version: Option<String>,
    kind: Option<String>,
    metadata: Option<Meta>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Meta {
    name: Option<String>,
    generate_name: Option<String>,
    namespace: Option<String>,
    resource_version: Option<String>,
    uid: Option<String>,
}

fn filled(text: &Option<String>) -> Option<&str> {
    text.as_deref().filter(|text| !text.is_empty())
}

impl Head {
    /// Parses a body. A duplicate key in the identity makes the body invalid, so that what is sent is what was checked.
    pub fn read(body: &str) -> Result<Self, CallError> {
        if !body.trim_ascii_start().starts_with('{') {
            return Err(errors::invalid("the body is not a JSON object"));
        }
        serde_json::from_str(body)
            .map_err(|error| errors::invalid(format!("the body is not a Kubernetes object: {error}")))
    }

    /// The object, or its collection if it has no name.
    pub fn named<'a>(&'a self, subresource: Option<&'a str>) -> Result<Named<'a>, CallError> {
        let needed = |field: &'static str, value: &'a Option<String>| {
            filled(value).ok_or_else(|| errors::invalid(format!("the object has no {field}")))
        };
        Ok(Named {
            api_version: needed("apiVersion", &self.api_version)?,
            kind: needed("kind", &self.kind)?,
            namespace: self.namespace(),
            name: self.name(),
            subresource,
        })
    }

    /// The object's name for log lines, in which parts may be missing.
    pub fn describe(&self) -> String {
        let named = Named {
            api_version: filled(&self.api_version).unwrap_or("?"),
            kind: filled(&self.kind).unwrap_or("?"),
            namespace: self.namespace(),
            name: self.name(),
            subresource: None,
        };
        match self.generate_name() {
            Some(prefix) => format!("{named} {}*", clipped(prefix)),
            None => named.to_string(),
        }
    }

    /// The object, with `?` for missing parts.
    pub fn reference(&self) -> ObjectRef {
        let or_unknown = |text: &Option<String>| filled(text).unwrap_or("?").to_owned();
        ObjectRef {
            api_version: or_unknown(&self.api_version),
            kind: or_unknown(&self.kind),
            namespace: self.namespace().map(str::to_owned),
            name: match (self.name(), self.generate_name()) {
                (Some(name), _) => name.to_owned(),
                (None, Some(prefix)) => format!("{prefix}*"),
                (None, None) => "?".to_owned(),
            },
        }
    }

    pub fn name(&self) -> Option<&str> {
        filled(&self.metadata.as_ref()?.name)
    }

    /// `metadata.generateName`, if there is no name.
    pub fn generate_name(&self) -> Option<&str> {
        filled(&self.metadata.as_ref()?.generate_name).filter(|_| self.name().is_none())
    }

    pub fn namespace(&self) -> Option<&str> {
        filled(&self.metadata.as_ref()?.namespace)
    }

    pub fn resource_version(&self) -> Option<&str> {
        filled(&self.metadata.as_ref()?.resource_version)
    }

    pub fn uid(&self) -> Option<&str> {
        filled(&self.metadata.as_ref()?.uid)
    }

    /// Rejects a body that names another object than the target. The server takes what is missing in the body from the
    /// URL.
    pub fn agree(&self, target: &ObjectRef) -> Result<(), CallError> {
        let kind = [
            ("apiVersion", filled(&self.api_version), Some(target.api_version.as_str())),
            ("kind", filled(&self.kind), Some(target.kind.as_str())),
        ];
        kind.into_iter().try_for_each(|(field, own, wanted)| same(field, own, wanted, target))?;
        self.agree_in_place(target)
    }

    /// The same check for the body of a subresource, which has a kind of its own.
    pub fn agree_in_place(&self, target: &ObjectRef) -> Result<(), CallError> {
        same("metadata.namespace", self.namespace(), target.namespace.as_deref(), target)?;
        same("metadata.name", self.name(), Some(&target.name), target)
    }
}

fn same(field: &str, own: Option<&str>, wanted: Option<&str>, target: &ObjectRef) -> Result<(), CallError> {
    match own {
        Some(own) if wanted != Some(own) => Err(errors::invalid(format!(
            "the body and the target name different objects: {field} is {:?} in the body of {}",
            clipped(own),
            Named::object(target, None)
        ))),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn target() -> ObjectRef {
        ObjectRef { api_version: "v1".into(), kind: "Secret".into(), namespace: Some("b".into()), name: "a".into() }
    }

    #[test]
    fn the_identity_is_read() {
        let head = Head::read(r#" {"kind":"Secret","apiVersion":"v1","metadata":{"name":"a","namespace":"b","uid":"u","resourceVersion":"7","labels":{}},"data":{}}"#).unwrap();
        assert_eq!(head.named(None).unwrap().to_string(), "v1 Secret b/a");
        assert_eq!((head.uid(), head.resource_version(), head.generate_name()), (Some("u"), Some("7"), None));
        assert!(head.agree(&target()).is_ok());
    }

    #[test]
    fn empty_and_null_are_absent() {
        let head =
            Head::read(r#"{"kind":"","apiVersion":null,"metadata":{"name":"","namespace":null,"generateName":"g-"}}"#)
                .unwrap();
        assert_eq!((head.name(), head.namespace(), head.generate_name()), (None, None, Some("g-")));
        assert_eq!(head.named(None).unwrap_err().message, "the object has no apiVersion");
        assert_eq!(head.describe(), "? ? g-*");
        assert!(head.agree(&target()).is_ok());
    }

    #[test]
    fn what_could_be_read_in_two_ways_is_refused() {
        let bad = [
            r#"{"metadata":{"name":"a","name":"b"}}"#,
            r#"{"metadata":{"namespace":"a","namesp\u0061ce":"b"}}"#,
            r#"{"metadata":{},"metadata":{"name":"b"}}"#,
            r#"{"kind":"A","kind":"B"}"#,
            r#"{"metadata":{"name":1}}"#,
            r#"{"metadata":"x"}"#,
            r#"["v1","Secret",{"name":"a"}]"#,
            r#"{"kind":"Secret"} {}"#,
            r#"{"kind":"Secret","data":{"#,
            "kind: Secret",
            "",
        ];
        for body in bad {
            assert!(Head::read(body).is_err(), "{body}");
        }
    }

    #[test]
    fn a_body_about_another_object_is_refused_naming_both() {
        for (body, field) in [
            (r#"{"apiVersion":"v2"}"#, "apiVersion"),
            (r#"{"kind":"ConfigMap"}"#, "kind"),
            (r#"{"metadata":{"name":"other"}}"#, "metadata.name"),
            (r#"{"metadata":{"namespace":"other"}}"#, "metadata.namespace"),
        ] {
            let message = Head::read(body).unwrap().agree(&target()).unwrap_err().message;
            assert!(message.contains(field) && message.contains("v1 Secret b/a"), "{message}");
        }
        assert!(Head::read(r#"{"kind":"Scale"}"#).unwrap().agree_in_place(&target()).is_ok());
        let nowhere = ObjectRef { namespace: None, ..target() };
        assert!(Head::read(r#"{"metadata":{"namespace":"b"}}"#).unwrap().agree_in_place(&nowhere).is_err());
    }
}
