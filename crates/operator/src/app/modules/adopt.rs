//! Takes over what Helm, or addon-operator, has installed as a release with the name of a module. First it is planned: what is
//! taken over, what the operator changes then, and what stands in the way. The takeover itself changes two things of an object:
//! it gets the label of the module's set, and the fields that Helm has become the module's, so that they go when the chart no
//! longer has them.
//!
//! The release becomes the revision that the module's next one follows. That the operator would take over the objects by
//! itself, as it does with objects that nobody has, is not enough: objects that the chart no longer renders would stay, and
//! Helm's hooks for installations would run.

use std::collections::{BTreeMap, BTreeSet};

use boathook_applyset::{MemberId, SetId};
use boathook_core::model::{ObjectRef, PART_OF, Resource, error_chain};
use boathook_kube::discovery::DiscoveryError;
use boathook_modules::{Catalogue, HelmRelease, ModuleName, graph::State, manifest};
use boathook_sandbox::Sandbox;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api,
    api::{ApiResource, DynamicObject, ListParams, Patch, PatchParams},
};
use serde_json::{Map, Value, json};

use super::{
    charts::{
        self, hooks,
        record::{self, Record},
        release::manager,
        revisions::{Content, Manifest},
    },
    commands::{CommandError, InCluster, MANAGER, wrong},
    preview::{Failed, Known, Objects, Preview},
    releases::ReleaseError,
};

/// The field managers of Helm 3 and 4, and of programs that use Helm's library for modules.
const HELM: [&str; 4] = ["helm", "addon-operator", "deckhouse-controller", "helm-controller"];
/// The annotation with the release of an object.
const RELEASE_NAME: &str = "meta.helm.sh/release-name";
/// How often the managed fields of an object that others change are written.
const TRIES: usize = 5;

/// A takeover of a release of Helm, as it is planned.
#[derive(Debug)]
pub struct Adoption {
    pub module: ModuleName,
    /// Of Helm's release, which becomes the module's.
    pub revision: u64,
    /// The chart of the release and its version.
    pub chart: String,
    /// What is taken over.
    pub objects: Vec<ObjectRef>,
    /// Objects of the release that are not taken over, and why.
    pub left: Vec<(ObjectRef, String)>,
    /// What the operator does afterwards.
    pub next: Preview,
    /// What stands in the way of that: fields that somebody else has, which the chart sets otherwise, and what the API server
    /// refuses.
    pub conflicts: Vec<(ObjectRef, String)>,
    record: Record,
    content: Content,
    members: BTreeMap<MemberId, Member>,
    /// The field managers whose fields become the module's.
    managers: BTreeSet<String>,
}

#[derive(Debug)]
struct Member {
    object: ObjectRef,
    resource: ApiResource,
}

/// A member of a release: what it is, and its manifest.
type Documents = Vec<(Resource, ObjectRef, Value)>;

