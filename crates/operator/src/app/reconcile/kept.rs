//! The requests for the revisions of one parent: what its children are is kept, and applied again when an admin asks for it.

use std::collections::BTreeMap;

use boathook_applyset::{
    Answer, Desired, Parent,
    revision::{self, Piece},
};
use boathook_core::model::{
    CallError, Delete, Failure, FailureKind, ListQuery, Operation, Patch, PatchBody, Propagation,
};
use serde_json::Value;

use super::{
    Pass,
    ask::Subject,
    retry,
    revisions::{self, Asked, Shelf, Stored},
    sets::Entry,
};

fn permanent(message: String) -> Failure {
    Failure { kind: FailureKind::Permanent, message, backtrace: None }
}

impl Pass<'_> {
    fn shelf(&self, parent: &Parent) -> Result<Shelf, Failure> {
        Shelf::of(parent, self.binding.revisions_in()).ok_or_else(|| {
            permanent(format!(
                "{} has no namespace, and revisions are kept in the namespace of the object: remove `revisions` from the \
                 binding {}",
                parent.object, self.binding.name
            ))
        })
    }

    /// Takes what an admin asks for in place of what the hook returns, or ends that.
    pub(super) async fn roll_back(&self, of: &Subject<'_>) -> Result<(), Failure> {
        let asked = match self.binding.revisions {
            Some(_) if !of.parent.deleting => Asked::read(of.value).map_err(permanent)?,
            _ => None,
        };
        let Some(asked) = asked else {
            of.entry.ends_rollback();
            return Ok(());
        };
        if of.entry.has_rolled_back(asked) {
            return Ok(());
        }
        let cannot = |why: String| {
            permanent(format!(
                "the rollback to revision {} cannot be done: {why}; see `boathook operators history`",
                asked.revision
            ))
        };
        let shelf = self.shelf(of.parent)?;
        let objects = self.kept_objects(&shelf).await.map_err(|error| retry(error.message))?;
        let members = revisions::content(&objects, asked.revision).map_err(cannot)?.members;
        let rules = self.rules(of.resource).await?;
        // An empty set waits for an approval.
        let answer = Answer { generation: of.parent.generation, members, means_empty: false };
        let desired = Desired::new(answer, of.parent, &rules).map_err(|invalid| cannot(invalid.to_string()))?;
        tracing::info!(
            hook = %self.hook.spec.name, object = %of.parent.object, revision = asked.revision,
            "applies the children of an earlier revision"
        );
        of.entry.rolls_back(asked, desired).map_err(|error| retry(error.to_string()))
    }

    /// Keeps what the hook wants before it is applied.
    pub(super) async fn keep(&self, entry: &Entry, parent: &Parent) -> Result<(), Failure> {
        let Some(most) = self.binding.revisions.filter(|_| !parent.deleting && !self.services.plan) else {
            return Ok(());
        };
        let Some(desired) = entry.unkept() else { return Ok(()) };
        let shelf = self.shelf(parent)?;
        let failed = |error: CallError| retry(format!("a revision of the children cannot be kept: {}", error.message));
        let known = match entry.revisions() {
            Some(known) => known,
            None => revisions::stored(&self.kept_objects(&shelf).await.map_err(failed)?),
        };
        let newest = known.last_key_value().map_or(0, |(number, _)| *number);
        let same = |pieces: &[Piece]| {
            let stored = known.get(&newest)?;
            (stored.digest.as_ref() == pieces.first().map(|piece| &piece.digest)).then(|| stored.is_whole())
        };
        let mut pieces = revision::encode(&desired, parent, newest);
        let (number, is_there) = match same(&pieces) {
            Some(whole) => (newest, whole),
            None => {
                pieces = revision::encode(&desired, parent, newest + 1);
                (newest + 1, false)
            }
        };
        let mut known = known;
        if !is_there {
            for piece in &pieces {
                self.write_piece(&shelf, piece, parent).await.map_err(failed)?;
            }
            known.extend(Stored::whole(&pieces, parent.generation).map(|stored| (number, stored)));
        }
        for number in revision::outdated(known.keys().copied(), most, number) {
            self.drop_revision(&shelf, number, &known).await.map_err(failed)?;
            known.remove(&number);
        }
        entry.keeps(&desired, known);
        Ok(())
    }

    async fn write_piece(&self, shelf: &Shelf, piece: &Piece, parent: &Parent) -> Result<(), CallError> {
        let (target, object) = shelf.object(piece, parent);
        let patch = Patch {
            target,
            body: PatchBody::Apply {
                object,
                force: true,
                field_manager: Some(format!("{}-revisions", self.manager())),
            },
            subresource: None,
            ignore_missing: false,
        };
        self.services.operator.access.write(&self.writer, &Operation::Patch(patch)).await.map(drop)
    }

    async fn drop_revision(&self, shelf: &Shelf, number: u64, known: &BTreeMap<u64, Stored>) -> Result<(), CallError> {
        for part in known.get(&number).into_iter().flat_map(Stored::parts) {
            let delete = Delete {
                target: shelf.target(number, part),
                propagation: Propagation::Background,
                ignore_missing: true,
                uid: None,
                resource_version: None,
                wait: None,
            };
            self.services.operator.access.write(&self.writer, &Operation::Delete(delete)).await?;
        }
        Ok(())
    }

    /// The objects that keep the revisions of a parent.
    async fn kept_objects(&self, shelf: &Shelf) -> Result<Vec<Value>, CallError> {
        let (mut all, mut continue_token) = (Vec::new(), None);
        loop {
            let query = ListQuery {
                api_version: shelf.kind().api_version.to_string(),
                kind: shelf.kind().kind.to_string(),
                namespace: Some(shelf.namespace().to_owned()),
                label_selector: Some(shelf.selector()),
                field_selector: None,
                limit: None,
                continue_token,
            };
            let page = self.services.operator.access.list(&self.writer, &query).await?;
            all.extend(page.items.iter().filter_map(|item| serde_json::from_str::<Value>(item).ok()));
            continue_token = page.continue_token.filter(|token| !token.is_empty());
            if continue_token.is_none() {
                return Ok(all);
            }
        }
    }
}
