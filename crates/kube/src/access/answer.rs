//! The part of a response that a hook gets: the object as it arrived, without `metadata.managedFields`. Pure.
//!
//! What is kept is never reordered or reformatted.

use std::{borrow::Cow, fmt};

use boathook_core::model::Page;
use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::value::RawValue;

/// An object's fields in the order of the text. The values are not parsed.
struct Fields<'a>(Vec<(Key<'a>, &'a RawValue)>);

#[derive(Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = Fields<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(Collect)
    }
}

/// Returns an object as the server sent it, without managed fields.
pub(super) fn object(text: &str) -> Result<String, serde_json::Error> {
    rebuild(text, None)
}

/// Returns one page of a list. Items get the `apiVersion` and `kind` that the server leaves out in lists.
pub(super) fn page(text: &str, api_version: &str, kind: &str) -> Result<Page, serde_json::Error> {
    #[derive(Deserialize)]
    struct RawList<'a> {
        #[serde(default)]
        metadata: ListMeta,
        #[serde(borrow)]
        items: Option<Vec<&'a RawValue>>,
    }
    #[derive(Default, Deserialize)]
    #[serde(default, rename_all = "camelCase")]
    struct ListMeta {
        resource_version: String,
        r#continue: String,
    }
    let list: RawList<'_> = serde_json::from_str(text)?;
    let items = list.items.unwrap_or_default();
    Ok(Page {
        items: items
            .into_iter()
            .map(|item| rebuild(item.get(), Some((api_version, kind))))
            .collect::<Result<_, _>>()?,
        continue_token: Some(list.metadata.r#continue).filter(|token| !token.is_empty()),
        resource_version: list.metadata.resource_version,
    })
}

fn rebuild(text: &str, kind: Option<(&str, &str)>) -> Result<String, serde_json::Error> {
    let fields: Fields<'_> = serde_json::from_str(text)?;
    let mut out = Writer::new(text.len());
    if let Some((api_version, kind)) = kind {
        out.field("apiVersion", &quoted(api_version));
        out.field("kind", &quoted(kind));
    }
    for (Key(key), value) in &fields.0 {
        match key.as_ref() {
            "apiVersion" | "kind" if kind.is_some() => {}
            "metadata" => out.field(key, &metadata(value.get())),
            _ => out.field(key, value.get()),
        }
    }
    Ok(out.end())
}

fn metadata(text: &str) -> Cow<'_, str> {
    // Metadata that is not an object is passed on unchanged.
    let Ok(fields) = serde_json::from_str::<Fields<'_>>(text) else { return Cow::Borrowed(text) };
    let mut out = Writer::new(text.len());
    for (Key(key), value) in fields.0.iter().filter(|(Key(key), _)| key != "managedFields") {
        out.field(key, value.get());
    }
    Cow::Owned(out.end())
}

struct Writer(String);

impl Writer {
    fn new(capacity: usize) -> Self {
        let mut text = String::with_capacity(capacity);
        text.push('{');
        Self(text)
    }

    fn field(&mut self, key: &str, value: &str) {
        if self.0.len() > 1 {
            self.0.push(',');
        }
        self.0.push_str(&quoted(key));
        self.0.push(':');
        self.0.push_str(value);
    }

    fn end(mut self) -> String {
        self.0.push('}');
        self.0
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn only_managed_fields_are_taken_out() {
        let text = r#"{"kind":"Secret","metadata":{"name":"a","managedFields":[{"manager":"m"}],"uid":"u"},"n":1.50,"data":{"managedFields":"stays","\u0061":"\u0061"}}"#;
        assert_eq!(
            object(text).unwrap(),
            r#"{"kind":"Secret","metadata":{"name":"a","uid":"u"},"n":1.50,"data":{"managedFields":"stays","\u0061":"\u0061"}}"#
        );
        assert_eq!(object(r#"{"kind":"Status"}"#).unwrap(), r#"{"kind":"Status"}"#);
        assert_eq!(object(r#"{"metadata":null}"#).unwrap(), r#"{"metadata":null}"#);
        assert!(object("log line").is_err());
        assert!(object("[1]").is_err());
    }

    #[test]
    fn items_of_a_list_get_their_kind() {
        let text = r#"{"metadata":{"resourceVersion":"7","continue":"t"},"items":[{"metadata":{"name":"a","managedFields":[]}},{"kind":"Old","metadata":{"name":"b"}}]}"#;
        let page = page(text, "v1", "Secret").unwrap();
        assert_eq!(
            page.items,
            [
                r#"{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"}}"#,
                r#"{"apiVersion":"v1","kind":"Secret","metadata":{"name":"b"}}"#
            ]
        );
        assert_eq!((page.continue_token.as_deref(), page.resource_version.as_str()), (Some("t"), "7"));
    }

    #[test]
    fn an_empty_list_has_no_items_and_no_next_page() {
        for text in [
            r#"{"metadata":{"resourceVersion":"7"},"items":null}"#,
            r#"{"metadata":{"resourceVersion":"7","continue":""},"items":[]}"#,
        ] {
            let page = page(text, "v1", "Secret").unwrap();
            assert_eq!((page.items.len(), page.continue_token), (0, None));
        }
    }
}
