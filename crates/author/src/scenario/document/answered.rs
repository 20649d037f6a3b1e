//! The expected response to the last `admission` or `conversion`.

use super::{
    super::{
        problem::Problems,
        reader::{Fields, describe},
        tree::{Kind, Node},
    },
    ask::{flag, texts},
};

/// The expected response to an admission request.
#[derive(Debug, Clone)]
pub struct Reviewed {
    pub allowed: Option<bool>,
    /// The message of the denial contains it.
    pub message: Option<String>,
    pub code: Option<usize>,
    pub reason: Option<String>,
    /// The number must match, and each is contained in its warning.
    pub warnings: Option<Vec<String>>,
    pub audit: Vec<(String, String)>,
    /// The object has at least these fields.
    pub object: Option<Node>,
    /// There is no response, for this reason.
    pub failed: Option<String>,
}

/// The expected response to a conversion request.
#[derive(Debug, Clone)]
pub struct Converted {
    /// The number must match.
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
