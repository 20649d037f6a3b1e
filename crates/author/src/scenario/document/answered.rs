//! What the answer to the last `admission` or `conversion` must be. Judges nothing.

use super::{
    super::{
        problem::Problems,
        reader::{Fields, describe},
        tree::{Kind, Node},
    },
    ask::{flag, texts},
};

/// The answer to a request for review.
#[derive(Debug, Clone)]
pub struct Reviewed {
    pub allowed: Option<bool>,
    /// The denial's contains it.
    pub message: Option<String>,
    pub code: Option<usize>,
    pub reason: Option<String>,
    /// As many as there are, each contained in its warning.
    pub warnings: Option<Vec<String>>,
    pub audit: Vec<(String, String)>,
    /// It is so at least.
    pub object: Option<Node>,
    /// There is no answer, because of this.
    pub failed: Option<String>,
}

/// The answer to a conversion.
#[derive(Debug, Clone)]
pub struct Converted {
    /// As many as there are.
    pub objects: Vec<Node>,
    pub failed: Option<String>,
}

impl Reviewed {
    pub fn read(node: &Node, path: &str, problems: &Problems) -> Option<Self> {
        let fields = Fields::of(node, path, problems)?;
        let owned = |key| fields.text(key).map(str::to_owned);
        let object = fields.take("object").filter(|node| is_map(node, &fields.child("object"), problems)).cloned();
        let reviewed = Self {
            allowed: flag(&fields, "allowed"),
            message: owned("message"),
            code: fields.count("code"),
            reason: owned("reason"),
            warnings: texts(&fields, "warnings"),
            audit: fields.texts("audit"),
            object,
            failed: owned("failed"),
        };
        fields.finish();
        if matches!(&node.kind, Kind::Map(entries) if entries.is_empty()) {
            fields.wrong("needs at least one key");
        }
        Some(reviewed)
    }
}

impl Converted {
    pub fn read(node: &Node, path: &str, problems: &Problems) -> Option<Self> {
        let fields = Fields::of(node, path, problems)?;
        let items = fields.items("objects").into_iter().flatten();
        let objects = items.filter(|(node, path)| is_map(node, path, problems)).map(|(node, _)| node.clone()).collect();
        let failed = fields.text("failed").map(str::to_owned);
        if fields.take("objects").is_some() == failed.is_some() {
            fields.wrong("has just one of objects and failed");
        }
        fields.finish();
        Some(Self { objects, failed })
    }
}

fn is_map(node: &Node, path: &str, problems: &Problems) -> bool {
    let map = matches!(node.kind, Kind::Map(_));
    if !map {
        problems.add(node.place, path, format!("must be an object, not {}", describe(node)));
    }
    map
}
