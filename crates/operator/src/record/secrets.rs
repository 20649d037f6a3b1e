//! Removes the values of Secrets from a record in such a way that it can still be replayed. Each value becomes a
//! placeholder, and the same value becomes the same placeholder everywhere.

use std::{collections::HashMap, sync::Arc};

use aho_corasick::{AhoCorasick, MatchKind};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use boathook_core::model::{
    BindingName, BindingRef, CallError, Cause, HookSpec, HttpBody, HttpHeader, Item, Operation, PatchBody,
};
use serde::de::IgnoredAny;
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use super::content::{Answer, Asks, Record, RecordedAnswer, RecordedQuestion, Request};

/// The bindings of a hook that match Secrets.
pub fn bindings_of_secrets(spec: &HookSpec) -> Vec<BindingName> {
    let of_secrets = |kind: &str| matches!(kind.to_lowercase().as_str(), "secret" | "secrets");
    let bindings = spec.bindings().filter_map(|binding| match binding {
        BindingRef::Kubernetes(binding) => of_secrets(&binding.kind).then(|| binding.name.clone()),
        // They have no snapshot of their own.
        BindingRef::Startup(_)
        | BindingRef::Stage(_)
        | BindingRef::Schedule(_)
        | BindingRef::Reconcile(_)
        | BindingRef::Admission(_)
        | BindingRef::Conversion(_) => None,
    });
    bindings.collect()
}

/// Replaces the values of Secrets. `bindings` match Secrets, so the results of their filters are replaced, too, except
/// for what is known to be public.
pub fn redact(mut record: Record, key: &Key, bindings: &[BindingName]) -> Result<Record, serde_json::Error> {
    let mut pass = Pass::new(key);
    inputs(&mut record, &mut pass, bindings);
    let made = calls(&mut record, &mut pass) | answer(&mut record, &mut pass);
    if made {
        record.ambient.random = None;
    }
    record.header.redacted = true;
    match Scrubber::new(&pass.replaced) {
        Some(scrubber) => scrubbed(record, &scrubber),
        None => Ok(record),
    }
}

fn inputs(record: &mut Record, pass: &mut Pass<'_>, bindings: &[BindingName]) {
    for trigger in &mut record.triggers {
        let Cause::Event(event) = &mut trigger.cause else { continue };
        event.previous_object.iter_mut().for_each(|object| pass.json(object));
        let secret = event.resource.kind == "Secret" && event.resource.group.is_empty();
        if secret && let Some(result) = &mut event.previous_filter_result {
            pass.filter_result(result, &known(&event.item));
        }
        item(Arc::make_mut(&mut event.item), pass, secret);
    }
    match record.question.as_mut().map(|question| &mut question.asks) {
        Some(Asks::Validating { request } | Asks::Mutating { request }) => pass.json(request),
        Some(Asks::Conversion { objects, .. }) => objects.iter_mut().for_each(|object| pass.json(object)),
        Some(Asks::Reconcile { parent, children, related, .. }) => {
            pass.json(parent);
            children.iter_mut().for_each(|child| pass.json(&mut child.object));
            related.iter_mut().for_each(|one| pass.json(&mut one.object));
        }
        None => {}
    }
    for snapshot in &mut record.snapshots {
        let secret = bindings.contains(&snapshot.binding);
        snapshot.items.iter_mut().flatten().for_each(|one| item(Arc::make_mut(one), pass, secret));
    }
}

fn item(item: &mut Item, pass: &mut Pass<'_>, secret: bool) {
    item.object.iter_mut().for_each(|object| pass.json(object));
    let mut result = item.filter_result.take();
    match &mut result {
        Some(result) if secret => pass.filter_result(result, &known(item)),
        Some(result) => pass.json(result),
        None => {}
    }
    item.filter_result = result;
}

/// Texts of an object that are not values of a Secret.
fn known(item: &Item) -> [&str; 3] {
    [&item.key.name, item.key.namespace.as_deref().unwrap_or_default(), &item.uid]
}