impl InCluster {
    /// Plans the takeover of the release that has the name of a module, in the operator's namespace. `managers`: field managers
    /// of other programs that use Helm's library.
    ///
    /// # Errors
    /// There is no such release or module, or it cannot be taken over.
    pub async fn adoption(
        &self,
        catalogue: &Catalogue,
        config_map: &str,
        sandbox: std::sync::Arc<Sandbox>,
        name: &ModuleName,
        managers: &[String],
    ) -> Result<Adoption, CommandError> {
        let (known, ..) = self.known(catalogue, config_map, sandbox).await?;
        if let Some(record) = known.records.get(name) {
            let revision = record.revision;
            return wrong(format!(
                "the module {name} is installed already, with revision {revision}: there is nothing to adopt"
            ));
        }
        let Some(module) = known.catalogue.module(name.as_str()) else {
            return wrong(format!("there is no module {name} that can be used in these directories"));
        };
        if let Some(State::Off(why)) = known.states.get(name) {
            return wrong(format!(
                "the module {name} is off ({why}), and the operator deletes the objects of a module that is off: turn it on \
                 first, for example with `boathook modules enable {name}`"
            ));
        }
        let release = self.release(name).await?;
        let content = content(&release);
        let (chart, version) = release.chart();
        let time = release.deployed().parse().unwrap_or_else(|_| Timestamp::now());
        let record = Record::adopted(release.version, time, version, &content);
        let (documents, mut left) = self.documents(&known, name, &content).await?;
        let before = documents.iter().map(|(_, object, manifest)| {
            let member = (object.clone(), manifest.clone());
            (MemberId::of(object), member)
        });
        let planned = self.on(&known, module, Some(&record), Some(before.collect())).await;
        let (next, after) = planned.map_err(|failed| match failed {
            Failed::Command(error) => error,
            Failed::Release(ReleaseError::Failed(why) | ReleaseError::Refused(why)) => {
                CommandError::Wrong(format!("the module {name}: {why}"))
            }
        })?;
        let mut managers: BTreeSet<String> =
            HELM.iter().map(|name| (*name).to_owned()).chain(managers.iter().cloned()).collect();
        let set = SetId::of(&record::reference(&self.namespace, name));
        let mut members = BTreeMap::new();
        for (resource, object, _) in &documents {
            let (id, resource) = (MemberId::of(object), api_resource(resource));
            match self.live(&resource, object).await? {
                None => left.push((object.clone(), "it does not exist".to_owned())),
                Some(live) => match foreign(&live, name, &set) {
                    Some(why) => left.push((object.clone(), why)),
                    None => {
                        managers.extend(installers(&live).filter(|installer| *installer != manager(name)));
                        members.insert(id, Member { object: object.clone(), resource });
                    }
                },
            }
        }
        let conflicts = self.conflicts(&known, name, &after, &managers).await?;
        let objects = members.values().map(|member| member.object.clone()).collect();
        let (module, revision) = (name.clone(), record.revision);
        let chart = [chart, version].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-");
        Ok(Adoption { module, revision, chart, objects, left, next, conflicts, record, content, members, managers })
    }

    /// Carries out a plan. It can be done again after it was interrupted.
    ///
    /// # Errors
    /// The API server refuses something. What was done until then changes no object's content.
    pub async fn adopt(&self, adoption: &Adoption) -> Result<(), CommandError> {
        let module = &adoption.module;
        let secret = record::reference(&self.namespace, module);
        let set = SetId::of(&secret);
        // The label that this command sets is the module's, too.
        let from: BTreeSet<String> = adoption.managers.iter().cloned().chain([MANAGER.to_owned()]).collect();
        for member in adoption.members.values() {
            self.take(member, &manager(module), &from, &set).await?;
        }
        for (target, body) in adoption.content.secrets(&self.namespace, module, adoption.revision) {
            self.apply_secret(&target.name, record::MANAGER, &body).await?;
        }
        // Where the members are is written before the record, with which the operator counts them as the module's.
        if let Some(marks) = marks(&secret, &manager(module), adoption) {
            self.apply_secret(&secret.name, &manager(module), &marks.to_string()).await?;
        }
        let body = record::body(&self.namespace, module, (None, false), &adoption.record, None);
        self.apply_secret(&secret.name, record::MANAGER, &body).await
    }

    async fn apply_secret(&self, name: &str, manager: &str, body: &str) -> Result<(), CommandError> {
        let body: Value = serde_json::from_str(body).unwrap_or_default();
        let written = self.secrets().patch(name, &PatchParams::apply(manager).force(), &Patch::Apply(&body)).await;
        written.map(drop).map_err(self.unreachable(&format!("the Secret {name}")))
    }

