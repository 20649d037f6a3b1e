//! `kube`: reads, writes and events.
//!
//! Never retries, and never decides what an error means for the run.

use rquickjs::{Array, Ctx, Exception, Object, Result, Value, function::Opt};

use super::{err, ok, parsed};
use crate::{
    boathook::hook::{
        kube::{
            self, ApplyOptions, CreateOp, DeleteOp, DeleteOptions, EventType, Failure, IfExists, ListQuery, Operation,
            Patch, PatchOp, Propagation, Reason, UpdateOp,
        },
        types::ObjectRef,
    },
    convert::{json, maybe, needed, put, target},
};

/// `get(target, subresource?)`: `{ok: object}`.
pub fn get<'js>(ctx: Ctx<'js>, object: Object<'js>, subresource: Opt<Option<String>>) -> Result<Object<'js>> {
    match kube::get(&target(&object)?, subresource.0.flatten().as_deref()) {
        Ok(text) => ok(&ctx, parsed(&ctx, Some(text))?),
        Err(failure) => refused(&ctx, failure),
    }
}

/// `list(query)`: `{ok: {items, continue?, resourceVersion}}`.
pub fn list<'js>(ctx: Ctx<'js>, query: Object<'js>) -> Result<Object<'js>> {
    let query = ListQuery {
        api_version: needed(&query, "apiVersion")?,
        kind: needed(&query, "kind")?,
        namespace: maybe(&query, "namespace")?,
        label_selector: maybe(&query, "labelSelector")?,
        field_selector: maybe(&query, "fieldSelector")?,
        limit: maybe(&query, "limit")?,
        continue_: maybe(&query, "continue")?,
    };
    let page = match kube::list(&query) {
        Ok(page) => page,
        Err(failure) => return refused(&ctx, failure),
    };
    let items = Array::new(ctx.clone())?;
    for (index, item) in page.items.into_iter().enumerate() {
        items.set(index, ctx.json_parse(item)?)?;
    }
    let answer = Object::new(ctx.clone())?;
    answer.set("items", items)?;
    put(&answer, "continue", page.continue_.as_deref())?;
    answer.set("resourceVersion", page.resource_version)?;
    ok(&ctx, answer)
}

/// `write(operation)`: `{ok: object | undefined}`.
pub fn write<'js>(ctx: Ctx<'js>, wanted: Object<'js>) -> Result<Object<'js>> {
    written(&ctx, kube::write(&operation(&wanted)?))
}

/// `batch(operations)`: an answer for each.
pub fn batch<'js>(ctx: Ctx<'js>, wanted: Array<'js>) -> Result<Array<'js>> {
    let operations = wanted.iter::<Object<'js>>().map(|wanted| operation(&wanted?)).collect::<Result<Vec<_>>>()?;
    let answers = Array::new(ctx.clone())?;
    for (index, result) in kube::batch(&operations).into_iter().enumerate() {
        answers.set(index, written(&ctx, result)?)?;
    }
    Ok(answers)
}

/// `emitEvent(regarding, "Normal" | "Warning", reason, note)`.
pub fn emit_event<'js>(
    ctx: Ctx<'js>,
    regarding: Object<'js>,
    kind: String,
    reason: String,
    note: String,
) -> Result<Object<'js>> {
    let kind = if kind == "Warning" { EventType::Warning } else { EventType::Normal };
    match kube::emit_event(&target(&regarding)?, kind, &reason, &note) {
        Ok(()) => ok(&ctx, Value::new_undefined(ctx.clone())),
        Err(failure) => refused(&ctx, failure),
    }
}

fn written<'js>(ctx: &Ctx<'js>, result: std::result::Result<Option<String>, Failure>) -> Result<Object<'js>> {
    match result {
        Ok(object) => ok(ctx, parsed(ctx, object)?),
        Err(failure) => refused(ctx, failure),
    }
}

/// `{err: {reason, message, code?, status?}}`.
fn refused<'js>(ctx: &Ctx<'js>, failure: Failure) -> Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    object.set("reason", reason(failure.reason))?;
    object.set("message", failure.message)?;
    if let Some(code) = failure.code {
        object.set("code", code)?;
    }
    if let Some(status) = failure.status {
        object.set("status", ctx.json_parse(status)?)?;
    }
    err(ctx, object)
}

