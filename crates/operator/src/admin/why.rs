//! What caused what, and why a hook did not run, for admins.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use super::render::{Style, Text, Tone, clean};

/// Why an object is as it is.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WhyView {
    /// The object, as it was asked for.
    pub object: String,
    /// The last writes of hooks to it, newest first. Each has the chain back to its first cause.
    pub chains: Vec<ChainView>,
    /// The newest resource version that a binding saw, if no hook of this process is known to have made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub newer: Option<String>,
    /// Writes that are not remembered any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forgotten: Option<ForgottenView>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ForgottenView {
    pub writes: u64,
    /// When the last of them was.
    pub until: String,
}

/// A write, and what led to it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChainView {
    /// The newest write first. Each was caused by the next one.
    pub steps: Vec<StepView>,
    /// The cause of the last step.
    pub origin: String,
}

/// A write, and why its run began.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StepView {
    pub at: String,
    /// `create`, `update`, `patch` or `delete`.
    pub verb: String,
    pub object: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subresource: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
    /// The version that the write made. Absent for the end of an object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_version: Option<String>,
    /// `certain`; `possible` if the hook wrote the object a moment before and others wrote in the same second; or `unknown`
    /// if there was no response.
    pub certainty: String,
    /// Some of the fields that the hook's field manager has on the object since the write.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<String>,
    pub hook: String,
    pub run: String,
    pub began: String,
    /// The binding and the event because of which the run began. Absent if the operator wrote for the hook.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<ReasonView>,
    /// How many other triggers the run had.
    #[serde(default)]
    pub others: usize,
    /// Whether the next step is only possibly the cause.
    #[serde(default)]
    pub possibly: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReasonView {
    pub binding: String,
    /// `Added`, `Synchronization`, …
    pub cause: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_version: Option<String>,
}

/// Why a hook did not run for an object.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WhyNotView {
    pub hook: String,
    pub object: String,
    /// In the order of the way from the cluster to a run.
    pub findings: Vec<FindingView>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FindingView {
    /// `hook`, `kind`, `start`, `selector`, `filter`, `events`, `queue` or `run`.
    pub stage: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub binding: Option<String>,
    /// Whether this kept the hook from running. Otherwise, it only explains.
    pub blocks: bool,
    pub text: String,
}

impl Text for WhyView {
    fn text(&self, style: Style) -> String {
        let mut out = String::new();
        if let Some(newer) = &self.newer {
            // Writing to a String cannot fail.
            let _ = writeln!(out, "{}", style.paint(&clean(newer), Tone::Warning));
        }
        for chain in &self.chains {
            if !out.is_empty() {
                out.push('\n');
            }
            chain.write(&mut out, style);
        }
        if self.chains.is_empty() {
            let _ = writeln!(out, "no write of a hook to {} is known", clean(&self.object));
        }
        if let Some(ForgottenView { writes, until }) = &self.forgotten {
            let told = format!("{writes} writes until {until} are forgotten");
            let _ = writeln!(out, "\n{}", style.paint(&clean(&told), Tone::Faint));
        }
        out
    }
}

impl ChainView {
    fn write(&self, out: &mut String, style: Style) {
        for step in &self.steps {
            let what = match &step.subresource {
                Some(subresource) => format!("{} {} ({subresource})", step.verb, step.object),
                None => format!("{} {}", step.verb, step.object),
            };
            let version = step.resource_version.as_deref().map(|version| format!(", resourceVersion {version}"));
            let _ = writeln!(out, "{}  {}{}", clean(&step.at), clean(&what), clean(&version.unwrap_or_default()));
            let unsure = match step.certainty.as_str() {
                "certain" => "",
                "possible" => "possibly ",
                _ => "possibly (there was no response) ",
            };
            let _ = writeln!(
                out,
                "  {}by hook {}, run {}",
                style.paint(unsure, Tone::Warning),
                clean(&step.hook),
                clean(&step.run)
            );
            if !step.fields.is_empty() {
                let _ = writeln!(out, "  fields {}", clean(&step.fields.join(", ")));
            }
            if let Some(reason) = &step.reason {
                let others = if step.others > 0 { format!(", and {} more", step.others) } else { String::new() };
                let _ = writeln!(out, "  because of {}{others}", clean(&reason.to_string()));
            }
        }
        let _ = writeln!(out, "first cause: {}", clean(&self.origin));
    }
}

