//! The host of a run in a test: answers its calls out of the test's cluster, checks its permissions, and notes what it
//! did. There is one on a thread while [`Kit::run`](super::Kit::run) runs.
//!
//! It never reaches anything outside the test.

use super::answer::{UNABLE, failure, unable};
use super::cluster::Cluster;
use super::document::Permission;
use super::grants::{self, Reach, Subject};
use super::kinds::{Scope, group};
use super::metrics::{Op, Series};
use super::ran::{Change, Emitted, Line, Verb, Write};
use super::selector::{FieldSelector, LabelSelector};
use super::write::parse;
use crate::bindings::boathook::hook::kube::{Failure, ListQuery, Operation, Page, Patch, Reason as Wire};
use crate::bindings::boathook::hook::snapshots::Item;
use crate::bindings::boathook::hook::values::ModuleValues;
use crate::kube::{Object, ObjectRef, Reason};
use serde_json::Value;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Why there are no values.
const NO_MODULE: &str = "the hook belongs to no module, so it has no values: Kit::values gives it some";
/// Objects in a page of a list that names no number.
const PAGE: usize = 500;

/// An answer that a test has asked for: the next call of this verb on this object fails.
#[derive(Debug)]
pub(super) struct Fault {
    pub verb: String,
    pub target: ObjectRef,
    pub reason: Reason,
}

/// One run's host.
#[derive(Debug)]
pub(crate) struct Host {
    pub(super) cluster: Cluster,
    /// None: everything is allowed.
    pub(super) permissions: Option<Vec<Permission>>,
    /// The snapshots that can be opened, of one moment.
    pub(super) moment: BTreeMap<String, Rc<Vec<Item>>>,
    pub(super) settings: String,
    /// The values and the configuration. None: the hook belongs to no module.
    pub(super) values: Option<(String, String)>,
    /// What the run changes in them.
    pub(super) changes: Vec<Change>,
    pub(super) manager: String,
    pub(super) dry_run: bool,
    pub(super) faults: Vec<Fault>,
    pub(super) series: Series,
    pub(super) reported: Vec<Op>,
    pub(super) writes: Vec<Write>,
    pub(super) events: Vec<Emitted>,
    pub(super) log: Vec<Line>,
    pub(super) random: u64,
    /// The HTTP requests that are allowed. None: all.
    pub(super) http_permissions: Option<Vec<super::document::HttpPermission>>,
    pub(super) http: super::Servers,
    pub(super) sent: Vec<crate::http::Request>,
    /// What this host was asked for and cannot do.
    pub(super) unable: Vec<String>,
}

thread_local! {
    static HOST: RefCell<Option<Host>> = const { RefCell::new(None) };
}

/// The host answers this thread until it is taken back.
pub(super) struct Entered;

impl Entered {
    pub fn new(host: Host) -> Self {
        HOST.with(|slot| slot.replace(Some(host)));
        Self
    }

    pub fn leave(self) -> Option<Host> {
        HOST.with(RefCell::take)
    }
}

impl Drop for Entered {
    /// After a hook that panicked, the thread's next test has no host.
    fn drop(&mut self) {
        HOST.with(RefCell::take);
    }
}

/// Asks this thread's host; nothing when there is none.
pub(crate) fn with<T>(ask: impl FnOnce(&mut Host) -> T) -> Option<T> {
    HOST.with(|slot| slot.borrow_mut().as_mut().map(ask))
}

impl Host {
    pub(crate) fn get(&mut self, target: &ObjectRef, subresource: Option<&str>) -> Result<String, Failure> {
        let what = format!("get {target}");
        self.cluster.check_place(&what, target)?;
        self.require(&["get"], target, subresource, Some(&target.name))?;
        self.fault("get", target)?;
        match subresource {
            None | Some("status") => {}
            Some(other) => return Err(self.note(unable(&format!("reading the subresource {other}")))),
        }
        let found = self.cluster.get(target).map(|object| object.to_string());
        found.ok_or_else(|| self.cluster.missing(&what, target))
    }

