//! An effect as text for people, like a plan before an apply: one line for each field that differs.
//!
//! Values of Secrets are hidden unless requested, and control characters are replaced.

use serde_json::Value;

use super::{
    Action, Change, Effect, Ending, Ignore, State, lines, redact,
    style::{Sign, Style},
};

/// The effect as lines, each with a line feed at its end.
///
/// ```text
/// ~ patch apps/v1 Deployment shop/web (dry run)
///   ~ spec.template.spec.containers[name=web].image: web:1 -> web:2
///   + metadata.labels.checked: "true"
/// ```
pub fn render(effect: &Effect, style: Style) -> String {
    let text = Text { style, hide: !style.secrets && redact::applies(effect) };
    let mut out = vec![text.head(effect)];
    let body = text.body(effect);
    let rest = body.len().saturating_sub(style.lines.max(1));
    let shown = body.len() - rest;
    out.extend(body.into_iter().take(shown));
    if rest > 0 {
        out.push(style.line(2, Sign::Same, &format!("... {rest} more lines")));
    }
    out.into_iter().map(|line| line + "\n").collect()
}

struct Text {
    style: Style,
    hide: bool,
}

impl Text {
    fn head(&self, effect: &Effect) -> String {
        let sign = match effect.action() {
            Action::Create => Sign::Added,
            Action::Delete => Sign::Removed,
            Action::Change => Sign::Changed,
            Action::Nothing => Sign::Same,
            Action::Unknown => Sign::Unknown,
            Action::Failure => Sign::Failed,
        };
        let mut head = format!("{} {}", effect.verb, effect.object);
        if let Some(subresource) = &effect.subresource {
            head.push_str(&format!(" ({subresource})"));
        }
        if effect.dry_run {
            head.push_str(" (dry run)");
        }
        match &effect.ending {
            Ending::Done if effect.action() == Action::Nothing => head.push_str(": no change"),
            Ending::Done => {}
            Ending::Failed { reason, message } => {
                head.push_str(&format!(": {}: {}", reason.label(), without_call(effect, message)));
            }
            Ending::Interrupted => head.push_str(": interrupted, the run ended before the answer was there"),
        }
        self.style.line(0, sign, &head)
    }

    fn body(&self, effect: &Effect) -> Vec<String> {
        let mut out = Vec::new();
        if let Some(note) = &effect.note {
            out.push(self.style.line(2, Sign::Same, &format!("({note})")));
        }
        match (effect.action(), &effect.before, &effect.after) {
            (Action::Failure, ..) => {}
            (Action::Create, _, State::Present(object)) => self.object(Sign::Added, effect, object, &mut out),
            // The whole object goes. The head says so, and the JSON has the object.
            (Action::Delete, ..) => {}
            (_, State::Unknown(why), after) => {
                out.push(self.style.line(2, Sign::Same, &format!("(how it was before is not known: {why})")));
                if let State::Present(object) = after {
                    self.object(Sign::Same, effect, object, &mut out);
                }
            }
            (_, _, State::Unknown(why)) => {
                out.push(self.style.line(2, Sign::Same, &format!("(what came of it is not known: {why})")));
            }
            _ => {}
        }
        if effect.action() == Action::Change {
            for change in effect.changes() {
                self.change(&if self.hide { redact::change(change) } else { change }, &mut out);
            }
        }
        out
    }

    /// A whole object, without what the head shows.
    fn object(&self, sign: Sign, effect: &Effect, object: &Value, out: &mut Vec<String>) {
        let mut object = Ignore::default().cleaned(object, true);
        if let Some(fields) = object.as_object_mut().filter(|_| effect.subresource.is_none()) {
            fields.retain(|key, _| !matches!(key.as_str(), "apiVersion" | "kind"));
            let mut metadata = fields.shift_remove("metadata").unwrap_or_default();
            if let Some(metadata) = metadata.as_object_mut() {
                metadata.retain(|key, _| !matches!(key.as_str(), "name" | "namespace"));
            }
            if metadata.as_object().is_some_and(|metadata| !metadata.is_empty()) {
                fields.shift_insert(0, "metadata".to_owned(), metadata);
            }
        }
        let object = if self.hide { redact::object(object) } else { object };
        if object.as_object().is_some_and(|fields| !fields.is_empty()) {
            out.extend(yaml(&object).lines().map(|line| self.style.line(2, sign, line)));
        }
    }

