//! The series that a hook reports, with what a run makes of them: nothing, if it fails.
//!
//! The bounds that an admin sets (series for each hook, lengths) are not checked.

use std::collections::BTreeMap;

/// One operation, as a run has asked for it.
#[derive(Clone, Debug)]
pub(crate) enum Op {
    Report { name: String, what: What, labels: Labels, group: Option<String> },
    Expire(String),
}

#[derive(Clone, Debug)]
pub(crate) enum What {
    Add(f64),
    Set(f64),
    Observe(f64, Vec<f64>),
}

type Labels = BTreeMap<String, String>;

/// The series so far, a histogram as `_sum`, `_count` and `_bucket`.
#[derive(Clone, Debug, Default)]
pub(super) struct Series {
    values: BTreeMap<(String, Labels), (f64, Option<String>)>,
    types: BTreeMap<String, String>,
}

impl Series {
    /// Of the series with at least these labels, the first.
    pub fn value(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        let has = |found: &Labels| labels.iter().all(|(name, value)| found.get(*name).is_some_and(|v| v == value));
        self.values.iter().find(|((known, found), _)| known == name && has(found)).map(|(_, (value, _))| *value)
    }

    /// The words of the refusal of an operation that no host takes.
    pub fn check(&mut self, op: &Op) -> Result<(), String> {
        let Op::Report { name, what, labels, .. } = op else { return Ok(()) };
        let good = |text: &str, more: &str| {
            let mut chars = text.chars();
            chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_' || more.contains(c))
                && chars.all(|c| c.is_ascii_alphanumeric() || c == '_' || more.contains(c))
        };
        if !good(name, ":") {
            return Err(format!("the metric name {name:?} is not allowed: letters, digits and _, no digit first"));
        }
        if let Some(label) = labels.keys().find(|label| !good(label, "")) {
            return Err(format!("the label name {label:?} of {name} is not allowed: letters, digits and _"));
        }
        let kind = match what {
            What::Add(value) if value.is_finite() && *value >= 0.0 => "counter".to_owned(),
            What::Add(value) => return Err(format!("the counter {name} cannot grow by {value}")),
            What::Set(value) | What::Observe(value, _) if !value.is_finite() => {
                return Err(format!("{name} cannot take {value}: it must be finite"));
            }
            What::Set(_) => "gauge".to_owned(),
            What::Observe(_, buckets) if !ascending(buckets) => {
                return Err(format!("the buckets of {name} must be finite and ascend"));
            }
            What::Observe(_, buckets) => format!("histogram with the buckets {buckets:?}"),
        };
        match self.types.insert(name.clone(), kind.clone()) {
            Some(known) if known != kind => {
                let refusal = format!("{name} is a {known}, and no {kind}");
                self.types.insert(name.clone(), known);
                Err(refusal)
            }
            _ => Ok(()),
        }
    }

    /// What a run that succeeded has reported.
    pub fn commit(&mut self, ops: Vec<Op>) {
        for op in &ops {
            if let Op::Report { group: Some(group), .. } = op {
                self.expire(group);
            }
        }
        for op in ops {
            match op {
                Op::Expire(group) => self.expire(&group),
                Op::Report { name, what, labels, group } => self.report(name, what, labels, group),
            }
        }
    }

    fn report(&mut self, name: String, what: What, labels: Labels, group: Option<String>) {
        match what {
            What::Add(value) => self.grow(name, labels, value, group),
            What::Set(value) => drop(self.values.insert((name, labels), (value, group))),
            What::Observe(value, buckets) => {
                for bound in buckets.iter().copied().chain([f64::INFINITY]) {
                    let mut labels = labels.clone();
                    let le = if bound.is_finite() { bound.to_string() } else { "+Inf".to_owned() };
                    labels.insert("le".to_owned(), le);
                    let within = if value <= bound { 1.0 } else { 0.0 };
                    self.grow(format!("{name}_bucket"), labels, within, group.clone());
                }
                self.grow(format!("{name}_sum"), labels.clone(), value, group.clone());
                self.grow(format!("{name}_count"), labels, 1.0, group);
            }
        }
    }

    fn grow(&mut self, name: String, labels: Labels, by: f64, group: Option<String>) {
        let slot = self.values.entry((name, labels)).or_default();
        *slot = (slot.0 + by, group);
    }

    fn expire(&mut self, group: &str) {
        self.values.retain(|_, (_, of)| of.as_deref() != Some(group));
    }
}

/// An empty value is the same as no label.
pub(crate) fn labels(pairs: &[(String, String)]) -> Labels {
    pairs.iter().filter(|(_, value)| !value.is_empty()).cloned().collect()
}

fn ascending(buckets: &[f64]) -> bool {
    buckets.iter().all(|bound| bound.is_finite()) && buckets.iter().zip(buckets.iter().skip(1)).all(|(a, b)| a < b)
}
