//! The steps `admission` and `convert`: requests that the API server would send to a hook.

use serde_json::Value;

use super::{
    super::{
        problem::Problems,
        reader::{Fields, describe},
        tree::{Kind, Node},
    },
    Object, object, objects,
};

/// The operations of admission requests.
pub const OPERATIONS: [&str; 4] = ["CREATE", "UPDATE", "DELETE", "CONNECT"];
/// The default user of a request.
const USER: &str = "kubernetes-admin";

#[derive(Debug, Clone)]
pub enum Question {
    Admission(Box<Admission>),
    Conversion(Conversion),
}

/// An admission request.
#[derive(Debug, Clone)]
pub struct Admission {
    /// None for every binding whose rules match.
    pub binding: Option<String>,
    pub operation: &'static str,
    pub object: Option<Object>,
    pub old_object: Option<Object>,
    pub subresource: Option<String>,
    pub user: String,
    pub groups: Vec<String>,
    pub dry_run: bool,
}

/// A conversion request.
#[derive(Debug, Clone)]
pub struct Conversion {
    /// None for the CustomResourceDefinition of the objects' group.
    pub crd: Option<String>,
    /// `v1` or `stable.example.com/v1`
    pub to: String,
    pub objects: Vec<Object>,
}

impl Admission {
    pub fn read(node: &Node, path: &str, problems: &Problems) -> Option<Self> {
        let fields = Fields::of(node, path, problems)?;
        fields.need("operation");
        let operation = fields.word("operation", &OPERATIONS);
        let given = |key: &'static str| fields.take(key).map(|node| object(node, &fields.child(key), problems));
        let (new, old) = (given("object"), given("oldObject"));
        let complaint = match operation {
            Some("DELETE") if old.is_none() || new.is_some() => Some("DELETE has just an oldObject"),
            Some("UPDATE") if old.is_none() || new.is_none() => Some("UPDATE has an object and an oldObject"),
            Some("CREATE" | "CONNECT") if new.is_none() || old.is_some() => {
                Some("CREATE and CONNECT have just an object")
            }
            _ => None,
        };
        complaint.into_iter().for_each(|text| fields.wrong(text));
        let user = fields.text("user").unwrap_or(USER).to_owned();
        let admission = Self {
            binding: fields.text("binding").map(str::to_owned),
            operation: operation.unwrap_or_default(),
            object: new.flatten(),
            old_object: old.flatten(),
            subresource: fields.text("subresource").map(str::to_owned),
            user,
            groups: texts(&fields, "groups").unwrap_or_default(),
            dry_run: flag(&fields, "dryRun").unwrap_or_default(),
        };
        fields.finish();
        Some(admission)
    }

    /// The object of the request.
    pub fn subject(&self) -> Option<&Object> {
        self.object.as_ref().or(self.old_object.as_ref())
    }
}

impl Conversion {
    pub fn read(node: &Node, path: &str, problems: &Problems) -> Option<Self> {
        let fields = Fields::of(node, path, problems)?;
        let to = fields.needed_text("to").unwrap_or_default().to_owned();
        if matches!(fields.need("objects").map(|node| &node.kind), Some(Kind::List(items)) if items.is_empty()) {
            fields.wrong("objects is empty: there is nothing to convert");
        }
        let (crd, objects) = (fields.text("crd").map(str::to_owned), objects(&fields, "objects"));
        fields.finish();
        Some(Self { crd, to, objects })
    }
}

/// A list of texts. None if the key is missing.
pub fn texts(fields: &Fields<'_>, key: &'static str) -> Option<Vec<String>> {
    let text = |(node, path): (&Node, String)| match &node.kind {
        Kind::Scalar(Value::String(text)) => Some(text.clone()),
        _ => {
            let message = format!("must be a text, not {}; put it in quotes", describe(node));
            fields.problems().add(node.place, &path, message);
            None
        }
    };
    Some(fields.items(key)?.filter_map(text).collect())
}

pub fn flag(fields: &Fields<'_>, key: &'static str) -> Option<bool> {
    let node = fields.take(key)?;
    if let Kind::Scalar(Value::Bool(flag)) = &node.kind {
        return Some(*flag);
    }
    fields.problems().add(node.place, &fields.child(key), format!("must be true or false, not {}", describe(node)));
    None
}