    /// The newest revision of Helm's release, which must be deployed.
    async fn release(&self, name: &ModuleName) -> Result<HelmRelease, CommandError> {
        let params = ListParams::default().labels(&format!("owner=helm,name={name}"));
        let secrets = self.secrets().list(&params).await.map_err(self.unreachable("Secrets"))?;
        let of_secret = |data: BTreeMap<String, k8s_openapi::ByteString>| {
            data.get("release").map(|release| String::from_utf8_lossy(&release.0).into_owned())
        };
        let mut kept: Vec<(String, Option<String>)> = (secrets.items.into_iter())
            .map(|secret| (secret.metadata.name.unwrap_or_default(), secret.data.and_then(of_secret)))
            .collect();
        if kept.is_empty() {
            // HELM_DRIVER=configmap
            let maps = self.config_maps().list(&params).await.map_err(self.unreachable("ConfigMaps"))?;
            let of_map = |map: ConfigMap| {
                let release = map.data.and_then(|mut data| data.remove("release"));
                (map.metadata.name.unwrap_or_default(), release)
            };
            kept = maps.items.into_iter().map(of_map).collect();
        }
        let mut newest: Option<HelmRelease> = None;
        for (object, text) in kept {
            let Some(text) = text else { continue };
            let release = HelmRelease::read(&text);
            let release = release.map_err(|error| CommandError::Wrong(format!("{object}: {error}")))?;
            if newest.as_ref().is_none_or(|newest| newest.version < release.version) {
                newest = Some(release);
            }
        }
        let Some(release) = newest else {
            return wrong(format!(
                "there is no release {name} of Helm in the namespace {}: `helm list -A` shows where releases are, and --namespace \
                 names the operator's namespace, where its modules are",
                self.namespace
            ));
        };
        match release.status() {
            "deployed" => Ok(release),
            status => wrong(format!(
                "revision {} of the release {name} is {status}: have Helm finish it first, with `helm upgrade` or `helm rollback`",
                release.version
            )),
        }
    }

    /// The objects of a release, and those whose kind the API server no longer serves.
    async fn documents(
        &self,
        known: &Known<'_>,
        name: &ModuleName,
        content: &Content,
    ) -> Result<(Documents, Vec<(ObjectRef, String)>), CommandError> {
        let identity = charts::identity(name, &self.namespace);
        let (mut found, mut left) = (Vec::new(), Vec::new());
        for (source, text) in content.manifests() {
            let read = manifest::read(source, text).map_err(|error| CommandError::Wrong(error.to_string()))?;
            for mut document in read {
                let object = ObjectRef::of(&document.object);
                match known.discovery.resolve(&object.api_version, &object.kind).await {
                    Ok(resource) => {
                        document.of_release(&identity, resource.namespaced);
                        found.push((Resource::clone(&resource), ObjectRef::of(&document.object), document.object));
                    }
                    Err(DiscoveryError::Unknown { .. }) => {
                        left.push((object, "the API server does not serve this kind".to_owned()));
                    }
                    Err(error) => return wrong(format!("{source}: {}", error_chain(&error))),
                }
            }
        }
        Ok((found, left))
    }

