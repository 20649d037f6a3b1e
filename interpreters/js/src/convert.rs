//! Values between the script and the host that several interfaces share.
//!
//! Never calls the host.

use rquickjs::{Ctx, Exception, FromJs, Object, Result, Value};

use crate::boathook::hook::types::ObjectRef;

/// Sets a property that may be absent.
pub fn put(object: &Object<'_>, key: &str, text: Option<&str>) -> Result<()> {
    match text {
        Some(text) => object.set(key, text),
        None => Ok(()),
    }
}

/// A property that may be absent, `null` or `undefined`.
pub fn maybe<'js, T: FromJs<'js>>(object: &Object<'js>, key: &str) -> Result<Option<T>> {
    let value: Value<'js> = object.get(key)?;
    if value.is_null() || value.is_undefined() {
        return Ok(None);
    }
    let ctx = object.ctx();
    T::from_js(ctx, value).map(Some).map_err(|_| wrong(ctx, key))
}

/// A property that must be there.
pub fn needed<'js, T: FromJs<'js>>(object: &Object<'js>, key: &str) -> Result<T> {
    match maybe(object, key)? {
        Some(value) => Ok(value),
        None => Err(Exception::throw_type(object.ctx(), &format!("{key} is missing"))),
    }
}

/// A property as JSON.
pub fn json(object: &Object<'_>, key: &str) -> Result<String> {
    let ctx = object.ctx();
    match ctx.json_stringify(object.get::<_, Value<'_>>(key)?)? {
        Some(text) => text.to_string(),
        None => Err(Exception::throw_type(ctx, &format!("{key} is missing"))),
    }
}

fn wrong(ctx: &Ctx<'_>, key: &str) -> rquickjs::Error {
    Exception::throw_type(ctx, &format!("{key} has a wrong type"))
}

/// `{apiVersion, kind, namespace?, name}` for the script.
pub fn reference<'js>(ctx: &Ctx<'js>, target: &ObjectRef) -> Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    object.set("apiVersion", &target.api_version)?;
    object.set("kind", &target.kind)?;
    put(&object, "namespace", target.namespace.as_deref())?;
    object.set("name", &target.name)?;
    Ok(object)
}

/// The same from the script.
pub fn target(object: &Object<'_>) -> Result<ObjectRef> {
    Ok(ObjectRef {
        api_version: needed(object, "apiVersion")?,
        kind: needed(object, "kind")?,
        namespace: maybe(object, "namespace")?,
        name: needed(object, "name")?,
    })
}

/// Texts by name, as pairs.
pub fn pairs(object: Option<&Object<'_>>) -> Result<Vec<(String, String)>> {
    let Some(object) = object else { return Ok(Vec::new()) };
    object
        .props::<String, Value<'_>>()
        .map(|pair| pair.map(|(key, value)| (key, crate::globals::shown(object.ctx(), &value))))
        .collect()
}
