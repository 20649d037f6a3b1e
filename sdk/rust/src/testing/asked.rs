//! Questions of the API server in a test: requests to review, objects to convert.
//!
//! It never checks whether the binding's rules would match, nor changes the kit's objects.

use super::kit::Kit;
use super::patch;
use super::ran::{Ran, failed};
use super::run::{Run, object_of};
use crate::admission::{Change, Mutation, Review, Verdict};
use crate::conversion::{Converted, Request};
use crate::error::Result;
use crate::kube::Object;
use serde::Serialize;
use serde_json::{Map, Value, json};

/// A request to the API server, of which a binding asks.
#[derive(Clone, Debug)]
#[must_use = "a question is only a description until a kit asks it"]
pub struct Asked {
    binding: String,
    operation: &'static str,
    object: Option<Object>,
    old: Option<Object>,
    fields: Map<String, Value>,
    run: Run,
}

/// What a mutating hook has answered.
#[derive(Debug)]
pub struct Mutated {
    /// Whether the request is allowed.
    pub verdict: Verdict,
    /// The object as it is then.
    pub object: Object,
}

impl Asked {
    /// An object is to be made.
    #[track_caller]
    pub fn create<T: Serialize>(binding: &str, object: &T) -> Self {
        Self::new(binding, "CREATE", Some(object_of(object)), None)
    }

    /// An object is to be another one.
    #[track_caller]
    pub fn update<T: Serialize, U: Serialize>(binding: &str, old: &T, new: &U) -> Self {
        Self::new(binding, "UPDATE", Some(object_of(new)), Some(object_of(old)))
    }

    /// An object is to be deleted.
    #[track_caller]
    pub fn delete<T: Serialize>(binding: &str, object: &T) -> Self {
        Self::new(binding, "DELETE", None, Some(object_of(object)))
    }

    /// Something is to be connected to an object, with these options.
    #[track_caller]
    pub fn connect<T: Serialize>(binding: &str, options: &T) -> Self {
        Self::new(binding, "CONNECT", Some(object_of(options)), None)
    }

    fn new(binding: &str, operation: &'static str, object: Option<Object>, old: Option<Object>) -> Self {
        let (binding, fields) = (binding.to_owned(), Map::new());
        let asked = Self { binding, operation, object, old, fields, run: Run::new() };
        asked.user("kubernetes-admin", ["system:masters"])
    }

    /// Who asks; an admin without it.
    pub fn user<S: Into<String>>(self, name: &str, groups: impl IntoIterator<Item = S>) -> Self {
        let groups: Vec<String> = groups.into_iter().map(Into::into).collect();
        self.field("userInfo", json!({"username": name, "groups": groups}))
    }

    /// It is about `status`, `scale`, …
    pub fn subresource(self, name: &str) -> Self {
        self.field("subResource", name.into())
    }

    /// Any field of the AdmissionRequest, like `options`.
    pub fn field(mut self, name: &str, value: Value) -> Self {
        self.fields.insert(name.to_owned(), value);
        self
    }

    /// Nothing will be stored, and writes are not kept.
    pub fn dry_run(mut self) -> Self {
        self.run = self.run.dry_run();
        self
    }

    /// The snapshot of a binding is behind the cluster: it holds these objects.
    #[track_caller]
    pub fn snapshot<T: Serialize>(mut self, binding: &str, objects: impl IntoIterator<Item = T>) -> Self {
        self.run = self.run.snapshot(binding, objects);
        self
    }

    fn request(&self, kit: &Kit) -> String {
        let none = Object::default();
        let shown = self.object.as_ref().or(self.old.as_ref()).unwrap_or(&none);
        let (version, kind) = (shown.api_version(), shown.kind());
        let (group, short) = version.rsplit_once('/').unwrap_or(("", version));
        let namespace = shown.namespace().or((kind == "Namespace").then(|| shown.name()));
        let plural = kit.cluster.kinds.plural(version, kind);
        let mut request = json!({
            "uid": "0", "operation": self.operation, "name": shown.name(), "namespace": namespace,
            "kind": {"group": group, "version": short, "kind": kind},
            "resource": {"group": group, "version": short, "resource": plural},
            "object": self.object, "oldObject": self.old, "dryRun": self.run.dry_run,
        });
        if let Some(request) = request.as_object_mut() {
            request.extend(self.fields.clone());
        }
        request.to_string()
    }
}