    pub(crate) fn list(&mut self, query: &ListQuery) -> Result<Page, Failure> {
        let target = ObjectRef::new(&query.api_version, &query.kind, query.namespace.as_deref(), "");
        self.require(&["list"], &target, None, None)?;
        self.fault("list", &target)?;
        let wrong = |text: String| failure(Reason::Invalid, format!("list {}: {text}", query.kind));
        let labels = LabelSelector::parse(query.label_selector.as_deref().unwrap_or_default()).map_err(wrong)?;
        let fields = FieldSelector::parse(query.field_selector.as_deref().unwrap_or_default()).map_err(wrong)?;
        let first: usize = match query.continue_.as_deref() {
            None => 0,
            Some(token) => token.parse().map_err(|_| wrong(format!("the continue token {token:?} is none")))?,
        };
        let chosen = |object: &&Object| {
            group(object.api_version()) == group(&query.api_version)
                && object.kind() == query.kind
                && (target.namespace.is_none() || object.namespace() == target.namespace.as_deref())
                && labels.matches(object)
                && fields.matches(object)
        };
        let all: Vec<&Object> = self.cluster.all().filter(chosen).collect();
        let most = query.limit.map_or(PAGE, |limit| usize::try_from(limit).unwrap_or(PAGE)).max(1);
        let items: Vec<String> = all.iter().skip(first).take(most).map(|object| object.to_string()).collect();
        let next = first + items.len();
        let continue_ = (next < all.len()).then(|| next.to_string());
        Ok(Page { items, continue_, resource_version: self.cluster.version() })
    }

    pub(crate) fn write(&mut self, operation: &Operation) -> Result<Option<String>, Failure> {
        let (mut write, verbs) = describe(operation)?;
        let what = format!("{} {}", write.verb, write.target);
        let answer = self.try_write(&what, operation, &write, verbs);
        match &answer {
            Ok(object) => write.stored = object.as_ref().map(|object| object.to_string()),
            Err(failure) => write.refused = Some(failure.reason),
        }
        self.writes.push(write);
        answer.map(|object| object.map(|object| object.to_string())).map_err(|failure| self.note(failure))
    }

    fn try_write(
        &mut self,
        what: &str,
        operation: &Operation,
        write: &Write,
        verbs: &[&str],
    ) -> Result<Option<Object>, Failure> {
        // A create that names no object yet cannot be held against names, like in Kubernetes.
        let name = Some(write.target.name.as_str()).filter(|name| !name.is_empty());
        self.require(verbs, &write.target, write.subresource.as_deref(), name)?;
        self.fault(&write.verb.to_string(), &write.target)?;
        if self.dry_run {
            return self.cluster.clone().write(what, operation, &self.manager);
        }
        self.cluster.write(what, operation, &self.manager)
    }

    pub(crate) fn emit(&mut self, event: Emitted) -> Result<(), Failure> {
        let namespace = event.regarding.namespace.clone().unwrap_or_else(|| "default".to_owned());
        let reach = Reach::Namespace(&namespace);
        let subject = |group| Subject { group, resource: "events", subresource: None, reach, name: None };
        if let Some(rules) = &self.permissions
            && grants::check(rules, &["create"], &subject("")).is_err()
        {
            let checked = grants::check(rules, &["create"], &subject("events.k8s.io"));
            checked.map_err(|text| failure(Reason::ForbiddenByGrant, text))?;
        }
        self.events.push(event);
        Ok(())
    }

    pub(crate) fn log(&mut self, line: Line) {
        self.log.push(line);
    }

    pub(crate) fn metric(&mut self, op: Op) -> Result<(), String> {
        self.series.check(&op)?;
        self.reported.push(op);
        Ok(())
    }

    pub(crate) fn http(&mut self, request: &crate::http::Request) -> Result<crate::http::Response, crate::http::Error> {
        use crate::http::{Error, ErrorKind, Response};
        let (method, url) = (request.method(), request.url());
        if let Some(rules) = &self.http_permissions {
            grants::check_http(rules, method, url).map_err(|text| Error::new(ErrorKind::Denied, text))?;
        }
        if self.dry_run && !["GET", "HEAD"].contains(&method) {
            return Err(Error::new(ErrorKind::Denied, format!("{method} {url}: not sent, because the run only plans")));
        }
        self.sent.push(request.clone());
        let Some(answers) = self.http.get_mut(&(method.to_owned(), url.to_owned())).filter(|all| !all.is_empty())
        else {
            let message = format!("{method} {url}: the test has no answer; Kit::http gives one");
            return Err(Error::new(ErrorKind::Connection, message));
        };
        // The last answer also serves all further requests.
        if answers.len() > 1 {
            answers.remove(0)
        } else {
            answers.first().cloned().unwrap_or_else(|| Ok(Response::default()))
        }
    }

    pub(crate) fn settings(&self) -> String {
        self.settings.clone()
    }

    pub(crate) fn values(&self) -> Result<ModuleValues, String> {
        let (values, config) = self.values.clone().ok_or(NO_MODULE)?;
        Ok(ModuleValues { values, config })
    }

