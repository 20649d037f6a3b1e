//! Why a run happens, as the script sees it. Objects stay texts: who needs one parses it.
//!
//! ```text
//!  {binding, snapshots, trigger: {type: "event", change, target, uid, resourceVersion, object?, …}}
//! ```

use rquickjs::{Array, Ctx, Object, Result};

use crate::{
    boathook::hook::{
        reconciliation::Parent,
        types::{BindingContext, Change, ObjectRef, RunInfo, Trigger, WatchEvent},
    },
    convert,
};

/// The circumstances of a run.
pub fn info<'js>(ctx: &Ctx<'js>, info: &RunInfo) -> Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    object.set("runId", &info.run_id)?;
    object.set("hook", &info.hook)?;
    object.set("attempt", info.attempt)?;
    object.set("dryRun", info.dry_run)?;
    Ok(object)
}

/// The triggers, oldest first.
pub fn contexts<'js>(ctx: &Ctx<'js>, contexts: &[BindingContext]) -> Result<Array<'js>> {
    let array = Array::new(ctx.clone())?;
    for (index, context) in contexts.iter().enumerate() {
        let object = Object::new(ctx.clone())?;
        object.set("binding", &context.binding)?;
        object.set("snapshots", context.snapshots.as_slice())?;
        object.set("trigger", trigger(ctx, &context.trigger)?)?;
        array.set(index, object)?;
    }
    Ok(array)
}

fn trigger<'js>(ctx: &Ctx<'js>, trigger: &Trigger) -> Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    match trigger {
        Trigger::Startup => object.set("type", "startup")?,
        Trigger::Synchronization => object.set("type", "synchronization")?,
        Trigger::Schedule(tick) => {
            object.set("type", "schedule")?;
            // Milliseconds are exact in a double for the next 200 000 years.
            object.set("scheduledAt", tick.scheduled_at as f64)?;
            object.set("missed", tick.missed)?;
        }
        Trigger::Group(name) => {
            object.set("type", "group")?;
            object.set("group", name)?;
        }
        Trigger::Event(event) => {
            object.set("type", "event")?;
            put_event(ctx, &object, event)?;
        }
    }
    Ok(object)
}

fn put_event<'js>(ctx: &Ctx<'js>, object: &Object<'js>, event: &WatchEvent) -> Result<()> {
    let change = match event.change {
        Change::Added => "Added",
        Change::Modified => "Modified",
        Change::Deleted => "Deleted",
    };
    object.set("change", change)?;
    object.set("target", convert::reference(ctx, &event.target)?)?;
    object.set("uid", &event.uid)?;
    object.set("resourceVersion", &event.resource_version)?;
    convert::put(object, "object", event.object.as_deref())?;
    convert::put(object, "filterResult", event.filter_result.as_deref())?;
    convert::put(object, "previousFilterResult", event.previous_filter_result.as_deref())?;
    convert::put(object, "previousObject", event.previous_object.as_deref())
}

/// A parent, and what the cluster has of it: `{object, children: [{target, object}], related: [{name, object}], snapshots}`.
pub fn parent<'js>(ctx: &Ctx<'js>, parent: Parent) -> Result<Object<'js>> {
    let children = Array::new(ctx.clone())?;
    for (index, child) in parent.children.into_iter().enumerate() {
        let (api_version, kind, namespace, name) = (child.api_version, child.kind, child.namespace, child.name);
        let object = Object::new(ctx.clone())?;
        object.set("target", convert::reference(ctx, &ObjectRef { api_version, kind, namespace, name })?)?;
        object.set("object", child.object)?;
        children.set(index, object)?;
    }
    let related = Array::new(ctx.clone())?;
    for (index, one) in parent.related.into_iter().enumerate() {
        let object = Object::new(ctx.clone())?;
        object.set("name", one.name)?;
        object.set("object", one.object)?;
        related.set(index, object)?;
    }
    let object = Object::new(ctx.clone())?;
    object.set("object", parent.object)?;
    object.set("children", children)?;
    object.set("related", related)?;
    object.set("snapshots", parent.snapshots)?;
    Ok(object)
}
