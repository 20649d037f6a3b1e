//! Compares the response to the last `admission` or `conversion` with the expected one.

use boathook_core::model::Verdict;

use super::{
    super::{
        document::answered::{Converted, Reviewed},
        matcher::differences,
        tree::Node,
    },
    Answer, Spot, Wrong, diff,
};

/// HTTP status and reason of a denial that does not set them.
const DENIED: (u16, &str) = (403, "Forbidden");

impl Reviewed {
    /// The differences.
    pub fn differs(&self, answer: &Answer) -> Vec<Wrong> {
        let (verdict, object) = match (answer, &self.failed) {
            (Answer::Failed(text), Some(wanted)) if text.contains(wanted) => return Vec::new(),
            (Answer::Reviewed { verdict, object }, None) => (verdict, object),
            (answer, wanted) => return vec![no_answer("admission", wanted.as_deref(), answer)],
        };
        let mut lines = String::new();
        let mut check = |key: &str, wanted: Option<String>, found: String, holds: bool| {
            if let Some(wanted) = wanted.filter(|_| !holds) {
                lines.push_str(&format!("\n  {key}\n    - expected {wanted}\n    + found    {found}"));
            }
        };
        let Verdict { denied, warnings, audit_annotations } = verdict;
        let message = denied.as_ref().map(|denied| denied.message.clone());
        let allowed = match &message {
            None => "true".to_owned(),
            Some(message) => format!("false: {message}"),
        };
        check("allowed", self.allowed.map(|it| it.to_string()), allowed, self.allowed == Some(denied.is_none()));
        let told = |text: Option<&str>| text.map_or("nothing: it is allowed".to_owned(), |text| format!("{text:?}"));
        let holds = |wanted: &Option<String>| message.as_ref().zip(wanted.as_ref()).is_some_and(|(m, w)| m.contains(w));
        check("message", quoted(&self.message), told(message.as_deref()), holds(&self.message));
        let code = denied.as_ref().map(|denied| usize::from(denied.code.unwrap_or(DENIED.0)));
        let shown = code.map_or_else(|| told(None), |code| code.to_string());
        check("code", self.code.map(|it| it.to_string()), shown, self.code == code);
        let reason = denied.as_ref().map(|denied| denied.reason.as_deref().unwrap_or(DENIED.1));
        check("reason", quoted(&self.reason), told(reason), self.reason.as_deref() == reason);
        let alike = self.warnings.as_ref().is_some_and(|wanted| {
            wanted.len() == warnings.len() && wanted.iter().zip(warnings).all(|(w, found)| found.contains(w))
        });
        let wanted = self.warnings.as_ref().map(|it| format!("{it:?}"));
        check("warnings", wanted, format!("{warnings:?}"), alike);
        for pair in &self.audit {
            check(
                "audit",
                Some(format!("{pair:?}")),
                format!("{audit_annotations:?}"),
                audit_annotations.contains(pair),
            );
        }
        let mut wrong = Vec::new();
        if !lines.is_empty() {
            wrong.push(Wrong::from(format!("admission:{lines}")));
        }
        if let Some(wanted) = &self.object {
            let found = object.clone().unwrap_or_default();
            wrong.extend(object_differs("admission.object", wanted, &found, Spot::Reviewed));
        }
        wrong
    }
}

impl Converted {
    /// The differences.
    pub fn differs(&self, answer: &Answer) -> Vec<Wrong> {
        let objects = match (answer, &self.failed) {
            (Answer::Failed(text), Some(wanted)) if text.contains(wanted) => return Vec::new(),
            (Answer::Converted(objects), None) => objects,
            (answer, wanted) => return vec![no_answer("conversion", wanted.as_deref(), answer)],
        };
        if objects.len() != self.objects.len() {
            return vec![Wrong::from(format!(
                "conversion: {} objects, expected {}",
                objects.len(),
                self.objects.len()
            ))];
        }
        let pairs = self.objects.iter().zip(objects).enumerate();
        let differs = |(n, (wanted, found)): (usize, (&Node, _))| {
            object_differs(&format!("conversion.objects[{n}]"), wanted, found, Spot::Converted(n))
        };
        pairs.filter_map(differs).collect()
    }
}

fn object_differs(title: &str, wanted: &Node, found: &serde_json::Value, spot: Spot) -> Option<Wrong> {
    let all = differences(&wanted.value(), found);
    let lines: String = all.iter().map(diff).collect();
    (!all.is_empty()).then(|| Wrong { text: format!("{title}:{lines}"), differs: Some((spot, all)) })
}

fn no_answer(key: &str, wanted: Option<&str>, answer: &Answer) -> Wrong {
    let found = match answer {
        Answer::Failed(text) => format!("it failed: {text}"),
        Answer::Reviewed { .. } => "an answer to an admission".to_owned(),
        Answer::Converted(_) => "an answer to a conversion".to_owned(),
    };
    let wanted = wanted.map_or("an answer".to_owned(), |text| format!("it fails with {text:?}"));
    format!("{key}:\n  - expected {wanted}\n  + found    {found}").into()
}

fn quoted(text: &Option<String>) -> Option<String> {
    text.as_ref().map(|text| format!("{text:?}"))
}