    fn change(&self, change: &Change, out: &mut Vec<String>) {
        let path = if change.path.0.is_empty() { ".".to_owned() } else { change.path.to_string() };
        match (&change.before, &change.after) {
            (Some(_), Some(_)) if redact::is_hidden(change) => {
                out.push(self.style.line(2, Sign::Changed, &format!("{path}: (sensitive, changed)")));
            }
            (Some(before), Some(after)) if change.reordered => {
                out.push(self.style.line(2, Sign::Changed, &format!("{path}: order {before} -> {after}")));
            }
            (Some(Value::String(before)), Some(Value::String(after)))
                if before.contains('\n') || after.contains('\n') =>
            {
                self.text(&path, before, after, out);
            }
            (Some(before), Some(after)) => self.replaced(&path, before, after, out),
            (before, after) => {
                let one = [(Sign::Removed, before), (Sign::Added, after)];
                one.into_iter()
                    .filter_map(|(sign, value)| Some((sign, value.as_ref()?)))
                    .for_each(|(sign, value)| self.value(sign, &path, value, out));
            }
        }
    }

    fn replaced(&self, path: &str, before: &Value, after: &Value, out: &mut Vec<String>) {
        if let (Some(before), Some(after)) = (inline(before), inline(after)) {
            let line = format!("{path}: {before} -> {after}");
            if line.chars().count() + 4 <= self.style.width {
                return out.push(self.style.line(2, Sign::Changed, &line));
            }
        }
        self.value(Sign::Removed, path, before, out);
        self.value(Sign::Added, path, after, out);
    }

    fn value(&self, sign: Sign, path: &str, value: &Value, out: &mut Vec<String>) {
        if let Some(text) = inline(value) {
            return out.push(self.style.line(2, sign, &format!("{path}: {text}")));
        }
        let text = yaml(value);
        let is_text = value.is_string();
        let mut lines = text.lines();
        // In YAML, a text of several lines begins with `|`.
        let first = lines.next().filter(|_| is_text).unwrap_or_default();
        out.push(self.style.line(2, sign, &format!("{path}: {first}")));
        let lines = if is_text { lines } else { text.lines() };
        let indent = if is_text { "" } else { "  " };
        out.extend(lines.map(|line| self.style.line(2, sign, &format!("{indent}{line}"))));
    }

    /// A text of several lines, compared line by line.
    fn text(&self, path: &str, before: &str, after: &str, out: &mut Vec<String>) {
        out.push(self.style.line(2, Sign::Changed, &format!("{path}: |")));
        let mut differ = false;
        for line in lines::diff(before, after) {
            differ |= line.is_some_and(|(sign, _)| sign != Sign::Same);
            out.push(match line {
                Some((sign, text)) => self.style.line(4, sign, text),
                None => self.style.line(4, Sign::Same, "..."),
            });
        }
        if !differ {
            out.push(self.style.line(4, Sign::Same, "(only the line feeds at the end differ)"));
        }
    }
}

/// The error's message without the call, because the head shows the call.
fn without_call<'m>(effect: &Effect, message: &'m str) -> &'m str {
    let call = format!("{} {}", effect.verb, effect.object);
    let rest = message.strip_prefix(call.as_str()).and_then(|rest| rest.split_once(": "));
    rest.map_or(message, |(_, rest)| rest)
}

/// The value as YAML, if that takes one line.
fn inline(value: &Value) -> Option<String> {
    match value {
        Value::Array(items) if !items.is_empty() => None,
        Value::Object(fields) if !fields.is_empty() => None,
        value => Some(yaml(value)).filter(|text| !text.contains('\n')),
    }
}

/// The value as YAML, without a line feed at the end.
fn yaml(value: &Value) -> String {
    let text = yaml_serde::to_string(value).unwrap_or_else(|_| value.to_string());
    text.trim_end_matches('\n').to_owned()
}
