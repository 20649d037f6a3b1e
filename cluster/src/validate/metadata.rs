//! Validation of `metadata`: the name by its kind's rule, label and annotation keys, finalizers, owners.

use serde_json::Value;

use crate::field::{self, Field};
use crate::kinds::Resource;
use crate::names::{label_value, qualified_name};
use crate::status::Cause;

/// Maximum size of all annotations of an object together, in bytes.
const ANNOTATIONS_LIMIT: usize = 256 * 1024;
/// Finalizers that need no domain.
const STANDARD_FINALIZERS: &[&str] = &["kubernetes", "orphan", "foregroundDeletion"];

/// Problems of a new object's metadata.
pub(crate) fn for_create(resource: &Resource, object: &Value) -> Vec<Cause> {
    let mut causes = field::problems(object, |object| {
        let name = object.at("metadata.name");
        if name.need("name or generateName is required") {
            name.check(|name| resource.naming.problems(name));
        }
        if resource.namespaced {
            object.at("metadata.namespace").need("");
        }
    });
    causes.extend(common(resource, object));
    causes
}

/// Problems that can occur on create and on update.
pub(crate) fn common(resource: &Resource, object: &Value) -> Vec<Cause> {
    // API extensions are checked only by the general rules of metadata.
    let is_core = resource.custom.is_none() && resource.group != "apiextensions.k8s.io";
    field::problems(object, |object| {
        let metadata = object.at("metadata");
        labels(&metadata.at("labels"));
        annotations(&metadata.at("annotations"));
        owners(&metadata.at("ownerReferences"), metadata.each("ownerReferences").collect());
        for finalizer in metadata.each("finalizers") {
            let text = finalizer.text();
            let problems = qualified_name(text);
            if problems.is_empty() && !text.contains('/') && !STANDARD_FINALIZERS.contains(&text) && is_core {
                finalizer.invalid("name is neither a standard finalizer name nor is it fully qualified");
            }
            finalizer.named("metadata.finalizers").check(|_| problems);
        }
    })
}

fn labels(labels: &Field<'_>) {
    for key in labels.keys() {
        qualified_name(key).into_iter().for_each(|why| labels.invalid_as(key, why));
        labels.entry(key).named(&labels.path).check(label_value);
    }
}

fn annotations(annotations: &Field<'_>) {
    let mut size = 0;
    for key in annotations.keys() {
        size += key.len() + annotations.entry(key).text().len();
        qualified_name(&key.to_ascii_lowercase()).into_iter().for_each(|why| annotations.invalid_as(key, why));
    }
    if size > ANNOTATIONS_LIMIT {
        annotations.push(Cause {
            reason: "FieldValueTooLong",
            message: format!("Too long: may not be more than {ANNOTATIONS_LIMIT} bytes"),
            field: annotations.path.clone(),
        });
    }
}

fn owners(owners: &Field<'_>, all: Vec<Field<'_>>) {
    for owner in &all {
        for key in ["apiVersion", "kind", "name", "uid"] {
            let value = owner.at(key).named(format!("{}.{key}", owners.path));
            // A malformed apiVersion counts as an empty version.
            if value.is_empty() || key == "apiVersion" && value.text().matches('/').count() > 1 {
                let what = if key == "apiVersion" { "version " } else { "" };
                value.invalid_as(value.text(), format!("{what}must not be empty"));
            }
        }
        if owner.at("kind").text() == "Event" && owner.at("apiVersion").text() == "v1" {
            owners.invalid_as(in_order(owner), "/v1, Kind=Event is disallowed from being an owner");
        }
    }
    let named = |owner: &Field<'_>| format!("{}/{}", owner.at("kind").text(), owner.at("name").text());
    let mut controllers = all.iter().filter(|owner| owner.at("controller").is_true()).map(named);
    let Some(first) = controllers.next() else { return };
    for second in controllers {
        let why = "Only one reference can have Controller set to true. Found \"true\" in references for";
        owners.invalid_as(all.iter().map(in_order).collect::<Value>(), format!("{why} {first} and {second}"));
    }
}

/// A reference with its fields in the order of its type.
fn in_order(owner: &Field<'_>) -> Value {
    let order = ["apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion"];
    order.into_iter().filter_map(|key| Some((key.to_owned(), owner.at(key).value?.clone()))).collect()
}