    fn objects_of(&self, resource: &ApiResource, object: &ObjectRef) -> Api<DynamicObject> {
        match &object.namespace {
            Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, resource),
            None => Api::all_with(self.client.clone(), resource),
        }
    }

    async fn live(&self, resource: &ApiResource, object: &ObjectRef) -> Result<Option<Value>, CommandError> {
        let live = self.objects_of(resource, object).get_opt(&object.name).await;
        let live = live
            .map_err(|error| CommandError::Request { what: format!("cannot read {object}"), error: Box::new(error) })?;
        Ok(live.map(|live| serde_json::to_value(live).unwrap_or_default()))
    }

    /// Asks the API server what it would say to what the chart renders.
    async fn conflicts(
        &self,
        known: &Known<'_>,
        name: &ModuleName,
        after: &Objects,
        managers: &BTreeSet<String>,
    ) -> Result<Vec<(ObjectRef, String)>, CommandError> {
        let params = PatchParams { dry_run: true, ..PatchParams::apply(&manager(name)) };
        let mut found = Vec::new();
        for (object, manifest) in after.values() {
            // A kind that the chart itself defines is served later.
            let Ok(resource) = known.discovery.resolve(&object.api_version, &object.kind).await else { continue };
            let api = self.objects_of(&api_resource(&resource), object);
            match api.patch(&object.name, &params, &Patch::Apply(manifest)).await {
                Ok(_) => {}
                Err(kube::Error::Api(status)) if status.code == 409 => {
                    let causes = status.details.iter().flat_map(|details| &details.causes);
                    let others =
                        causes.filter(|cause| holder(&cause.message).is_none_or(|name| !managers.contains(name)));
                    found.extend(others.map(|cause| (object.clone(), format!("{}: {}", cause.field, cause.message))));
                }
                // Its namespace is in the chart, too.
                Err(kube::Error::Api(status)) if status.code == 404 => {}
                Err(kube::Error::Api(status)) => found.push((object.clone(), status.message.clone())),
                Err(error) => {
                    return Err(CommandError::Request { what: format!("cannot try {object}"), error: Box::new(error) });
                }
            }
        }
        Ok(found)
    }

    /// Makes an object a member of the module's set, and Helm's fields of it the module's.
    async fn take(&self, member: &Member, to: &str, from: &BTreeSet<String>, set: &SetId) -> Result<(), CommandError> {
        let Member { object, resource } = member;
        let api = self.objects_of(resource, object);
        let params = PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() };
        let mut tries = 0;
        let mut live = self.live(resource, object).await?;
        while let Some(patch) = live.as_ref().and_then(|live| missing(live, to, from, set)) {
            live = match api.patch(&object.name, &params, &Patch::Merge(&patch)).await {
                Ok(patched) => Some(serde_json::to_value(patched).unwrap_or_default()),
                Err(kube::Error::Api(status)) if status.code == 404 => None,
                // Somebody else has changed it.
                Err(kube::Error::Api(status)) if status.code == 409 && tries < TRIES => {
                    tries += 1;
                    self.live(resource, object).await?
                }
                Err(error) => {
                    let what = format!("cannot take over {object}");
                    return Err(CommandError::Request { what, error: Box::new(error) });
                }
            };
        }
        Ok(())
    }
}

/// The patch for what an object lacks to be the module's. The label comes first: the patch that sets it makes it a field of
/// this command, which becomes the module's with the others.
fn missing(live: &Value, to: &str, from: &BTreeSet<String>, set: &SetId) -> Option<Value> {
    let metadata = live.get("metadata")?;
    let version = metadata.get("resourceVersion")?;
    if metadata.get("labels").and_then(|labels| labels.get(PART_OF)).is_none() {
        return Some(json!({"metadata": {"resourceVersion": version, "labels": {PART_OF: set.as_str()}}}));
    }
    let taken = taken(metadata.get("managedFields")?.as_array()?, from, to)?;
    Some(json!({"metadata": {"resourceVersion": version, "managedFields": taken}}))
}

/// What the release consists of, as a revision of the module.
fn content(release: &HelmRelease) -> Content {
    let manifest = |(source, text): (&str, &str)| Manifest { source: source.to_owned(), text: text.to_owned() };
    let hook = |of: &boathook_modules::HelmHook| hooks::Hook {
        source: of.path.clone(),
        name: of.name.clone(),
        kind: of.kind.clone(),
        events: of.events.clone().unwrap_or_default(),
        weight: of.weight,
        delete_policies: of.delete_policies.clone().unwrap_or_default(),
        text: of.manifest.clone(),
    };
    Content {
        manifests: release.manifests().into_iter().map(manifest).collect(),
        hooks: release.hooks().iter().map(hook).collect(),
    }
}