impl std::fmt::Display for ReasonView {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.binding, self.cause)?;
        if let Some(object) = &self.object {
            write!(f, " {object}")?;
        }
        match &self.resource_version {
            Some(version) => write!(f, ", resourceVersion {version}"),
            None => Ok(()),
        }
    }
}

impl Text for WhyNotView {
    fn text(&self, style: Style) -> String {
        let mut out = String::new();
        for finding in &self.findings {
            let tone = if finding.blocks { Tone::Warning } else { Tone::Plain };
            let place = match &finding.binding {
                Some(binding) => format!("{}, binding {binding}", finding.stage),
                None => finding.stage.clone(),
            };
            let _ = writeln!(out, "{}: {}", clean(&place), style.paint(&clean(&finding.text), tone));
        }
        if !self.findings.iter().any(|finding| finding.blocks) {
            let _ = writeln!(out, "nothing keeps hook {} from running for {}", clean(&self.hook), clean(&self.object));
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_is_read_from_the_write_to_its_first_cause() {
        let step = |object: &str, hook: &str, seen: &str| StepView {
            at: "2026-01-05T10:00:00.000Z".to_owned(),
            verb: "patch".to_owned(),
            object: object.to_owned(),
            resource_version: Some("7".to_owned()),
            certainty: "certain".to_owned(),
            fields: vec![".data.x".to_owned()],
            hook: hook.to_owned(),
            run: "p-1".to_owned(),
            reason: Some(ReasonView {
                binding: "maps".to_owned(),
                cause: "Added".to_owned(),
                object: Some(seen.to_owned()),
                resource_version: Some("6".to_owned()),
                ..ReasonView::default()
            }),
            others: 1,
            ..StepView::default()
        };
        let unsure =
            StepView { certainty: "unknown".to_owned(), reason: None, fields: Vec::new(), ..step("B n/b", "two", "") };
        let chain = ChainView {
            steps: vec![step("A n/a", "one", "B n/b"), unsure],
            origin: "the operator\u{1b}[31m".to_owned(),
        };
        let forgotten = Some(ForgottenView { writes: 3, until: "2026-01-05T09:00:00.000Z".to_owned() });
        let view = WhyView { object: "A n/a".to_owned(), chains: vec![chain], newer: None, forgotten };
        let text = view.text(Style::Plain);
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(
            lines,
            [
                "2026-01-05T10:00:00.000Z  patch A n/a, resourceVersion 7",
                "  by hook one, run p-1",
                "  fields .data.x",
                "  because of maps Added B n/b, resourceVersion 6, and 1 more",
                "2026-01-05T10:00:00.000Z  patch B n/b, resourceVersion 7",
                "  possibly (there was no response) by hook two, run p-1",
                "first cause: the operator\u{fffd}[31m",
                "",
                "3 writes until 2026-01-05T09:00:00.000Z are forgotten",
            ]
        );
        let none = WhyView { object: "A n/a".to_owned(), ..WhyView::default() };
        assert_eq!(none.text(Style::Plain), "no write of a hook to A n/a is known\n");
    }

    #[test]
    fn what_blocks_is_told_with_its_stage() {
        let finding = |stage: &str, binding: Option<&str>, blocks| FindingView {
            stage: stage.to_owned(),
            binding: binding.map(str::to_owned),
            blocks,
            text: "so".to_owned(),
        };
        let mut view = WhyNotView {
            hook: "h".to_owned(),
            object: "o".to_owned(),
            findings: vec![finding("hook", None, false), finding("filter", Some("b"), true)],
        };
        assert_eq!(view.text(Style::Plain), "hook: so\nfilter, binding b: so\n");
        view.findings.pop();
        assert_eq!(view.text(Style::Plain), "hook: so\nnothing keeps hook h from running for o\n");
    }
}