/// Replaces values in calls. Returns whether the run wrote a value into a Secret that it had not read.
fn calls(record: &mut Record, pass: &mut Pass<'_>) -> bool {
    let mut made = false;
    for call in &mut record.calls {
        pass.found_new = false;
        match &mut call.request {
            Request::Write { operation: op, .. } => operation(op, pass),
            Request::Batch { operations, .. } => operations.iter_mut().for_each(|op| operation(op, pass)),
            _ => {}
        }
        made |= pass.found_new;
        if let Request::Http { request } = &mut call.request {
            http(&mut request.headers, &mut request.body, pass);
        }
        pass.found_new = false;
        let programs = call.request.operations().iter().any(is_program);
        match &mut call.answer {
            Some(Answer::Object(Ok(object)) | Answer::Written(Ok(Some(object)))) => pass.json(object),
            Some(Answer::Http(Ok(response))) => http(&mut response.headers, &mut response.body, pass),
            Some(Answer::Page(Ok(page))) => page.items.iter_mut().for_each(|object| pass.json(object)),
            Some(Answer::Batch(answers)) => answers.iter_mut().for_each(|answer| match answer {
                Ok(Some(object)) => pass.json(object),
                Ok(None) => {}
                Err(failure) => error(failure, pass),
            }),
            Some(
                Answer::Object(Err(failure))
                | Answer::Page(Err(failure))
                | Answer::Written(Err(failure))
                | Answer::Emitted(Err(failure)),
            ) => error(failure, pass),
            _ => {}
        }
        made |= programs && pass.found_new;
    }
    made
}

/// Replaces values in the answer. Returns whether it contains a value of a Secret that was not in the question.
fn answer(record: &mut Record, pass: &mut Pass<'_>) -> bool {
    pass.found_new = false;
    let of_secret = record.question.as_ref().is_some_and(about_secret);
    match &mut record.end.answer {
        Some(RecordedAnswer::Review { patch, object, .. }) => {
            patch.iter_mut().for_each(|patch| if of_secret { pass.secret(patch) } else { pass.json(patch) });
            object.iter_mut().for_each(|object| pass.json(object));
        }
        Some(RecordedAnswer::Objects { objects }) => objects.iter_mut().for_each(|object| pass.json(object)),
        Some(RecordedAnswer::Reconciled { children, status, .. }) => {
            children.iter_mut().chain(status).for_each(|object| pass.json(object));
        }
        None => {}
    }
    pass.found_new
}

/// Whether a review is about a Secret. Its patch alone does not show that.
fn about_secret(question: &RecordedQuestion) -> bool {
    let (Asks::Validating { request } | Asks::Mutating { request }) = &question.asks else { return false };
    let kind = serde_json::from_str::<Value>(request).map(|request| request.pointer("/kind/kind").cloned());
    // If the kind cannot be read, assume a Secret.
    kind.map_or(true, |kind| kind.as_ref().and_then(Value::as_str) == Some("Secret"))
}

/// Headers whose values are credentials.
const CREDENTIALS: [&str; 6] =
    ["authorization", "proxy-authorization", "cookie", "set-cookie", "x-api-key", "x-auth-token"];

/// Replaces the credentials in headers, and Secrets in a body. Where a credential came from a Secret or an earlier response,
/// it has the same placeholder there.
fn http(headers: &mut [HttpHeader], HttpBody(body): &mut HttpBody, pass: &mut Pass<'_>) {
    for HttpHeader(name, HttpBody(value)) in headers {
        if CREDENTIALS.contains(&name.to_lowercase().as_str()) {
            *value = credential(&String::from_utf8_lossy(value), pass).into_bytes();
        }
    }
    // Another text than JSON is no Secret.
    if serde_json::from_slice::<IgnoredAny>(body).is_ok()
        && let Ok(mut text) = String::from_utf8(body.clone())
    {
        pass.json(&mut text);
        *body = text.into_bytes();
    }
}

