//! `snapshots`: handles are numbers, and objects stay texts until the script needs them.

use std::cell::RefCell;

use rquickjs::{Array, Ctx, Exception, Object, Result, Value, function::Opt};

use super::{err, ok};
use crate::{
    boathook::hook::snapshots::{self, Item, Snapshot},
    convert::put,
};

thread_local! {
    static OPEN: RefCell<Vec<Snapshot>> = const { RefCell::new(Vec::new()) };
}

/// `openSnapshot(binding)`: `{ok: handle}` or `{err: message}`.
pub fn open<'js>(ctx: Ctx<'js>, binding: String) -> Result<Object<'js>> {
    match snapshots::open(&binding) {
        Ok(snapshot) => ok(
            &ctx,
            OPEN.with_borrow_mut(|open| {
                open.push(snapshot);
                open.len() - 1
            }),
        ),
        Err(message) => err(&ctx, message),
    }
}

/// `snapshotLen(handle)`.
pub fn len(ctx: Ctx<'_>, handle: usize) -> Result<f64> {
    with(&ctx, handle, |snapshot| snapshot.len() as f64)
}

/// `snapshotNext(handle, max)`: items, none at the end.
pub fn next<'js>(ctx: Ctx<'js>, handle: usize, max: u32) -> Result<Array<'js>> {
    let items = Array::new(ctx.clone())?;
    for (index, found) in with(&ctx, handle, |snapshot| snapshot.next(max))?.iter().enumerate() {
        items.set(index, item(&ctx, found)?)?;
    }
    Ok(items)
}

/// `snapshotGet(handle, namespace?, name)`.
pub fn get<'js>(ctx: Ctx<'js>, handle: usize, namespace: Option<String>, name: Opt<String>) -> Result<Value<'js>> {
    let name = name.0.unwrap_or_default();
    match with(&ctx, handle, |snapshot| snapshot.get(namespace.as_deref(), &name))? {
        Some(found) => Ok(item(&ctx, &found)?.into_value()),
        None => Ok(Value::new_undefined(ctx)),
    }
}

fn with<T>(ctx: &Ctx<'_>, handle: usize, ask: impl FnOnce(&Snapshot) -> T) -> Result<T> {
    OPEN.with_borrow(|open| open.get(handle).map(ask))
        .ok_or_else(|| Exception::throw_range(ctx, "no such snapshot is open"))
}

fn item<'js>(ctx: &Ctx<'js>, item: &Item) -> Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    put(&object, "namespace", item.namespace.as_deref())?;
    object.set("name", &item.name)?;
    object.set("uid", &item.uid)?;
    object.set("resourceVersion", &item.resource_version)?;
    put(&object, "object", item.object.as_deref())?;
    put(&object, "filterResult", item.filter_result.as_deref())?;
    Ok(object)
}
