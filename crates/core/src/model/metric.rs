//! What a hook reports as metrics: single operations. They are checked for what Prometheus can show, and for their
//! size. No value is stored here.

use std::{fmt, sync::Arc};

const MAX_NAME: usize = 200;
const MAX_LABELS: usize = 16;
const MAX_VALUE: usize = 1024;
const MAX_BUCKETS: usize = 64;

/// How a metric counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MetricKind {
    /// Only grows: `add`.
    Counter,
    /// Goes up and down: `set`.
    Gauge,
    /// Counts observations in buckets: `observe`.
    Histogram,
}

impl MetricKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

impl fmt::Display for MetricKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A change of a series.
#[derive(Debug, Clone, PartialEq)]
pub enum MetricValue {
    /// A counter grows by this.
    Add(f64),
    /// A gauge is set to this value.
    Set(f64),
    /// A histogram counts this value.
    Observe {
        value: f64,
        /// Upper bounds of the buckets, ascending, without infinity.
        buckets: Arc<[f64]>,
    },
}

/// Label names and values, sorted by name. They do not include `hook`, or empty values, which mean the same as no
/// label.
pub type MetricLabels = Arc<[(Box<str>, Box<str>)]>;

/// One operation of a hook.
#[derive(Debug, Clone, PartialEq)]
pub enum MetricOp {
    /// Changes a series.
    Record(MetricSample),
    /// Removes all series that the hook reported in this group.
    Expire(Arc<str>),
}

/// A change of one series that Prometheus can show.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricSample {
    name: Arc<str>,
    labels: MetricLabels,
    group: Option<Arc<str>>,
    value: MetricValue,
}

/// A metric operation that is refused, with what is allowed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum InvalidMetric {
    #[error(
        "metric name {0:?} is not valid: use 1 to {MAX_NAME} characters out of letters, digits, '_' and ':', not beginning with a digit"
    )]
    Name(String),
    #[error(
        "metric {metric}: label name {label:?} is not valid: use 1 to {MAX_NAME} characters out of letters, digits and '_', not beginning with a digit or '__'"
    )]
    LabelName { metric: String, label: String },
    /// A label name that is given twice.
    #[error("metric {metric}: label {label} is given twice: give each once")]
    LabelTwice { metric: String, label: String },
    /// A label that histograms use themselves.
    #[error("metric {0}: a histogram has its buckets in the label le: choose another name for yours")]
    LabelLe(String),
    #[error("metric {metric} has {count} labels: at most {MAX_LABELS} are allowed")]
    TooManyLabels { metric: String, count: usize },
    #[error("metric {metric}: the value of label {label} has {bytes} bytes: at most {MAX_VALUE} are allowed")]
    LongValue { metric: String, label: String, bytes: usize },
    #[error("metric group {0:?} is not valid: use 1 to {MAX_NAME} bytes")]
    Group(String),
    /// Infinity, or not a number.
    #[error("metric {metric}: {value} is not a value: it must be a finite number")]
    NotFinite { metric: String, value: f64 },
    /// A counter that would decrease.
    #[error("metric {metric}: a counter cannot grow by {value}: add 0 or more, or set a gauge")]
    Negative { metric: String, value: f64 },
    #[error("metric {0}: give 1 to {MAX_BUCKETS} finite upper bounds of buckets, in ascending order")]
    Buckets(String),
}

impl MetricSample {
    /// Checks and normalises an operation. A label `hook` is dropped, because the host sets it.
    pub fn new(
        name: &str,
        labels: Vec<(String, String)>,
        group: Option<&str>,
        value: MetricValue,
    ) -> Result<Self, InvalidMetric> {
        if !is_name(name, true) {
            return Err(InvalidMetric::Name(shown(name)));
        }
        check_value(name, &value)?;
        let histogram = matches!(value, MetricValue::Observe { .. });
        let labels = normalised(name, labels, histogram)?;
        let group = group.map(metric_group).transpose()?;
        Ok(Self { name: name.into(), labels, group, value })
    }

    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// The labels without `hook`.
    pub fn labels(&self) -> &MetricLabels {
        &self.labels
    }

    pub fn group(&self) -> Option<&Arc<str>> {
        self.group.as_ref()
    }

    pub fn value(&self) -> &MetricValue {
        &self.value
    }

    pub fn kind(&self) -> MetricKind {
        match self.value {
            MetricValue::Add(_) => MetricKind::Counter,
            MetricValue::Set(_) => MetricKind::Gauge,
            MetricValue::Observe { .. } => MetricKind::Histogram,
        }
    }

    /// The buckets of a histogram. Empty for other metrics.
    pub fn buckets(&self) -> &[f64] {
        match &self.value {
            MetricValue::Observe { buckets, .. } => buckets,
            MetricValue::Add(_) | MetricValue::Set(_) => &[],
        }
    }

    /// How many series Prometheus receives. A histogram has one for each bucket, and three more.
    pub fn series(&self) -> usize {
        match &self.value {
            MetricValue::Add(_) | MetricValue::Set(_) => 1,
            MetricValue::Observe { buckets, .. } => buckets.len() + 3,
        }
    }
}

/// Checks the name of a group.
pub fn metric_group(group: &str) -> Result<Arc<str>, InvalidMetric> {
    if group.is_empty() || group.len() > MAX_NAME { Err(InvalidMetric::Group(shown(group))) } else { Ok(group.into()) }
}