fn credential(value: &str, pass: &mut Pass<'_>) -> String {
    match value.split_once(' ') {
        Some((scheme, login)) if scheme.eq_ignore_ascii_case("basic") => {
            let decoded = STANDARD.decode(login).ok().and_then(|bytes| String::from_utf8(bytes).ok());
            match decoded.as_deref().and_then(|login| login.split_once(':')) {
                Some((user, password)) => {
                    let hidden = STANDARD.encode(format!("{user}:{}", pass.text(password)));
                    // The whole may be elsewhere, too.
                    pass.replaced.entry(login.to_owned()).or_insert_with(|| hidden.clone());
                    format!("{scheme} {hidden}")
                }
                None => pass.text(value),
            }
        }
        Some((scheme, token)) if !token.contains(' ') => format!("{scheme} {}", pass.text(token)),
        _ => pass.text(value),
    }
}

/// What the program makes of a Secret is only in the answer.
fn is_program(operation: &Operation) -> bool {
    matches!(operation, Operation::Patch(patch) if patch.target.kind == "Secret" && matches!(patch.body, PatchBody::Jq(_)))
}

fn error(failure: &mut CallError, pass: &mut Pass<'_>) {
    failure.status.iter_mut().for_each(|status| pass.json(status));
}

fn operation(operation: &mut Operation, pass: &mut Pass<'_>) {
    match operation {
        Operation::Create(create) => pass.json(&mut create.object),
        Operation::Update(update) => pass.json(&mut update.object),
        Operation::Patch(patch) => {
            let secret = patch.target.kind == "Secret";
            match &mut patch.body {
                PatchBody::Json(body) | PatchBody::Merge(body) | PatchBody::Strategic(body) if secret => {
                    pass.secret(body);
                }
                PatchBody::Json(body) | PatchBody::Merge(body) | PatchBody::Strategic(body) => pass.json(body),
                PatchBody::Apply { object, .. } => pass.json(object),
                // The values are in the answer, and are replaced there.
                PatchBody::Jq(_) => {}
            }
        }
        Operation::Delete(_) => {}
    }
}

fn scrubbed(record: Record, scrubber: &Scrubber) -> Result<Record, serde_json::Error> {
    let header = record.header.clone();
    let mut value = serde_json::to_value(record)?;
    if let Value::Object(parts) = &mut value {
        parts.iter_mut().filter(|(part, _)| *part != "header").for_each(|(_, part)| scrubber.value(part));
    }
    Ok(Record { header, ..serde_json::from_value(value)? })
}

const LETTERS: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";

/// The key of placeholders: letters of the same length, and the same letters for the same value. A placeholder cannot be
/// reversed: it is a keyed hash, of which each byte becomes one of 36 letters.
#[derive(Clone, PartialEq, Eq)]
pub struct Key([u8; 32]);

impl Key {
    /// The length of a key in bytes.
    pub const LEN: usize = 32;

    /// A key that was stored.
    pub fn new(bytes: [u8; Self::LEN]) -> Self {
        Self(bytes)
    }

    /// A new key.
    pub fn random() -> Self {
        Self(rand::random())
    }

    /// The bytes to store.
    pub fn bytes(&self) -> &[u8; Self::LEN] {
        &self.0
    }

    /// The placeholder for a value of `data`: letters in base64, which decode to the same number of bytes as before. A
    /// value that is not base64 is replaced as text.
    fn data(&self, value: &str) -> String {
        match STANDARD.decode(value) {
            Ok(bytes) => STANDARD.encode(self.letters(&bytes)),
            Err(_) => self.text(value),
        }
    }

    /// The placeholder for a value of `stringData`.
    fn text(&self, value: &str) -> String {
        self.letters(value.as_bytes())
    }

    fn letters(&self, value: &[u8]) -> String {
        let mut letters = String::with_capacity(value.len());
        let mut block: u64 = 0;
        while letters.len() < value.len() {
            let hash =
                Sha256::new().chain_update(self.0).chain_update(block.to_le_bytes()).chain_update(value).finalize();
            let letter = |byte: &u8| LETTERS.get(usize::from(*byte) % LETTERS.len()).copied().unwrap_or(b'x');
            letters.extend(hash.iter().map(letter).map(char::from).take(value.len() - letters.len()));
            block += 1;
        }
        letters
    }
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key(…)")
    }
}

/// Decodes a value of `data`, if it is text.
fn decoded(value: &str) -> Option<String> {
    String::from_utf8(STANDARD.decode(value).ok()?).ok()
}