impl Kit {
    /// Asks the hook's function `validate`. Panics if the hook has no such validating binding.
    #[track_caller]
    pub fn validate(&mut self, validate: fn(Review) -> Result<Verdict>, asked: Asked) -> Ran<Verdict> {
        let Some(binding) = self.document.validating.iter().find(|binding| binding.name == asked.binding) else {
            failed(&format!("the hook has no kubernetesValidating binding {:?}", asked.binding));
        };
        let (snapshots, request) = (self.document.answer_snapshots(binding), asked.request(self));
        self.call(&snapshots, &asked.run, |info| validate(Review::new(info, asked.binding.clone(), request)?))
    }

    /// Asks the hook's function `mutate`. Panics if the hook has no such mutating binding, or gave a patch that cannot
    /// be applied.
    #[track_caller]
    pub fn mutate(&mut self, mutate: fn(Review) -> Result<Mutation>, asked: Asked) -> Ran<Mutated> {
        let Some(binding) = self.document.mutating.iter().find(|binding| binding.name == asked.binding) else {
            failed(&format!("the hook has no kubernetesMutating binding {:?}", asked.binding));
        };
        let (snapshots, request) = (self.document.answer_snapshots(binding), asked.request(self));
        let ran = self.call(&snapshots, &asked.run, |info| mutate(Review::new(info, asked.binding.clone(), request)?));
        let Ran { result, writes, events, log, sent } = ran;
        let result = result.map(|mutation| {
            let (verdict, change) = mutation.into_parts();
            Mutated { verdict, object: changed(asked.object.unwrap_or_default(), change) }
        });
        Ran { result, writes, events, log, sent }
    }

    /// Asks the hook's function `convert` for one step of a binding, by `(from, to)`. Panics if the binding has no such
    /// step, or if there are not as many objects as before.
    #[track_caller]
    pub fn convert<T: Serialize>(
        &mut self,
        convert: fn(Request) -> Result<Converted>,
        binding: &str,
        (from, to): (&str, &str),
        objects: impl IntoIterator<Item = T>,
    ) -> Ran<Vec<Object>> {
        let is_step = |known: &&super::document::Answering| {
            known.name == binding
                && known.conversions.iter().any(|step| step.from_version == from && step.to_version == to)
        };
        let Some(known) = self.document.conversions.iter().find(is_step) else {
            failed(&format!("the hook has no conversion binding {binding:?} with the step {from} to {to}"));
        };
        let snapshots = self.document.answer_snapshots(known);
        let texts: Vec<String> = objects.into_iter().map(|object| object_of(&object).to_string()).collect();
        let given = texts.len();
        let request = Request::new(binding.to_owned(), from.to_owned(), to.to_owned(), texts);
        let ran = self.call(&snapshots, &Run::new(), |_| convert(request));
        let Ran { result, writes, events, log, sent } = ran;
        let result = result.map(|converted| {
            let objects: Vec<Object> = converted.into_texts().iter().map(|text| parsed(text)).collect();
            if objects.len() != given {
                failed(&format!("of {given} objects {} came back", objects.len()));
            }
            objects
        });
        Ran { result, writes, events, log, sent }
    }
}

#[track_caller]
fn changed(mut object: Object, change: Change) -> Object {
    match change {
        Change::Unchanged => object,
        Change::Object(text) => parsed(&text),
        Change::Patch(text) => {
            if patch::json(&mut object.0, &parsed(&text).0).is_err() {
                failed(&format!("the patch cannot be applied: {text}"));
            }
            object
        }
    }
}

#[track_caller]
fn parsed(text: &str) -> Object {
    serde_json::from_str(text).unwrap_or_else(|error| failed(&format!("the hook gave no JSON: {error}: {text}")))
}