fn api_resource(of: &Resource) -> ApiResource {
    ApiResource {
        group: of.group.clone(),
        version: of.version.clone(),
        api_version: of.api_version(),
        kind: of.kind.clone(),
        plural: of.plural.clone(),
    }
}

/// Why an object is not the release's, although its manifest names it.
fn foreign(live: &Value, module: &ModuleName, own: &SetId) -> Option<String> {
    let metadata = live.get("metadata")?;
    let release = metadata.get("annotations").and_then(|all| all.get(RELEASE_NAME)?.as_str());
    if let Some(other) = release.filter(|release| *release != module.as_str()) {
        return Some(format!("it belongs to the release {other} of Helm"));
    }
    // It has the own one where a takeover was interrupted.
    let set = metadata.get("labels").and_then(|all| all.get(PART_OF)?.as_str()).filter(|set| *set != own.as_str())?;
    Some(format!("it belongs to the set {set}"))
}

/// The field managers that say of which release an object is: that is Helm, under the name of the program that has its library.
fn installers(live: &Value) -> impl Iterator<Item = String> {
    let fields = live.pointer("/metadata/managedFields").and_then(Value::as_array).into_iter().flatten();
    let says = |entry: &&Value| {
        let annotations = entry.pointer("/fieldsV1/f:metadata/f:annotations");
        annotations.is_some_and(|all| all.get(format!("f:{RELEASE_NAME}")).is_some())
    };
    fields.filter(says).filter_map(|entry| Some(entry.get("manager")?.as_str()?.to_owned()))
}

/// The manager in the API server's message about a conflict.
fn holder(message: &str) -> Option<&str> {
    message.split('"').nth(1)
}

/// The managed fields with those of Helm as the module's. `None`: Helm has none. Entries for a subresource, or in another
/// version than Helm's newest one, stay: they cannot be joined with the others.
fn taken(fields: &[Value], from: &BTreeSet<String>, to: &str) -> Option<Vec<Value>> {
    let text = |entry: &Value, name: &str| entry.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let is_main = |entry: &&Value| text(entry, "subresource").is_empty();
    let is_helms = |entry: &&Value| is_main(entry) && from.contains(&text(entry, "manager"));
    let newest = fields.iter().filter(is_helms).max_by_key(|entry| text(entry, "time"))?;
    let version = text(newest, "apiVersion");
    let is_own = |entry: &&Value| text(entry, "manager") == to && text(entry, "operation") == "Apply";
    let joins =
        |entry: &Value| text(entry, "apiVersion") == version && (is_helms(&entry) || is_main(&entry) && is_own(&entry));
    let mut all = Value::Object(Map::new());
    for entry in fields.iter().filter(|entry| joins(entry)) {
        join(&mut all, entry.get("fieldsV1").unwrap_or(&Value::Null));
    }
    let mut entry = newest.clone();
    let own = entry.as_object_mut()?;
    own.insert("manager".to_owned(), to.into());
    own.insert("operation".to_owned(), "Apply".into());
    own.insert("fieldsV1".to_owned(), all);
    Some(fields.iter().filter(|entry| !joins(entry)).cloned().chain([entry]).collect())
}

/// Adds a set of fields to another one, as `FieldsV1` writes them: an object for each path, empty at its end.
fn join(all: &mut Value, other: &Value) {
    let (Some(all), Some(other)) = (all.as_object_mut(), other.as_object()) else { return };
    for (name, value) in other {
        join(all.entry(name.clone()).or_insert_with(|| Value::Object(Map::new())), value);
    }
}