/// Keys in a filter's result whose texts are not values of Secrets.
const PUBLIC: [&str; 8] = ["name", "namespace", "uid", "resourceVersion", "type", "kind", "apiVersion", "phase"];

/// Keys in a filter's result whose maps contain no values of Secrets.
const PUBLIC_MAPS: [&str; 3] = ["labels", "annotations", "metadata"];

/// Kinds other than Secret that contain a credential, and its position.
const TOKENS: [(&str, [&str; 2]); 2] = [("TokenRequest", ["status", "token"]), ("TokenReview", ["spec", "token"])];

/// A text that belongs to a record, or that it shares.
trait Text: AsRef<str> + From<String> {}

impl<T: AsRef<str> + From<String>> Text for T {}

/// The key of the placeholders, and what was replaced.
struct Pass<'k> {
    key: &'k Key,
    /// The placeholder for each text that was replaced.
    pub replaced: HashMap<String, String>,
    /// Whether a value was replaced for the first time.
    pub found_new: bool,
}

impl<'k> Pass<'k> {
    pub fn new(key: &'k Key) -> Self {
        Self { key, replaced: HashMap::new(), found_new: false }
    }

    /// Replaces values in a JSON text that may contain Secrets or tokens.
    pub fn json<T: Text>(&mut self, text: &mut T) {
        // A hook may write the letters of a kind as escapes.
        if ["Secret", "TokenRe", "\\u"].iter().any(|part| text.as_ref().contains(part)) {
            self.parsed(text, |pass, value| pass.value(value));
        }
    }

    /// Replaces values in a JSON text that is a part of a Secret: the body of a patch.
    pub fn secret(&mut self, text: &mut String) {
        self.parsed(text, |pass, value| match value {
            Value::Array(operations) => operations.iter_mut().for_each(|operation| pass.patch(operation)),
            Value::Object(fields) => pass.fields(fields),
            _ => {}
        });
    }

    /// Replaces values in the result of a `jqFilter` on a Secret.
    pub fn filter_result<T: Text>(&mut self, text: &mut T, known: &[&str]) {
        self.parsed(text, |pass, value| pass.leaf(value, known));
    }

    fn parsed<T: Text>(&mut self, text: &mut T, change: impl FnOnce(&mut Self, &mut Value)) {
        match serde_json::from_str::<Value>(text.as_ref()) {
            Ok(mut value) => {
                let before = value.clone();
                change(self, &mut value);
                if value != before {
                    *text = value.to_string().into();
                }
            }
            // The text may be a Secret despite that.
            Err(_) => *text = self.text(text.as_ref()).into(),
        }
    }

    fn value(&mut self, value: &mut Value) {
        match value {
            Value::Object(fields) => {
                let kind = fields.get("kind").and_then(Value::as_str);
                let token = TOKENS.iter().find(|(holder, _)| kind == Some(holder));
                if kind == Some("Secret") {
                    self.fields(fields);
                } else if let Some((_, [part, field])) = token
                    && let Some(token) = fields.get_mut(*part).and_then(|part| part.get_mut(*field))
                {
                    self.replace(token, Self::text);
                }
                fields.values_mut().for_each(|value| self.value(value));
            }
            Value::Array(values) => values.iter_mut().for_each(|value| self.value(value)),
            // As in kubectl's last-applied-configuration annotation.
            Value::String(text) if text.trim_start().starts_with(['{', '[']) => self.json(text),
            _ => {}
        }
    }

    /// Replaces values in the fields of a Secret.
    fn fields(&mut self, fields: &mut Map<String, Value>) {
        for (key, replace) in [("data", Self::data as fn(&mut Self, &str) -> String), ("stringData", Self::text)] {
            if let Some(Value::Object(values)) = fields.get_mut(key) {
                values.values_mut().for_each(|value| self.replace(value, replace));
            }
        }
        if let Some(Value::Object(annotations)) =
            fields.get_mut("metadata").and_then(|meta| meta.get_mut("annotations"))
        {
            annotations.values_mut().for_each(|value| self.value(value));
        }
    }

