//! Calls a hook of a scenario: with an API server's request for each binding whose rules match, mutating ones first, or
//! about an object that it reconciles. It ignores selectors and match conditions, because the API server evaluates them.

use std::sync::Arc;

use boathook_core::model::{
    AdmissionBinding, AdmissionKind, AdmissionRule, Child, Mutation, OwnedKind, Reconcile, ReconcileBinding,
    RelatedObject, Requested, Verdict,
};
use boathook_operator::{
    app::Hook,
    webhook::{AdmissionRequest, ConversionRequest, Converted, Versioned},
};
use kube::discovery::Scope;
use serde_json::{Value, json};

use super::{
    super::{
        admin::{Admin, Kind},
        document::Object,
        judge::{Answer, Wants},
    },
    Operator,
};
use crate::scenario::document::{Admission, Asking, Conversion, Question};

/// Maximum time of a conversion, which is the API server's timeout.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(30);

/// When objects of a `reconcile` step came to be, and when their deletion began: the time of schedules.
const BEGINNING: &str = "2026-01-01T00:00:00Z";

/// The resource of a request.
struct Place {
    group: String,
    version: String,
    resource: String,
    namespaced: bool,
}

/// An error is one of the scenario, not of the hook.
pub(super) async fn ask(question: &Question, operator: &Operator, admin: &Admin) -> Result<Answer, String> {
    match question {
        Question::Admission(admission) => review(admission, operator, admin).await,
        Question::Conversion(conversion) => convert(conversion, operator).await,
        Question::Reconcile(asked) => reconcile(asked, operator).await,
    }
}

/// The hook is called as it is about an object that the cluster has. Nothing is applied.
async fn reconcile(asked: &Asking, operator: &Operator) -> Result<Answer, String> {
    let hooks = running(operator)?;
    let (hook, binding) = first(&hooks, |hook| asked.binding_of(&hook.spec.reconcilers))?;
    if asked.finalize && !hook.component.has_finalize() {
        return Err("the hook has no function finalize".to_owned());
    }
    let of_kind = |object: &Object, kind: &OwnedKind| {
        let text = |key: &str| object.value.get(key).and_then(Value::as_str).unwrap_or_default();
        text("apiVersion") == &*kind.api_version && text("kind") == &*kind.kind
    };
    let mut children = Vec::new();
    for child in &asked.children {
        if !binding.owns.iter().any(|kind| of_kind(child, kind)) {
            return Err(format!("child {child}: its kind is not in owns of the binding {:?}", binding.name.as_str()));
        }
        children.push(Child { target: child.target(), object: Arc::from(stored(&child.value).to_string()) });
    }
    let mut related = Vec::new();
    for (entry, objects) in &asked.related {
        let Some(known) = binding.related.iter().find(|known| *known.name == **entry) else {
            return Err(format!("the binding {:?} has no related entry {entry:?}", binding.name.as_str()));
        };
        for object in objects {
            if !of_kind(object, &known.kind) {
                return Err(format!("related {object}: the entry {entry:?} is about {}", known.kind.group_kind()));
            }
            let text = Arc::from(stored(&object.value).to_string());
            related.push(RelatedObject { entry: known.name.clone(), object: text });
        }
    }
    let mut parent = stored(&asked.object.value);
    if asked.finalize
        && let Some(metadata) = parent.get_mut("metadata").and_then(Value::as_object_mut)
    {
        metadata.entry("deletionTimestamp").or_insert_with(|| BEGINNING.into());
    }
    let asked = Reconcile {
        binding: binding.name.clone(),
        parent: Arc::from(parent.to_string()),
        finalizes: asked.finalize,
        children,
        related,
        snapshots: binding.include_snapshots_from.clone(),
    };
    let answer = operator.reconcile(&hook.spec.name, asked);
    Ok(match answer.await?.map(Wants::try_from) {
        Ok(Ok(wants)) => Answer::Reconciled(Box::new(wants)),
        Ok(Err(text)) => Answer::Failed(text),
        Err(failure) => Answer::Failed(failure.to_string()),
    })
}

/// The hooks that can be called. A module may have several.
fn running(operator: &Operator) -> Result<Vec<Arc<Hook>>, String> {
    let hooks = operator.hooks();
    if hooks.is_empty() { Err("the hook does not run".to_owned()) } else { Ok(hooks) }
}

/// What the first hook has that has it. Otherwise, why the last one does not.
fn first<'h, T>(hooks: &'h [Arc<Hook>], find: impl Fn(&'h Hook) -> Result<T, String>) -> Result<(&'h Hook, T), String> {
    let mut why = String::new();
    for hook in hooks.iter().map(Arc::as_ref) {
        match find(hook) {
            Ok(found) => return Ok((hook, found)),
            Err(other) => why = other,
        }
    }
    Err(why)
}