/// The Secret of the module with the marks of its set, before there is a record. They name the kinds and namespaces of the
/// members, also of those that go.
fn marks(secret: &ObjectRef, manager: &str, adoption: &Adoption) -> Option<Value> {
    // The uid is not known yet, and the marks do not depend on it.
    let stand_in = json!({"apiVersion": secret.api_version, "kind": secret.kind,
        "metadata": {"name": secret.name, "namespace": secret.namespace, "uid": "-"}});
    let parent = record::parent(&stand_in)?;
    let kinds = adoption.members.keys().map(MemberId::group_kind).collect();
    let namespaces = adoption.objects.iter().filter_map(|object| object.namespace.clone());
    let namespaces = namespaces.filter(|namespace| Some(namespace) != secret.namespace.as_ref()).collect();
    let mut marks = parent.mark(manager, &kinds, &namespaces, false)?;
    marks.get_mut("metadata")?.as_object_mut()?.shift_remove("uid");
    marks.as_object_mut()?.insert("type".to_owned(), record::TYPE.into());
    Some(marks)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(manager: &str, operation: &str, fields: Value) -> Value {
        json!({"manager": manager, "operation": operation, "apiVersion": "v1", "time": "2026-05-04T09:12:40Z",
            "fieldsType": "FieldsV1", "fieldsV1": fields})
    }

    fn helm() -> BTreeSet<String> {
        HELM.iter().map(|name| (*name).to_owned()).collect()
    }

    // mutant: crates/operator/src/app/modules/adopt.rs: `is_helms(&entry) || is_main(&entry) && is_own(&entry)` => `is_helms(&entry)`
    #[test]
    fn the_fields_of_helm_become_the_modules() {
        let fields = [
            entry("helm", "Update", json!({"f:data": {".": {}, "f:a": {}}})),
            entry("kubectl-edit", "Update", json!({"f:data": {"f:b": {}}})),
            entry("boathook.dev/modules/web", "Apply", json!({"f:data": {"f:c": {}}, "f:metadata": {}})),
        ];
        let found = taken(&fields, &helm(), "boathook.dev/modules/web").unwrap();
        let own = json!({"f:data": {".": {}, "f:a": {}, "f:c": {}}, "f:metadata": {}});
        assert_eq!(found, [fields[1].clone(), entry("boathook.dev/modules/web", "Apply", own)]);
        assert_eq!(taken(&found, &helm(), "boathook.dev/modules/web"), None, "it is done already");
    }

    #[test]
    fn a_status_stays_with_its_writer() {
        let mut status = entry("helm", "Update", json!({"f:status": {}}));
        status["subresource"] = "status".into();
        assert_eq!(taken(&[status.clone()], &helm(), "x"), None);
        let found = taken(&[status.clone(), entry("helm", "Apply", json!({"f:data": {}}))], &helm(), "x").unwrap();
        assert_eq!(found, [status, entry("x", "Apply", json!({"f:data": {}}))]);
    }

    #[test]
    fn a_program_with_helms_library_is_known_by_what_it_sets() {
        let annotation = json!({"f:metadata": {"f:annotations": {"f:meta.helm.sh/release-name": {}}}});
        let fields = [entry("installer", "Update", annotation), entry("kubectl-edit", "Update", json!({"f:data": {}}))];
        let found: Vec<_> = installers(&json!({"metadata": {"managedFields": fields}})).collect();
        assert_eq!(found, ["installer"]);
    }

    #[test]
    fn what_others_have_is_not_taken() {
        let module: ModuleName = "web".parse().unwrap();
        let own = SetId::of(&record::reference("ops", &module));
        let of = |metadata: Value| foreign(&json!({ "metadata": metadata }), &module, &own);
        assert_eq!(of(json!({"labels": {PART_OF: own.as_str()}})), None);
        assert_eq!(of(json!({"annotations": {RELEASE_NAME: "web"}})), None);
        assert_eq!(of(json!({})), None);
        assert!(of(json!({"annotations": {RELEASE_NAME: "api"}})).unwrap().contains("the release api"));
        assert!(of(json!({"labels": {PART_OF: "applyset-x-v1"}})).unwrap().contains("applyset-x-v1"));
        assert_eq!(holder("conflict with \"kubectl-edit\" using v1: .data.a"), Some("kubectl-edit"));
    }
}