    /// Replaces values in one operation of a JSON Patch of a Secret.
    fn patch(&mut self, operation: &mut Value) {
        let path = operation.get("path").and_then(Value::as_str).unwrap_or_default().to_owned();
        let Some(value) = operation.get_mut("value") else { return };
        let mut parts = path.split('/').skip(1);
        match (parts.next(), value) {
            (Some("data"), value) => self.replace_all(value, Self::data),
            (Some("stringData"), value) => self.replace_all(value, Self::text),
            (None, Value::Object(fields)) => self.fields(fields),
            (_, value) => self.value(value),
        }
    }

    fn replace_all(&mut self, value: &mut Value, replace: fn(&mut Self, &str) -> String) {
        match value {
            Value::Object(values) => values.values_mut().for_each(|value| self.replace(value, replace)),
            value => self.replace(value, replace),
        }
    }

    fn replace(&mut self, value: &mut Value, replace: fn(&mut Self, &str) -> String) {
        if let Value::String(text) = value {
            *text = replace(self, text);
        }
    }

    /// Replaces a text in a filter's result, unless it is known to be public.
    fn leaf(&mut self, value: &mut Value, known: &[&str]) {
        match value {
            Value::Object(fields) => {
                for (key, value) in fields.iter_mut() {
                    let public = PUBLIC.contains(&key.as_str()) && value.is_string();
                    match key.as_str() {
                        key if public || PUBLIC_MAPS.contains(&key) => self.value(value),
                        "data" => self.replace_all(value, Self::data),
                        "stringData" => self.replace_all(value, Self::text),
                        _ => self.leaf(value, known),
                    }
                }
            }
            Value::Array(values) => values.iter_mut().for_each(|value| self.leaf(value, known)),
            Value::String(text) if !known.contains(&text.as_str()) => *text = self.data(text),
            _ => {}
        }
    }

    fn data(&mut self, value: &str) -> String {
        let placeholder = self.remember(value, Key::data);
        if let Some(text) = decoded(value) {
            let placeholder = self.remember(&text, Key::text);
            self.parts(&text, &placeholder);
        }
        placeholder
    }

    fn text(&mut self, value: &str) -> String {
        let placeholder = self.remember(value, Key::text);
        self.parts(value, &placeholder);
        placeholder
    }

    fn remember(&mut self, value: &str, replace: fn(&Key, &str) -> String) -> String {
        if let Some(placeholder) = self.replaced.get(value) {
            return placeholder.clone();
        }
        self.found_new = true;
        let placeholder = replace(self.key, value);
        self.replaced.insert(value.to_owned(), placeholder.clone());
        placeholder
    }

    /// Remembers parts of a value that a hook may extract: its lines, and credentials in a JSON document.
    fn parts(&mut self, value: &str, placeholder: &str) {
        const LONG_LINE: usize = 16;
        let mut start = 0;
        for line in value.split_inclusive('\n') {
            let part = placeholder.get(start..start + line.len()).unwrap_or_default();
            start += line.len();
            let line = line.trim_end_matches(['\r', '\n']);
            if line.len() >= LONG_LINE && line.len() < value.len() {
                let part = part.get(..line.len()).unwrap_or_default().to_owned();
                self.replaced.entry(line.to_owned()).or_insert(part);
            }
        }
        if value.starts_with('{')
            && let Ok(value) = serde_json::from_str(value)
        {
            self.credentials(&value);
        }
    }

    fn credentials(&mut self, value: &Value) {
        const WORDS: [&str; 5] = ["pass", "auth", "token", "secret", "key"];
        let Value::Object(fields) = value else { return };
        for (key, value) in fields {
            let key = key.to_lowercase();
            match value {
                Value::String(text) if WORDS.iter().any(|word| key.contains(word)) => {
                    let placeholder = self.key.data(text);
                    self.replaced.entry(text.clone()).or_insert(placeholder);
                }
                value => self.credentials(value),
            }
        }
    }
}

/// Shorter values are replaced only in Secrets.
pub const SHORTEST: usize = 8;

