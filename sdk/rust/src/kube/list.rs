//! Listing objects page by page.
//!
//! It never holds more than one page.

use super::{Error, Kind};
use crate::bindings::boathook::hook::kube as wire;
use crate::data::decode;
use crate::host;
use serde::de::DeserializeOwned;
use std::marker::PhantomData;

/// Lists the objects of the kind that `T` stands for: in all namespaces, unless told otherwise.
pub fn list<T: Kind + DeserializeOwned>() -> List<T> {
    list_objects(T::API_VERSION, T::KIND)
}

/// Lists objects of any kind as `T`s, such as [`Object`](super::Object).
pub fn list_objects<T: DeserializeOwned>(api_version: &str, kind: &str) -> List<T> {
    let query = wire::ListQuery {
        api_version: api_version.to_owned(),
        kind: kind.to_owned(),
        namespace: None,
        label_selector: None,
        field_selector: None,
        limit: None,
        continue_: None,
    };
    List { query, item: PhantomData }
}

/// Which objects to list. Nothing is asked for until it is iterated over.
#[derive(Clone, Debug)]
#[must_use = "a list asks for nothing until it is iterated over"]
pub struct List<T> {
    query: wire::ListQuery,
    item: PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned> List<T> {
    /// Only in this namespace.
    pub fn namespace(mut self, namespace: &str) -> Self {
        self.query.namespace = Some(namespace.to_owned());
        self
    }

    /// As in `kubectl get -l`: `app=web,tier in (a,b)`.
    pub fn labels(mut self, selector: &str) -> Self {
        self.query.label_selector = Some(selector.to_owned());
        self
    }

    /// As in `kubectl get --field-selector`: `spec.nodeName=n1`.
    pub fn fields(mut self, selector: &str) -> Self {
        self.query.field_selector = Some(selector.to_owned());
        self
    }

    /// Objects in a page; 500 without it.
    pub fn page_size(mut self, objects: u32) -> Self {
        self.query.limit = Some(objects);
        self
    }

    /// All of them at once.
    pub fn all(self) -> Result<Vec<T>, Error> {
        self.into_iter().collect()
    }
}

impl<T: DeserializeOwned> IntoIterator for List<T> {
    type Item = Result<T, Error>;
    type IntoIter = ListIter<T>;

    fn into_iter(self) -> ListIter<T> {
        ListIter { query: Some(self.query), page: Vec::new().into_iter(), item: PhantomData }
    }
}

/// Iterates over a list; after a call that failed it ends.
#[derive(Debug)]
pub struct ListIter<T> {
    /// For the next page; absent when there is none.
    query: Option<wire::ListQuery>,
    page: std::vec::IntoIter<String>,
    item: PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned> Iterator for ListIter<T> {
    type Item = Result<T, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        // A page may be empty and still have a next one.
        while self.page.len() == 0 {
            let mut query = self.query.take()?;
            match host::list(&query) {
                Ok(page) => {
                    self.page = page.items.into_iter();
                    self.query = page.continue_.map(|token| {
                        query.continue_ = Some(token);
                        query
                    });
                }
                Err(failure) => return Some(Err(failure.into())),
            }
        }
        let text = self.page.next()?;
        Some(decode(&text, || "a listed object".to_owned()).map_err(Error::from_data))
    }
}