/// An object with what an API server adds, if the file leaves it out.
fn stored(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        for (key, value) in
            [("uid", json!("scenario")), ("generation", json!(1)), ("creationTimestamp", json!(BEGINNING))]
        {
            metadata.entry(key).or_insert(value);
        }
    }
    object
}

impl Asking {
    fn binding_of<'b>(&self, bindings: &'b [ReconcileBinding]) -> Result<&'b ReconcileBinding, String> {
        let text = |key: &str| self.object.value.get(key).and_then(Value::as_str).unwrap_or_default();
        let fits = |binding: &&ReconcileBinding| match &self.binding {
            Some(name) => binding.name.as_str() == name,
            None => text("apiVersion") == &*binding.parent.api_version && text("kind") == &*binding.parent.kind,
        };
        let found: Vec<_> = bindings.iter().filter(fits).collect();
        match (found.as_slice(), &self.binding) {
            ([one], _) => Ok(*one),
            ([], Some(name)) => Err(format!("the hook has no reconcile binding {name:?}")),
            ([], None) => Err(format!("the hook reconciles no {} of {}", text("kind"), text("apiVersion"))),
            (several, _) => {
                let names: Vec<_> = several.iter().map(|binding| binding.name.as_str()).collect();
                Err(format!("several bindings are about {}: binding must be one of {}", text("kind"), names.join(", ")))
            }
        }
    }
}

async fn review(admission: &Admission, operator: &Operator, admin: &Admin) -> Result<Answer, String> {
    let Some(subject) = admission.subject() else { return Err("there is no object".to_owned()) };
    let Kind { resource, scope, .. } =
        admin.kind(&subject.value).await.map_err(|error| format!("{subject}: {error}"))?;
    let place = Place {
        group: resource.group,
        version: resource.version,
        resource: resource.plural,
        namespaced: matches!(scope, Scope::Namespaced),
    };
    let hooks = running(operator)?;
    let all = hooks.iter().flat_map(|hook| hook.spec.admission.iter().map(move |binding| (&hook.spec.name, binding)));
    let asked: Vec<_> = all.filter(|(_, binding)| admission.asks(binding, &place)).collect();
    if asked.is_empty() {
        return Err(admission.nobody(&place));
    }
    let answerer = operator.answerer();
    let (mut verdict, mut object) = (Verdict::default(), admission.object.as_ref().map(|object| object.value.clone()));
    for kind in [AdmissionKind::Mutating, AdmissionKind::Validating] {
        for (hook, binding) in asked.iter().filter(|(_, binding)| binding.kind == kind) {
            let request = admission.request(&place, subject, object.as_ref());
            let answer = answerer.review(kind, hook.as_str(), binding.name.as_str(), request, binding.timeout);
            let reviewed = match answer.await {
                Ok(reviewed) => reviewed,
                Err(error) => return Ok(Answer::Failed(error.to_string())),
            };
            verdict.warnings.extend(reviewed.verdict.warnings);
            verdict.audit_annotations.extend(reviewed.verdict.audit_annotations);
            verdict.denied = reviewed.verdict.denied;
            if verdict.denied.is_some() {
                return Ok(Answer::Reviewed { verdict, object });
            }
            if let Err(error) = change(object.as_mut(), reviewed.mutation) {
                return Ok(Answer::Failed(format!("hook {hook}, binding {}: {error}", binding.name)));
            }
        }
    }
    Ok(Answer::Reviewed { verdict, object })
}

