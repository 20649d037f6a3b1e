//! What a Bucket and a Queue have in common: whose the outside object is, when it is checked, and what the conditions say.
//!
//! A tag of the outside object names the custom resource that owns it. Nothing else is ever changed or deleted. A ConfigMap
//! has what Pods need to use the outside object.

mod bucket;
mod problem;
mod queue;

use boathook_sdk::prelude::*;
use boathook_sdk::reconcile::Parent;
use bucket::Bucket;
use problem::Problem;
use queue::Queue;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

const API_VERSION: &str = "example.com/v1alpha1";

/// The condition that says whether the outside object is as the custom resource says. While the custom resource is deleted,
/// `Ready` is the host's.
const SYNCED: &str = "Synced";

const BUCKETS: &str = "buckets";
const QUEUES: &str = "queues";

/// The tag that names the owner. Its value begins with the UID, because a name can come again.
const OWNER: &str = "boathook.dev/owner";

/// The longest value of a tag.
const LONGEST: usize = 256;

/// The longest time until a request that failed is sent again.
const AGAIN: Duration = Duration::from_secs(30);

/// Where the outside objects are.
pub struct Place {
    /// `eu-central-1`
    pub region: &'static str,
    /// The URL of S3, without a slash at its end.
    pub s3: &'static str,
    /// The URL of SQS, without a slash at its end.
    pub sqs: &'static str,
    /// How often an outside object is compared with its custom resource.
    pub check: Duration,
}

impl Place {
    fn again(&self) -> Duration {
        self.check.min(AGAIN)
    }
}

/// The tags of an outside object.
type Tags = BTreeMap<String, String>;

/// An outside object. It may not exist.
trait Outside {
    /// Whether it has its first tags from its creation, so that it is never without its owner.
    const BORN_MARKED: bool;

    /// For people: `bucket logs`.
    fn shown(&self) -> String;

    /// The tags, or `None` if it does not exist.
    fn tags(&mut self) -> Result<Option<Tags>, Problem>;

    fn create(&mut self, owner: &str) -> Result<(), Problem>;

    /// Sets or removes the tag of the owner. All other tags stay.
    fn mark(&self, tags: Tags, owner: Option<&str>) -> Result<(), Problem>;

    /// Changes what differs from the custom resource. Returns the names of what differed.
    fn align(&mut self) -> Result<Vec<&'static str>, Problem>;

    fn delete(&self) -> Result<(), Problem>;

    /// The ARN and the URL.
    fn place(&self) -> (String, String);
}

/// What each of the custom resources has.
#[derive(Deserialize)]
struct Object<S> {
    metadata: Metadata,
    spec: S,
    #[serde(default)]
    status: Status,
}

#[derive(Deserialize)]
struct Metadata {
    uid: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Common {
    name: String,
    #[serde(default)]
    deletion_policy: DeletionPolicy,
    #[serde(default)]
    adopt: bool,
}

/// What happens to the outside object when its custom resource is deleted.
#[derive(Clone, Copy, Default, Deserialize)]
enum DeletionPolicy {
    #[default]
    Delete,
    Orphan,
}

#[derive(Clone, Default, Deserialize, Serialize)]
struct Status {
    /// The outside object is about to be created, or it exists.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// The outside object is this one's.
    #[serde(skip_serializing_if = "Option::is_none")]
    arn: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
}

/// What a custom resource says about its outside object.
struct Claim {
    name: String,
    policy: DeletionPolicy,
    adopt: bool,
    /// The value of the tag.
    owner: String,
    status: Status,
}

/// Whose an outside object is, by its tags.
#[derive(Debug, PartialEq)]
enum Whose {
    Ours,
    Nobodys,
    /// `NAMESPACE/NAME` of the other one, as far as the tag has it.
    Others(String),
}

/// How far a pass came.
enum Step {
    /// The status has to name the outside object before it is created.
    Announce,
    /// It is as the custom resource says.
    Done(Status),
}

impl Claim {
    fn of(parent: &Parent) -> Result<Self> {
        let Object { metadata, spec, status } = parent.object::<Object<Common>>()?;
        let mut owner = format!("{} {}/{}", metadata.uid, parent.namespace().unwrap_or_default(), parent.name());
        owner.truncate(LONGEST);
        Ok(Self { name: spec.name, policy: spec.deletion_policy, adopt: spec.adopt, owner, status })
    }

    fn is_announced(&self) -> bool {
        self.status.name.as_ref() == Some(&self.name)
    }

    /// Whether an outside object without an owner is the one that this custom resource had or has just created.
    fn knows<O: Outside>(&self) -> bool {
        self.is_announced() && (self.status.arn.is_some() || !O::BORN_MARKED)
    }