fn check_value(name: &str, value: &MetricValue) -> Result<(), InvalidMetric> {
    let (MetricValue::Add(number) | MetricValue::Set(number) | MetricValue::Observe { value: number, .. }) = value;
    if !number.is_finite() {
        return Err(InvalidMetric::NotFinite { metric: name.to_owned(), value: *number });
    }
    match value {
        MetricValue::Add(value) if *value < 0.0 => {
            Err(InvalidMetric::Negative { metric: name.to_owned(), value: *value })
        }
        MetricValue::Observe { buckets, .. } if !are_buckets(buckets) => Err(InvalidMetric::Buckets(name.to_owned())),
        _ => Ok(()),
    }
}

fn are_buckets(buckets: &[f64]) -> bool {
    (1..=MAX_BUCKETS).contains(&buckets.len())
        && buckets.iter().all(|bound| bound.is_finite())
        && buckets.is_sorted_by(|one, next| one < next)
}

fn normalised(metric: &str, labels: Vec<(String, String)>, histogram: bool) -> Result<MetricLabels, InvalidMetric> {
    let metric = || metric.to_owned();
    if labels.len() > MAX_LABELS {
        return Err(InvalidMetric::TooManyLabels { metric: metric(), count: labels.len() });
    }
    let mut kept: Vec<(Box<str>, Box<str>)> = Vec::with_capacity(labels.len());
    for (label, value) in labels {
        if !is_name(&label, false) || label.starts_with("__") {
            return Err(InvalidMetric::LabelName { metric: metric(), label: shown(&label) });
        }
        if histogram && label == "le" {
            return Err(InvalidMetric::LabelLe(metric()));
        }
        if value.len() > MAX_VALUE {
            return Err(InvalidMetric::LongValue { metric: metric(), label, bytes: value.len() });
        }
        if kept.iter().any(|(known, _)| **known == *label) {
            return Err(InvalidMetric::LabelTwice { metric: metric(), label });
        }
        kept.push((label.into(), value.into()));
    }
    kept.retain(|(label, value)| **label != *"hook" && !value.is_empty());
    kept.sort();
    Ok(kept.into())
}

fn is_name(name: &str, colons: bool) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || (colons && c == ':');
    name.len() <= MAX_NAME && name.starts_with(|c: char| allowed(c) && !c.is_ascii_digit()) && name.chars().all(allowed)
}

/// As much of an invalid name as a message needs.
fn shown(name: &str) -> String {
    name.chars().take(MAX_NAME).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use super::*;

    fn sample(name: &str, labels: &[(&str, &str)], value: MetricValue) -> Result<MetricSample, InvalidMetric> {
        let labels = labels.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        MetricSample::new(name, labels, None, value)
    }

    fn observe(value: f64, buckets: &[f64]) -> MetricValue {
        MetricValue::Observe { value, buckets: buckets.into() }
    }

    #[test]
    fn labels_are_normalised() {
        let sample =
            sample("a:b_1", &[("z", "1"), ("hook", "mine"), ("empty", ""), ("a", "ü\"\n")], MetricValue::Add(0.0))
                .unwrap();
        let labels: Vec<_> = sample.labels().iter().map(|(name, value)| (&**name, &**value)).collect();
        assert_eq!(labels, [("a", "ü\"\n"), ("z", "1")]);
    }

    #[test]
    fn what_prometheus_can_not_show_is_refused() {
        let add = || MetricValue::Add(1.0);
        for name in ["", "1x", "a-b", "a b", "ü", &"x".repeat(201)] {
            assert!(matches!(sample(name, &[], add()), Err(InvalidMetric::Name(_))), "{name}");
        }
        for label in ["", "1x", "a-b", "a:b", "__name__"] {
            let refused = sample("m", &[(label, "v")], add());
            assert!(matches!(refused, Err(InvalidMetric::LabelName { .. })), "{label}");
        }
        let twice = sample("m", &[("a", "1"), ("a", "2")], add()).unwrap_err();
        assert_eq!(twice.to_string(), "metric m: label a is given twice: give each once");
        assert!(sample("m", &[("le", "1")], add()).is_ok());
        assert_eq!(sample("m", &[("le", "1")], observe(1.0, &[1.0])), Err(InvalidMetric::LabelLe("m".into())));
        for value in [f64::NAN, f64::INFINITY] {
            for value in [MetricValue::Add(value), MetricValue::Set(value), observe(value, &[1.0])] {
                assert!(matches!(sample("m", &[], value), Err(InvalidMetric::NotFinite { .. })));
            }
        }
        assert!(matches!(sample("m", &[], MetricValue::Add(-1.0)), Err(InvalidMetric::Negative { .. })));
        assert!(sample("m", &[], MetricValue::Set(-1.0)).is_ok());
        for buckets in [&[][..], &[2.0, 1.0], &[1.0, 1.0], &[f64::NAN], &[1.0, f64::INFINITY], &[1.0; 65]] {
            assert_eq!(sample("m", &[], observe(1.0, buckets)), Err(InvalidMetric::Buckets("m".into())), "{buckets:?}");
        }
    }

    #[test]
    fn sizes_are_bounded() {
        let many: Vec<_> = (0..17).map(|n| (format!("l{n}"), "v".to_owned())).collect();
        let refused = MetricSample::new("m", many.clone(), None, MetricValue::Set(1.0)).unwrap_err();
        assert_eq!(refused.to_string(), "metric m has 17 labels: at most 16 are allowed");
        assert!(MetricSample::new("m", many.into_iter().take(16).collect(), None, MetricValue::Set(1.0)).is_ok());
        let long = "x".repeat(1025);
        assert!(matches!(
            sample("m", &[("a", &long)], MetricValue::Set(1.0)),
            Err(InvalidMetric::LongValue { bytes: 1025, .. })
        ));
        assert!(metric_group("").is_err() && metric_group(&"g".repeat(201)).is_err() && metric_group("pods x").is_ok());
    }
}