async fn convert(conversion: &Conversion, operator: &Operator) -> Result<Answer, String> {
    let text =
        |object: &Object, key: &str| object.value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let version = conversion.objects.first().map(|object| text(object, "apiVersion")).unwrap_or_default();
    let group = version.rsplit_once('/').map_or("", |(group, _)| group);
    let hooks = running(operator)?;
    let is_asked = |crd: &str| match &conversion.crd {
        Some(wanted) => crd == wanted,
        None => crd.split_once('.').is_some_and(|(_, of)| of == group),
    };
    let all = hooks.iter().flat_map(|hook| &hook.spec.conversions);
    let mut crds: Vec<_> = all.map(|it| it.crd.to_string()).filter(|crd| is_asked(crd)).collect();
    crds.sort_unstable();
    crds.dedup();
    let [crd] = crds.as_slice() else {
        return Err(match crds.len() {
            0 => format!("the hook converts nothing of the group {group:?}"),
            _ => format!("the hook converts more than one kind of {group:?}: crd must be one of {}", crds.join(", ")),
        });
    };
    let desired =
        if conversion.to.contains('/') { conversion.to.clone() } else { format!("{group}/{}", conversion.to) };
    let objects = conversion.objects.iter();
    let objects =
        objects.map(|object| Versioned { api_version: text(object, "apiVersion"), json: object.value.to_string() });
    let request =
        ConversionRequest { crd: crd.clone(), uid: "scenario".to_owned(), desired, objects: objects.collect() };
    let texts = match operator.answerer().convert(request, PATIENCE).await {
        Ok(Converted::Objects(texts)) => texts,
        Ok(Converted::Failed(text)) => return Ok(Answer::Failed(text)),
        Err(error) => return Ok(Answer::Failed(error.to_string())),
    };
    let parsed: Result<Vec<Value>, _> = texts.iter().map(|text| serde_json::from_str(text)).collect();
    Ok(parsed.map_or_else(|error| Answer::Failed(format!("the hook gave no JSON: {error}")), Answer::Converted))
}

fn change(object: Option<&mut Value>, mutation: Mutation) -> Result<(), String> {
    match (mutation, object) {
        (Mutation::Unchanged, _) => Ok(()),
        (_, None) => Err("there is no object to change".to_owned()),
        (Mutation::Object(text), Some(object)) => {
            *object = serde_json::from_str(&text).map_err(|error| format!("it gave no JSON: {error}"))?;
            Ok(())
        }
        (Mutation::JsonPatch(text), Some(object)) => {
            let patch: json_patch::Patch =
                serde_json::from_str(&text).map_err(|error| format!("it gave no JSON Patch: {error}"))?;
            json_patch::patch(object, &patch).map_err(|error| format!("its patch does not fit: {error}"))
        }
    }
}

impl Admission {
    fn asks(&self, binding: &AdmissionBinding, place: &Place) -> bool {
        match &self.binding {
            Some(name) => binding.name.as_str() == name,
            None => binding.rules.iter().any(|rule| self.matches(rule, place)),
        }
    }

    fn matches(&self, rule: &AdmissionRule, place: &Place) -> bool {
        rule.matches(&Requested {
            group: &place.group,
            version: &place.version,
            resource: &place.resource,
            subresource: self.subresource.as_deref().unwrap_or_default(),
            operation: self.operation,
            namespaced: place.namespaced,
        })
    }

    fn nobody(&self, place: &Place) -> String {
        if let Some(name) = &self.binding {
            return format!("the hook has no binding {name:?} for admission");
        }
        let sub = self.subresource.as_ref().map(|name| format!("/{name}")).unwrap_or_default();
        let group = if place.group.is_empty() { "the core group" } else { &place.group };
        let Place { version, resource, .. } = place;
        format!("no rule of the hook is for {} of {resource}{sub} in {version} of {group}", self.operation)
    }

    fn request(&self, place: &Place, subject: &Object, object: Option<&Value>) -> AdmissionRequest {
        let text = |pointer: &str| subject.value.pointer(pointer).cloned().unwrap_or_default();
        let Place { group, version, resource, .. } = place;
        let kind = json!({"group": group, "version": version, "kind": text("/kind")});
        let resource = json!({"group": group, "version": version, "resource": resource});
        let name = text("/metadata/name");
        let namespace = if place.resource_is_namespace() { name.clone() } else { text("/metadata/namespace") };
        let uid = "scenario".to_owned();
        let mut request = json!({
            "uid": uid, "kind": kind, "resource": resource, "requestKind": kind, "requestResource": resource,
            "name": name, "operation": self.operation, "dryRun": self.dry_run, "object": object,
            "userInfo": {"username": self.user, "groups": self.groups},
            "oldObject": self.old_object.as_ref().map(|object| &object.value), "options": null,
        });
        if let Some(fields) = request.as_object_mut() {
            if !namespace.is_null() {
                fields.insert("namespace".to_owned(), namespace);
            }
            if let Some(sub) = &self.subresource {
                fields.insert("subResource".to_owned(), sub.as_str().into());
                fields.insert("requestSubResource".to_owned(), sub.as_str().into());
            }
        }
        AdmissionRequest {
            uid,
            dry_run: self.dry_run,
            operation: self.operation.to_owned(),
            has_object: object.is_some(),
            by_hand: true,
            json: Arc::from(request.to_string()),
        }
    }
}

impl Place {
    fn resource_is_namespace(&self) -> bool {
        self.group.is_empty() && self.resource == "namespaces"
    }
}