/// Replaces values of Secrets in the rest of a record: logs, names, other objects. It leaves short values, because they
/// would occur in unrelated words.
struct Scrubber {
    patterns: AhoCorasick,
    replacements: Vec<String>,
}

impl Scrubber {
    /// Returns `None` if there is nothing to replace.
    pub fn new(replaced: &HashMap<String, String>) -> Option<Self> {
        let (mut patterns, mut replacements) = (Vec::new(), Vec::new());
        for (value, placeholder) in replaced.iter().filter(|(value, _)| value.len() >= SHORTEST) {
            let escaped = Value::from(value.as_str()).to_string();
            let escaped = escaped.get(1..escaped.len() - 1).unwrap_or_default().to_owned();
            if escaped != *value {
                patterns.push(escaped);
                replacements.push(placeholder.clone());
            }
            patterns.push(value.clone());
            replacements.push(placeholder.clone());
        }
        if patterns.is_empty() {
            return None;
        }
        let patterns = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(&patterns).ok()?;
        Some(Self { patterns, replacements })
    }

    /// Replaces in all texts of a JSON value.
    pub fn value(&self, value: &mut Value) {
        match value {
            Value::String(text) if self.patterns.is_match(text.as_str()) => {
                *text = self.patterns.replace_all(text, &self.replacements);
            }
            Value::Array(values) => values.iter_mut().for_each(|value| self.value(value)),
            Value::Object(fields) => fields.values_mut().for_each(|value| self.value(value)),
            _ => {}
        }
    }
}

/// Treats a value of a Secret as the recorded one if only its placeholder is known. It changes only Secrets and tokens.
/// Replaces each value of a Secret with the recorded placeholder if the placeholder stands for it. The key decides
/// that. If the run `made` values from random numbers that were not recorded, any value matches.
pub(super) fn reconcile(recorded: &Value, now: &mut Value, key: Option<&Key>, made: bool) {
    match (recorded, now) {
        (Value::Object(before), Value::Object(after)) => {
            for (field, after) in after.iter_mut() {
                let Some(before) = before.get(field) else { continue };
                match (field.as_str(), before, after) {
                    ("data", Value::Object(before), Value::Object(after)) => {
                        values(before, after, |value| key.map(|key| key.data(value)), made);
                    }
                    ("stringData", Value::Object(before), Value::Object(after)) => {
                        values(before, after, |value| key.map(|key| key.text(value)), made);
                    }
                    ("token", Value::String(before), Value::String(after)) => {
                        one(before, after, |value| key.map(|key| key.text(value)), made);
                    }
                    (_, before, after) => reconcile(before, after, key, made),
                }
            }
        }
        (Value::Array(before), Value::Array(after)) => {
            before.iter().zip(after).for_each(|(before, after)| reconcile(before, after, key, made));
        }
        _ => {}
    }
}

type Fields = serde_json::Map<String, Value>;

fn values(before: &Fields, after: &mut Fields, placeholder: impl Fn(&str) -> Option<String>, made: bool) {
    for (field, after) in after {
        let (Some(Value::String(before)), Value::String(after)) = (before.get(field), after) else { continue };
        one(before, after, &placeholder, made);
    }
}

fn one(before: &str, after: &mut String, placeholder: impl Fn(&str) -> Option<String>, made: bool) {
    if before != after.as_str() && (made || placeholder(after).as_deref() == Some(before)) {
        before.clone_into(after);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_placeholder_has_the_shape_of_the_value_and_decodes_alike() {
        let key = Key::new([7; 32]);
        for value in ["", "a", "hunter2", "correct horse battery staple, and much more than one block of it"] {
            let encoded = STANDARD.encode(value);
            let placeholder = key.data(&encoded);
            assert_eq!(placeholder.len(), encoded.len());
            assert_eq!(decoded(&placeholder).unwrap(), key.text(value));
            assert_eq!(key.text(value).len(), value.len());
        }
        assert_eq!(key.text("a value"), key.text("a value"));
        assert_ne!(key.text("a value"), key.text("b value"));
        assert_ne!(key.text("a value"), Key::new([8; 32]).text("a value"));
        assert_eq!(key.data("no base64!").len(), 10);
    }
}