    fn whose(&self, tags: &Tags) -> Whose {
        let uid = |owner: &str| owner.split(' ').next().unwrap_or_default().to_owned();
        match tags.get(OWNER) {
            None => Whose::Nobodys,
            Some(owner) if uid(owner) == uid(&self.owner) => Whose::Ours,
            Some(owner) => Whose::Others(owner.split(' ').next_back().unwrap_or_default().to_owned()),
        }
    }
}

/// What the hook watches, and the requests that it sends.
pub fn config(place: &Place) -> Config {
    let host = |url: &'static str| url.strip_prefix("https://").unwrap_or(url);
    Config::new()
        .reconcile(Reconcile::new(BUCKETS, API_VERSION, "Bucket").owns("v1", "ConfigMap"))
        .reconcile(Reconcile::new(QUEUES, API_VERSION, "Queue").owns("v1", "ConfigMap"))
        .http(HttpPermission::new([host(place.s3)]).methods(["GET", "PUT", "DELETE"]))
        .http(HttpPermission::new([host(place.sqs)]).methods(["POST"]).paths(["/"]))
}

/// Makes the outside object as the custom resource says.
pub fn reconcile(place: &Place, parent: &Parent) -> Result<Desired> {
    let claim = Claim::of(parent)?;
    let step = match parent.binding.as_str() {
        BUCKETS => bring_about(&claim, Bucket::new(place, &claim.name, parent.spec()?)),
        _ => bring_about(&claim, Queue::new(place, &claim.name, parent.spec()?)),
    };
    let (status, holds, reason, message, after) = match step {
        Ok(Step::Done(status)) => {
            (status, true, "Available".to_owned(), format!("{} is as the object says", claim.name), place.check)
        }
        // The change of the status calls the hook again.
        Ok(Step::Announce) => {
            let status = Status { name: Some(claim.name.clone()), ..Status::default() };
            (status, false, "Creating".to_owned(), format!("{} is about to be created", claim.name), place.again())
        }
        Err(problem) => {
            log::warn!("{problem}");
            let status = if problem.is_refusal() { Status::default() } else { claim.status };
            (status, false, problem.reason().to_owned(), problem.to_string(), place.again())
        }
    };
    Ok(desired(place, parent, &status)
        .condition(SYNCED, holds, &reason, message.clone())
        .condition("Ready", holds, &reason, message)
        .requeue_after(after))
}

/// The status, and what Pods need, if the outside object is this one's.
fn desired(place: &Place, parent: &Parent, status: &Status) -> Desired {
    let desired = match config_map(place, parent, status) {
        Some(map) => Desired::new().child(&map),
        None => Desired::none(),
    };
    desired.status(status)
}

fn config_map(place: &Place, parent: &Parent, status: &Status) -> Option<Value> {
    let (name, arn) = (status.name.as_ref()?, status.arn.as_ref()?);
    let kind = if parent.binding == BUCKETS { "bucket" } else { "queue" };
    let key = |what: &str| format!("{}_{what}", kind.to_ascii_uppercase());
    let data = json!({
        key("NAME"): name, key("ARN"): arn, key("URL"): status.url, "AWS_REGION": place.region,
    });
    let metadata = json!({"name": format!("{}-{kind}", parent.name())});
    Some(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}))
}

/// Deletes the outside object or lets it go.
pub fn finalize(place: &Place, parent: &Parent) -> Result<Finalized> {
    let claim = Claim::of(parent)?;
    let gone = match parent.binding.as_str() {
        BUCKETS => let_go(&claim, Bucket::new(place, &claim.name, parent.spec()?)),
        _ => let_go(&claim, Queue::new(place, &claim.name, parent.spec()?)),
    };
    let Err(problem) = gone else { return Ok(Finalized::done()) };
    log::warn!("{problem}");
    let reason = problem.reason().to_owned();
    Ok(Finalized::not_yet()
        .children(config_map(place, parent, &claim.status))
        .status(&claim.status)
        .condition(SYNCED, false, &reason, problem.to_string())
        .requeue_after(place.again()))
}

fn bring_about<O: Outside>(claim: &Claim, mut outside: O) -> Result<Step, Problem> {
    let shown = outside.shown();
    let mut found = outside.tags()?;
    if found.is_none() {
        // An outside object that is not marked is known by this, if the hook ends before it has marked it.
        if !claim.is_announced() && !O::BORN_MARKED {
            return Ok(Step::Announce);
        }
        outside.create(&claim.owner)?;
        log::info!("{shown} is created");
        // The owner can be another one that was faster.
        found = outside.tags()?;
    }
    let tags = found.ok_or_else(|| Problem::new("Creating", format!("{shown} is created, and not there yet")))?;
    match claim.whose(&tags) {
        Whose::Ours => {}
        Whose::Nobodys if claim.adopt || claim.knows::<O>() => outside.mark(tags, Some(&claim.owner))?,
        Whose::Nobodys => {
            return Err(Problem::refusal(
                "Exists",
                format!(
                    "{shown} exists, and no custom resource owns it: set spec.adopt to take it over, or use another name"
                ),
            ));
        }
        Whose::Others(other) => {
            let message = format!("{shown} belongs to {other}: use another name, or delete that one");
            return Err(Problem::refusal("OwnedByAnother", message));
        }
    }
    let changed = outside.align()?;
    if !changed.is_empty() {
        log::info!("{shown}: {} set", changed.join(", "));
    }
    let (arn, url) = outside.place();
    Ok(Step::Done(Status { name: Some(claim.name.clone()), arn: Some(arn), url: Some(url) }))
}

fn let_go<O: Outside>(claim: &Claim, mut outside: O) -> Result<(), Problem> {
    let Some(tags) = outside.tags()? else { return Ok(()) };
    match (claim.whose(&tags), claim.policy) {
        (Whose::Others(_), _) => Ok(()),
        // It may be somebody's who created it after the status had named it.
        (Whose::Nobodys, _) if claim.status.arn.is_none() || !claim.is_announced() => Ok(()),
        (_, DeletionPolicy::Delete) => outside.delete(),
        (_, DeletionPolicy::Orphan) => outside.mark(tags, None),
    }
}