    pub(crate) fn patch(&mut self, operations: &str, config: bool) -> Result<(), String> {
        if self.values.is_none() {
            return Err(NO_MODULE.to_owned());
        }
        let operations: Vec<Value> = serde_json::from_str(operations).map_err(|error| error.to_string())?;
        self.changes.extend(operations.into_iter().map(|operation| Change::of(operation, config)));
        Ok(())
    }

    pub(crate) fn now(&self) -> std::time::SystemTime {
        self.cluster.now
    }

    /// SplitMix64: the same numbers in every run of a test.
    pub(crate) fn random(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.random ^ (self.random >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn open(&self, binding: &str) -> Result<Rc<Vec<Item>>, String> {
        self.moment.get(binding).cloned().ok_or_else(|| {
            let names: Vec<&str> = self.moment.keys().map(String::as_str).collect();
            let choice =
                if names.is_empty() { "it can open none".into() } else { format!("it can open: {}", names.join(", ")) };
            format!("no context of this run lists the snapshot of {binding:?}; {choice} (see includeSnapshotsFrom)")
        })
    }

    fn require(
        &self,
        verbs: &[&str],
        target: &ObjectRef,
        subresource: Option<&str>,
        name: Option<&str>,
    ) -> Result<(), Failure> {
        let Some(rules) = &self.permissions else { return Ok(()) };
        let kinds = &self.cluster.kinds;
        let resource = kinds.plural(&target.api_version, &target.kind);
        let reach = match (&target.namespace, kinds.scope(&target.api_version, &target.kind)) {
            (Some(namespace), _) => Reach::Namespace(namespace),
            (None, Scope::Namespaced) => Reach::AllNamespaces,
            (None, Scope::Cluster | Scope::Unknown) => Reach::Cluster,
        };
        let subject = Subject { group: group(&target.api_version), resource: &resource, subresource, reach, name };
        grants::check(rules, verbs, &subject).map_err(|text| failure(Reason::ForbiddenByGrant, text))
    }

    fn fault(&mut self, verb: &str, target: &ObjectRef) -> Result<(), Failure> {
        let Some(at) = self.faults.iter().position(|fault| fault.verb == verb && fault.target == *target) else {
            return Ok(());
        };
        let fault = self.faults.remove(at);
        Err(failure(fault.reason, format!("{verb} {target}: as the test wants it")))
    }

    fn note(&mut self, failure: Failure) -> Failure {
        if failure.message.starts_with(UNABLE) && failure.reason == Wire::Other {
            self.unable.push(failure.message.clone());
        }
        failure
    }
}

/// A write as it is noted, and the verbs that it needs.
fn describe(operation: &Operation) -> Result<(Write, &'static [&'static str]), Failure> {
    let write = |verb, target, subresource: &Option<String>, sent: &str| Write {
        verb,
        target,
        subresource: subresource.clone(),
        sent: sent.to_owned(),
        stored: None,
        refused: None,
    };
    Ok(match operation {
        Operation::Create(create) => {
            let replaces = create.if_exists == crate::bindings::boathook::hook::kube::IfExists::Replace;
            let verbs: &[&str] = if replaces { &["create", "get", "update"] } else { &["create"] };
            let (target, subresource) = match &create.subresource {
                Some((name, target)) => (ObjectRef::from_wire(target.clone()), Some(name.clone())),
                None => (parse("create", &create.object)?.object_ref(), None),
            };
            (write(Verb::Create, target, &subresource, &create.object), verbs)
        }
        Operation::Update(update) => {
            let target = parse("update", &update.object)?.object_ref();
            (write(Verb::Update, target, &update.subresource, &update.object), &["update"])
        }
        Operation::Patch(patch) => {
            let (sent, verb, verbs): (&str, _, &[&str]) = match &patch.patch {
                Patch::Json(sent) | Patch::Merge(sent) | Patch::Strategic(sent) | Patch::Apply((sent, _)) => {
                    (sent, Verb::Patch, &["patch"])
                }
                Patch::Jq(program) => (program, Verb::Update, &["get", "update"]),
            };
            (write(verb, ObjectRef::from_wire(patch.target.clone()), &patch.subresource, sent), verbs)
        }
        Operation::Delete(delete) => {
            let verbs: &[&str] = if delete.options.wait.is_some() { &["delete", "get"] } else { &["delete"] };
            (write(Verb::Delete, ObjectRef::from_wire(delete.target.clone()), &None, "null"), verbs)
        }
    })
}
