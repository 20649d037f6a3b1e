//! What is kept of a module in Secrets: its record, and what its revisions rendered to.

use std::sync::Arc;

use boathook_applyset::Hold;
use boathook_core::model::{CallReason, Delete, ListQuery, ObjectRef, Operation, Patch, PatchBody, Propagation};
use jiff::Timestamp;
use serde_json::Value;

use super::{
    super::{super::applying::HasSet as _, releases::ReleaseError},
    One, failed,
    record::{self, Record},
    release::Release,
    render::Rendered,
    revisions::{self, Asked, Content, Inputs, ROLLBACK},
};

impl One<'_> {
    /// The release as this process or the cluster knows it.
    pub(super) async fn known(&self) -> Result<Option<Arc<Release>>, ReleaseError> {
        let known = self.charts.releases().get(&self.module).cloned();
        match known {
            Some(release) if release.is_lost() => self.forget(&release),
            Some(release) => return Ok(Some(release)),
            None => {}
        }
        let Some(secret) = self.secret_of(&self.secret()).await? else { return Ok(None) };
        let read = record::read(&secret).map_err(|error| ReleaseError::Failed(error.to_string()))?;
        Ok(Some(self.remember(Release::new(&self.module, read, self.charts.drifted.clone()))))
    }

    fn remember(&self, release: Arc<Release>) -> Arc<Release> {
        self.charts.releases().insert(self.module.clone(), release.clone());
        self.charts.members.know(&release);
        release
    }

    pub(super) fn forget(&self, release: &Release) {
        self.charts.releases().remove(&self.module);
        self.charts.members.remove(&self.module, release.with(|set| set.id().clone()).as_str());
    }

    async fn secret_of(&self, target: &ObjectRef) -> Result<Option<Value>, ReleaseError> {
        match self.services().operator.access.get(&self.operator, target, None).await {
            Ok(text) => Ok(Some(serde_json::from_str(&text).unwrap_or_default())),
            Err(error) if error.reason == CallReason::NotFound => Ok(None),
            Err(error) => Err(failed(error)),
        }
    }

    /// Writes the Secret. Without a release, there is one from here on.
    pub(super) async fn store(
        &self,
        release: Option<Arc<Release>>,
        record: &Record,
        hold: Option<Hold>,
    ) -> Result<Arc<Release>, ReleaseError> {
        self.store_with(release, record, hold, false).await
    }

    /// Writes the Secret. `answers`: the record is what an admin asked for.
    pub(super) async fn store_with(
        &self,
        release: Option<Arc<Release>>,
        record: &Record,
        hold: Option<Hold>,
        answers: bool,
    ) -> Result<Arc<Release>, ReleaseError> {
        let uid = release.as_ref().map(|release| release.with(|set| set.parent().uid.to_string()));
        let body = record::body(&self.charts.namespace, &self.module, (uid.as_deref(), answers), record, hold.as_ref());
        let text = self.write(self.secret(), body).await.inspect_err(|_| {
            // What is known about the Secret may be wrong. Another try reads it.
            if let Some(release) = &release {
                self.forget(release);
            }
        })?;
        let secret: Value = text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
        let read = record::read(&secret).map_err(|error| ReleaseError::Failed(error.to_string()))?;
        match release {
            Some(release) => {
                release.wrote(read.parent, record.clone(), hold, answers);
                Ok(release)
            }
            None => Ok(self.remember(Release::new(&self.module, read, self.charts.drifted.clone()))),
        }
    }

    async fn write(&self, target: ObjectRef, body: String) -> Result<Option<String>, ReleaseError> {
        let patch = Patch {
            target,
            body: PatchBody::Apply { object: body, force: true, field_manager: Some(record::MANAGER.to_owned()) },
            subresource: None,
            ignore_missing: false,
        };
        self.services().operator.access.write(&self.operator, &Operation::Patch(patch)).await.map_err(failed)
    }

    /// Keeps what a revision rendered to. What an interrupted try has left is overwritten.
    pub(super) async fn keep(&self, record: &Record, content: &Content) -> Result<(), ReleaseError> {
        for (target, body) in content.secrets(&self.charts.namespace, &self.module, record.revision) {
            self.write(target, body).await?;
        }
        Ok(())
    }

    /// Deletes what is kept of revisions that are no longer in the history.
    pub(super) async fn trim(&self, record: &Record) -> Result<(), ReleaseError> {
        let kept: Vec<u64> = record.revisions().iter().map(|entry| entry.revision).collect();
        self.trim_to(&kept).await
    }

    pub(super) async fn trim_to(&self, kept: &[u64]) -> Result<(), ReleaseError> {
        let mut continue_token = None;
        loop {
            let query = ListQuery {
                api_version: "v1".to_owned(),
                kind: "Secret".to_owned(),
                namespace: Some(self.charts.namespace.clone()),
                label_selector: Some(format!("{}={}", revisions::LABEL, self.module.as_str())),
                field_selector: None,
                limit: None,
                continue_token,
            };
            let page = self.services().operator.access.list(&self.operator, &query).await.map_err(failed)?;
            let secrets = page.items.iter().filter_map(|item| serde_json::from_str::<Value>(item).ok());
            for secret in secrets {
                if revisions::number(&secret).is_none_or(|number| kept.contains(&number)) {
                    continue;
                }
                let delete = Delete {
                    target: revisions::secret(&self.charts.namespace, &secret),
                    propagation: Propagation::Background,
                    ignore_missing: true,
                    uid: None,
                    resource_version: None,
                    wait: None,
                };
                self.services()
                    .operator
                    .access
                    .write(&self.operator, &Operation::Delete(delete))
                    .await
                    .map_err(failed)?;
            }
            continue_token = page.continue_token.filter(|token| !token.is_empty());
            if continue_token.is_none() {
                return Ok(());
            }
        }
    }

    /// What is applied instead of what the chart gives: the manifests that an admin asks for, or asked for before, if nothing
    /// has changed since then.
    pub(super) async fn earlier(
        &self,
        release: &Release,
        asked: Option<Asked>,
        inputs: &Inputs,
    ) -> Result<Option<(Rendered, Record)>, ReleaseError> {
        let record = release.record();
        match asked {
            Some(Asked::Rollback(to)) => {
                let content = self.content(&record, to).await?;
                let next = record.rollback(to, &content, inputs, Timestamp::now());
                Ok(Some((content.into(), next)))
            }
            Some(Asked::Unreadable(text)) => Err(ReleaseError::Failed(format!(
                "the annotation {ROLLBACK} of the {} is {text:?}: write the number of a revision, or {}",
                self.secret(),
                revisions::END,
            ))),
            None if record.rollback_to.is_some() && record.inputs == *inputs => {
                let content = self.content(&record, record.revision).await?;
                Ok(Some((content.into(), record)))
            }
            Some(Asked::End) | None => Ok(None),
        }
    }

    async fn content(&self, record: &Record, number: u64) -> Result<Content, ReleaseError> {
        let all = record.revisions();
        let wrong = |why: String| {
            let known: Vec<_> = all.iter().map(|entry| entry.revision.to_string()).collect();
            ReleaseError::Failed(format!(
                "the module cannot be rolled back: revision {number}: {why}; there are {}; correct the annotation \
                 {ROLLBACK} of the {}, or set it to {} to apply the chart",
                known.join(", "),
                self.secret(),
                revisions::END
            ))
        };
        let entry = all.iter().find(|entry| entry.revision == number);
        let entry = entry.ok_or_else(|| wrong("it is not kept".to_owned()))?;
        let (mut pieces, mut parts) = (Vec::new(), 1);
        while pieces.len() < parts {
            let target = revisions::reference(&self.charts.namespace, &self.module, number, pieces.len());
            let secret = self.secret_of(&target).await?.ok_or_else(|| wrong(format!("there is no {target}")))?;
            let piece = revisions::piece(&secret).map_err(wrong)?;
            parts = piece.parts;
            pieces.push(piece);
        }
        Content::of(&pieces, &entry.digest).map_err(wrong)
    }
}
