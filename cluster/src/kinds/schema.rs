//! The fields of built-in types, as a table: JSON names, protobuf numbers, merge rules. Do not edit `schema.txt`:
//! `schema/generate.py` generates it from the Kubernetes API's Go types.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

/// The type of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ty {
    String,
    Bool,
    Int,
    Float,
    Bytes,
    Quantity,
    IntOrString,
    Time,
    MicroTime,
    Duration,
    /// Any JSON, embedded as bytes in protobuf.
    Raw,
    /// `FieldsV1`.
    Fields,
    Any,
    Message(usize),
    List(Box<Ty>),
    Map(Box<Ty>),
}

/// How server-side apply merges a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ListType {
    Atomic,
    Set,
    Keyed(Vec<String>),
}

#[derive(Clone, Debug)]
pub(crate) struct Field {
    pub name: String,
    pub number: u64,
    pub ty: Ty,
    pub pointer: bool,
    /// Left out of JSON if it is empty.
    pub optional: bool,
    /// A struct that is also left out if it is zero.
    pub omit_zero: bool,
    /// The key by which strategic merge patch merges the list. An empty key means by value.
    pub merge_key: Option<String>,
    pub retain_keys: bool,
    pub list: ListType,
    pub atomic: bool,
}

/// One struct. It includes the fields of embedded structs.
#[derive(Debug, Default)]
pub(crate) struct Type {
    pub name: String,
    pub atomic: bool,
    pub fields: HashMap<String, Field>,
    /// Embedded structs by protobuf number.
    pub embedded: Vec<(u64, usize)>,
}

impl Type {
    pub(crate) fn by_number(&self, number: u64) -> Option<&Field> {
        self.fields.values().find(|f| f.number == number)
    }
}

/// All types.
#[derive(Debug, Default)]
pub(crate) struct Schema {
    types: Vec<Type>,
    names: HashMap<String, usize>,
}

const TABLE: &str = include_str!("schema.txt");

/// The table never changes, so all clusters of a process share one.
static BUILTIN: LazyLock<Arc<Schema>> = LazyLock::new(|| Arc::new(Schema::builtin()));

impl Schema {
    /// The table of built-in types, which is parsed once.
    pub(crate) fn shared() -> Arc<Self> {
        BUILTIN.clone()
    }

    pub(crate) fn builtin() -> Self {
        let mut schema = Self::default();
        for line in TABLE.lines().filter(|l| !l.starts_with(' ')) {
            let mut words = line.split(' ');
            let name = words.next().unwrap_or_default().to_owned();
            schema.names.insert(name.clone(), schema.types.len());
            schema.types.push(Type { name, atomic: words.next() == Some("atomic"), ..Type::default() });
        }
        let mut current = None;
        for line in TABLE.lines() {
            match line.strip_prefix(' ') {
                None => current = line.split(' ').next().and_then(|name| schema.names.get(name)).copied(),
                Some(rest) => schema.add(current, rest),
            }
        }
        for index in 0..schema.types.len() {
            schema.flatten(index);
        }
        schema
    }

    fn add(&mut self, current: Option<usize>, line: &str) {
        let mut words = line.split(' ');
        let (Some(name), Some(number), Some(ty)) = (words.next(), words.next(), words.next()) else {
            return;
        };
        let number = number.parse().unwrap_or_default();
        let ty = self.ty(ty);
        let Some(target) = current.and_then(|index| self.types.get_mut(index)) else {
            return;
        };
        if name == "~" {
            if let Ty::Message(embedded) = ty {
                target.embedded.push((number, embedded));
            }
            return;
        }
        let mut field = Field {
            name: name.to_owned(),
            number,
            ty,
            pointer: false,
            optional: false,
            omit_zero: false,
            merge_key: None,
            retain_keys: false,
            list: ListType::Atomic,
            atomic: false,
        };
        for flag in words {
            match flag.split_once('=') {
                None if flag == "ptr" => field.pointer = true,
                None if flag == "opt" => field.optional = true,
                None if flag == "zero" => field.omit_zero = true,
                None if flag == "retain" => field.retain_keys = true,
                None if flag == "set" => field.list = ListType::Set,
                None if flag == "atomic" => field.atomic = true,
                Some(("merge", key)) => field.merge_key = Some(key.to_owned()),
                Some(("keys", keys)) => field.list = ListType::Keyed(keys.split(',').map(str::to_owned).collect()),
                _ => {}
            }
        }
        target.fields.insert(name.to_owned(), field);
    }

    fn ty(&self, text: &str) -> Ty {
        if let Some(item) = text.strip_prefix("[]") {
            return Ty::List(Box::new(self.ty(item)));
        }
        if let Some(item) = text.strip_prefix("{}") {
            return Ty::Map(Box::new(self.ty(item)));
        }
        match text {
            "string" => Ty::String,
            "bool" => Ty::Bool,
            "int" => Ty::Int,
            "float" => Ty::Float,
            "bytes" => Ty::Bytes,
            "quantity" => Ty::Quantity,
            "intstr" => Ty::IntOrString,
            "time" => Ty::Time,
            "microtime" => Ty::MicroTime,
            "duration" => Ty::Duration,
            "raw" => Ty::Raw,
            "fields" => Ty::Fields,
            name => self.names.get(name).map_or(Ty::Any, |index| Ty::Message(*index)),
        }
    }

    /// Copies the fields of embedded structs into the struct that embeds them, without their numbers.
    fn flatten(&mut self, index: usize) {
        let embedded: Vec<usize> =
            self.types.get(index).map(|t| t.embedded.iter().map(|(_, e)| *e).collect()).unwrap_or_default();
        for inner in embedded {
            self.flatten(inner);
            let fields: Vec<Field> =
                self.types.get(inner).map(|t| t.fields.values().cloned().collect()).unwrap_or_default();
            let Some(outer) = self.types.get_mut(index) else {
                continue;
            };
            for mut field in fields {
                field.number = 0;
                outer.fields.entry(field.name.clone()).or_insert(field);
            }
        }
    }

    pub(crate) fn get(&self, index: usize) -> Option<&Type> {
        self.types.get(index)
    }

    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        self.names.get(name).copied()
    }

    /// The type of a kind. The table's packages are the first words of the groups.
    pub(crate) fn of_kind(&self, group: &str, version: &str, kind: &str) -> Option<usize> {
        let package = match group.split('.').next().unwrap_or_default() {
            "" => "core",
            "apiextensions" => "apiext",
            package => package,
        };
        let version = if version == "v1" { "" } else { version };
        self.find(&format!("{package}{version}.{kind}"))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use super::*;

    #[test]
    fn the_table_holds_every_builtin_kind() {
        let schema = std::sync::Arc::new(Schema::builtin());
        for resource in crate::kinds::builtin::resources(&schema) {
            assert!(resource.root_type.is_some(), "{}", resource.kind);
        }
    }

    #[test]
    fn embedded_fields_and_merge_rules_are_read() {
        let schema = Schema::builtin();
        let volume = schema.get(schema.find("core.Volume").unwrap()).unwrap();
        assert!(volume.fields.contains_key("configMap"));
        let pod = schema.get(schema.find("core.PodSpec").unwrap()).unwrap();
        assert_eq!(pod.fields["containers"].merge_key.as_deref(), Some("name"));
        assert_eq!(pod.fields["tolerations"].list, ListType::Atomic);
        let meta = schema.get(schema.find("meta.ObjectMeta").unwrap()).unwrap();
        assert_eq!(meta.fields["finalizers"].list, ListType::Set);
    }
}
