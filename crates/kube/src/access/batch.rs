//! Many writes at once. They run concurrently, but writes to the same object run one after another. A failed operation
//! does not stop the others.

use std::collections::HashMap;

use boathook_core::model::{Caller, Operation};
use futures::{StreamExt, stream};

use super::{Access, intent::Intent, own_writes::Target, write::Written};

impl Access {
    /// Executes many writes. Returns one result for each, in the given order.
    pub async fn batch(&self, caller: &Caller, operations: &[Operation]) -> Vec<Written> {
        let lines = lines(operations.iter().map(Intent::read));
        let lines: Vec<_> = lines.into_iter().map(|line| self.execute_line(caller, line)).collect();
        let mut done: Vec<(usize, Written)> = stream::iter(lines)
            .buffer_unordered(self.config.batch_concurrency.max(1))
            .flat_map(stream::iter)
            .collect()
            .await;
        done.sort_unstable_by_key(|(index, _)| *index);
        done.into_iter().map(|(_, written)| written).collect()
    }

    async fn execute_line(&self, caller: &Caller, line: Vec<(usize, Intent<'_>)>) -> Vec<(usize, Written)> {
        let mut done = Vec::with_capacity(line.len());
        for (index, intent) in line {
            done.push((index, self.execute(caller, intent).await));
        }
        done
    }
}

/// Groups the operations on one object into one line, in their order. The lines are in the order of their first
/// operations.
fn lines<'a>(intents: impl Iterator<Item = Intent<'a>>) -> Vec<Vec<(usize, Intent<'a>)>> {
    let mut lines: Vec<Vec<(usize, Intent<'a>)>> = Vec::new();
    let mut line_of: HashMap<Target, usize> = HashMap::new();
    for (index, intent) in intents.enumerate() {
        let line = match key(&intent) {
            Some(key) => *line_of.entry(key).or_insert(lines.len()),
            None => lines.len(),
        };
        match lines.get_mut(line) {
            Some(line) => line.push((index, intent)),
            None => lines.push(vec![(index, intent)]),
        }
    }
    lines
}

/// `None` if the server chooses the name, or if the body cannot be parsed.
fn key(intent: &Intent<'_>) -> Option<Target> {
    Target::of(intent).filter(|target| target.name.is_some())
}

#[cfg(test)]
mod tests {
    use boathook_core::model::{Create, Delete, IfExists, ObjectRef, Propagation};

    use super::*;

    fn create(object: &str) -> Operation {
        Operation::Create(Create { object: object.to_owned(), if_exists: IfExists::Fail, subresource: None })
    }

    fn delete(api_version: &str, namespace: Option<&str>, name: &str) -> Operation {
        let target = ObjectRef {
            api_version: api_version.to_owned(),
            kind: "Deployment".to_owned(),
            namespace: namespace.map(str::to_owned),
            name: name.to_owned(),
        };
        Operation::Delete(Delete {
            target,
            propagation: Propagation::Background,
            ignore_missing: false,
            uid: None,
            resource_version: None,
            wait: None,
        })
    }

    #[test]
    fn operations_of_one_object_stand_in_one_line() {
        let operations = [
            delete("apps/v1", Some("n"), "a"),
            create(r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"namespace":"n","name":"b"}}"#),
            create(r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"namespace":"n","name":"a"}}"#),
            create(r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"namespace":"n","generateName":"a"}}"#),
            create(r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"namespace":"n","generateName":"a"}}"#),
            create("not JSON"),
            delete("apps/v1beta1", Some("n"), "b"),
            delete("apps/v1", Some("m"), "a"),
            delete("v1", Some("n"), "a"),
            create("not JSON"),
        ];
        let lines = lines(operations.iter().map(Intent::read));
        let indices: Vec<Vec<usize>> =
            lines.iter().map(|line| line.iter().map(|(index, _)| *index).collect()).collect();
        assert_eq!(indices, [vec![0, 2], vec![1, 6], vec![3], vec![4], vec![5], vec![7], vec![8], vec![9]]);
    }
}
