//! `fetch`: requests wait until the script has nothing else to do, and are then sent together.
//!
//! `fetch.js` decides what is sent, and what becomes of an answer.

use std::cell::RefCell;

use rquickjs::{Array, ArrayBuffer, Ctx, Exception, Function, Object, Persistent, Result, Value, context::EvalOptions};

use super::{err, ok};
use crate::{
    boathook::interpreter::http::{self, Failure, Reason, Request, Response},
    convert::{maybe, needed},
};

/// The name of `fetch.js` in traces.
pub const FILE: &str = "boathook:fetch";

/// The bytes that are passed in one call. The host allows twice as many.
const AT_ONCE: usize = 4 * 1024 * 1024;

/// Resolves the promise of an answer.
type Resolve = Persistent<Function<'static>>;

thread_local! {
    static WAITING: RefCell<Vec<(Request, Resolve)>> = const { RefCell::new(Vec::new()) };
}

/// Makes the globals of `fetch.js`.
pub fn add(ctx: &Ctx<'_>) -> Result<()> {
    let given = Object::new(ctx.clone())?;
    given.set("send", Function::new(ctx.clone(), send)?)?;
    given.set("encode", Function::new(ctx.clone(), encode)?)?;
    given.set("decode", Function::new(ctx.clone(), decode)?)?;
    let mut options = EvalOptions::default();
    options.filename = Some(FILE.to_owned());
    let add: Function<'_> = ctx.eval_with_options(include_str!("../fetch.js"), options)?;
    add.call((given,))
}

/// `send({method, url, headers: [[name, value]], body?, timeout?})`: a promise of `{ok: {status, headers, body}}` or
/// `{err: {reason, message}}`.
fn send<'js>(ctx: Ctx<'js>, wanted: Object<'js>) -> Result<Value<'js>> {
    let headers: Vec<Vec<String>> = needed(&wanted, "headers")?;
    let header = |mut pair: Vec<String>| {
        let value = pair.pop().unwrap_or_default();
        // `Headers` has only such characters.
        (pair.pop().unwrap_or_default(), value.chars().map(|character| character as u8).collect())
    };
    let body: Option<ArrayBuffer<'js>> = maybe(&wanted, "body")?;
    let timeout: Option<f64> = maybe(&wanted, "timeout")?;
    let request = Request {
        method: needed(&wanted, "method")?,
        url: needed(&wanted, "url")?,
        headers: headers.into_iter().map(header).collect(),
        body: body.map(|body| bytes(&ctx, &body)).transpose()?.unwrap_or_default(),
        timeout: timeout.map(|millis| millis as u64),
    };
    let (promise, resolve, _) = ctx.promise()?;
    let resolve = Persistent::save(&ctx, resolve);
    WAITING.with_borrow_mut(|waiting| waiting.push((request, resolve)));
    Ok(promise.into_value())
}

/// Sends the requests that wait, and resolves their promises. False if there are none.
pub fn send_waiting(ctx: &Ctx<'_>) -> Result<bool> {
    let mut waiting = WAITING.take();
    let some = !waiting.is_empty();
    while !waiting.is_empty() {
        let rest = waiting.split_off(fitting(&waiting));
        let (requests, resolves): (Vec<_>, Vec<_>) = waiting.into_iter().unzip();
        for (answer, resolve) in http::send(&requests).into_iter().zip(resolves) {
            let answer = match answer {
                Ok(response) => ok(ctx, received(ctx, response)?),
                Err(failure) => err(ctx, refused(ctx, failure)?),
            };
            resolve.restore(ctx)?.call::<_, ()>((answer?,))?;
        }
        waiting = rest;
    }
    Ok(some)
}

/// How many of them one call passes, at least one.
fn fitting(waiting: &[(Request, Resolve)]) -> usize {
    let size = |request: &Request| {
        let headers = request.headers.iter().map(|(name, value)| name.len() + value.len());
        request.url.len() + headers.sum::<usize>() + request.body.len()
    };
    let ends = waiting.iter().scan(0, |bytes, (request, _)| {
        *bytes += size(request);
        Some(*bytes)
    });
    ends.take_while(|bytes| *bytes <= AT_ONCE).count().max(1)
}

fn received<'js>(ctx: &Ctx<'js>, response: Response) -> Result<Object<'js>> {
    let headers = Array::new(ctx.clone())?;
    for (index, (name, value)) in response.headers.into_iter().enumerate() {
        let value: String = value.into_iter().map(char::from).collect();
        headers.set(index, vec![name, value])?;
    }
    let object = Object::new(ctx.clone())?;
    object.set("status", response.status)?;
    object.set("headers", headers)?;
    object.set("body", ArrayBuffer::new(ctx.clone(), response.body)?)?;
    Ok(object)
}

fn refused<'js>(ctx: &Ctx<'js>, failure: Failure) -> Result<Object<'js>> {
    let reason = match failure.reason {
        Reason::Denied => "denied",
        Reason::Address => "address",
        Reason::NotSent => "not-sent",
        Reason::Limit => "limit",
        Reason::Name => "name",
        Reason::Connection => "connection",
        Reason::Tls => "tls",
        Reason::Timeout => "timeout",
        Reason::Invalid => "invalid",
        Reason::Credential => "credential",
    };
    let object = Object::new(ctx.clone())?;
    object.set("reason", reason)?;
    object.set("message", failure.message)?;
    Ok(object)
}

/// The bytes of a text in UTF-8.
fn encode(ctx: Ctx<'_>, text: String) -> Result<ArrayBuffer<'_>> {
    ArrayBuffer::new(ctx, text.into_bytes())
}

/// The text of bytes in UTF-8. What is not UTF-8 is replaced.
fn decode<'js>(ctx: Ctx<'js>, body: ArrayBuffer<'js>) -> Result<String> {
    let bytes = bytes(&ctx, &body)?;
    Ok(String::from_utf8_lossy(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes)).into_owned())
}

fn bytes<'js>(ctx: &Ctx<'js>, buffer: &ArrayBuffer<'js>) -> Result<Vec<u8>> {
    // SAFETY: no JavaScript runs before the bytes are copied.
    let bytes = unsafe { buffer.as_bytes() };
    bytes.map(<[u8]>::to_vec).ok_or_else(|| Exception::throw_type(ctx, "the body was transferred"))
}