fn reason(reason: Reason) -> &'static str {
    match reason {
        Reason::NotFound => "not-found",
        Reason::AlreadyExists => "already-exists",
        Reason::Conflict => "conflict",
        Reason::Invalid => "invalid",
        Reason::ForbiddenByGrant => "forbidden-by-grant",
        Reason::ForbiddenByCluster => "forbidden-by-cluster",
        Reason::TooLarge => "too-large",
        Reason::Timeout => "timeout",
        Reason::BudgetExceeded => "budget-exceeded",
        Reason::Unavailable => "unavailable",
        Reason::Other => "other",
    }
}

fn operation(wanted: &Object<'_>) -> Result<Operation> {
    let verb: String = needed(wanted, "verb")?;
    match verb.as_str() {
        "create" => Ok(Operation::Create(create(wanted)?)),
        "update" => {
            let subresource = maybe(wanted, "subresource")?;
            Ok(Operation::Update(UpdateOp { object: json(wanted, "object")?, subresource }))
        }
        "patch" => Ok(Operation::Patch(PatchOp {
            target: of(wanted)?,
            patch: patch(wanted)?,
            subresource: maybe(wanted, "subresource")?,
            ignore_missing: maybe(wanted, "ignoreMissing")?.unwrap_or(false),
        })),
        "delete" => Ok(Operation::Delete(DeleteOp { target: of(wanted)?, options: delete_options(wanted)? })),
        other => Err(unknown(wanted, "verb", other, "create, update, patch or delete")),
    }
}

fn of(wanted: &Object<'_>) -> Result<ObjectRef> {
    target(&needed(wanted, "target")?)
}

fn create(wanted: &Object<'_>) -> Result<CreateOp> {
    let if_exists: Option<String> = maybe(wanted, "ifExists")?;
    let if_exists = match if_exists.as_deref() {
        None | Some("fail") => IfExists::Fail,
        Some("keep") => IfExists::Keep,
        Some("replace") => IfExists::Replace,
        Some(other) => return Err(unknown(wanted, "ifExists", other, "fail, keep or replace")),
    };
    let subresource: Option<String> = maybe(wanted, "subresource")?;
    let subresource = subresource.map(|name| Result::Ok((name, of(wanted)?))).transpose()?;
    Ok(CreateOp { object: json(wanted, "object")?, if_exists, subresource })
}

fn patch(wanted: &Object<'_>) -> Result<Patch> {
    let kind: String = needed(wanted, "type")?;
    match kind.as_str() {
        "json" => Ok(Patch::Json(json(wanted, "patch")?)),
        "merge" => Ok(Patch::Merge(json(wanted, "patch")?)),
        "strategic" => Ok(Patch::Strategic(json(wanted, "patch")?)),
        "jq" => Ok(Patch::Jq(needed(wanted, "patch")?)),
        "apply" => {
            let force = maybe(wanted, "force")?.unwrap_or(false);
            let field_manager = maybe(wanted, "fieldManager")?;
            Ok(Patch::Apply((json(wanted, "patch")?, ApplyOptions { force, field_manager })))
        }
        other => Err(unknown(wanted, "type", other, "json, merge, strategic, jq or apply")),
    }
}

fn delete_options(wanted: &Object<'_>) -> Result<DeleteOptions> {
    let propagation: Option<String> = maybe(wanted, "propagation")?;
    let propagation = match propagation.as_deref() {
        None | Some("background") => Propagation::Background,
        Some("foreground") => Propagation::Foreground,
        Some("orphan") => Propagation::Orphan,
        Some(other) => return Err(unknown(wanted, "propagation", other, "background, foreground or orphan")),
    };
    let wait: Option<f64> = maybe(wanted, "waitMs")?;
    Ok(DeleteOptions {
        propagation,
        ignore_missing: maybe(wanted, "ignoreMissing")?.unwrap_or(false),
        uid: maybe(wanted, "uid")?,
        resource_version: maybe(wanted, "resourceVersion")?,
        wait: wait.map(|millis| millis.max(0.0) as u64),
    })
}

fn unknown(wanted: &Object<'_>, key: &str, value: &str, known: &str) -> rquickjs::Error {
    Exception::throw_type(wanted.ctx(), &format!("{key} {value:?} of an operation: it is {known}"))
}
