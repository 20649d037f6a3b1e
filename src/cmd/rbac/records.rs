//! Reads recorded runs as evidence of what hooks use.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use boathook_author::rbac::{Calls, Evidence};
use boathook_core::model::{CallError, HookName};
use boathook_operator::record::{self, Answer, Call, Request, SUFFIX};

/// Whether a path names records.
pub(super) fn are_in(path: &Path) -> bool {
    path.is_dir() || path.to_string_lossy().ends_with(SUFFIX)
}

/// Reads a record, or all records of a directory.
pub(super) fn read(path: &Path, evidence: &mut Evidence) -> anyhow::Result<()> {
    let files = files(path)?;
    if files.is_empty() {
        bail!("it holds no record: no file ends with {SUFFIX}");
    }
    for file in files {
        let record = record::read(&file)?;
        let calls = evidence.of(HookName::new(&record.header.hook)?);
        calls.partial |= record.header.incomplete.is_some();
        record.calls.iter().for_each(|call| note(call, calls));
    }
    Ok(())
}

fn files(path: &Path) -> anyhow::Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut files = Vec::new();
    for entry in std::fs::read_dir(path).context("it can't be read")? {
        let file = entry.context("it can't be read")?.path();
        if file.to_string_lossy().ends_with(SUFFIX) {
            files.push(file);
        }
    }
    Ok(files)
}

/// Notes the accesses that a call needed.
pub(in crate::cmd) fn note(call: &Call, calls: &mut Calls) {
    let answer = call.answer.as_ref();
    match &call.request {
        Request::Get { target, subresource } => calls.got(target, subresource.as_deref(), answer.and_then(error)),
        Request::List { query } => calls.listed(query, answer.and_then(error)),
        Request::Write { operation } => calls.wrote(operation, answer.and_then(error)),
        Request::Batch { operations } => {
            let answers: &[_] = if let Some(Answer::Batch(answers)) = answer { answers } else { &[] };
            for (index, operation) in operations.iter().enumerate() {
                calls.wrote(operation, answers.get(index).and_then(|answer| answer.as_ref().err()));
            }
        }
        Request::EmitEvent { event } => calls.emitted(event, answer.and_then(error)),
        Request::Metric { .. } | Request::Open { .. } => {}
    }
}

fn error(answer: &Answer) -> Option<&CallError> {
    match answer {
        Answer::Object(answer) => answer.as_ref().err(),
        Answer::Page(answer) => answer.as_ref().err(),
        Answer::Written(answer) => answer.as_ref().err(),
        Answer::Emitted(answer) => answer.as_ref().err(),
        Answer::Batch(_) | Answer::Metric(_) | Answer::Opened => None,
    }
}
